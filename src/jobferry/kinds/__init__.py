"""One adapter per workload kind.

Belongs here: pure translation between a workload on the hub and its mirror on a worker, dicts in and
dicts out. Does not: deciding where a workload runs, or anything that awaits or logs.
"""
