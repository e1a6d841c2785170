"""What calls that block and calls of asyncio have in common: all but the waiting."""

from __future__ import annotations

import builtins
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from ._answers import judge, used_key_of
from ._errors import (
    ApiError,
    CallFacts,
    ConnectionError,
    NotTallyError,
    OutcomeUnknownError,
    TallyError,
    TimeoutError,
)
from ._hooks import Hooks, RequestStart, ResponseInfo, RetryInfo, call_hook
from ._operation import Operation
from ._operations_gen import OPERATIONS
from ._options import CallOptions, require_known
from ._requests import body_bytes, target_of, with_identities
from ._retries import RETRY_AFTER_MAX_MS, may_be_done, may_retry, retry_wait_ms
from ._transport import TransportAnswer, TransportRequest


@dataclass(frozen=True)
class CallSettings:
    base_url: str
    """Without a slash at its end."""
    timeout_ms: int
    max_retries: int
    hooks: Hooks
    random: Callable[[], float]
    """From 0 up to 1."""


@dataclass(frozen=True)
class Prepared:
    """A request, the same for all its attempts."""

    operation: Operation
    path: Sequence[str]
    options: CallOptions
    url: str
    sent: object
    """The body before it became text."""
    body: bytes | None
    idempotency_key: str | None
    is_own_key: bool
    """Whether the client made the key, so that nobody else can have used it."""
    timeout_ms: int
    max_retries: int


def prepare(
    settings: CallSettings,
    operation: Operation,
    path: Sequence[str],
    query: Mapping[str, object] | None,
    body: object,
    options: CallOptions,
) -> Prepared:
    """Raises a TypeError when the call cannot be sent."""
    require_known(options)
    given_key = options.get("idempotency_key")
    is_own_key = operation.retry == "keyed" and given_key is None
    sent = with_identities(operation, body, given_key)
    timeout_ms, max_retries = options.get("timeout_ms"), options.get("max_retries")
    return Prepared(
        operation=operation,
        path=path,
        options=options,
        url=settings.base_url + target_of(operation, path, query),
        sent=sent,
        body=body_bytes(sent),
        idempotency_key=f"sdk-{uuid.uuid4().hex}" if is_own_key else given_key,
        is_own_key=is_own_key,
        timeout_ms=settings.timeout_ms if timeout_ms is None else timeout_ms,
        max_retries=settings.max_retries if max_retries is None else max_retries,
    )


class Attempt:
    """One attempt of a request, with its hooks."""

    def __init__(self, settings: CallSettings, prepared: Prepared, key: str, number: int) -> None:
        self._hooks = settings.hooks
        self._prepared = prepared
        self.number = number
        operation = prepared.operation
        self._start = RequestStart(operation.id, operation.method, operation.path, number, {})
        self.context = call_hook(self._hooks.on_request, self._start)
        self.request = TransportRequest(
            operation.method, prepared.url, self._headers(key), prepared.body, prepared.timeout_ms
        )
        self._started_at = time.monotonic()

    def _headers(self, key: str) -> dict[str, str]:
        """Those of the client come last, so no other one replaces them."""
        given = self._prepared.options.get("headers") or {}
        headers = {name.lower(): value for name, value in {**given, **self._start.headers}.items()}
        headers["x-api-key"] = key
        if self._prepared.body is not None:
            headers["content-type"] = "application/json"
        if self._prepared.idempotency_key is not None:
            headers["idempotency-key"] = self._prepared.idempotency_key
        return headers

    def answered(self, answer: TransportAnswer) -> Outcome:
        facts = CallFacts(self._prepared.operation.id, self.number)
        judged = judge(self._prepared.operation, self._prepared.sent, answer, facts)
        if isinstance(judged, TallyError):
            return self._end(judged, answer, None)
        return self._end(None, answer, judged)

    def failed(self, cause: Exception) -> Outcome:
        """The end of an attempt without an answer."""
        facts = CallFacts(self._prepared.operation.id, self.number)
        error: TallyError
        if isinstance(cause, builtins.TimeoutError):
            error = TimeoutError("Tally did not answer in time", facts)
        else:
            parts = urlsplit(self._prepared.url)
            why = str(cause) or type(cause).__name__
            error = ConnectionError(f"no answer from {parts.scheme}://{parts.netloc}: {why}", facts)
        error.__cause__ = cause
        return self._end(error, None, None)

    def _end(self, error: TallyError | None, answer: TransportAnswer | None, value: object) -> Outcome:
        start = self._start
        info = ResponseInfo(
            start.operation,
            start.method,
            start.path,
            start.attempt,
            status=None if answer is None else answer.status,
            duration_ms=(time.monotonic() - self._started_at) * 1_000,
            error=error,
        )
        call_hook(self._hooks.on_response, info, self.context)
        return Outcome(value, error, answer, info, self.context)


@dataclass(frozen=True)
class Outcome:
    """How an attempt ended."""

    value: object
    error: TallyError | None
    answer: TransportAnswer | None
    """None when there was no whole answer."""
    info: ResponseInfo
    context: Any


@dataclass(frozen=True)
class Done:
    value: object


@dataclass(frozen=True)
class RenewKey:
    """The key was refused. If there is no other one, the error is the caller's."""

    error: TallyError


@dataclass(frozen=True)
class GetMade:
    """An earlier attempt was done, and its answer was lost."""

    id: str | None
    refused: TallyError
    """The 409 of the repeat."""


@dataclass(frozen=True)
class Wait:
    """Another attempt follows after a wait."""

    ms: float


class Course:
    """Decides what follows each attempt of a request."""

    def __init__(self, settings: CallSettings, prepared: Prepared) -> None:
        self._settings = settings
        self._prepared = prepared
        self._attempts = 0
        self._failures = 0
        self._may_have_been_done = False
        self._may_renew = True

    def attempt(self, key: str) -> Attempt:
        self._attempts += 1
        return Attempt(self._settings, self._prepared, key, self._attempts)

    def after(self, outcome: Outcome) -> Done | RenewKey | GetMade | Wait:
        """Raises the error of the attempt when nothing follows."""
        error, answer = outcome.error, outcome.answer
        if error is None:
            return Done(outcome.value)
        if answer is not None and answer.status == 401 and self._may_renew:
            self._may_renew = False
            return RenewKey(error)
        used = None if answer is None else used_key_of(answer)
        is_ours = self._attempts > 1 and (self._prepared.is_own_key or self._may_have_been_done)
        if used is not None and not used.is_other and is_ours:
            return GetMade(used.id, error)
        retry_after_ms = error.retry_after_ms if isinstance(error, ApiError) else None
        if not self._is_failure(error, answer) or self._failures >= self._prepared.max_retries:
            raise error
        if retry_after_ms is not None and retry_after_ms > RETRY_AFTER_MAX_MS:
            raise error
        self._may_have_been_done |= may_be_done(None if answer is None else answer.status)
        wait_ms = retry_wait_ms(self._failures, self._settings.random(), retry_after_ms)
        self._failures += 1
        call_hook(self._settings.hooks.on_retry, RetryInfo(**vars(outcome.info), wait_ms=wait_ms), outcome.context)
        return Wait(wait_ms)

    def _is_failure(self, error: TallyError, answer: TransportAnswer | None) -> bool:
        """Whether an attempt failed so that another one makes sense."""
        if isinstance(error, NotTallyError):
            return False
        return may_retry(self._prepared.operation.retry, None if answer is None else answer.status)


def prepare_made(settings: CallSettings, prepared: Prepared, made: GetMade) -> Prepared:
    """The request for what an earlier attempt made, whose answer was lost."""
    operation = OPERATIONS.get(prepared.operation.made or "")
    names = 0 if operation is None else operation.path.count("{")
    values = prepared.path if len(prepared.path) == names else (made.id or "").split("/")
    if operation is None or len(values) != names:
        raise outcome_unknown(prepared, made, "but its answer was lost") from made.refused
    options: CallOptions = {**prepared.options, "idempotency_key": None}
    return prepare(settings, operation, values, None, None, options)


def outcome_unknown(prepared: Prepared, made: GetMade, why: str) -> OutcomeUnknownError:
    named = "" if made.id is None else f" and made {made.id}"
    facts = CallFacts(prepared.operation.id, made.refused.attempts)
    return OutcomeUnknownError(f"the request was done{named}, {why}", made.id, facts)


UNREADABLE = "but its answer was lost, and it cannot be read"
