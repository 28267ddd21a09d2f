"""Ids and the ends of names, drawn from a source of random numbers that the caller chooses."""

from random import Random

_SUFFIX = "bcdfghjklmnpqrstvwxz2456789"
"""What the random end of a name is made of: no vowels, so that no words come out."""


def uid(random: Random) -> str:
    """Draw a UUID (version 4); what Python has for it takes long to load, and twice as long to make one."""
    digits = f"{random.getrandbits(128):032x}"
    variant = "89ab"[int(digits[16], 16) & 3]
    return (
        f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:]}"
    )


def suffix(random: Random) -> str:
    """Draw the end of a generated name."""
    number, drawn = random.getrandbits(64), ""
    for _ in range(5):
        number, place = divmod(number, len(_SUFFIX))
        drawn += _SUFFIX[place]
    return drawn
