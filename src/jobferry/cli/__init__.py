"""The command line.

Belongs here: reading arguments, calling what does the work, showing what came of it. Does not: any
work. The module of a command is imported when it is called for, so that `--help` answers at once.
"""
