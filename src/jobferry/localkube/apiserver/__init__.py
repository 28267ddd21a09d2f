"""An API server that kubectl and real controllers take for Kubernetes v1.35.

Where it answers, it answers as kube-apiserver does; where it cannot, it says so with a proper Status.
Belongs here: storage, what objects look like, who may do what, the HTTP face. Does not: a client, a
controller, anything of the dispatcher.
"""
