"""What a client must bear that is no failure of Tally: forks, files that others changed, keys that are no headers."""

from __future__ import annotations

import os
import threading
import time
import zlib
from typing import Any

import pytest
from support import Scripted

import tally
from tally.reporter._lines import check_lines


def test_a_key_that_is_no_header_is_refused_and_one_with_a_newline_is_taken() -> None:
    with pytest.raises(TypeError) as refused:
        tally.Tally("http://tally.example", "tally_live_se\ncret")
    assert "cret" not in str(refused.value)
    assert tally.Tally("http://tally.example", "tally_test_secret\n")._call.is_test()


@pytest.mark.parametrize(
    ("given", "url"),
    [
        ("HTTPS://Tally.Example:443/", "https://tally.example"),
        ("http://user:secret@[::1]:8080/x/", "http://[::1]:8080/x"),
    ],
)
def test_the_address_is_written_as_other_clients_do(given: str, url: str) -> None:
    assert tally.Tally(given, "tally_live_key").url == url


def test_a_line_that_is_not_text_is_damaged_whatever_its_checksum() -> None:
    lines = [b"1 %08x %s" % (zlib.crc32(text), text) for text in (b'{"a":"\xff"}', b"text", b"{}")]
    assert check_lines(b"".join(line + b"\n" for line in lines)) == ([lines[2] + b"\n"], lines[:2])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_child_asks_for_a_key_of_its_own_while_the_parent_does() -> None:
    asking = threading.Event()
    go_on = threading.Event()

    def key() -> str:
        if threading.current_thread() is not threading.main_thread():
            asking.set()
            go_on.wait(5)
        return "tally_live_key"

    client = tally.Tally("http://127.0.0.1:1", key, max_retries=0)

    def call() -> None:
        with pytest.raises(tally.ConnectionError):
            client.caller.get()

    thread = threading.Thread(target=call)
    thread.start()
    asking.wait()
    child = os.fork()
    if child == 0:
        try:
            call()
        finally:
            os._exit(0)
    go_on.set()
    thread.join()
    until = time.monotonic() + 5
    ended = 0
    while ended == 0 and time.monotonic() < until:
        ended, _ = os.waitpid(child, os.WNOHANG)
        time.sleep(0.01)
    if ended == 0:
        os.kill(child, 9)
        os.waitpid(child, 0)
    assert ended == child


def test_pages_that_go_no_further_end(client: Any) -> None:
    scripted = Scripted(client, [{"data": [{"id": "account_1"}], "has_more": True}])
    with pytest.raises(tally.NotTallyError, match="goes no further"):
        list(scripted.tally.accounts.list())
    assert len(scripted.requests) == 2
