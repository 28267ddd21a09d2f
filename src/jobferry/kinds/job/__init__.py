"""The Job kind: batch/v1 Jobs on the hub, and their mirrors, which are ordinary Jobs on a worker.

Belongs here: all that is special about Jobs, such as which status of one is legal, and what an attempt leaves to
the next. `adapter.JOB` is what decisions go by.
"""
