"""The shell round the core: observe, reconcile, act, mirror status, collect garbage.

Belongs here: what carries out on the clusters what the core decided, and the objects that it needs
there. Does not: decisions, nor how a cluster is reached.
"""
