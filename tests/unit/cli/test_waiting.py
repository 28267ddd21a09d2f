from jobferry.cli.waiting import GOALS, too_late


def test_one_job_that_is_late_is_named_with_what_tells_more() -> None:
    late = too_late(["train"], GOALS["running"], 5.0)

    assert str(late) == "train has not run within 5 s"
    assert late.hint == "`jobferry why train` tells what it waits for."


def test_of_several_jobs_all_are_named() -> None:
    late = too_late(["a", "b"], GOALS["ended"], 0.5)

    assert str(late) == "not all of a, b ended within 0.5 s"
    assert late.hint == "`jobferry why JOB` tells what it waits for."
