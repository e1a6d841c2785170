from __future__ import annotations

import json
import re
import time
import uuid
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING
from urllib.parse import quote

from ._amounts import with_amounts_as_text

if TYPE_CHECKING:
    from ._operation import Operation


def target_of(operation: Operation, values: Sequence[str], query: Mapping[str, object] | None) -> str:
    """Makes the target of a request. `values` are those of the path's parameters, in their order."""
    left = iter(values)
    filled = re.sub(r"\{(\w+)\}", lambda name: _segment(name[1], next(left)), operation.path)
    pairs = [f"{_quoted(name)}={_query_text(value)}" for name, value in (query or {}).items() if value is not None]
    return f"{filled}?{'&'.join(pairs)}" if pairs else filled


def _segment(name: str, value: object) -> str:
    # Why empty ones are refused: without its last segment the path of a resource is that of the list.
    if not isinstance(value, str) or value in ("", ".", ".."):
        raise TypeError(f"{name}: {value!r} cannot stand in a path")
    return _quoted(value)


def _query_text(value: object) -> str:
    """Lists are separated by commas, as openapi.yaml has it."""
    is_list = isinstance(value, Sequence) and not isinstance(value, str)
    values: Sequence[object] = value if isinstance(value, Sequence) and is_list else [value]
    return ",".join(_quoted(str(one).lower() if isinstance(one, bool) else str(one)) for one in values)


def _quoted(text: str) -> str:
    return quote(text, safe="~")


def with_identities(operation: Operation, body: object, request_key: str | None) -> object:
    """Fills in the time and the key of each reported event.

    A repeat without them would be another event. This happens once a call, before the first attempt.

    request_key: the Idempotency-Key of the caller. It identifies events that have no key of their own, also in
    another process that repeats the call, so nothing is filled in
    """
    if request_key is not None or not isinstance(body, Mapping):
        return body
    if operation.id == "reportEvent":
        return _identified(body)
    events = body.get("events")
    if operation.id != "reportEvents" or not isinstance(events, Sequence):
        return body
    return {**body, "events": [_identified(event) for event in events]}


def _identified(event: object) -> object:
    if not isinstance(event, Mapping):
        return event
    at, key = event.get("occurred_at"), event.get("idempotency_key")
    return {
        **event,
        "occurred_at": int(time.time()) if at is None else at,
        "idempotency_key": str(uuid.uuid4()) if key is None else key,
    }


def body_bytes(body: object) -> bytes | None:
    """Makes the body of a request, once for all its attempts."""
    if body is None or isinstance(body, bytes):
        return body
    text = json.dumps(with_amounts_as_text(body), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode()
