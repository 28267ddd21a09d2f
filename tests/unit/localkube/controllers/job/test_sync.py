"""What a pass makes of a Job's status, beside counting."""

from jobferry.objects import Obj
from tests.unit.localkube.controllers.job.passes import at, indexed, job, pod, run


def condition(type: str, status: str = "True", reason: str = "Some") -> Obj:
    return {
        "type": type,
        "status": status,
        "reason": reason,
        "message": "said",
        "lastProbeTime": at(-50),
        "lastTransitionTime": at(-50),
    }


SUSPENDED = condition("Suspended", reason="JobSuspended") | {"message": "Job suspended"}


class TestStarting:
    def test_the_first_status_says_when_it_began_and_what_runs(self) -> None:
        result = run(job({}, completions=3, parallelism=2))

        assert result.status == {
            "startTime": at(0),
            "active": 2,
            "ready": 0,
            "terminating": 0,
            "uncountedTerminatedPods": {},
        }

    def test_the_start_stays_what_it_was(self) -> None:
        assert run(job(), now=9).status["startTime"] == at(-60)

    def test_what_others_wrote_into_the_status_stays(self) -> None:
        other = condition("Placed")
        result = run(job({"startTime": at(-60), "conditions": [other], "more": 1}))

        assert result.status["conditions"] == [other]
        assert result.status["more"] == 1

    def test_a_pass_over_what_is_in_order_changes_nothing(self) -> None:
        first = run(job({}, completions=2, parallelism=2)).status
        second = run(job(first, completions=2, parallelism=2), pod("a"), pod("b"))

        assert second.status == second.first == first
        assert second.after is None

    def test_those_that_are_ready_and_those_that_end_are_told(self) -> None:
        waits: Obj = {"podReplacementPolicy": "Failed", "completions": 3, "parallelism": 3}
        result = run(job(**waits), pod("a", ready=-3), pod("b"), pod("c", deleted=30, ready=-9))

        assert result.counts == "2/1/1/0/0"


class TestSuspending:
    def test_one_that_is_created_suspended_does_not_start(self) -> None:
        result = run(job({}, suspend=True))

        assert result.conditions == ["Suspended=True JobSuspended"]
        assert result.status["conditions"][0]["message"] == "Job suspended"
        assert result.status["conditions"][0]["lastTransitionTime"] == at(0)
        assert "startTime" not in result.status
        assert result.news == ["Suspended"]

    def test_it_is_said_once(self) -> None:
        status = {"conditions": [SUSPENDED]}
        result = run(job(status, suspend=True), now=9)

        assert result.status["conditions"] == [SUSPENDED]
        assert result.news == []

    def test_one_that_runs_loses_its_pods_uncounted_and_keeps_its_start(self) -> None:
        result = run(
            job(completions=2, parallelism=2, suspend=True), pod("a"), pod("b", ready=-3)
        )

        assert result.removed == ["a", "b"]
        assert result.released == []
        assert result.counts == "0/0/2/0/0"
        assert result.status["startTime"] == at(-60)

    def test_one_that_is_resumed_starts_anew(self) -> None:
        result = run(job({"startTime": at(-60), "conditions": [SUSPENDED]}))

        assert result.created == [None]
        assert result.conditions == ["Suspended=False JobResumed"]
        assert result.status["conditions"][0]["message"] == "Job resumed"
        assert result.status["startTime"] == at(0)
        assert result.news == ["Resumed"]

    def test_one_that_was_resumed_keeps_its_new_start(self) -> None:
        first = run(job({"startTime": at(-60), "conditions": [SUSPENDED]})).status
        second = run(job(first), pod("a"), now=5)

        assert second.status == first
        assert second.news == []

    def test_one_that_never_was_is_not_said_to_be_resumed(self) -> None:
        assert run(job()).conditions == []

    def test_its_deadline_counts_from_the_new_start(self) -> None:
        limits: Obj = {"activeDeadlineSeconds": 90}
        resumed = run(job({"startTime": at(-60), "conditions": [SUSPENDED]}, **limits)).status

        assert run(job(resumed, **limits), pod("a"), now=89).after == 1
        assert run(job(resumed, **limits), pod("a"), now=90).stopped == ["a"]

    def test_one_with_nothing_to_do_completes_though_it_is_suspended(self) -> None:
        result = run(job({}, completions=0, suspend=True))

        assert result.finished
        assert "startTime" not in result.status

    def test_one_whose_status_says_that_all_is_done_waits_for_its_start(self) -> None:
        waiting = run(indexed({"completedIndexes": "0-3"}, suspend=True))

        assert waiting.conditions == ["SuccessCriteriaMet=True CompletionsReached"]
        assert not waiting.finished

        started = run(indexed(waiting.status), now=5)

        assert started.finished
        assert started.status["startTime"] == started.status["completionTime"] == at(5)


class TestEnding:
    def test_the_end_is_told_once_all_pods_are_gone(self) -> None:
        late: Obj = {"activeDeadlineSeconds": 1, "completions": 2, "parallelism": 2}
        first = run(job(**late), pod("a", ready=-3), pod("b"))

        assert first.conditions == ["FailureTarget=True DeadlineExceeded"]
        assert first.counts == "0/0/2/0/2"

        ending = [pod("a", deleted=30, tracked=False), pod("b", deleted=30, tracked=False)]
        second = run(job(first.status, **late), *ending)

        assert not second.finished
        assert second.status == first.status

        third = run(job(second.status, **late), now=30)

        assert third.conditions[-1] == "Failed=True DeadlineExceeded"
        assert third.counts == "0/0/0/0/2"
        assert third.status["conditions"][-1]["lastTransitionTime"] == at(30)
        assert third.status["conditions"][0]["lastTransitionTime"] == at(0)
        assert "completionTime" not in third.status

    def test_the_time_of_a_success_is_written_down(self) -> None:
        result = run(job(), pod("a", "Succeeded"), now=3)

        assert result.status["completionTime"] == at(3)
        assert result.status["conditions"][-1]["lastProbeTime"] == at(3)
        assert "completionTime" not in result.first

    def test_the_success_is_noted_before_any_pod_is_let_go(self) -> None:
        result = run(job(), pod("a", "Succeeded"))

        assert [each["type"] for each in result.first["conditions"]] == ["SuccessCriteriaMet"]

    def test_pods_without_a_finalizer_do_not_keep_a_job(self) -> None:
        status = {"startTime": at(-60), "succeeded": 1}
        result = run(job(status), pod("a", "Succeeded", tracked=False))

        assert result.finished


class TestScaling:
    def test_more_indexes_are_run(self) -> None:
        status = {"startTime": at(-60), "completedIndexes": "0-3", "succeeded": 4}
        result = run(indexed(status, completions=6, parallelism=6))

        assert result.created == [4, 5]
        assert result.status["succeeded"] == 4

    def test_indexes_beyond_the_end_are_forgotten(self) -> None:
        status = {"startTime": at(-60), "completedIndexes": "0,3", "succeeded": 2, "failed": 1}
        result = run(
            indexed(status, completions=2, parallelism=2), pod("a", index=1), pod("b", index=2)
        )

        assert result.removed == ["b"]
        assert result.status["completedIndexes"] == "0"
        assert result.counts == "1/0/1/1/1"

    def test_none_at_all_is_done_at_once(self) -> None:
        result = run(indexed(completions=0, parallelism=0), pod("a", index=1))

        assert result.removed == ["a"]
        assert result.conditions == ["SuccessCriteriaMet=True CompletionsReached"]
