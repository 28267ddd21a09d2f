import asyncio
import io
import json
import logging
import subprocess
import sys
from collections.abc import Iterator

import pytest

from jobferry import log
from jobferry.errors import Error


class Plane:
    """Where the lines of one test go."""

    def __init__(self, formatter: logging.Formatter) -> None:
        self.stream = io.StringIO()
        self.handler = logging.StreamHandler(self.stream)
        self.handler.setFormatter(formatter)

    @property
    def text(self) -> str:
        return self.stream.getvalue()


@pytest.fixture
def logger() -> Iterator[log.Logger]:
    raw = logging.getLogger("jobferry.test")
    raw.setLevel(logging.INFO)
    raw.propagate = False
    yield log.get("jobferry.test")
    raw.handlers.clear()


def attached(formatter: logging.Formatter) -> Plane:
    plane = Plane(formatter)
    logging.getLogger("jobferry.test").addHandler(plane.handler)
    return plane


@pytest.fixture
def human(logger: log.Logger) -> Plane:
    return attached(log.HumanFormatter())


@pytest.fixture
def machine(logger: log.Logger) -> Plane:
    return attached(log.JsonFormatter())


def test_a_person_reads_time_level_sentence_and_facts(logger: log.Logger, human: Plane) -> None:
    logger.info("Created mirror", worker="east", attempt=1)

    time, rest = human.text.split(" ", 1)
    assert time.endswith("Z")
    assert rest == "INFO    Created mirror worker=east attempt=1\n"


def test_a_machine_reads_one_object_a_line(logger: log.Logger, machine: Plane) -> None:
    logger.warning("Created mirror", worker="east", attempt=1)

    line = json.loads(machine.text)
    assert line.pop("ts").endswith("Z")
    assert line == {
        "level": "warning",
        "logger": "jobferry.test",
        "msg": "Created mirror",
        "worker": "east",
        "attempt": 1,
    }


def test_bound_facts_go_with_each_line_and_leave_the_first_logger_alone(
    logger: log.Logger, machine: Plane
) -> None:
    bound = logger.bind(workload="ml/a").bind(attempt=2)
    bound.info("One", attempt=3)
    logger.info("Two")

    one, two = map(json.loads, machine.text.splitlines())
    assert (one["workload"], one["attempt"]) == ("ml/a", 3)
    assert "workload" not in two


async def test_a_context_reaches_every_logger_of_its_task_and_no_other_task(
    logger: log.Logger, machine: Plane
) -> None:
    inside, written = asyncio.Event(), asyncio.Event()

    async def within() -> None:
        with log.context(pass_id="jobs-1"):
            inside.set()
            await written.wait()
            logger.info("Within")

    task = asyncio.create_task(within())
    await inside.wait()
    logger.info("Without")
    written.set()
    await task

    lines = {line["msg"]: line for line in map(json.loads, machine.text.splitlines())}
    assert lines["Within"]["pass_id"] == "jobs-1"
    assert "pass_id" not in lines["Without"]


def test_a_context_ends_with_its_block(logger: log.Logger, machine: Plane) -> None:
    with log.context(outer=1), log.context(inner=2):
        logger.info("Both")
    logger.info("None")

    both, none = map(json.loads, machine.text.splitlines())
    assert (both["outer"], both["inner"]) == (1, 2)
    assert "outer" not in none


def test_a_fact_cannot_pose_as_the_level_or_the_sentence(
    logger: log.Logger, machine: Plane
) -> None:
    logger.info("True", level="critical", msg="False")

    line = json.loads(machine.text)
    assert (line["level"], line["msg"]) == ("info", "True")


@pytest.mark.parametrize(
    "value", ["two words", "a=b", 'say "hi"', "", "line\nbreak", "\x1b[31m"]
)
def test_a_strange_value_stays_one_quoted_word(
    logger: log.Logger, human: Plane, value: str
) -> None:
    logger.info("Seen", value=value)

    assert human.text.count("\n") == 1
    assert "\x1b" not in human.text
    shown = human.text.split("value=", 1)[1]
    assert json.loads(shown) == value


def test_facts_that_are_none_are_left_out(logger: log.Logger, human: Plane) -> None:
    logger.info("Failed", hint=None)

    assert "hint" not in human.text


def test_an_error_of_ours_is_a_warning_with_its_hint_and_no_traceback(
    logger: log.Logger, machine: Plane
) -> None:
    logger.failure("Failed", Error("east does not answer", hint="look at it"), attempt=1)

    line = json.loads(machine.text)
    assert (line["level"], line["error"]) == ("warning", "east does not answer")
    assert (line["hint"], line["attempt"]) == ("look at it", 1)
    assert "traceback" not in line


def test_an_error_that_is_not_ours_is_shown_with_its_traceback(
    logger: log.Logger, human: Plane, machine: Plane
) -> None:
    with pytest.raises(ZeroDivisionError) as caught:
        raise ZeroDivisionError("by zero")

    logger.failure("Crashed", caught.value)

    assert human.text.rstrip().endswith("ZeroDivisionError: by zero")
    line = json.loads(machine.text)
    assert (line["level"], line["error"]) == ("error", "ZeroDivisionError('by zero')")
    assert "in test_an_error_that_is_not_ours" in line["traceback"]


@pytest.mark.parametrize("name", ["token", "bearer_token", "password", "Authorization"])
def test_a_fact_with_the_name_of_a_secret_is_hidden(
    logger: log.Logger, human: Plane, machine: Plane, name: str
) -> None:
    logger.info("Asked", **{name: "hunter2"})

    assert "hunter2" not in human.text + machine.text
    assert json.loads(machine.text)[name] == "***"


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("header Bearer abc.def-123", "abc.def-123"),
        ("authorization: bearer abc", "abc"),
        ("header Basic dXNlcjpwYXNz", "dXNlcjpwYXNz"),
        ("got eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJ4In0.c2ln as token", "eyJhbGciOiJSUzI1NiJ9"),
        ("proxy http://me:hunter2@proxy:3128 failed", "hunter2"),
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIEow\n-----END RSA PRIVATE KEY-----", "MIIEow"),
        ('cut off: "-----BEGIN PRIVATE KEY-----\nMIIEow\nMII"', "MIIEow"),
    ],
)
def test_what_looks_like_a_secret_is_hidden_wherever_it_comes_from(
    logger: log.Logger, human: Plane, machine: Plane, text: str, secret: str
) -> None:
    logger.failure("Crashed", ValueError(text), said=text)

    assert secret not in human.text + machine.text
    assert json.loads(machine.text)["msg"] == "Crashed"


def test_below_the_level_nothing_is_written(logger: log.Logger, human: Plane) -> None:
    logger.debug("Detail")

    assert human.text == ""


def test_the_line_is_attributed_to_its_caller(logger: log.Logger) -> None:
    plane = attached(logging.Formatter("%(funcName)s"))

    logger.info("Here")

    assert plane.text == "test_the_line_is_attributed_to_its_caller\n"


def test_importing_configures_nothing_and_configuring_reaches_other_libraries() -> None:
    program = """if True:
        import logging
        from jobferry import log
        assert not logging.getLogger().handlers and not logging.getLogger("jobferry").handlers
        log.configure(level="WARNING", as_json=True)
        log.configure(level="WARNING", as_json=True)
        logging.getLogger("asyncio").warning("slow %s", "callback")
        log.get("jobferry.x").info("not shown")
        """

    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert [json.loads(line)["msg"] for line in done.stderr.splitlines()] == ["slow callback"]
