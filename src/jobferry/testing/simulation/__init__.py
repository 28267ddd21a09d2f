"""The whole fleet in one process, in virtual time, with everything going wrong; the same each time by a seed.

Belongs here: a loop whose time is virtual, clusters and dispatchers on it, what may happen to them (`events`), what must
hold nevertheless (`rules`), and how a history that breaks a rule is made short. Docs: docs/simulation.md.
"""
