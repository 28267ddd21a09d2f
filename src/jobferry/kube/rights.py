"""What we may do on a cluster, asked of the cluster itself: to try it would be a refusal in its audit log."""

from jobferry.kube.client import Client
from jobferry.objects.resource import Resource

REVIEWS = Resource(
    "authorization.k8s.io",
    "v1",
    "selfsubjectaccessreviews",
    "SelfSubjectAccessReview",
    namespaced=False,
)


async def may(
    client: Client, verb: str, resource: Resource, subresource: str = "", namespace: str = ""
) -> bool:
    """Tell whether we may do something with a kind; without a namespace, in all of them."""
    attributes = {
        "verb": verb,
        "group": resource.group,
        "resource": resource.plural,
        "subresource": subresource,
        "namespace": namespace,
    }
    review = await client.create(REVIEWS, {"spec": {"resourceAttributes": attributes}})
    return bool(review["status"]["allowed"])
