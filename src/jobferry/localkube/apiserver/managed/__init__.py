"""Who owns which field of an object: `metadata.managedFields`, and server-side apply that rests on it.

Belongs here: pure functions over JSON values and shapes, the same for every kind. Does not: anything that
knows a kind, a request, a clock or storage. `updating.updated` and `applying.applied` are the ways in,
`timestamps.steady` has the last word before an object is stored, `scaling` is for scale subresources.

A set of fields is kept as managedFields show it (FieldsV1), a tree of path elements; see `sets`.
"""
