from __future__ import annotations

import re
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._operation import RetryRule

_FIRST_MS = 500
_LONGEST_MS = 8_000
RETRY_AFTER_MAX_MS = 60_000
"""If Tally asks for a longer wait, the caller decides."""

_RETRIED = frozenset({408, 429, 500, 502, 503, 504})
_NOTHING_WRITTEN = frozenset({408, 429})


def retry_wait_ms(failures: int, random: float, retry_after_ms: float | None) -> float:
    """Computes how long to wait before a request is sent again.

    A part of it is random, so that clients that failed together do not try again together.

    failures: how often the request failed before this failure, from 0
    random: from 0 up to 1
    """
    full = min(_FIRST_MS * 2.0 ** min(failures, 30), _LONGEST_MS)
    return max(full / 2 + random * full / 2, retry_after_ms or 0)


def may_retry(rule: RetryRule, status: int | None) -> bool:
    """Whether a request may be sent again after an answer, or after none."""
    if status is None:
        return rule != "never"
    return status in (_NOTHING_WRITTEN if rule == "never" else _RETRIED)


def may_be_done(status: int | None) -> bool:
    """Whether a failed attempt may have been done all the same."""
    return status is None or status not in _NOTHING_WRITTEN


def parse_date(header: str | None) -> float | None:
    """Returns milliseconds since 1970; None when there is no valid date."""
    if header is None:
        return None
    try:
        return parsedate_to_datetime(header).timestamp() * 1_000
    except (ValueError, TypeError, OverflowError):
        return None


def parse_retry_after(header: str | None, now: float) -> float | None:
    """Reads a Retry-After header, which has seconds or a date.

    now: milliseconds since 1970
    """
    if header is None:
        return None
    if re.fullmatch(r"\s*[0-9]{1,12}\s*", header):
        return float(header) * 1_000
    at = parse_date(header)
    return None if at is None else max(at - now, 0)
