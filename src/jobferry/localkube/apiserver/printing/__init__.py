"""Tables: what `kubectl get` shows, made on the server.

Belongs here: the columns of the built-in kinds, and how objects become rows. Does not: the columns of
custom resources, which their definitions bring along in the same form (`columns.Columns`).
"""
