from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from .._errors import is_tallys_error, parse_faults
from .._retries import parse_date, parse_retry_after
from .._transport import TransportAnswer


@dataclass(frozen=True)
class Accepted:
    pass


@dataclass(frozen=True)
class EventFault:
    """What an answer says about one event of a batch."""

    index: int
    """The place of the event in the batch, from 0."""
    reason: str
    ahead_ms: float | None = None
    """How far the time of the event is ahead of Tally's clock, when the fault is about this time."""


@dataclass(frozen=True)
class Refused:
    text: str
    faults: tuple[EventFault, ...]


@dataclass(frozen=True)
class Failing:
    """No answer that says anything about the request. It is sent again."""

    text: str
    retry_after_ms: float
    """How long Tally asks to wait; 0 when it does not ask."""


@dataclass(frozen=True)
class Blocked:
    """An answer that only a person can change: a wrong key, or an address where no Tally is."""

    text: str


@dataclass(frozen=True)
class Found:
    id: str


@dataclass(frozen=True)
class Missing:
    text: str


Outcome = Accepted | Refused | Failing | Blocked
"""What an answer to a batch means."""
LookUpOutcome = Found | Missing | Failing | Blocked
"""What an answer to a look-up means."""


_TEXT_MAX = 300


def outcome_of(answer: TransportAnswer, count: int, occurred_at_of: Callable[[int], int | None], now: float) -> Outcome:
    """Says what an answer to a batch means.

    count: how many events the batch has
    occurred_at_of: the time of the event at a place in the batch, in Unix seconds
    now: for a Retry-After that is a date, milliseconds since 1970
    """
    status = answer.status
    if 200 <= status < 300:
        accepted = _field_in(answer.text, "accepted")
        is_all = accepted == count and not isinstance(accepted, bool)
        return Accepted() if status == 202 and is_all else _not_tallys(answer)
    # A proxy may also find a body too large, and a smaller one may pass.
    if status == 413:
        return Refused(_describe(answer), ())
    if status in (400, 422) and is_tallys_error(answer) and _says_its_type(answer):
        faults = tuple(fault for fault in _faults_in(answer.text) if fault.index < count)
        return Refused(_describe(answer), _with_lead(faults, answer, occurred_at_of) if status == 422 else faults)
    return _failure_of(answer, now)


def look_up_outcome_of(answer: TransportAnswer, name: str, now: float) -> LookUpOutcome:
    """Says what an answer to a look-up by external id means."""
    id = _field_in(answer.text, "id") if answer.status == 200 else None
    if isinstance(id, str) and id != "":
        return Found(id)
    if 200 <= answer.status < 300:
        return _not_tallys(answer)
    if answer.status == 404 and is_tallys_error(answer):
        return Missing(f"there is no {name.replace(':', ' ', 1)}")
    return _failure_of(answer, now)


def company_in(answer: TransportAnswer) -> str | None:
    """The id of the caller's company; None when the answer has none."""
    company = _field_in(answer.text, "company") if answer.status == 200 else None
    id = company.get("id") if isinstance(company, Mapping) else None
    return id if isinstance(id, str) else None


def _failure_of(answer: TransportAnswer, now: float) -> Failing | Blocked:
    """Says what an answer means that is neither a success nor about the content of the request."""
    if answer.status in (408, 429) or answer.status >= 500:
        return Failing(_describe(answer), parse_retry_after(answer.headers.get("retry-after"), now) or 0)
    return Blocked(_describe(answer))


def _says_its_type(answer: TransportAnswer) -> bool:
    """Tally always says that its errors are text. A server in between that cannot read a request often says nothing."""
    return "content-type" in answer.headers or len(parse_faults(answer.text)) > 0


def _not_tallys(answer: TransportAnswer) -> Blocked:
    return Blocked(f"{answer.status}, but not as Tally answers: is this the URL of a Tally?")


def _describe(answer: TransportAnswer) -> str:
    shown = answer.text.split("\n", 1)[0].strip()
    shortened = f"{shown[:_TEXT_MAX]}…" if len(shown) > _TEXT_MAX else shown
    return f"{answer.status} {shortened}".strip()


def _faults_in(text: str) -> list[EventFault]:
    """Reads the faults of single events. A reason begins with its field."""
    return [
        EventFault(fault.index, f"{fault.field}: {fault.reason}" if fault.field else fault.reason)
        for fault in parse_faults(text)
        if fault.index is not None
    ]


def _with_lead(
    faults: tuple[EventFault, ...], answer: TransportAnswer, occurred_at_of: Callable[[int], int | None]
) -> tuple[EventFault, ...]:
    """Adds to faults of `occurred_at` how far the event is ahead of the clock of Tally's machine."""
    served_at = parse_date(answer.headers.get("date"))
    if served_at is None:
        return faults

    def led(fault: EventFault) -> EventFault:
        occurred_at = occurred_at_of(fault.index) if fault.reason.startswith("occurred_at:") else None
        ahead_ms = 0.0 if occurred_at is None else occurred_at * 1_000 - served_at
        return EventFault(fault.index, fault.reason, ahead_ms) if ahead_ms > 0 else fault

    return tuple(led(fault) for fault in faults)


def _field_in(text: str, field: str) -> object:
    try:
        body = json.loads(text)
    except ValueError:
        return None
    return body.get(field) if isinstance(body, dict) else None
