"""Bugs that are planted to see whether the simulation finds them."""

from tests.simulation import planted_deeds, planted_knowledge, planted_places
from tests.simulation.planting import BUGS, Bug

__all__ = ["BUGS", "Bug", "planted_deeds", "planted_knowledge", "planted_places"]
