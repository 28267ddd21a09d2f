"""A certificate authority in memory, for control planes that live for minutes."""

from datetime import datetime, timedelta

from jobferry.localkube.apiserver.identity import certificates
from jobferry.localkube.apiserver.identity.certificates import signing_key
from jobferry.localkube.apiserver.identity.pair import Pair

__all__ = ["LIFETIME", "Authority", "Pair", "signing_key"]

LIFETIME = timedelta(days=7)


class Authority(certificates.Authority):
    """Signs certificates; its own key never leaves memory."""

    def __init__(self, now: datetime) -> None:
        super().__init__(now, name="jobferry tests", lifetime=LIFETIME)
