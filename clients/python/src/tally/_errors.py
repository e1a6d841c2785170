from __future__ import annotations

import builtins
import re
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ._retries import parse_retry_after

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ._transport import TransportAnswer


@dataclass(frozen=True)
class CallFacts:
    """What every error of the client tells of the call."""

    operation: str | None = None
    """The operationId in openapi.yaml; None for an error that belongs to no call."""
    attempts: int = 0
    """How often the request was sent."""


class TallyError(Exception):
    """Any error of this package, except for a TypeError about arguments."""

    def __init__(self, message: str, facts: CallFacts | None = None) -> None:
        facts = facts or CallFacts()
        attempts = f", {facts.attempts} attempts" if facts.attempts > 1 else ""
        super().__init__(message if facts.operation is None else f"{message} ({facts.operation}{attempts})")
        self.operation = facts.operation
        self.attempts = facts.attempts

    def __reduce__(self) -> tuple[object, ...]:
        # Queues between processes pickle errors.
        return _restored, (type(self), self.args), self.__dict__


def _restored(error: type[TallyError], args: tuple[object, ...]) -> TallyError:
    made = error.__new__(error)
    made.args = args
    return made


class ConnectionError(TallyError, builtins.ConnectionError):
    """Tally could not be reached, or the connection ended before the whole answer. The request may have been done."""


class TimeoutError(TallyError, builtins.TimeoutError):
    """No whole answer within `timeout_ms`. The request may have been done."""


class NotTallyError(TallyError):
    """Something else than Tally answered, for example the login page of a network.

    Nothing is known of the request.
    """

    def __init__(self, message: str, status: int, text: str, facts: CallFacts) -> None:
        super().__init__(message, facts)
        self.status = status
        self.text = text


class OutcomeUnknownError(TallyError):
    """The request was done, by an attempt whose answer was lost.

    Nothing shows that answer again, for example because it had a new API key: revoke that key, and ask for another
    one.
    """

    def __init__(self, message: str, id: str | None, facts: CallFacts) -> None:
        super().__init__(message, facts)
        self.id = id
        """What the request made, if Tally named it."""


class WebhookVerificationError(TallyError):
    """A webhook that does not come from Tally, or cannot be checked."""

    def __init__(self, reason: Literal["header", "time", "signature", "body"], message: str) -> None:
        super().__init__(message)
        self.reason: Literal["header", "time", "signature", "body"] = reason


@dataclass(frozen=True)
class Fault:
    """A part of the request that Tally refuses."""

    index: int | None
    """The place in `events` or `corrections`; None when the request has no such list."""
    field: str
    """`quantity`; empty when the item as a whole is refused."""
    reason: str


class ApiError(TallyError):
    """Tally answered with an error."""

    def __init__(self, answer: TransportAnswer, facts: CallFacts) -> None:
        super().__init__(_shortened(answer.text) or f"status {answer.status}", facts)
        self.status = answer.status
        self.text = answer.text
        """Tally's text."""
        self.faults: tuple[Fault, ...] = parse_faults(answer.text)
        """The faults that the text names."""
        self.retry_after_ms = parse_retry_after(answer.headers.get("retry-after"), time.time() * 1_000)
        """How long Tally wants the client to wait; None when it does not say."""
        self.headers: Mapping[str, str] = dict(answer.headers)
        """The headers of the answer, with names in lower case."""


class BadRequestError(ApiError):
    """400: the request is malformed."""


class InvalidKeyError(ApiError):
    """401: the key is missing, wrong, expired or revoked."""


class ForbiddenError(ApiError):
    """403: the key lacks a permission."""


class NotFoundError(ApiError):
    """404: there is no such resource."""


class RequestTimeoutError(ApiError):
    """408: the request took too long; nothing was written."""


class ConflictError(ApiError):
    """409: it exists already, its state does not allow this, or the Idempotency-Key was used before."""


class TooLargeError(ApiError):
    """413: the request is too large."""


class UnsupportedMediaError(ApiError):
    """415: the body is not of a type that Tally takes."""


class UnprocessableError(ApiError):
    """422: the request is well-formed, but cannot be done."""


@dataclass(frozen=True)
class RateLimit:
    """A rate limit, as the headers RateLimit and RateLimit-Policy describe it."""

    name: str
    remaining: int
    """How many requests are left."""
    reset_s: int
    """Seconds until all are available again."""
    quota: int | None
    """How many requests are allowed in `window_s` seconds, if there is such a time."""
    window_s: int | None


class RateLimitedError(ApiError):
    """429: too many requests; nothing was written."""

    def __init__(self, answer: TransportAnswer, facts: CallFacts) -> None:
        super().__init__(answer, facts)
        self.limit = _parse_rate_limit(answer.headers)


class ServerError(ApiError):
    """5xx: the request may have been done."""


class UnavailableError(ServerError):
    """503: a part of Tally is unavailable. The request may have been done."""


_BY_STATUS: Mapping[int, type[ApiError]] = {
    400: BadRequestError,
    401: InvalidKeyError,
    403: ForbiddenError,
    404: NotFoundError,
    408: RequestTimeoutError,
    409: ConflictError,
    413: TooLargeError,
    415: UnsupportedMediaError,
    422: UnprocessableError,
    429: RateLimitedError,
    503: UnavailableError,
}


def is_tallys_error(answer: TransportAnswer) -> bool:
    """Whether an answer is an error of Tally, which are plain text.

    Other servers have other pages for what is not found.
    """
    status = answer.status
    # A proxy may also find that a request is too large, or Tally away. It means the same then.
    if status < 400 or status >= 500 or status in (408, 413, 429):
        return status >= 400
    is_text = re.match(r"text/plain\b", answer.headers.get("content-type", "text/plain"), re.IGNORECASE) is not None
    is_plain = is_text and not answer.text.lstrip().startswith("<")
    return is_plain and (status != 404 or answer.text.strip() == "not found")


def api_error_of(answer: TransportAnswer, facts: CallFacts) -> ApiError:
    """Makes the error of an answer with a status of 400 or above."""
    other = ServerError if answer.status >= 500 else ApiError
    return _BY_STATUS.get(answer.status, other)(answer, facts)


_ITEM = re.compile(r"(?:events|corrections)\[([0-9]{1,9})\]\.?(.*)")
_ITEM_FIELD = re.compile(r"(.*?): (.+)")
"""A property may have any name."""
_FIELD = re.compile(r"([A-Za-z0-9_.[\]-]+): (.+)")
"""A line of any other text may have a colon, too."""


def parse_faults(text: str) -> tuple[Fault, ...]:
    """Reads the faults of an answer, one of each line: `events[3].quantity: must be text such as "1"`."""
    return tuple(fault for fault in map(_fault_in, text.split("\n")) if fault is not None)


def _fault_in(line: str) -> Fault | None:
    item = _ITEM.fullmatch(line)
    if item is None:
        named = _FIELD.fullmatch(line)
        return None if named is None else Fault(None, named[1], named[2])
    of_item = _ITEM_FIELD.fullmatch(item[2])
    field, reason = ("", item[2]) if of_item is None else (of_item[1], of_item[2])
    return Fault(int(item[1]), field, reason)


def _parse_rate_limit(headers: Mapping[str, str]) -> RateLimit | None:
    parts = re.match(r'"([^"]*)"(.*)', headers.get("ratelimit", ""))
    if parts is None:
        return None
    policy = headers.get("ratelimit-policy", "")
    return RateLimit(
        name=parts[1],
        remaining=_parameter(parts[2], "r") or 0,
        reset_s=_parameter(parts[2], "t") or 0,
        quota=_parameter(policy, "q"),
        window_s=_parameter(policy, "w"),
    )


def _parameter(text: str, name: str) -> int | None:
    match = re.search(rf";\s*{name}=([0-9]+)", text)
    return None if match is None else int(match[1])


_SHOWN_MAX = 1_000


def _shortened(text: str) -> str:
    """A proxy may answer with a whole page."""
    return f"{text[:_SHOWN_MAX]}…" if len(text) > _SHOWN_MAX else text
