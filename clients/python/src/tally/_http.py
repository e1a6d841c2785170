from __future__ import annotations

import builtins
import os
import time

import anyio
import httpx

from ._transport import ANSWER_BYTES_MAX, TransportAnswer, TransportRequest

_FREE_SOCKET_S = 4.0
"""A connection that was not used for longer may have been closed by the other side."""


def _limits(max_sockets: int) -> httpx.Limits:
    return httpx.Limits(
        max_connections=max_sockets, max_keepalive_connections=max_sockets, keepalive_expiry=_FREE_SOCKET_S
    )


class _Left(dict[str, float]):
    """Time limits of httpx, which are read when a step begins: each step has the time that is left."""

    def __init__(self, end_at: float) -> None:
        super().__init__()
        self._end_at = end_at

    def get(self, key: str, default: object = None) -> float:
        return max(self._end_at - time.monotonic(), 0.001)


class HttpxTransport:
    """Sends requests by httpx, from any thread. After a fork the child opens connections of its own."""

    def __init__(self, max_sockets: int) -> None:
        self._max_sockets = max_sockets
        self._clients = {os.getpid(): httpx.Client(limits=_limits(max_sockets))}

    def _client(self) -> httpx.Client:
        pid = os.getpid()
        client = self._clients.get(pid)
        if client is None:
            # In a child, or after close(). The client of the parent stays in the list: closing it would end connections
            # of the parent. Why no lock: a child would wait for ever for one that another thread of the parent had.
            client = self._clients.setdefault(pid, httpx.Client(limits=_limits(self._max_sockets)))
        return client

    def send(self, request: TransportRequest) -> TransportAnswer:
        client = self._client()
        end_at = time.monotonic() + request.timeout_ms / 1_000
        built = client.build_request(
            request.method,
            request.url,
            headers=dict(request.headers),
            content=request.body,
            extensions={"timeout": _Left(end_at)},
        )
        try:
            response = client.send(built, stream=True)
            try:
                return _answer_of(response, _read(response, end_at))
            finally:
                response.close()
        except httpx.TimeoutException as err:
            raise builtins.TimeoutError(str(err)) from err

    def close(self) -> None:
        client = self._clients.pop(os.getpid(), None)
        if client is not None:
            client.close()


def _read(response: httpx.Response, end_at: float) -> bytes:
    body = bytearray()
    for chunk in response.iter_bytes():
        body += chunk
        _require_size(body)
        if time.monotonic() > end_at:
            raise builtins.TimeoutError("the answer did not end in time")
    return bytes(body)


class AsyncHttpxTransport:
    """Sends requests by httpx, for asyncio and trio."""

    def __init__(self, max_sockets: int) -> None:
        self._max_sockets = max_sockets
        self._client: httpx.AsyncClient | None = None

    async def send(self, request: TransportRequest) -> TransportAnswer:
        if self._client is None:
            self._client = httpx.AsyncClient(limits=_limits(self._max_sockets), timeout=None)
        built = self._client.build_request(
            request.method, request.url, headers=dict(request.headers), content=request.body
        )
        with anyio.fail_after(request.timeout_ms / 1_000):
            response = await self._client.send(built, stream=True)
            try:
                body = bytearray()
                async for chunk in response.aiter_bytes():
                    body += chunk
                    _require_size(body)
                return _answer_of(response, bytes(body))
            finally:
                with anyio.CancelScope(shield=True):
                    await response.aclose()

    async def aclose(self) -> None:
        if self._client is not None:
            await self._client.aclose()
            self._client = None


def _require_size(body: bytearray) -> None:
    if len(body) > ANSWER_BYTES_MAX:
        raise ValueError(f"the answer is larger than {ANSWER_BYTES_MAX} bytes")


def _answer_of(response: httpx.Response, body: bytes) -> TransportAnswer:
    headers = {name.lower(): value for name, value in response.headers.items()}
    return TransportAnswer(response.status_code, headers, body.decode("utf-8", "replace"))
