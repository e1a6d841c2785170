"""A Tally in memory for tests of the reporter, and a server of it for processes."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote, urlsplit

from support import LocalServer, QuietHandler

from tally import Tally, TransportAnswer, TransportRequest

ACCOUNT = f"account_{'a' * 32}"
METRIC = f"metric_{'b' * 32}"
KEY = "tally_test_k"


def text(status: int, content: str) -> TransportAnswer:
    return TransportAnswer(status, {"content-type": "text/plain"}, content)


def json_of(status: int, body: object) -> TransportAnswer:
    return TransportAnswer(status, {"content-type": "application/json"}, json.dumps(body))


NOT_FOUND = text(404, "not found")
AWAY = text(503, "unavailable")


class FakeTally:
    """A transport that takes events as Tally does: by their identity, a batch as a whole or not at all."""

    def __init__(self) -> None:
        self.company = "company-1"
        self.counted: dict[tuple[str, ...], dict[str, Any]] = {}
        self.received = 0
        """How many events were accepted, repeats as well."""
        self.batches: list[bytes] = []
        self.looked_up: list[str] = []
        self.requests: list[TransportRequest] = []
        self.ids: dict[str, str] = {}
        """By `account acme`."""
        self.fate: Callable[[int], TransportAnswer | Exception | None] = lambda n: None
        """What happens to batch n: an answer, a lost connection, or nothing special."""
        self.is_away = False
        self.fault: Callable[[dict[str, Any]], str | None] = lambda event: None
        """Why an event is refused."""
        self.is_slow = threading.Event()
        self.is_slow.set()
        self._lock = threading.Lock()

    def client(self, url: str = "http://tally.test", **options: Any) -> Tally:
        return Tally(url, **{"api_key": KEY, "transport": self, **options})

    def send(self, request: TransportRequest) -> TransportAnswer:
        self.requests.append(request)
        path = urlsplit(request.url).path
        found = re.fullmatch(r"/v2/(account|metric)s/external-id/([^/]+)", path)
        if path == "/v2/events/batch":
            return self._report(request.body or b"")
        if self.is_away:
            return AWAY
        if found is not None:
            return self._find(found[1], unquote(found[2]))
        if path == "/v2/accounts":
            return self._create_account(json.loads(request.body or b"")["external_id"])
        return json_of(200, {"company": {"id": self.company}})

    def close(self) -> None:
        """There is nothing to close."""

    def _report(self, body: bytes) -> TransportAnswer:
        with self._lock:
            self.batches.append(body)
            n = len(self.batches) - 1
        self.is_slow.wait()
        fate = AWAY if self.is_away else self.fate(n)
        if isinstance(fate, Exception):
            raise fate
        return fate if fate is not None else self.take(body)

    def take(self, body: bytes) -> TransportAnswer:
        events = json.loads(body)["events"]
        faults = [f"events[{n}].{why}" for n, event in enumerate(events) if (why := self.fault(event)) is not None]
        if faults:
            return text(422, "\n".join(faults))
        with self._lock:
            self.received += len(events)
            for event in events:
                names = ("account_id", "metric_id", "currency", "occurred_at", "idempotency_key")
                self.counted.setdefault(tuple(str(event.get(name)) for name in names), event)
        return json_of(202, {"accepted": len(events)})

    def _find(self, kind: str, external_id: str) -> TransportAnswer:
        self.looked_up.append(f"{kind} {external_id}")
        id = self.ids.get(f"{kind} {external_id}")
        return NOT_FOUND if id is None else json_of(200, {"id": id})

    def _create_account(self, external_id: str) -> TransportAnswer:
        return json_of(200, {"id": self.ids.setdefault(f"account {external_id}", f"account_{len(self.ids):032x}")})

    @property
    def keys(self) -> list[str]:
        """The keys of counted events."""
        return [key[-1] for key in self.counted]


class FakeServer(LocalServer):
    """Serves a FakeTally, for reporters in other processes."""

    def __init__(self, tally: FakeTally) -> None:
        class Handler(QuietHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                headers = {name.lower(): value for name, value in self.headers.items()}
                try:
                    answer = tally.send(TransportRequest(self.command, self.path, headers, body, 0))
                    self.answer(answer.status, {"content-type": answer.headers["content-type"]}, answer.text)
                except OSError:
                    self.close_connection = True

            do_GET = do_POST

        super().__init__(Handler)
