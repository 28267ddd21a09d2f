"""What the issuer of service account tokens tells about itself, so that others can check its tokens."""

import orjson

from jobferry.localkube.apiserver import status
from jobferry.localkube.apiserver.identity.tokens import Tokens
from jobferry.localkube.apiserver.requests import accept
from jobferry.localkube.apiserver.requests.call import Answer, Call
from jobferry.objects import Obj

CONFIGURATION = "/.well-known/openid-configuration"
KEY_SET = "/openid/v1/jwks"

_KEY_SET_TYPE = "application/jwk-set+json"
_FOR_AN_HOUR = (("Cache-Control", "public, max-age=3600"),)


def configuration(call: Call, tokens: Tokens, address: str) -> Answer:
    """Tell who issues tokens, and where to find its keys."""
    found = {
        "issuer": tokens.issuer,
        "jwks_uri": f"https://{address}{KEY_SET}",
        "response_types_supported": ["id_token"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["ES256"],
    }
    return _answer(call, found, accept.JSON)


def key_set(call: Call, tokens: Tokens) -> Answer:
    """Tell the keys that tokens are signed with."""
    return _answer(call, {"keys": [tokens.public_key()]}, _KEY_SET_TYPE)


def _answer(call: Call, found: Obj, content_type: str) -> Answer:
    if call.method != "GET":
        raise status.method_not_allowed()
    wanted = call.headers.get("accept") or "*/*"
    if not {"*/*", content_type} & {part.split(";")[0].strip() for part in wanted.split(",")}:
        text = f"406: Not Acceptable\n\nAvailable representations: {content_type}"
        raise status.not_acceptable(text)
    return Answer(200, orjson.dumps(found), content_type, _FOR_AN_HOUR)
