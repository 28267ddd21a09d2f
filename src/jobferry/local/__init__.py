"""The fleet of `jobferry up`: a hub and its workers as localkube processes, and the dispatcher.

Belongs here: the processes of a fleet, its folder, and how all of it comes to an end. Does not: what runs in a
cluster (localkube), and what is shown of it (cli).
"""
