"""Who we are, from what a kubeconfig or a service account gives us."""

from contextlib import suppress
from dataclasses import dataclass, field

from jobferry.clock import Clock, Seconds
from jobferry.errors import BadInput
from jobferry.kube import material
from jobferry.kube.access import Credentials, Fixed, Identity
from jobferry.kube.material import Material

READ_AGAIN_AFTER: Seconds = 10.0
"""Files are read again this often: a rotated one is used long before the old content expires."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Papers:
    """What an identity is made of."""

    tokens: tuple[Material, ...] = ()
    """The first that can be read counts."""

    basic: str | None = field(default=None, repr=False)
    """The whole header, as in "Basic abc"."""

    certificate: Material | None = None
    key: Material | None = None

    def identity(self) -> Identity:
        """Read them all."""
        return Identity(
            authorization=f"Bearer {_token(self.tokens)}" if self.tokens else self.basic,
            certificate=material.certificates(self.certificate) if self.certificate else None,
            key=material.private_key(self.key) if self.key else None,
        )

    @property
    def may_change(self) -> bool:
        """Whether some of them are files."""
        return any(
            paper.is_file for paper in (*self.tokens, self.certificate, self.key) if paper
        )


def _token(tokens: tuple[Material, ...]) -> str:
    for candidate in tokens[:-1]:
        with suppress(BadInput):
            return material.token(candidate)
    return material.token(tokens[-1])


def credentials_from(papers: Papers, clock: Clock) -> Credentials:
    """Read the papers now, and again and again if some of them are files."""
    return Rotating(papers, clock) if papers.may_change else Fixed(papers.identity())


class Rotating:
    """An identity in files that somebody else renews: a kubelet, cert-manager, a login script."""

    def __init__(self, papers: Papers, clock: Clock) -> None:
        self._papers = papers
        self._clock = clock
        self._who = papers.identity()
        self._read_at = clock.monotonic()

    async def identity(self) -> Identity:
        """Return what the files say, or said a few seconds ago."""
        if self._clock.monotonic() - self._read_at >= READ_AGAIN_AFTER:
            self._read_again()
        return self._who

    def reject(self, identity: Identity) -> bool:
        """Read the files now; True if they say something else than what was refused."""
        self._read_again()
        return self._who != identity

    def _read_again(self) -> None:
        self._read_at = self._clock.monotonic()
        # A file that is missing or half-written at this moment does not void what it said before.
        with suppress(BadInput):
            self._who = self._papers.identity()
