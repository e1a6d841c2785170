from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import anyio
import pytest
from support import RawServer, read_request

import tally
from tally import AsyncTally, Tally

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"


def answer(body: bytes) -> bytes:
    return HEAD + f"content-length: {len(body)}\r\n\r\n".encode() + body


@contextmanager
def server(serve: Callable[[socket.socket], None]) -> Iterator[RawServer]:
    raw = RawServer(serve)
    yield raw
    raw.close()


def polite(connection: socket.socket) -> None:
    while True:
        read_request(connection)
        connection.sendall(answer(b'{"id":"account_1"}'))


def silent(connection: socket.socket) -> None:
    read_request(connection)
    time.sleep(5)


def dripping(connection: socket.socket) -> None:
    """Each wait is short, all of them together are not."""
    read_request(connection)
    connection.sendall(HEAD + b"content-length: 100\r\n\r\n")
    for _ in range(100):
        connection.sendall(b" ")
        time.sleep(0.05)


@pytest.mark.parametrize("serve", [silent, dripping])
def test_a_deadline_is_over_the_whole_answer(client: Any, serve: Callable[[socket.socket], None]) -> None:
    with server(serve) as raw:
        started = time.monotonic()
        with pytest.raises(TimeoutError, match="did not answer in time"):
            client(url=raw.url, api_key="k", max_retries=0).accounts.get("account_1", timeout_ms=300)
        assert time.monotonic() - started < 1.5


def test_connections_are_kept_open(client: Any) -> None:
    with server(polite) as raw:
        made = client(url=raw.url, api_key="k")
        for _ in range(5):
            made.accounts.get("account_1")
        assert raw.connections == 1


def test_redirects_are_not_followed(client: Any) -> None:
    def redirect(connection: socket.socket) -> None:
        read_request(connection)
        connection.sendall(b"HTTP/1.1 307 Go\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n")

    with server(redirect) as raw, pytest.raises(tally.NotTallyError, match="its status is 307"):
        client(url=raw.url, api_key="k").accounts.get("account_1")


def test_a_cut_answer_is_no_answer(client: Any) -> None:
    def cut(connection: socket.socket) -> None:
        read_request(connection)
        connection.sendall(HEAD + b"content-length: 100\r\n\r\n{}")

    with server(cut) as raw, pytest.raises(tally.ConnectionError):
        client(url=raw.url, api_key="k", max_retries=0).accounts.get("account_1")


def test_nobody_listens(client: Any) -> None:
    with pytest.raises(tally.ConnectionError, match=r"no answer from http://127\.0\.0\.1:9"):
        client(url="http://127.0.0.1:9", api_key="k", max_retries=0).accounts.get("account_1")


def test_threads_share_a_client() -> None:
    with server(polite) as raw:
        made = Tally(raw.url, "k", max_sockets=4)
        answers: list[Any] = []
        threads = [
            threading.Thread(target=lambda: answers.extend(made.accounts.get("account_1") for _ in range(20)))
            for _ in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(answers) == 160
        assert raw.connections <= 40
        # One that the client has closed may be open here for a moment longer.
        assert raw.most_open <= 6


def test_a_cancelled_call_ends_at_once_and_frees_its_connection() -> None:
    async def cancel(url: str) -> float:
        async with AsyncTally(url, "k", max_sockets=1) as made:
            started = time.monotonic()
            for _ in range(2):
                with anyio.move_on_after(0.1):
                    await made.accounts.get("account_1")
            return time.monotonic() - started

    with server(silent) as raw:
        assert anyio.run(cancel, raw.url) < 1
        assert raw.connections == 2


def test_a_forked_child_has_connections_of_its_own() -> None:
    with server(polite) as raw:
        made = Tally(raw.url, "k")
        made.accounts.get("account_1")
        child = os.fork()
        if child == 0:
            ok = made.accounts.get("account_1") == {"id": "account_1"}
            made.close()
            os._exit(0 if ok else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        made.accounts.get("account_1")
        assert raw.connections == 2
