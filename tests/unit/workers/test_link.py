from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, cast

from jobferry.kinds.adapter import Context
from jobferry.kinds.job.delegated import DelegatedJob
from jobferry.kube.document import Trust
from jobferry.kube.transport import HttpTransport
from jobferry.runtime import supervise
from jobferry.testing.clock import ManualClock, settle
from jobferry.workers import link
from jobferry.workers.cluster import Cluster
from jobferry.workers.link import Common, Link
from jobferry.workers.resource import Kubeconfig, SecretKey, Spec
from jobferry.workers.source import STRICT, Rules
from tests.unit.kube.wires import Wire, client_over, status

NO_FILE = Spec(kubeconfig=Kubeconfig(file="/nothing"))


@dataclass
class Rig:
    """What a link needs that never gets as far as its worker."""

    rules: Rules = STRICT
    wire: Wire = field(default_factory=Wire)
    clock: ManualClock = field(default_factory=ManualClock)
    told: list[str] = field(default_factory=list)

    def link(self, spec: Spec, **known: Any) -> Link:
        common = Common(
            hub=client_over(self.wire, clock=self.clock),
            kinds=[DelegatedJob(Context(frozenset()))],
            selector=lambda name: f"worker={name}",
            requests=1,
            rules=self.rules,
            reach=HttpTransport,
            observe=lambda *_: None,
            on_mirror=lambda *_: None,
            on_state=self.told.append,
        )
        return Link("east", spec, common, **known)


class Buggy:
    """Rules that are none."""

    policy = Trust(files=None, programs=frozenset())
    asked = 0

    @property
    def trusted(self) -> frozenset[str]:
        self.asked += 1
        if self.asked == 1:
            raise RuntimeError("boom")
        return frozenset()


async def test_a_crash_is_told_on_the_worker_and_tried_again_after_a_while() -> None:
    buggy = Buggy()
    rig = Rig(rules=cast("Rules", buggy))
    east = rig.link(NO_FILE)
    async with supervise.tasks("test", clock=rig.clock) as tasks:
        tasks.start("link", east.run)
        await settle()
        assert east.state.reason == "Crashed"
        assert "boom" in east.state.message
        assert east.state.lost_since == rig.clock.now()

        await rig.clock.pass_time(link.AFTER_CRASH - 1)
        assert buggy.asked == 1
        await rig.clock.pass_time(1)

        assert east.state.reason == "BadKubeconfig"
        assert rig.told == ["east", "east"]


async def test_the_time_goes_on_that_a_worker_had_been_lost_before() -> None:
    rig = Rig()
    before = rig.clock.now() - timedelta(minutes=5)
    known = Cluster("x", "v1", ())
    east = rig.link(NO_FILE, cluster=known, missed_since=before)
    assert east.state.lost_since is None  # nothing is lost before the first try

    async with supervise.tasks("test", clock=rig.clock) as tasks:
        tasks.start("link", east.run)
        await settle()

        assert east.state.lost_since == before
        assert east.state.cluster == known


async def test_news_of_the_kubeconfig_end_the_pause() -> None:
    rig = Rig(wire=Wire(*[status(404, "NotFound")] * 9))
    east = rig.link(Spec(kubeconfig=Kubeconfig(secret=SecretKey("ns", "east"))))
    async with supervise.tasks("test", clock=rig.clock) as tasks:
        tasks.start("link", east.run)
        await settle()
        assert (len(rig.wire.requests), east.state.reason) == (1, "SecretNotFound")

        east.reread_kubeconfig()
        await settle()

        assert len(rig.wire.requests) == 2
