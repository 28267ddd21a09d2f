"""The fixtures of users: the examples of docs/testing.md are run as they stand there."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

PAGE = Path(__file__).parents[3] / "docs" / "testing.md"


def example() -> dict[str, str]:
    """Return the files that the page shows, by name."""
    return dict(re.findall(r"```python\n# (\w+)\.py\n(.*?)```", PAGE.read_text(), re.DOTALL))


def test_the_examples_of_the_page_work(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(**example())

    result = pytester.runpytest_subprocess("-q")

    result.assert_outcomes(passed=4)


def test_without_the_care_that_it_takes_the_example_fails_as_the_page_says(
    pytester: pytest.Pytester,
) -> None:
    files = example()
    careful = re.compile(
        r"        try:\n    (        await look\(client\)\n).*?(?=        await)", re.S
    )
    files["chain"], count = careful.subn(r"\1", files["chain"])
    assert count == 1
    pytester.makepyfile(**files)

    result = pytester.runpytest_subprocess("-q", "-k", "restarted")

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*Unreachable*", "*Captured fleet call*"])


MISTAKES = """
import pytest

@pytest.fixture
def broken(fleet):
    raise LookupError("in a fixture")

@pytest.mark.jobferry(3)
def test_by_place(fleet): ...

@pytest.mark.jobferry(worker=3)
def test_by_a_wrong_name(fleet): ...

def test_whose_fixture_fails(broken): ...
"""


def test_a_marker_that_makes_no_sense_is_told_and_where_a_fixture_fails_the_fleet_is_shown(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(MISTAKES)

    result = pytester.runpytest_subprocess("-q", "-p", "no:randomly")

    result.assert_outcomes(errors=3)
    takes = "@pytest.mark.jobferry takes workers=, dispatchers=, seed=, settings="
    result.stdout.fnmatch_lines(
        [f"{takes}, not 3", f"{takes}, not worker", "*Captured fleet setup*"]
    )
    assert max(map(len, result.outlines)) == 300


def test_the_plugin_loads_nothing_before_a_test_asks_for_it() -> None:
    code = (
        "import sys, jobferry.testing.pytest_plugin;"
        "print(sorted(name for name in sys.modules if name.startswith('jobferry')))"
    )

    said = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )

    assert said.stdout.strip() == str(
        ["jobferry", "jobferry.testing", "jobferry.testing.pytest_plugin"]
    )
