"""An asynchronous Kubernetes client for many clusters.

Belongs here: how to reach a cluster, what to ask of its API server, and a faithful cache of what it
said. Does not: anything about dispatching, or about what one kind of workload means.
"""
