"""The dispatcher's decisions.

Belongs here: what may be decided from values alone, about workloads of any kind, such as who a mirror belongs to and
where a workload runs. Does not: what is special about a kind (`kind.Kind` is what is asked of its adapter), nor anything
that awaits, logs, reads a clock, or talks to a cluster.
"""
