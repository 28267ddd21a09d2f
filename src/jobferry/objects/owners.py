"""Owner references: who an object belongs to, told by UID and never by name alone."""

from jobferry.objects import Obj


def controller_of(obj: Obj) -> Obj | None:
    """Return the reference to the one owner that manages an object, if it has one."""
    references = obj.get("metadata", {}).get("ownerReferences") or ()
    return next((each for each in references if each.get("controller")), None)


def is_controlled_by(obj: Obj, uid: str) -> bool:
    """Tell whether the object with this UID manages another."""
    controller = controller_of(obj)
    return controller is not None and controller.get("uid") == uid


def owner_reference(
    owner: Obj, *, controller: bool = True, blocks_deletion: bool = True
) -> Obj:
    """Make a reference to `owner`, for the objects that it is to own."""
    metadata = owner["metadata"]
    reference = {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": metadata["name"],
        "uid": metadata["uid"],
    }
    if controller:
        reference["controller"] = True
    if blocks_deletion:
        reference["blockOwnerDeletion"] = True
    return reference
