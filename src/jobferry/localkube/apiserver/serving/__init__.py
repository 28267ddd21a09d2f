"""The HTTP face: an ASGI application, and the server that runs it.

Belongs here: connections, headers, limits, who calls. Does not: what a request means.
"""
