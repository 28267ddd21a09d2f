"""Admission: what is added to objects, and what is refused, before they are stored.

Belongs here: the plugins of a fresh cluster, one file each, and the chain that runs them. Does not:
validation of a kind by itself (strategies), permissions (access), how objects are stored.
"""
