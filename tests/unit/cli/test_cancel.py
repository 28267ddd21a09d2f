from dataclasses import replace

import pytest

from jobferry.cli import cancel
from jobferry.errors import BadInput
from jobferry.settings import DEFAULTS
from tests.unit.cli.hub_objects import job, placed

OTHER = "example.com/mine"


def test_a_job_of_nobody_and_of_others_is_refused() -> None:
    for manager in (None, OTHER):
        with pytest.raises(BadInput, match="not delegated"):
            cancel.refuse_undelegated(job(manager=manager), DEFAULTS)


def test_a_job_of_a_dispatcher_by_any_name_is_not() -> None:
    cancel.refuse_undelegated(job(), DEFAULTS)
    cancel.refuse_undelegated(job(manager=OTHER), replace(DEFAULTS, managed_by=(OTHER,)))
    cancel.refuse_undelegated(placed(job(manager=OTHER), "east"), DEFAULTS)


def test_it_is_told_what_becomes_of_it() -> None:
    assert cancel.sentence(job()).endswith("before it was placed on a worker")
    there = placed(job(), "east")
    assert cancel.sentence(there).endswith("its mirror and pods on east go, too")
    assert cancel.sentence(there, {"west": ""}) == cancel.sentence(there)
    assert cancel.sentence(there, {"east": ""}).endswith("too as soon as east can be reached")
    assert cancel.sentence(there, (), True).endswith("too as soon as a dispatcher runs")
