"""The chain: the plugins of a fresh cluster in upstream's order."""

from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import dataclass, field

from jobferry.clock import Clock
from jobferry.errors import BadInput
from jobferry.localkube.apiserver.admission import (
    default_tolerations,
    limit_ranger,
    namespace_lifecycle,
    pod_topology_labels,
    priority,
    resource_quota,
    runtime_class,
    service_account,
    taint_nodes,
)
from jobferry.localkube.apiserver.admission.cluster import Cluster
from jobferry.localkube.apiserver.admission.plugin import Plugin, Step
from jobferry.localkube.apiserver.admission.request import Request, Topic

_Steps = tuple[tuple[Step, ...], tuple[Step, ...]]


@dataclass(frozen=True, slots=True)
class Chain:
    """Runs every plugin that a request concerns, one after the other."""

    plugins: Sequence[Plugin]
    _steps: dict[tuple[str, str, str, str], _Steps] = field(default_factory=dict)
    """What to call, by sort of request: there are only as many as there are resources."""

    async def admit(self, request: Request) -> None:
        """Let plugins complete the object, before it is prepared and validated."""
        for step in self._steps_for(request)[0]:
            await step(request)

    async def validate(self, request: Request) -> None:
        """Let plugins refuse the object, after it was validated and just before it is stored."""
        for step in self._steps_for(request)[1]:
            await step(request)

    def _steps_for(self, request: Request) -> _Steps:
        key = (request.group, request.resource, request.subresource, request.operation)
        steps = self._steps.get(key)
        if steps is None:
            steps = self._steps[key] = self._find(Topic(*key))
        return steps

    def _find(self, topic: Topic) -> _Steps:
        concerned = [plugin for plugin in self.plugins if plugin.handles(topic)]
        return (
            tuple(plugin.admit for plugin in concerned if plugin.admit),
            tuple(plugin.validate for plugin in concerned if plugin.validate),
        )


def chain(
    cluster: Cluster,
    clock: Clock,
    *,
    suffix: Callable[[], str],
    always: Iterable[Plugin] = (),
    without: Set[str] = frozenset(),
) -> Chain:
    """Return the chain of a fresh cluster; `suffix` draws the random end of a name.

    `without` names plugins to leave out. What is in `always` cannot be left out; it comes where upstream has
    webhooks: after everything else, but before quota is charged.
    """
    first = (
        namespace_lifecycle.plugin(cluster),
        limit_ranger.plugin(cluster),
        service_account.plugin(cluster, clock, suffix),
        taint_nodes.plugin(),
        priority.plugin(cluster),
        default_tolerations.plugin(),
        runtime_class.plugin(),
        pod_topology_labels.plugin(cluster),
    )
    last = resource_quota.plugin(cluster, clock)
    _check_known(without, [each.name for each in (*first, last)])
    chosen = [each for each in first if each.name not in without] + list(always)
    return Chain(chosen if last.name in without else [*chosen, last])


def _check_known(without: Set[str], known: Sequence[str]) -> None:
    for name in sorted(without - set(known)):
        raise BadInput(
            f"{name}: no admission plugin that can be left out",
            hint=f"Those that can be: {', '.join(known)}",
        )
