"""Objects in the forms that `-o` knows, as kubectl prints them."""

from collections.abc import Callable, Sequence

from jobferry.objects import Obj
from jobferry.objects.resource import Resource


def text(
    form: str,
    resource: Resource,
    objects: Sequence[Obj],
    table: Callable[[bool], str],
    *,
    is_one: bool = False,
) -> str:
    """Return objects in a form; `table` makes theirs, wide or not, `is_one` says that no list is wanted."""
    if form in ("table", "wide"):
        return table(form == "wide")
    if form == "name":
        return "".join(f"{name(resource, each)}\n" for each in objects)
    typed = [whole(resource, each) for each in objects]
    if is_one and len(typed) == 1:
        return data(form, typed[0])
    return data(form, {"apiVersion": "v1", "items": typed, "kind": "List"})


def data(form: str, value: object) -> str:
    """Return anything as JSON or YAML."""
    if form == "json":
        import orjson  # noqa: PLC0415 (only one of the two is needed)

        return orjson.dumps(value, option=orjson.OPT_INDENT_2).decode() + "\n"
    import yaml  # noqa: PLC0415

    written: str = yaml.safe_dump(value, default_flow_style=False, allow_unicode=True)
    return written


def name(resource: Resource, obj: Obj) -> str:
    """Name an object as kubectl does."""
    kind = resource.kind.lower()
    return f"{kind}.{resource.group}/{obj['metadata']['name']}"


def whole(resource: Resource, obj: Obj) -> Obj:
    """Return an object with what lists leave out, and without what only API servers read."""
    metadata = {key: each for key, each in obj["metadata"].items() if key != "managedFields"}
    typed = {"apiVersion": resource.api_version, "kind": resource.kind}
    return {**typed, **obj, "metadata": metadata}
