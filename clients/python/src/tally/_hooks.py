from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from ._errors import TallyError

logger = logging.getLogger("tally")

T = TypeVar("T")


@dataclass(frozen=True)
class RequestInfo:
    """A request, for hooks. It never has a body or the key."""

    operation: str
    """The operationId in openapi.yaml."""
    method: str
    path: str
    """The template of the path: `/v2/accounts/{account_id}`."""
    attempt: int
    """1 for the first attempt."""


@dataclass(frozen=True)
class RequestStart(RequestInfo):
    headers: dict[str, str] = field(default_factory=dict[str, str])
    """Headers that are sent besides the client's own. A hook may add some, such as `traceparent`."""


@dataclass(frozen=True)
class ResponseInfo(RequestInfo):
    status: int | None
    """None when there was no whole answer."""
    duration_ms: float
    error: TallyError | None


@dataclass(frozen=True)
class RetryInfo(ResponseInfo):
    wait_ms: float


@dataclass(frozen=True)
class Hooks:
    """Functions that are called for each attempt. If one raises, the request goes on."""

    on_request: Callable[[RequestStart], Any] | None = None
    """Returns a context for the other hooks."""
    on_response: Callable[[ResponseInfo, Any], object] | None = None
    on_retry: Callable[[RetryInfo, Any], object] | None = None
    """Called before the wait."""


def call_hook(hook: Callable[..., Any] | None, *args: object) -> Any:
    """Calls a hook. What it raises is logged, because the caller's request must not fail by it."""
    if hook is None:
        return None
    try:
        return hook(*args)
    except Exception:
        logger.warning("a hook failed", exc_info=True)
        return None
