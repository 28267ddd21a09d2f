"""What is wrong with the parts that kinds share, in the words of kube-apiserver.

Belongs here: pure functions from a part of an object and its path to the problems with it, in the
order in which an API server lists them. Does not: defaults, storage, anything about requests.
"""
