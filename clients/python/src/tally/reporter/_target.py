from __future__ import annotations

import json
import os
from typing import Literal, Protocol
from urllib.parse import quote

from .._client import read_url
from .._http import HttpxTransport
from .._keys import checked_key
from .._transport import Transport, TransportRequest
from ._outcome import HttpAnswer

Kind = Literal["account", "metric"]


class ReporterTarget(Protocol):
    """What a reporter asks of Tally. What a method raises is a request without an answer."""

    url: str
    mode: Literal["live", "test"]

    def send(self, body: bytes) -> HttpAnswer: ...

    def find(self, kind: Kind, external_id: str) -> HttpAnswer: ...

    def create_account(self, external_id: str) -> HttpAnswer: ...

    def caller(self) -> HttpAnswer: ...

    def close(self) -> None: ...


class HttpTarget:
    """Reports over HTTP.

    url, api_key: TALLY_URL and TALLY_API_KEY when they are left out
    timeout_ms: how long a request may take, with its answer
    """

    def __init__(
        self,
        url: str | None = None,
        api_key: str | None = None,
        *,
        timeout_ms: int = 35_000,
        max_sockets: int = 16,
        transport: Transport | None = None,
    ) -> None:
        given_url, given_key = url or os.environ.get("TALLY_URL"), api_key or os.environ.get("TALLY_API_KEY")
        if not given_url or not given_key:
            raise TypeError("url or api_key is missing: give both, or set TALLY_URL and TALLY_API_KEY")
        self.url = read_url(given_url)
        # A key that is no header would stand in the error of each request, in logs.
        self._key = checked_key(given_key)
        self.mode: Literal["live", "test"] = "test" if self._key.startswith("tally_test_") else "live"
        self._timeout_ms = timeout_ms
        self._transport = transport or HttpxTransport(max_sockets)

    def send(self, body: bytes) -> HttpAnswer:
        return self._ask("POST", "/v2/events/batch", body)

    def find(self, kind: Kind, external_id: str) -> HttpAnswer:
        return self._ask("GET", f"/v2/{kind}s/external-id/{quote(external_id, safe='')}")

    def create_account(self, external_id: str) -> HttpAnswer:
        body = json.dumps({"name": external_id, "external_id": external_id}, ensure_ascii=False)
        return self._ask("POST", "/v2/accounts", body.encode())

    def caller(self) -> HttpAnswer:
        return self._ask("GET", "/v2/caller")

    def close(self) -> None:
        self._transport.close()

    def __repr__(self) -> str:
        """The key is in no text, so no log shows it."""
        return f"HttpTarget(url={self.url!r})"

    def _ask(self, method: str, path: str, body: bytes | None = None) -> HttpAnswer:
        headers = {"x-api-key": self._key}
        if body is not None:
            headers["content-type"] = "application/json"
        url = self.url.rstrip("/") + path
        answer = self._transport.send(TransportRequest(method, url, headers, body, self._timeout_ms))
        return HttpAnswer(
            status=answer.status,
            text=answer.text,
            content_type=answer.headers.get("content-type"),
            retry_after=answer.headers.get("retry-after"),
            date=answer.headers.get("date"),
        )
