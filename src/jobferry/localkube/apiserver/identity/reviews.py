"""Questions about identity: TokenReview and SelfSubjectReview of authentication.k8s.io."""

from datetime import datetime

from jobferry.localkube.apiserver import status
from jobferry.localkube.apiserver.identity.authenticate import INVALID, Authenticator
from jobferry.localkube.apiserver.identity.proof import BadToken
from jobferry.localkube.apiserver.identity.user import User
from jobferry.objects import Obj
from jobferry.objects.times import timestamp

GROUP = "authentication.k8s.io"


def token_review(review: Obj, authenticator: Authenticator) -> Obj:
    """Answer a TokenReview: whom does this token stand for?"""
    spec = review.get("spec") or {}
    if not spec.get("token"):
        raise status.bad_request("token is required for TokenReview in authentication")
    try:
        holder = authenticator.holder(spec["token"], spec.get("audiences") or None)
    except BadToken as error:
        # Upstream asks one more authenticator, which knows no token of anybody else.
        why = INVALID if str(error) == INVALID else f"[{INVALID}, {error}]"
        return {**review, "status": {"user": {}, "error": why}}
    answer: Obj = {"authenticated": True, "user": holder.user.info()}
    if holder.audiences:
        answer["audiences"] = list(holder.audiences)
    return {**review, "status": answer}


def self_subject_review(user: User, now: datetime) -> Obj:
    """Answer a SelfSubjectReview: who am I?"""
    return {
        "kind": "SelfSubjectReview",
        "apiVersion": f"{GROUP}/v1",
        "metadata": {"creationTimestamp": timestamp(now)},
        "status": {"userInfo": user.info()},
    }
