"""The verbs: generic handlers that serve every resource, whatever its kind.

Belongs here: what happens to a request between authorisation and its answer. Does not: HTTP, rules of
one kind.
"""
