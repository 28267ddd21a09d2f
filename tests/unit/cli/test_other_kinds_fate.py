"""What commands say becomes of workloads of other kinds than Jobs."""

from jobferry.cli import cancel_others, other_kinds, tables
from jobferry.cli.workload_facts import Workload
from jobferry.dispatch import switches
from jobferry.settings import DEFAULTS
from tests.unit.cli.hub_objects import NOW, worker
from tests.unit.cli.test_other_kinds import JOB_SET, NAME, SERVED, job_set, record
from tests.workloads.lives import LIVES


def test_what_is_on_a_worker_that_is_not_heard_of_is_unknown() -> None:
    obj, over = job_set(), job_set(status=LIVES[NAME][-1])
    seen = Workload(JOB_SET, obj, record(obj))

    assert [seen.state_but_for(each) for each in (["west"], ["east"])] == ["Placed", "Unknown"]
    assert Workload(JOB_SET, over, record(over)).state_but_for(["east"]) == "Complete"
    assert "Unknown" in tables.text(*other_kinds.table([seen], NOW, False, {"east": "lost"}))


def test_a_workload_that_was_cancelled_says_what_becomes_of_its_mirror() -> None:
    obj = job_set()
    seen = Workload(JOB_SET, obj, record(obj))
    gone = "its mirror and pods on east go, too"

    assert cancel_others.sentence(seen, [worker("east", status=SERVED)]).endswith(gone)
    assert cancel_others.sentence(seen, []).endswith(gone), "nobody who may not read Workers"
    lost = worker("east", up=False, status={"kinds": []})
    assert cancel_others.sentence(seen, [lost]).endswith("as soon as east can be reached")
    waits = cancel_others.sentence(Workload(JOB_SET, obj), [])
    assert waits.endswith("before it was placed on a worker")


def test_the_mirror_of_a_kind_that_is_not_followed_is_not_promised_to_go() -> None:
    obj = job_set()
    there = [worker("west", status=SERVED), worker("east", status={"kinds": ["Job.batch/v1"]})]

    said = cancel_others.sentence(Workload(JOB_SET, obj, record(obj)), there)

    assert "its mirror and pods on east stay: the dispatcher does not follow JobSets" in said
    assert said.endswith("kubectl -n ml delete jobsets.jobset.x-k8s.io train")


def test_a_workload_is_named_as_commands_want_it() -> None:
    seen = Workload(JOB_SET, job_set())

    assert (seen.title, seen.argument) == ("JobSet train", "train -k JobSet")
    assert Workload(switches.known(DEFAULTS)["Job.batch"], job_set()).argument == "train"
