"""A Tally in memory for tests of the reporter, and a server of it for processes."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal

from tally.reporter._outcome import HttpAnswer

ACCOUNT = f"account_{'a' * 32}"
METRIC = f"metric_{'b' * 32}"
JSON = "application/json"
NOT_FOUND = HttpAnswer(404, "not found", "text/plain")
AWAY = HttpAnswer(503, "unavailable", "text/plain")


class FakeTarget:
    """Takes events as Tally does: by their identity, a batch as a whole or not at all."""

    def __init__(self, url: str = "http://tally.test") -> None:
        self.url = url
        self.mode: Literal["live", "test"] = "test"
        self.company = "company-1"
        self.counted: dict[tuple[str, ...], dict[str, Any]] = {}
        self.received = 0
        """How many events were accepted, repeats as well."""
        self.batches: list[bytes] = []
        self.looked_up: list[str] = []
        self.ids: dict[str, str] = {}
        """By `account acme`."""
        self.fate: Callable[[int], HttpAnswer | Exception | None] = lambda n: None
        """What happens to batch n: an answer, a lost connection, or nothing special."""
        self.is_away = False
        self.fault: Callable[[dict[str, Any]], str | None] = lambda event: None
        """Why an event is refused."""
        self.is_slow = threading.Event()
        self.is_slow.set()
        self._lock = threading.Lock()

    def send(self, body: bytes) -> HttpAnswer:
        with self._lock:
            self.batches.append(body)
            n = len(self.batches) - 1
        self.is_slow.wait()
        fate = AWAY if self.is_away else self.fate(n)
        if isinstance(fate, Exception):
            raise fate
        return fate if fate is not None else self.take(body)

    def take(self, body: bytes) -> HttpAnswer:
        events = json.loads(body)["events"]
        faults = [f"events[{n}].{why}" for n, event in enumerate(events) if (why := self.fault(event)) is not None]
        if faults:
            return HttpAnswer(422, "\n".join(faults), "text/plain")
        with self._lock:
            self.received += len(events)
            for event in events:
                names = ("account_id", "metric_id", "currency", "occurred_at", "idempotency_key")
                self.counted.setdefault(tuple(str(event.get(name)) for name in names), event)
        return HttpAnswer(202, json.dumps({"accepted": len(events)}), JSON)

    def find(self, kind: str, external_id: str) -> HttpAnswer:
        self.looked_up.append(f"{kind} {external_id}")
        if self.is_away:
            return AWAY
        id = self.ids.get(f"{kind} {external_id}")
        return NOT_FOUND if id is None else HttpAnswer(200, json.dumps({"id": id}), JSON)

    def create_account(self, external_id: str) -> HttpAnswer:
        id = self.ids.setdefault(f"account {external_id}", f"account_{len(self.ids):032x}")
        return HttpAnswer(200, json.dumps({"id": id}), JSON)

    def caller(self) -> HttpAnswer:
        return AWAY if self.is_away else HttpAnswer(200, json.dumps({"company": {"id": self.company}}), JSON)

    def close(self) -> None:
        """There is nothing to close."""

    @property
    def keys(self) -> list[str]:
        """The keys of counted events."""
        return [key[-1] for key in self.counted]


class FakeServer:
    """Serves a FakeTarget, for reporters in other processes."""

    def __init__(self, target: FakeTarget) -> None:
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: object) -> None:
                """Nothing is printed."""

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                try:
                    self.answer(target.send(body))
                except OSError:
                    self.close_connection = True

            def do_GET(self) -> None:
                self.answer(target.caller())

            def answer(self, answer: HttpAnswer) -> None:
                content = answer.text.encode()
                self.send_response(answer.status)
                self.send_header("content-type", answer.content_type or "text/plain")
                self.send_header("content-length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
