from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class TransportRequest:
    """A request, ready to be sent."""

    method: str
    url: str
    headers: Mapping[str, str]
    """Names in lower case."""
    body: bytes | None
    timeout_ms: int
    """When the whole answer must be there."""


@dataclass(frozen=True)
class TransportAnswer:
    """A whole answer."""

    status: int
    headers: Mapping[str, str]
    """Names in lower case."""
    text: str


class Transport(Protocol):
    """Sends requests."""

    def send(self, request: TransportRequest) -> TransportAnswer:
        """Returns the whole answer, whatever its status is. Redirects are answers, too.

        It raises a builtin TimeoutError when the time is over, and any other error when no complete answer was
        received. The request may have been done.
        """
        ...

    def close(self) -> None: ...


class AsyncTransport(Protocol):
    """Sends requests of an AsyncTally."""

    async def send(self, request: TransportRequest) -> TransportAnswer: ...

    async def aclose(self) -> None: ...


ANSWER_BYTES_MAX = 64 * 1024 * 1024
"""An answer may have at most so many bytes."""
