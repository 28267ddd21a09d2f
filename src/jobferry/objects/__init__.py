"""Pure helpers on Kubernetes JSON.

Belongs here: what can be said about an object from its JSON alone. Does not: anything that awaits,
logs, knows a clock, or talks to a cluster.
"""

from typing import Any

Obj = dict[str, Any]
"""A Kubernetes object (or a part of one) as JSON gives it."""
