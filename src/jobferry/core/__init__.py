"""The dispatcher's decisions.

Belongs here: what may be decided from values alone, such as who a mirror belongs to, where a workload
runs, which status is legal. Does not: anything that awaits, logs, reads a clock, or talks to a cluster.
"""
