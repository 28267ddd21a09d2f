"""The rules of a LimitRange, each with upstream's words for what breaks it."""

from typing import NamedTuple

from jobferry.objects.amounts import Amounts
from jobferry.objects.quantities import MILLI, ZERO, Quantity

_MAX_MILLI_VALUE = (2**63 - 1) // 1000


class Rule(NamedTuple):
    """A bound on one resource."""

    type: str
    """Container, Pod or PersistentVolumeClaim."""
    resource: str
    enforced: Quantity


def minimum(rule: Rule, requests: Amounts, limits: Amounts) -> str | None:
    """Say what asks for less than the minimum."""
    request, limit = requests.get(rule.resource), limits.get(rule.resource)
    said = f"minimum {rule.resource} usage per {rule.type} is {rule.enforced}"
    if request is None:
        return f"{said}.  No request is specified"
    asked, allowed, enforced = _values(request, limit, rule.enforced)
    if asked < enforced:
        return f"{said}, but request is {request}"
    if limit is not None and allowed < enforced:
        return f"{said}, but limit is {limit}"
    return None


def maximum(rule: Rule, requests: Amounts, limits: Amounts) -> str | None:
    """Say what may take more than the maximum."""
    request, limit = requests.get(rule.resource), limits.get(rule.resource)
    said = f"maximum {rule.resource} usage per {rule.type} is {rule.enforced}"
    if limit is None:
        return f"{said}.  No limit is specified"
    asked, allowed, enforced = _values(request, limit, rule.enforced)
    if allowed > enforced:
        return f"{said}, but limit is {limit}"
    if request is not None and asked > enforced:
        return f"{said}, but request is {request}"
    return None


def maximum_request(rule: Rule, requests: Amounts, _limits: Amounts) -> str | None:
    """Say what asks for more than the maximum, where there are no limits."""
    request = requests.get(rule.resource)
    said = f"maximum {rule.resource} usage per {rule.type} is {rule.enforced}"
    if request is None:
        return f"{said}.  No request is specified"
    asked, _, enforced = _values(request, None, rule.enforced)
    return f"{said}, but request is {request}" if asked > enforced else None


def ratio(rule: Rule, requests: Amounts, limits: Amounts) -> str | None:
    """Say what may take too many times what it asks for."""
    request, limit = requests.get(rule.resource), limits.get(rule.resource)
    asked, allowed, _ = _values(request, limit, rule.enforced)
    said = f"{rule.resource} max limit to request ratio per {rule.type} is {rule.enforced}, but"
    if request is None or asked == 0:
        return f"{said} no request is specified or request is 0"
    if limit is None or allowed == 0:
        return f"{said} no limit is specified or limit is 0"
    observed = allowed / asked
    if rule.enforced.scaled() <= _MAX_MILLI_VALUE:
        exceeded = observed * 1000 > float(rule.enforced.scaled(MILLI))
    else:
        exceeded = observed > float(rule.enforced.scaled())
    return f"{said} provided ratio is {observed:f}" if exceeded else None


def _values(
    request: Quantity | None, limit: Quantity | None, enforced: Quantity
) -> tuple[int, int, int]:
    """Return comparable numbers: in millis, unless one would be too large for that."""
    three = (request or ZERO, limit or ZERO, enforced)
    whole = tuple(quantity.scaled() for quantity in three)
    if max(whole) > _MAX_MILLI_VALUE:
        return whole[0], whole[1], whole[2]
    return three[0].scaled(MILLI), three[1].scaled(MILLI), three[2].scaled(MILLI)
