"""The Job controller: runs pods until as many have ended well as a Job asks for.

What is to be done is decided by pure functions, in three steps with requests between them (`sync`): which pods
to create and to delete; which ones to account for; whether the Job is over. `reconciler` is the shell that reads
the world, asks, and carries out.
"""
