from hypothesis import given
from hypothesis import strategies as st

from jobferry.objects import Obj, amounts, demand, quantities
from tests.unit.localkube.apiserver.admission.admission_world import container

REQUESTS = st.dictionaries(
    st.sampled_from(["cpu", "memory", "example.com/gpu"]),
    st.sampled_from(["0", "1", "250m", "1Gi", "3"]),
)
INITS = st.lists(st.tuples(REQUESTS, st.booleans()), max_size=4)


@given(running=st.lists(REQUESTS, min_size=1, max_size=3), inits=INITS)
def test_pods_hold_what_the_scheduler_will_reserve_for_them(
    running: list[Obj], inits: list[tuple[Obj, bool]]
) -> None:
    spec = {
        "containers": [container(requests=each) for each in running],
        "initContainers": [
            container(requests=each) | ({"restartPolicy": "Always"} if stays else {})
            for each, stays in inits
        ],
    }

    held = amounts.of_containers(spec, lambda each: amounts.of(each, "requests"))

    assert held == demand.of_pod(spec)


def test_a_long_text_is_read_but_not_remembered() -> None:
    text = "0" * 100 + "1"

    assert amounts.parse(text) == quantities.parse("1")
    assert amounts.parse(text) is not amounts.parse(text)
    assert amounts.parse("1") is amounts.parse("1")


def test_amounts_are_shown_by_name() -> None:
    assert amounts.show(amounts.read({"b": "1000m", "a": "1.5Gi"})) == "a=1536Mi,b=1"


def test_what_a_pod_asks_for_as_a_whole_replaces_the_sums() -> None:
    spec = {"resources": {"limits": {"cpu": "2", "x": "1"}}}
    sums = amounts.read({"cpu": "1", "memory": "1"})

    whole = amounts.override(sums, spec, "limits", lambda name: name == "cpu")

    assert whole == amounts.read({"cpu": "2", "memory": "1"})
