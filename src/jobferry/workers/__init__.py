"""The connected workers.

Belongs here: reaching each worker, keeping a copy of our mirrors there, and saying on its Worker object how that
goes. Does not: deciding anything about a workload.
"""
