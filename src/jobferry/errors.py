"""The root of every error that Jobferry raises on purpose.

    Error
    ├── BadInput      what a person gave us is wrong: fix it; trying again does not help
    │   └── …         objects.* (malformed values), kube.* (kubeconfig)
    └── Transient     the world is wrong for the moment: trying again may help
        └── …         kube.* (unreachable, throttled, …)

`str(error)` is one line that says what failed and on what; `hint` says what to do about it.
"""


class Error(Exception):
    """Anything that Jobferry raises on purpose."""

    hint: str | None = None

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        if hint is not None:
            self.hint = hint


class BadInput(Error):
    """What a person gave us is wrong; trying again does not help."""


class Transient(Error):
    """The world is wrong for the moment; trying again may help."""
