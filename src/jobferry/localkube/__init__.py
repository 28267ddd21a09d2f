"""A small, honest Kubernetes in one process: the embedded default, and our test bed."""
