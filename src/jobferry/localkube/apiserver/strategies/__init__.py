"""What is special about each kind, one file per kind; each exports a `Strategy`, and one for its status.

Belongs here: pure functions from objects to objects, problems and warnings. Does not: storage, HTTP,
users, clocks.
"""
