"""Kinds that are never stored: questions about identity and access, and tokens."""

from collections.abc import Callable

from jobferry.localkube.apiserver.access import reviews as access_reviews
from jobferry.localkube.apiserver.access.rbac import RoleBook
from jobferry.localkube.apiserver.handlers import decoding, pacing, rendering, writing
from jobferry.localkube.apiserver.handlers.backend import Backend
from jobferry.localkube.apiserver.handlers.intent import Intent
from jobferry.localkube.apiserver.handlers.routing import Handler, SpecialKey
from jobferry.localkube.apiserver.identity import reviews as identity_reviews
from jobferry.localkube.apiserver.identity import token_requests
from jobferry.localkube.apiserver.identity.authenticate import Authenticator
from jobferry.localkube.apiserver.identity.tokens import Tokens
from jobferry.localkube.apiserver.requests.call import Answer, Call
from jobferry.localkube.apiserver.requests.options import write_options
from jobferry.localkube.apiserver.resource import Resource
from jobferry.objects import Obj

Reply = Callable[[Obj, Call], Obj]

_IDENTITY = "authentication.k8s.io"
_ACCESS = "authorization.k8s.io"


def handlers(
    backend: Backend, authenticator: Authenticator, book: RoleBook, tokens: Tokens
) -> dict[SpecialKey, Handler]:
    """Return what answers each of them."""
    decide = backend.decide
    answers: dict[tuple[str, str], Reply] = {
        (_IDENTITY, "tokenreviews"): lambda review, _: identity_reviews.token_review(
            review, authenticator
        ),
        (_IDENTITY, "selfsubjectreviews"): lambda _, call: identity_reviews.self_subject_review(
            call.user, backend.clock.now()
        ),
        (_ACCESS, "subjectaccessreviews"): lambda review, _: access_reviews.subject_access(
            review, decide
        ),
        (_ACCESS, "localsubjectaccessreviews"): lambda review, call: (
            access_reviews.local_subject_access(review, call.target.namespace, decide)
        ),
        (_ACCESS, "selfsubjectaccessreviews"): lambda review, call: (
            access_reviews.self_subject_access(review, call.user, decide)
        ),
        (_ACCESS, "selfsubjectrulesreviews"): lambda review, call: (
            access_reviews.self_subject_rules(review, call.user, book)
        ),
    }
    found: dict[SpecialKey, Handler] = {
        (group, plural, "", "create"): _question(reply)
        for (group, plural), reply in answers.items()
    }
    found["", "serviceaccounts", "token", "create"] = _token(tokens)
    return found


def _question(reply: Reply) -> Handler:
    async def answer(backend: Backend, call: Call, resource: Resource) -> Answer:
        wanted = write_options(call.query, kind="CreateOptions")
        review = await decoding.posted(
            backend, call, resource.api_version, resource.kind, wanted.validation
        )
        review.setdefault("metadata", {})
        intent = Intent.of(call, resource, wanted, backend.clock.now())
        writing.wipe(review)
        writing.set_namespace(review, intent)
        await pacing.computed(
            backend, len(call.body), writing.set_managed_fields, None, review, intent
        )
        return rendering.one(call, resource, 201, reply(review, call), backend.clock)

    return answer


def _token(tokens: Tokens) -> Handler:
    kind, version = token_requests.KIND, f"{token_requests.GROUP}/v1"

    async def answer(backend: Backend, call: Call, resource: Resource) -> Answer:
        wanted = write_options(call.query, kind="CreateOptions")
        request = await decoding.posted(backend, call, version, kind, wanted.validation)
        token_requests.default(request)
        intent = Intent.of(call, resource, wanted, backend.clock.now())
        await writing.admit_posted(backend, intent, request)
        answered = token_requests.answer(
            request,
            namespace=call.target.namespace,
            name=call.target.name,
            get=backend.view.get,
            audiences=tokens.audiences,
            issue=tokens.issue,
            now=backend.clock.now(),
            token_id=backend.new_uid(),
        )
        await backend.door.settled()  # nobody gets a token for what may still be lost
        return rendering.one(call, resource, 201, answered, backend.clock)

    return answer
