from __future__ import annotations

import json
import re
import sys
import uuid
from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal

from .._amounts import amount_text
from ._errors import InvalidEventError

if sys.version_info >= (3, 11):
    from typing import NotRequired, TypedDict
else:
    from typing_extensions import NotRequired, TypedDict


class ExternalReference(TypedDict):
    external_id: str


Reference = str | ExternalReference
"""An id, or your own id: `{"external_id": "acme"}`."""


class UsageEvent(TypedDict):
    """Usage that is reported. It has either a metric or a currency."""

    account: Reference
    """`account_…`, or your own id of the account."""
    metric: NotRequired[Reference | None]
    """`metric_…`, or your own id of the metric."""
    currency: NotRequired[str | None]
    """Three letters, for usage that is money."""
    quantity: str | int | Decimal
    occurred_at: NotRequired[int | datetime | None]
    """Unix seconds, or a datetime with a zone; now when it is left out."""
    key: NotRequired[str | None]
    """Your own key of this event; a random one when it is left out."""
    properties: NotRequired[Mapping[str, object] | None]


_FIELDS = frozenset(UsageEvent.__annotations__)
_EXTERNAL_ID_MAX = 256
_KEY_MAX = 256
_PROPERTIES_BYTES_MAX = 16 * 1024
_SECONDS_MAX = 4_294_967_295
_ID = {kind: re.compile(rf"{kind}_[0-9a-f]{{32}}") for kind in ("account", "metric")}


def encode_event(event: UsageEvent, now: float) -> tuple[str, tuple[str, ...]]:
    """Checks the form of an event. Returns it as JSON, and the names that must be looked up before it can be sent.

    Time and key are set here and never again, because together with account and metric they identify the event. The
    order of the fields is fixed, so that ids can be put in place of external ids without parsing the rest.

    now: Unix seconds
    """
    unknown = [name for name in event if name not in _FIELDS]
    if unknown:
        raise InvalidEventError(f"{unknown[0]}: there is no such field")
    needs: list[str] = []
    account = _reference("account", event.get("account"), needs)
    source = _source(event, needs)
    quantity = _json(_quantity(event.get("quantity")))
    occurred_at = event.get("occurred_at")
    seconds = int(now) if occurred_at is None else _seconds(occurred_at)
    key = event.get("key")
    given_key = _json(str(uuid.uuid4()) if key is None else _checked_key(key))
    properties = _properties(event.get("properties"))
    head = f'{account},{source},"quantity":{quantity},"occurred_at":{seconds}'
    text = f'{{{head},"idempotency_key":{given_key}{properties}}}'
    return text, tuple(needs)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _reference(kind: str, reference: object, needs: list[str]) -> str:
    if isinstance(reference, str):
        if _ID[kind].fullmatch(reference) is None:
            raise InvalidEventError(f"{kind}: must be an id such as {kind}_0f8f…, or {{'external_id': …}}")
        return f'"{kind}_id":"{reference}"'
    text: object = reference.get("external_id") if isinstance(reference, Mapping) else None
    if not isinstance(text, str) or not _is_storable(text, _EXTERNAL_ID_MAX):
        limit = f"with 1 to {_EXTERNAL_ID_MAX} characters"
        raise InvalidEventError(f"{kind}: must be an id, or {{'external_id': …}} {limit}")
    needs.append(f"{kind}:{text}")
    return f'"{kind}_external_id":{_json(text)}'


def _source(event: UsageEvent, needs: list[str]) -> str:
    metric, currency = event.get("metric"), event.get("currency")
    if (metric is None) == (currency is None):
        raise InvalidEventError("metric, currency: exactly one of them is required")
    if metric is not None:
        return _reference("metric", metric, needs)
    if not isinstance(currency, str) or re.fullmatch("[A-Za-z]{3}", currency) is None:
        raise InvalidEventError("currency: must be three letters")
    return f'"currency":"{currency}"'


def _quantity(quantity: object) -> str:
    if quantity is None:
        raise InvalidEventError("quantity: is missing")
    text = amount_text(quantity, "quantity")
    if re.fullmatch(r"-?[0-9]{1,20}(\.[0-9]{1,18})?", text) is None:
        raise InvalidEventError("quantity: must be decimal text, at most 20 digits before and 18 after the point")
    return text


def _seconds(time: object) -> int:
    if isinstance(time, datetime) and time.tzinfo is not None:
        time = int(time.timestamp() // 1)
    if not isinstance(time, int) or isinstance(time, bool) or not 0 <= time <= _SECONDS_MAX:
        raise InvalidEventError("occurred_at: must be Unix seconds as an int, or a datetime with a zone")
    return time


def _checked_key(key: object) -> str:
    if not isinstance(key, str) or not _is_storable(key, _KEY_MAX):
        raise InvalidEventError(f"key: must be text of 1 to {_KEY_MAX} characters")
    return key


def _is_storable(text: str, length_max: int) -> bool:
    """Whether text can be stored: Tally refuses a NUL character, and half of a surrogate pair."""
    try:
        # Characters outside the first plane count twice, as in the other languages.
        length = len(text.encode("utf-16-le")) // 2
    except UnicodeEncodeError:
        return False
    return 0 < length <= length_max and "\0" not in text


def _properties(properties: object) -> str:
    if properties is None:
        return ""
    if not isinstance(properties, Mapping):
        raise InvalidEventError("properties: must be a mapping")
    try:
        text = _json(dict(properties))
        size = len(text.encode())
    except (TypeError, ValueError) as err:
        raise InvalidEventError(f"properties: cannot be written as JSON: {err}") from err
    if size > _PROPERTIES_BYTES_MAX:
        raise InvalidEventError(f"properties: must be at most {_PROPERTIES_BYTES_MAX} bytes as JSON")
    return f',"properties":{text}'


_TEXT = r'"(?:[^"\\]|\\.)*"'
_HEAD = re.compile(
    rf'\{{"account_(external_id|id)":({_TEXT}),"(metric_external_id|metric_id|currency)":({_TEXT})', re.DOTALL
)


def needs_of(text: str) -> tuple[str, ...]:
    """Reads from the JSON of an event which names must be looked up."""
    match = _HEAD.match(text)
    if match is None:
        return ()
    needs: list[str] = []
    if match[1] == "external_id":
        needs.append(f"account:{json.loads(match[2])}")
    if match[3] == "metric_external_id":
        needs.append(f"metric:{json.loads(match[4])}")
    return tuple(needs)


def with_ids(text: str, ids: Mapping[str, str]) -> str:
    """Puts ids in place of the external ids of an event."""
    match = _HEAD.match(text) if ids else None
    if match is None:
        return text
    account = match[2] if match[1] == "id" else _json(ids[f"account:{json.loads(match[2])}"])
    source, value = match[3], match[4]
    if source == "metric_external_id":
        source, value = "metric_id", _json(ids[f"metric:{json.loads(match[4])}"])
    return f'{{"account_id":{account},"{source}":{value}{text[match.end() :]}'


def occurred_at_of(text: str) -> int | None:
    """The time of an event in its JSON, in Unix seconds."""
    at = json.loads(text).get("occurred_at")
    return at if isinstance(at, int) else None
