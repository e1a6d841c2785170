"""Checks webhooks."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import re
import time
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from ._errors import WebhookVerificationError

__all__ = ["unwrap"]

_TOLERANCE_S = 300


class Headers(Protocol):
    """The headers of a request, as web frameworks give them: a mapping, or something with its `items()`."""

    def items(self) -> Iterable[tuple[str, str]]: ...


def unwrap(
    body: str | bytes,
    headers: Headers,
    secret: str | Sequence[str],
    *,
    tolerance_s: float = _TOLERANCE_S,
) -> Any:
    """Checks that a webhook comes from Tally, by the rules of Standard Webhooks (`v1`), and returns its content.

    body: as it was received. One that was parsed already cannot be checked
    secret: that of the endpoint; several while a secret is being replaced
    tolerance_s: how old a webhook may be, and how far ahead its time may lie

    It raises a WebhookVerificationError when the webhook is not Tally's.
    """
    if not isinstance(body, (str, bytes, bytearray, memoryview)):
        raise WebhookVerificationError("body", "the body was parsed already; give it as it was received")
    content = body.encode() if isinstance(body, str) else bytes(body)
    id, at, signatures = (_required(headers, name) for name in ("id", "timestamp", "signature"))
    _require_time(at, tolerance_s)
    signed = f"{id}.{at}.".encode() + content
    given = [_decoded(one[3:]) for one in signatures.split(" ") if one.startswith("v1,")]
    keys = [_key_of(one) for one in ([secret] if isinstance(secret, str) else secret)]
    if not any(_is_signed(signed, signature, key) for signature in given for key in keys):
        raise WebhookVerificationError(
            "signature",
            "no signature fits: the secret is another one, or the body was changed on its way, "
            "for example parsed and written again",
        )
    try:
        return json.loads(content)
    except ValueError:
        raise WebhookVerificationError("body", "the body is not JSON") from None


def _required(headers: Headers, name: str) -> str:
    full = f"webhook-{name}"
    for given, value in headers.items():
        if given.lower() == full and value != "":
            return value
    raise WebhookVerificationError("header", f"the header {full} is missing")


def _require_time(text: str, tolerance_s: float) -> None:
    if re.fullmatch(r"[0-9]{1,12}", text) is None:
        raise WebhookVerificationError("time", "the header webhook-timestamp is not a time")
    away_s = abs(time.time() - int(text))
    if away_s > tolerance_s:
        raise WebhookVerificationError(
            "time", f"its time is {round(away_s)} s away from now; {tolerance_s:g} s are allowed"
        )


def _is_signed(signed: bytes, signature: bytes | None, key: bytes) -> bool:
    made = hmac.new(key, signed, hashlib.sha256).digest()
    return signature is not None and hmac.compare_digest(made, signature)


def _key_of(secret: str) -> bytes:
    key = _decoded(secret.strip().removeprefix("whsec_"))
    if not key:
        raise TypeError("the secret of a webhook is whsec_ and base64")
    return key


def _decoded(text: str) -> bytes | None:
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError):
        return None
