"""Runs the pods of one node: a kubelet, and an ordinary client of the API but for logs and exec.

Belongs here: pods as local processes, in a container engine, or simulated. Does not: where pods run (the
scheduler), and what Jobs make of them.
"""
