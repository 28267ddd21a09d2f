"""Finds nodes for pods: what a pod asks for, what nodes have, which fit, and which is best.

Belongs here: everything that decides where a pod runs. Does not: what happens to it there.
"""
