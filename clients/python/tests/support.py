"""What several tests use."""

from __future__ import annotations

import functools
import inspect
import os
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from anyio.from_thread import BlockingPortal

from tally import AsyncPage, AsyncPages, Tally
from tally.testing import AsyncMemoryTransport, MemoryAnswer, MemoryRequest, MemoryTransport

VECTORS = Path(os.environ.get("TALLY_TEST_VECTORS") or Path(__file__).parents[2] / "vectors")
"""What the clients of all languages must do."""


class Blocking:
    """Calls what is async as if it were not."""

    def __init__(self, portal: BlockingPortal, target: Any) -> None:
        self._portal = portal
        self._target = target

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._target, name)
        if not callable(value):
            return Blocking(self._portal, value) if type(value).__name__.endswith("Resource") else value

        def call(*args: Any, **options: Any) -> Any:
            work = functools.partial(value, *args, **options)
            return self._wrapped(self._portal.call(work) if inspect.iscoroutinefunction(value) else work())

        return call

    def __iter__(self) -> Iterator[Any]:
        async def collect() -> list[Any]:
            return [item async for item in self._target]

        return iter(self._portal.call(collect))

    def __repr__(self) -> str:
        return repr(self._target)

    def _wrapped(self, value: Any) -> Any:
        return Blocking(self._portal, value) if isinstance(value, (AsyncPage, AsyncPages)) else value


CUT = "cut"
"""The step of a connection that is cut."""

Step = MemoryAnswer | str | dict[str, Any] | Callable[[MemoryRequest], MemoryAnswer]


class Scripted:
    """A client whose requests get the given answers, one after the other; the last one again and again."""

    def __init__(self, client: Any, steps: Sequence[Step], **options: Any) -> None:
        self.waits: list[float] = []
        """The waits between attempts, which take no time."""
        self.bodies: list[bytes | None] = []
        self.keys: list[str] = []
        left = iter(steps)
        last = steps[-1]

        def answer(request: MemoryRequest) -> Any:
            step = next(left, last)
            if step == CUT:
                raise OSError("socket hang up")
            return step(request) if callable(step) else step

        self.memory = AsyncMemoryTransport(answer) if client.is_async else MemoryTransport(answer)
        self.tally = client(
            **{"url": "http://tally.test", "api_key": "tally_test_secret", "transport": self._recorded(), **options}
        )
        self._record_waits(client.is_async)

    @property
    def requests(self) -> list[MemoryRequest]:
        return self.memory.requests

    def _recorded(self) -> Any:
        send = self.memory.send

        def note(request: Any) -> Any:
            self.bodies.append(request.body)
            self.keys.append(request.headers["x-api-key"])
            return send(request)

        self.memory.send = note  # type: ignore[method-assign]
        return self.memory

    def _record_waits(self, is_async: bool) -> None:
        async def wait(seconds: float) -> None:
            self.waits.append(seconds * 1_000)

        target = self.tally._target if is_async else self.tally
        call = target.accounts._call
        call._wait = wait if is_async else (lambda seconds: self.waits.append(seconds * 1_000))
        object.__setattr__(call._settings, "random", lambda: 0.0)


Fate = str | tuple[int, dict[str, str], str]
"""`pass`, `cut before`, `cut after`, or another answer."""


class QuietHandler(BaseHTTPRequestHandler):
    """Answers a request of a LocalServer."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        """Nothing is printed."""

    def answer(self, status: int, headers: dict[str, str], body: str) -> None:
        content = body.encode()
        self.send_response(status)
        for name, value in {**headers, "content-length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)


class LocalServer:
    """A server on a free port, in threads of its own."""

    def __init__(self, handler: type[QuietHandler]) -> None:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


class FaultyProxy(LocalServer):
    """A proxy between a client and Tally that fails like networks and overloaded servers."""

    def __init__(self, target: str) -> None:
        self.fates: list[Fate] = []
        """Those of the next requests that are no GET."""
        self.seen: list[tuple[str, str, bytes]] = []
        host, port = urlsplit(target).hostname or "", urlsplit(target).port
        proxy = self

        class Handler(QuietHandler):
            def handle_any(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length") or 0))
                proxy.seen.append((self.command, self.path, body))
                fate = "pass" if self.command == "GET" or not proxy.fates else proxy.fates.pop(0)
                if fate == "cut before":
                    self.cut()
                elif isinstance(fate, tuple):
                    self.answer(*fate)
                else:
                    connection = HTTPConnection(host, port)
                    headers = {name: value for name, value in self.headers.items() if name.lower() != "host"}
                    connection.request(self.command, self.path, body or None, headers)
                    got = connection.getresponse()
                    text = got.read().decode()
                    names = ("content-type", "idempotency-resource")
                    connection.close()
                    if fate == "cut after":
                        self.cut()
                    else:
                        self.answer(got.status, {n: got.headers[n] for n in names if n in got.headers}, text)

            def cut(self) -> None:
                self.close_connection = True
                self.connection.shutdown(socket.SHUT_RDWR)

            do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = handle_any

        super().__init__(Handler)


class RawServer:
    """A server that gives each connection to a function."""

    def __init__(self, serve: Callable[[socket.socket], None]) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self.connections = 0
        self.most_open = 0
        """How many connections were open at the same time, at most."""
        self._open = 0
        self._lock = threading.Lock()
        self._serve = serve
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._one, args=(connection,), daemon=True).start()

    def _one(self, connection: socket.socket) -> None:
        with self._lock:
            self._open += 1
            self.most_open = max(self.most_open, self._open)
        try:
            with connection:
                self._serve(connection)
        except OSError:
            pass  # the client has gone
        with self._lock:
            self._open -= 1

    def close(self) -> None:
        self._socket.close()


def read_request(connection: socket.socket) -> bytes:
    """Reads the head of a request without a body."""
    head = b""
    while b"\r\n\r\n" not in head:
        more = connection.recv(65_536)
        if not more:
            raise OSError("the connection ended")
        head += more
    return head


def make_account(tally: Tally) -> str:
    return tally.accounts.create({"name": "a"})["id"]
