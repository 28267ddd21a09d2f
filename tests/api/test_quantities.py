"""Quantities beside a real API server: what it prints, what it rounds, what it refuses.

A ResourceSlice holds thousands of quantities and returns each in its canonical form; the
resources of a container are rounded up to the milli, too.
"""

from random import Random
from typing import Any

import pytest

from jobferry.kube import errors
from jobferry.kube.client import Client
from jobferry.kube.resources import JOBS
from jobferry.objects import Obj, quantities
from jobferry.objects.quantities import MILLI, BadQuantity
from jobferry.objects.resource import Resource

pytestmark = pytest.mark.api

RESOURCE_SLICES = Resource(
    "resource.k8s.io", "v1", "resourceslices", "ResourceSlice", namespaced=False
)

PER_DEVICE = 32
"""As many quantities as one device of a ResourceSlice may have."""

ABSURD = "1e1000000000"
"""The real API server prints it at once, but does not answer where it has to reckon with it."""

CHOSEN: list[Any] = [
    *["0", "1", "-1", "+1", "001", "0.5", ".5", "1.", "1.5", "1.500", "1.50", "-0", "0.000"],
    *["+", ".", "1500m", "1000m", "1000", "1024", "1024Ki", "1.5Gi", "0.1Gi", "0.5Ki"],
    *["1023Ki", "0.0001Ki", "1n", "0.1n", "-0.1n", "1u", "1.0000000001", "1e-10", "1.123400"],
    *["Ki", "0Ki", "m", "e3", "1e3", "1E3", "1e4", "1e+3", "1e-3", "12e6", "1e22", "007Ki"],
    *["+1Ki", "1.Ki", "1000E", "1000000E", "100000000000000000000000", "9223372036854775807"],
    *["9223372036854775808", "1.234k", "7Ei", "8Ei", "-8Ei", "10Ei", "1024Pi", "1.5Ei"],
    *["12345678901234567890.123456789123", 0, 1, -1, 1000, 123456789, 0.5, 1.25, 1e22, " 1 "],
    *[None, ABSURD],
]
BAD = [
    *["x", "1x", "1.1.1", "1kk", "1mi", "1e", "1ee3", "1-5", "1Ki3", "Ei", ".Pi", "-e-10"],
    *["é", "1i", "--1", "1e99999999999999999999", "", " ", "1 Mi", "1\n", True],
]


def drawn(count: int) -> list[str]:
    """Draw quantities of all kinds and sizes, the same in each run."""
    random = Random(20260101)
    suffixes = ["", *"numkMGTPE", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"]
    exponents = [f"{e}{power}" for e in ("e", "E", "e-", "E+") for power in range(25)]

    def digits(most: int) -> str:
        return "".join(random.choices("0123456789", k=random.randint(1, most)))

    def one() -> str:
        sign = random.choice(["", "", "", "-", "+"])
        whole = digits(21) + random.choice(["", "", "0", "000", "000000"])
        fraction = random.choice(["", "", f".{digits(14)}"])
        suffix = random.choice(random.choice([suffixes, exponents]))
        return f"{sign}{whole}{fraction}{suffix}"

    return [one() for _ in range(count)]


def sliced(values: list[Any]) -> Obj:
    """Put each value into one ResourceSlice, as a capacity of some device."""
    devices = [
        {
            "name": f"d{start}",
            "capacity": {
                f"q{number}": {"value": value}
                for number, value in enumerate(values[start : start + PER_DEVICE])
            },
        }
        for start in range(0, len(values), PER_DEVICE)
    ]
    pool = {"name": "pool", "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": "driver.example.com", "pool": pool, "nodeName": "n", "devices": devices}
    return {"metadata": {"name": "quantities"}, "spec": spec}


async def test_canonical_forms_are_those_of_a_real_api_server(cluster: Client) -> None:
    values = CHOSEN + drawn(1500)

    answer = await cluster.create(RESOURCE_SLICES, sliced(values), dry_run=True)

    printed = [
        device["capacity"][f"q{number}"]["value"]
        for device in answer["spec"]["devices"]
        for number in range(len(device["capacity"]))
    ]
    ours = [str(quantities.parse(value)) for value in values]
    assert list(zip(values, ours, strict=True)) == list(zip(values, printed, strict=True))


async def test_the_resources_of_containers_are_rounded_up_to_the_milli(
    cluster: Client, namespace: str
) -> None:
    values = [
        value for value in CHOSEN + drawn(300) if value != ABSURD and is_legal_limit(value)
    ]

    answer = await cluster.create(JOBS, job_with_limits(values, namespace), dry_run=True)

    printed = [
        container["resources"]["limits"]["cpu"]
        for container in answer["spec"]["template"]["spec"]["containers"]
    ]
    ours = [str(quantities.parse(value).rounded_up(MILLI)) for value in values]
    assert list(zip(values, ours, strict=True)) == list(zip(values, printed, strict=True))


def is_legal_limit(value: Any) -> bool:
    return quantities.parse(value) >= quantities.ZERO


def job_with_limits(values: list[Any], namespace: str) -> Obj:
    """Put each value into one Job, as the limit of some container."""
    containers = [
        {"name": f"c{number}", "image": "none", "resources": {"limits": {"cpu": value}}}
        for number, value in enumerate(values)
    ]
    template = {"spec": {"containers": containers, "restartPolicy": "Never"}}
    return {"metadata": {"name": "job", "namespace": namespace}, "spec": {"template": template}}


@pytest.mark.parametrize("value", BAD)
async def test_what_a_real_api_server_refuses_we_refuse_for_the_same_reason(
    cluster: Client, value: Any
) -> None:
    with pytest.raises(BadQuantity) as ours:
        quantities.parse(value)

    with pytest.raises(errors.BadRequest) as theirs:
        await cluster.create(RESOURCE_SLICES, sliced([value]), dry_run=True)

    assert str(theirs.value).endswith(f": {ours.value.reason}")
