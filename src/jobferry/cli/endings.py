"""How a command can end that did its work: the answer is no, and the exit code says so."""

from jobferry.errors import Error

JOB_FAILED = 3
TIME_OVER = 4


class Ended(Error):
    """A command ends with a code of its own."""

    code: int


class JobFailed(Ended):
    """A Job that was waited for has failed."""

    code = JOB_FAILED


class TimeOver(Ended):
    """What was waited for did not come in time."""

    code = TIME_OVER
