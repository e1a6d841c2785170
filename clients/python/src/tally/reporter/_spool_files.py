from __future__ import annotations

import os
import secrets
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from ._lines import (
    FileName,
    folder_name_of,
    nonce_of_unfinished,
    parse_file_name,
    unfinished_name,
)

_ALIVE = "alive-"
_OWNER_ONLY = 0o600
_REWRITES_MAX = 10


@dataclass(eq=False)
class SpoolFile:
    """A file of events that this process sends."""

    name: FileName
    epoch: int
    """The number of flushes before its first event."""
    is_cold: bool
    """Whether its events are only in the file, not in memory."""
    left: int = 0
    """How many of its events are not settled."""
    is_busy: bool = False
    """Whether it is being read or merged."""
    stays: bool = False
    """Whether it stays in the folder although all is settled."""
    into: SpoolFile | None = None
    """The file that has its events now."""

    def __post_init__(self) -> None:
        self.left = self.name.events

    @property
    def present(self) -> SpoolFile:
        """The file that has the events of this one now."""
        return self if self.into is None else self.into.present


@dataclass
class Listing:
    """What is in the folder at one moment."""

    files: list[FileName] = field(default_factory=list[FileName])
    silent_ms: dict[str, float] = field(default_factory=dict[str, float])
    """For each process with a sign of life: how long ago it was, by the clock of the file system."""
    unfinished: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """Names, and the processes that write them."""
    rejected_bytes: int = 0


class SpoolFolder:
    """The files of a spool.

    A file of events never changes once it can be seen, so any process may read, send and delete any of them. There
    are no locks, and there is no list of what was sent: the folder's listing is the state.
    """

    def __init__(self, dir: str | os.PathLike[str], url: str, mode: str, is_synced: bool) -> None:
        """Opens the folder, and makes it if it is not there."""
        self.nonce = secrets.token_hex(8)
        """The name of this process among those that use the folder."""
        self._is_synced = is_synced
        self._path = Path(dir).resolve() / folder_name_of(url, mode)
        for inner in ("rejected", "damaged"):
            (self._path / inner).mkdir(mode=0o700, parents=True, exist_ok=True)
        if is_synced:
            for parent in (self._path, self._path.parent, self._path.parent.parent):
                _sync_folder(parent)
        # On a full disk it fails. The files must be sent all the same, because that makes room.
        with suppress(OSError):
            self.touch_alive()

    def write(self, name: FileName, content: bytes) -> None:
        """Writes a file that can be seen only once it is whole, and on the disk.

        Another process may take this one for dead and delete the unfinished file. Then the file is written again.
        It raises an OSError when nothing was written.
        """
        at, unfinished = self._path / name.text, self._path / unfinished_name(name.text)
        for attempt in range(1, _REWRITES_MAX + 1):
            try:
                _write(unfinished, content, os.O_TRUNC, self._is_synced)
                unfinished.rename(at)
                break
            except OSError as err:
                with suppress(OSError):
                    unfinished.unlink()
                if not isinstance(err, FileNotFoundError) or attempt == _REWRITES_MAX:
                    raise
        if not self._is_synced:
            return
        try:
            _sync_folder(self._path)
        except OSError:
            at.unlink(missing_ok=True)
            raise

    def read(self, name: FileName) -> bytes | None:
        """Returns None when the file is gone, because another process sent or merged it."""
        try:
            return (self._path / name.text).read_bytes()
        except FileNotFoundError:
            return None

    def remove(self, text: str) -> None:
        (self._path / text).unlink(missing_ok=True)

    def append_rejected(self, lines: bytes) -> None:
        """Adds lines to those that were set aside.

        They begin with an empty line, because a crash may have cut off the line before.
        """
        folder = self._path / "rejected"
        day = time.strftime("%Y-%m-%d", time.gmtime())
        _write(folder / f"{day}.ndjson", b"\n" + lines, os.O_APPEND, self._is_synced)
        if self._is_synced:
            _sync_folder(folder)

    def keep_damaged(self, name: FileName, lines: Sequence[bytes]) -> None:
        """Keeps the damaged lines of a file. Doing it twice changes nothing."""
        content = b"".join(line + b"\n" for line in lines)
        _write(self._path / "damaged" / name.text, content, os.O_TRUNC, self._is_synced)

    def list(self) -> Listing:
        listing = Listing()
        own = self._seen_at(self.nonce)
        now = time.time() if own is None else own
        for text in os.listdir(self._path):
            name, nonce = parse_file_name(text), nonce_of_unfinished(text)
            if name is not None:
                listing.files.append(name)
            elif nonce is not None:
                listing.unfinished.append((text, nonce))
            elif text.startswith(_ALIVE):
                seen = self._seen_at(text[len(_ALIVE) :])
                if seen is not None:
                    listing.silent_ms[text[len(_ALIVE) :]] = (now - seen) * 1_000
        listing.rejected_bytes = sum(one.stat().st_size for one in (self._path / "rejected").iterdir())
        return listing

    def touch_alive(self) -> None:
        """Shows that this process lives.

        The time of the file is by the file system's clock, which all processes share. It is written in place, so that
        a full disk does not make the process look dead.
        """
        _write(self._path / f"{_ALIVE}{self.nonce}", b".", 0, False)

    def remove_alive(self, nonce: str | None = None) -> None:
        self.remove(f"{_ALIVE}{nonce or self.nonce}")

    def note_company(self, id: str) -> str:
        """Notes the company to which the events of this folder belong, unless one is noted. Returns the noted one."""
        at, own = self._path / "company", self._path / f"company.{self.nonce}"
        if not at.exists():
            _write(own, f"{id}\n".encode(), os.O_TRUNC, True)
            try:
                os.link(own, at)
            except FileExistsError:
                pass
            except OSError:
                # Some file systems have no links. There, of two companies that come at once, the later one is noted.
                own.rename(at)
            own.unlink(missing_ok=True)
            if self._is_synced:
                _sync_folder(self._path)
        return at.read_text().strip()

    def _seen_at(self, nonce: str) -> float | None:
        """When a process showed last that it lives."""
        try:
            return (self._path / f"{_ALIVE}{nonce}").stat().st_mtime
        except FileNotFoundError:
            return None


def _write(at: Path, content: bytes, flags: int, is_synced: bool) -> None:
    file = os.open(at, os.O_WRONLY | os.O_CREAT | flags, _OWNER_ONLY)
    try:
        left = memoryview(content)
        while left:
            left = left[os.write(file, left) :]
        if is_synced:
            _sync_data(file)
    finally:
        os.close(file)


def _sync_data(file: int) -> None:
    # macOS has no fdatasync.
    getattr(os, "fdatasync", os.fsync)(file)


def _sync_folder(at: Path) -> None:
    file = os.open(at, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)
