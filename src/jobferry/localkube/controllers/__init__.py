"""The controllers of a localkube cluster: ordinary clients of the API, as they would be of any cluster.

Belongs here: what kube-controller-manager and kube-scheduler do for batch work. Does not: how pods run
(runner), and anything that looks into the API server.
"""
