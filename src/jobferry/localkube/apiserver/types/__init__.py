"""The Go types of the built-in kinds, and what follows from them: how JSON and protobuf are read, how
fields are merged, what OpenAPI says.

Belongs here: what the tables tell about every kind alike. Does not: defaults and rules of single kinds
(strategies), custom resources (crds).
"""
