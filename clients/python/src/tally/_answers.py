from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ._errors import CallFacts, NotTallyError, TallyError, api_error_of, is_tallys_error

if TYPE_CHECKING:
    from ._operation import Operation
    from ._transport import TransportAnswer


def judge(operation: Operation, sent: object, answer: TransportAnswer, facts: CallFacts) -> object | TallyError:
    """Returns the value of an answer, or the error that it means.

    Only the status and the media type of the contract mean success: a network's login page answers 200, too, and
    would lose a report.

    sent: the body of the request, before it became text
    """
    if is_tallys_error(answer):
        return api_error_of(answer, facts)

    def not_tally(why: str) -> NotTallyError:
        return NotTallyError(f"the answer is not Tally's: {why}", answer.status, answer.text, facts)

    if answer.status != operation.status:
        return not_tally(f"its status is {answer.status}, not {operation.status}")
    media_type = answer.headers.get("content-type", "").split(";")[0].strip().lower()
    if media_type != operation.media_type:
        return not_tally(f"it is {media_type or 'of no type'}, not {operation.media_type}")
    if operation.media_type != "application/json":
        return answer.text
    try:
        value: object = json.loads(answer.text)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        return not_tally("it is no JSON object")
    fault = _miscounted(operation, sent, value)
    return value if fault is None else not_tally(fault)


_COUNTS = {"reportEvents": ("events", "accepted"), "correctEvents": ("corrections", "corrected")}
"""For each operation: the list that it takes, and the field of its answer that counts the list."""


def _miscounted(operation: Operation, sent: object, answer: Mapping[str, object]) -> str | None:
    """Says what is wrong with the answer of a report or correction, if it does not count the events that were sent."""
    names = _COUNTS.get(operation.id)
    if names is None or not isinstance(sent, Mapping):
        return None
    items, counted = sent.get(names[0]), answer.get(names[1])
    if not isinstance(items, Sequence) or (counted == len(items) and not isinstance(counted, bool)):
        return None
    return f"{names[1]} is {json.dumps(counted)}, not {len(items)}"


@dataclass(frozen=True)
class UsedKey:
    """A 409 which says that the Idempotency-Key was used before."""

    id: str | None
    """What the request with that key made, if the answer names it."""
    is_other: bool
    """Whether that was a request with another content, so that nothing of this one was done."""


_USED_BEFORE = re.compile(r"Idempotency-Key: this key was used before(?:, for ([^\s,]+))?(, with another content)?")


def used_key_of(answer: TransportAnswer) -> UsedKey | None:
    """Returns None when the answer says something else."""
    named = answer.headers.get("idempotency-resource")
    match = _USED_BEFORE.match(answer.text)
    if answer.status != 409 or (named is None and match is None):
        return None
    # A server older than the header names it in the text alone.
    return UsedKey(
        id=named if named is not None or match is None else match[1],
        is_other=match is not None and match[2] is not None,
    )
