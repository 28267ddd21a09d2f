"""How much work the rules of a schema are."""

import re

from jobferry.localkube.apiserver.crds import structural
from jobferry.localkube.apiserver.crds.rules import RULES
from jobferry.localkube.apiserver.strategy import HEAVY
from jobferry.objects import Obj

_LOOPS = re.compile(r"\.\s*(?:all|exists\w*|filter|map|sort\w*|transform\w*)\s*\(|\bin\b")
"""What goes through a list again and again, if it is inside another: the work is not told by the size of an object."""


def of(schema: Obj) -> int:
    """Return the weight of checking objects (see `Strategy`), from the text of the rules alone."""
    texts: list[str] = []

    def note(each: Obj) -> bool:
        for rule in each.get(RULES) or ():
            texts.append(rule.get("rule") or "")
            texts.append(rule.get("messageExpression") or "")
        return False

    structural.has(schema, note)
    return HEAVY if any(map(_LOOPS.search, texts)) else 1 + len(texts) // 2
