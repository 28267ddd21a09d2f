"""Machinery that knows no Kubernetes: queues, backoff, reconcile loops, tasks, limits.

Belongs here: what any controller of anything would need. Does not: objects, clusters, HTTP.
"""
