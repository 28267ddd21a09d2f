"""Selectors beside a real API server: what they select, and what it says of those it refuses."""

from collections.abc import Mapping

import pytest

from jobferry.errors import BadInput
from jobferry.kube import errors
from jobferry.kube.calls import Scope
from jobferry.kube.client import Client
from jobferry.kube.resources import CONFIG_MAPS, SECRETS
from jobferry.objects import fields, labels

pytestmark = pytest.mark.api

OBJECTS: Mapping[str, dict[str, str]] = {
    "bare": {},
    "web": {"app": "web", "tier": "front", "example.com/rank": "7"},
    "db": {"app": "db", "tier": "back", "example.com/rank": "12"},
    "empty": {"app": "", "in": "notin"},
    "odd": {"app": "a.b_c-D", "example.com/rank": "007", "tier": "07x"},
}
"""The labels of each ConfigMap, by its name."""

LABEL_SELECTORS = [
    *["", "app", "!app", "app=web", "app==web", "app=", "app!=web", "app!=", "absent!=x"],
    *["app in (web,db)", "app notin (web)", "app in ()", "app in (,web)", "app in (web,,db)"],
    *["app notin (,)", "in", "in in (notin)", "!in", "notin notin (in)"],
    *[" app = web , tier ", "app=web,tier=front", "app=web,tier=back", "app=web,app=db"],
    *["app,!tier", "app=a.b_c-D", "example.com/rank>6", "example.com/rank>7"],
    *["example.com/rank<12", "tier>1", "app\t=\nweb"],
]
BAD_LABEL_SELECTORS = [
    *[",", "=", "a,", "a,,b", "a b", "a=b c", "!a=b", "!", "!!a", "a===b", "a=!b", "a>"],
    *["a>x", "a<-1", "a in", "a in b", "a in (", "a in (b", "a in (b,", "a in (=)"],
    *["a in (b=)", "a in (b c)", "a(", "-", "a-", "é", "a=-", "a=é", "a=b/c", "a in (-,_)"],
    *["a/b/c", "/a", "a/", "A.com/b", "x" * 64, f"{'p' * 254}/a", f"a={'v' * 64}", "a=b)"],
    *["a)", ")", "a>9223372036854775808", '"a"', "a=\\"],
]
FIELD_SELECTORS = [
    *["", "metadata.name=web", "metadata.name==web", "metadata.name!=web", "metadata.name="],
    *[",,", "=", "metadata.name!=", "metadata.name!=web,metadata.name!=db"],
    *["metadata.name=web,metadata.name=db", r"metadata.name!=a\,b\=c\\d", "!="],
]
BAD_FIELD_SELECTORS = [
    *["a", "metadata.name", "metadata.name=x,b", "metadata.name=a=b", "metadata.name=a!=b"],
    *[r"metadata.name=\x", "metadata.name=x\\", r"metadata.name\=x=\q"],
]


@pytest.fixture
async def config_maps(cluster: Client, namespace: str) -> None:
    for name, own in OBJECTS.items():
        metadata = {"name": name, "namespace": namespace, "labels": own}
        await cluster.create(CONFIG_MAPS, {"metadata": metadata})


@pytest.mark.usefixtures("config_maps")
async def test_label_selectors_select_what_they_select_on_a_real_api_server(
    cluster: Client, namespace: str
) -> None:
    ours = {
        text: {name for name, own in OBJECTS.items() if labels.parse(text).matches(own)}
        for text in LABEL_SELECTORS
    }

    theirs = {
        text: await names(
            cluster, Scope(resource=CONFIG_MAPS, namespace=namespace, labels=text)
        )
        for text in LABEL_SELECTORS
    }

    assert ours == theirs


@pytest.mark.usefixtures("config_maps")
async def test_field_selectors_select_what_they_select_on_a_real_api_server(
    cluster: Client, namespace: str
) -> None:
    ours = {
        text: {name for name in OBJECTS if fields.parse(text).matches({"metadata.name": name})}
        for text in FIELD_SELECTORS
    }

    theirs = {
        text: await names(
            cluster, Scope(resource=CONFIG_MAPS, namespace=namespace, fields=text)
        )
        for text in FIELD_SELECTORS
    }

    assert ours == theirs


async def names(cluster: Client, scope: Scope) -> set[str]:
    listing = await cluster.list(scope)
    return {item["metadata"]["name"] for item in listing.items}


@pytest.mark.parametrize("text", BAD_LABEL_SELECTORS)
async def test_bad_label_selectors_are_refused_in_the_words_of_a_real_api_server(
    cluster: Client, text: str
) -> None:
    with pytest.raises(labels.BadSelector) as ours:
        labels.parse(text)

    with pytest.raises(errors.BadRequest) as theirs:
        await cluster.list(Scope(resource=SECRETS, labels=text))

    assert str(theirs.value).endswith(f": {one_line(ours.value)}")


@pytest.mark.parametrize("text", BAD_FIELD_SELECTORS)
async def test_bad_field_selectors_are_refused_in_the_words_of_a_real_api_server(
    cluster: Client, text: str
) -> None:
    with pytest.raises(fields.BadSelector) as ours:
        fields.parse(text)

    with pytest.raises(errors.BadRequest) as theirs:
        await cluster.list(Scope(resource=SECRETS, fields=text))

    assert str(theirs.value).endswith(f": {one_line(ours.value)}")


def one_line(error: BadInput) -> str:
    """Write an error as our client writes what a server says: with single blanks."""
    return " ".join(str(error).split())
