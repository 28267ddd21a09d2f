"""When a call may be sent again, and after what pause: one pure function."""

from dataclasses import dataclass

from jobferry.clock import Seconds
from jobferry.errors import Error
from jobferry.kube import errors
from jobferry.kube.calls import Call


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How much time and how many tries one call may take."""

    answer: Seconds = 30.0
    """An API server that has not answered by then is taken for frozen."""

    retries: int = 3
    """How often a call is sent again, where that is safe."""

    first_pause: Seconds = 0.1
    """The wait before the second try; it doubles with each further one."""

    longest_pause: Seconds = 10.0
    """Where the doubling ends; a longer Retry-After is raised: the caller has better things to do."""


REFUSALS = {429, 503}
"""With a Retry-After, these codes say that the call was not carried out; others may have been."""

PATIENT = Patience()
"""What fits a call that a controller makes."""


def pause_after(
    error: Error, call: Call, tries: int, patience: Patience, spread: float
) -> Seconds | None:
    """Say how long to wait before the next try; None: do not try again.

    Safe are calls that the server refused before it looked at them (429, and 503 with Retry-After), and
    idempotent calls whose connection was lost. `tries` counts those made; `spread` is a random number
    below 1 that keeps many clients from coming back at the same moment.
    """
    if tries > patience.retries:
        return None
    if isinstance(error, errors.ApiError):
        if error.code not in REFUSALS or error.retry_after is None:
            return None
        if error.retry_after > patience.longest_pause:
            return None
        return error.retry_after * (1 + spread / 4)
    if isinstance(error, errors.Unreachable) and _may_pass(error) and call.is_idempotent:
        pause = patience.first_pause * float(2 ** (tries - 1)) * (0.5 + spread)
        return min(pause, patience.longest_pause)
    return None


def _may_pass(error: errors.Unreachable) -> bool:
    # A wrong certificate stays wrong, whoever waited out one timeout should not wait out four, and what was
    # too long is no shorter the next time.
    return not isinstance(error, errors.Untrusted | errors.Timeout | errors.TooLong)
