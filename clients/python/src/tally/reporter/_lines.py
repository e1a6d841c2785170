"""The lines and names of a spool, which all languages read and write."""

from __future__ import annotations

import hashlib
import re
import zlib
from dataclasses import dataclass

_HEAD_BYTES = 11
"""`1 ` and eight hexadecimal digits and a space."""


def line_bytes(json_bytes: int) -> int:
    """The length of a line, for JSON of this length."""
    return _HEAD_BYTES + json_bytes + 1


def encode_line(json: str) -> bytes:
    """Makes a line of a spool: the version, a checksum, JSON."""
    content = json.encode()
    return b"1 %08x %s\n" % (zlib.crc32(content), content)


def check_lines(content: bytes) -> tuple[list[bytes], list[bytes]]:
    """Separates the lines of a file that are whole, with their ends, from those that are damaged."""
    whole: list[bytes] = []
    damaged: list[bytes] = []
    for line in content.split(b"\n")[:-1]:
        if line[:_HEAD_BYTES] == b"1 %08x " % zlib.crc32(line[_HEAD_BYTES:]) and _is_object(line[_HEAD_BYTES:]):
            whole.append(line + b"\n")
        elif line:
            damaged.append(line)
    # A line without its end was cut off.
    cut_off = content[content.rfind(b"\n") + 1 :]
    return whole, [*damaged, cut_off] if cut_off else damaged


def _is_object(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return text.startswith(b"{")


def json_of(line: bytes) -> str:
    """The JSON of a whole line."""
    return line[_HEAD_BYTES:-1].decode()


def folder_name_of(url: str, mode: str) -> str:
    """The name of the folder for one Tally and mode."""
    return f"{mode}-{hashlib.sha256(url.rstrip('/').encode()).hexdigest()[:8]}"


@dataclass(frozen=True)
class FileName:
    """What the name of a file of events says."""

    text: str
    made_at: int
    """When it was made, in milliseconds since 1970."""
    nonce: str
    """The process that made it."""
    events: int
    bytes: int


def file_name_of(made_at: int, nonce: str, n: int, events: int, bytes: int) -> FileName:
    return FileName(f"{made_at:013d}-{nonce}-{n}-{events}-{bytes}.ndjson", made_at, nonce, events, bytes)


_NAME = re.compile(r"([0-9]{13})-([0-9a-z]{1,32})-[0-9]{1,15}-([0-9]{1,9})-([0-9]{1,12})\.ndjson")


def parse_file_name(text: str) -> FileName | None:
    """Returns None when this is no file of events."""
    match = _NAME.fullmatch(text)
    return None if match is None else FileName(text, int(match[1]), match[2], int(match[3]), int(match[4]))


def unfinished_name(text: str) -> str:
    """The name of the file while it is written."""
    return re.sub(r"\.ndjson$", ".tmp", text)


def nonce_of_unfinished(text: str) -> str | None:
    """The process that writes a file under this name; None when it is another file."""
    name = parse_file_name(re.sub(r"\.tmp$", ".ndjson", text)) if text.endswith(".tmp") else None
    return None if name is None else name.nonce
