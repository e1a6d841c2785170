"""For unit tests of your own code: transports that send nothing."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from ._transport import TransportAnswer, TransportRequest

__all__ = ["AsyncMemoryTransport", "MemoryAnswer", "MemoryRequest", "MemoryTransport"]


@dataclass(frozen=True)
class MemoryRequest:
    """A request that a memory transport got."""

    method: str
    path: str
    """Without the query: `/v2/accounts`."""
    query: Mapping[str, str]
    headers: Mapping[str, str]
    """Names in lower case. The key is left out."""
    body: Any
    """The JSON of the body; None when there is none."""


@dataclass(frozen=True)
class MemoryAnswer:
    body: object = field(default_factory=dict[str, object])
    """A text stays as it is, everything else becomes JSON. Errors of Tally are text."""
    status: int | None = None
    """200 when it is left out, or 202 for reports and corrections."""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


Answer = Callable[[MemoryRequest], MemoryAnswer | Mapping[str, Any]]
"""Gives the answer of each request. A mapping is the body of a success. What it raises is a failed connection."""


class MemoryTransport:
    """A transport for a Tally that answers by a function."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self.requests: list[MemoryRequest] = []
        """All requests so far, in order."""

    def send(self, request: TransportRequest) -> TransportAnswer:
        got = _request_of(request)
        self.requests.append(got)
        given = self._answer(got)
        return _answer_of(got, given if isinstance(given, MemoryAnswer) else MemoryAnswer(given))

    def close(self) -> None:
        """There is nothing to close."""


class AsyncMemoryTransport(MemoryTransport):
    """A transport for an AsyncTally that answers by a function."""

    async def send(self, request: TransportRequest) -> TransportAnswer:  # type: ignore[override]
        return super().send(request)

    async def aclose(self) -> None:
        """There is nothing to close."""


def _request_of(request: TransportRequest) -> MemoryRequest:
    parts = urlsplit(request.url)
    return MemoryRequest(
        method=request.method,
        path=unquote(parts.path),
        query=dict(parse_qsl(parts.query, keep_blank_values=True)),
        headers={name: value for name, value in request.headers.items() if name != "x-api-key"},
        body=None if request.body is None else json.loads(request.body),
    )


def _answer_of(request: MemoryRequest, given: MemoryAnswer) -> TransportAnswer:
    is_report = request.method != "GET" and request.path.startswith("/v2/events")
    status = given.status if given.status is not None else 202 if is_report else 200
    body = given.body if status < 400 or given.body != {} else "not found" if status == 404 else ""
    is_text = isinstance(body, str)
    headers = {name.lower(): value for name, value in given.headers.items()}
    return TransportAnswer(
        status=status,
        headers={"content-type": "text/plain" if is_text else "application/json", **headers},
        text=body if isinstance(body, str) else json.dumps(body),
    )
