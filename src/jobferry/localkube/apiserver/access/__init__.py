"""What a caller may do: roles, bindings, and the questions asked about them.

Belongs here: decisions by role-based access control, with their reasons. Does not: who the caller is.
There is no node authorizer: what a kubelet may do comes from roles, as for everybody else.
"""
