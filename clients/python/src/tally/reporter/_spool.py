from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ._core import Event
from ._flushes import Flushes
from ._lines import FileName, check_lines, encode_line, file_name_of, json_of
from ._locked import Locked
from ._options import Timings
from ._spool_files import Listing, SpoolFile, SpoolFolder

logger = logging.getLogger("tally")

_REJECTED_BYTES_MAX = 64 * 1024 * 1024
_MERGED_BYTES_MAX = 1024 * 1024
"""A file is read as a whole, also when it has more events than the queue may."""
_SMALL_BYTES = _MERGED_BYTES_MAX // 2
"""A file of this size is not merged."""
_DISK_PAUSE_MS = 1_000
"""How long a disk that refused to write is not asked again."""


def now_ms() -> float:
    return time.monotonic() * 1_000


@dataclass(frozen=True)
class SpoolStats:
    files: int
    bytes: int
    events: int
    oldest_at: float | None


class Spool:
    """The events of this process on the disk, and those of processes that died.

    Its methods that read and write files run in one thread only, without the lock of the reporter. They take it for
    what other threads see: `files`, `cold` and the sums.
    """

    def __init__(
        self,
        open_folder: Callable[[], SpoolFolder],
        lock: Locked,
        flushes: Flushes,
        bytes_max: int,
        timings: Timings,
        on_problem: Callable[[str], None],
    ) -> None:
        self._open_folder = open_folder
        self._folder: SpoolFolder | None = None
        self._opening = threading.Lock()
        self._lock = lock
        self._flushes = flushes
        self._bytes_max = bytes_max
        self._timings = timings
        self._on_problem = on_problem
        self._files: dict[str, SpoolFile] = {}
        self._cold: list[SpoolFile] = []
        """Files whose events are not in memory, the oldest first."""
        self._done: list[SpoolFile] = []
        """Files that are to be deleted."""
        self._file_bytes = 0
        self._others_bytes = 0
        self._rejected_bytes = 0
        self._made = 0
        self._disk_failed_at = -float("inf")
        self._merged_at = now_ms()
        self._left_alone: set[str] = set()
        """Files that cannot be read or deleted. They stay as they are."""
        self.failure: str | None = None
        """What the disk answered last, if it refused to write."""
        self.damaged = 0
        self.taken_over = 0

    # With the lock:

    @property
    def size(self) -> int:
        return self._file_bytes + self._others_bytes

    @property
    def has_cold(self) -> bool:
        return bool(self._cold)

    def next_fits(self, has_room: Callable[[int, int], bool]) -> bool:
        """Whether the oldest file fits into memory whose events are not in memory."""
        return bool(self._cold) and has_room(self._cold[0].name.events, self._cold[0].name.bytes)

    @property
    def has_done(self) -> bool:
        return bool(self._done)

    def stats(self) -> SpoolStats:
        files = self._files.values()
        return SpoolStats(
            files=len(files),
            bytes=self._file_bytes,
            events=sum(file.left for file in files),
            oldest_at=min((file.name.made_at for file in files), default=None),
        )

    def refusal(self, bytes: int) -> str | None:
        """Why a new event of this size has no room; None when it has."""
        if self.size + bytes > self._bytes_max:
            return f"the spool has {self.size} bytes, and bytes_max is {self._bytes_max}"
        if self._rejected_bytes >= _REJECTED_BYTES_MAX:
            return f"the events that were set aside have {self._rejected_bytes} bytes: read and delete them"
        if self.is_paused:
            return self.failure
        return None

    @property
    def is_paused(self) -> bool:
        """Whether the disk refused to write a moment ago."""
        return now_ms() - self._disk_failed_at < _DISK_PAUSE_MS

    def cool(self, file: SpoolFile) -> None:
        """Lets go of the events of a file in memory. They are read back later."""
        file.is_cold = True
        self._cold.append(file)

    def settle(self, of: SpoolFile, events: int) -> None:
        """Notes that events of a file are accepted or set aside. When all are, the file is deleted."""
        file = of.present
        file.left -= events
        self._remove_if_done(file)

    def _remove_if_done(self, file: SpoolFile) -> None:
        if file.left > 0 or file.is_busy or file.stays or file.into is not None or file.name.text not in self._files:
            return
        self._remove_later(file)

    def _remove_later(self, file: SpoolFile) -> None:
        # A second call before the first has ended does nothing.
        file.stays = True
        self._done.append(file)

    def _track(self, file: SpoolFile) -> None:
        self._files[file.name.text] = file
        self._file_bytes += file.name.bytes

    def _recount(self, file: SpoolFile, events: int) -> None:
        """Corrects the number of events of a file that are not in memory."""
        self._flushes.add(file.epoch, events - file.left)
        self._flushes.done(file.epoch, file.left - events)
        file.left = events

    def _note_disk(self, err: OSError) -> None:
        self._disk_failed_at = now_ms()
        self.failure = f"the spool cannot be written: {err}"
        self._on_problem(self.failure)

    # In the thread of the spool:

    def folder(self) -> SpoolFolder:
        """Opens the folder, unless it is open. A failure is not remembered: the next call tries again.

        The thread that looks up the company calls it, too.
        """
        with self._opening:
            if self._folder is None:
                try:
                    self._folder = self._open_folder()
                except OSError as err:
                    with self._lock:
                        self._note_disk(err)
                    raise
            return self._folder

    def write(self, events: Sequence[Event]) -> SpoolFile:
        """Writes events as one file. It raises an OSError when nothing was written."""
        with self._lock:
            epoch = min(event.epoch for event in events)
            for event in events:
                self._flushes.move(event.epoch, epoch, 1)
                event.epoch = epoch
        try:
            file = self._write_lines([encode_line(event.json) for event in events], epoch, is_cold=False)
        except OSError as err:
            with self._lock:
                self._note_disk(err)
            raise
        with self._lock:
            self.failure = None
        return file

    def _write_lines(self, lines: Sequence[bytes], epoch: int, is_cold: bool) -> SpoolFile:
        folder = self.folder()
        content = b"".join(lines)
        self._made += 1
        name = file_name_of(int(time.time() * 1_000), folder.nonce, self._made, len(lines), len(content))
        folder.write(name, content)
        file = SpoolFile(name, epoch, is_cold)
        with self._lock:
            self._track(file)
        return file

    def remove_done(self) -> None:
        """Deletes the files whose events are all settled."""
        while True:
            with self._lock:
                if not self._done:
                    return
                file = self._done.pop(0)
            try:
                self.folder().remove(file.name.text)
            except OSError as err:
                self._left_alone.add(file.name.text)
                with self._lock:
                    self._on_problem(f"{file.name.text} was sent, but cannot be deleted: {err}")
            with self._lock:
                if self._files.pop(file.name.text, None) is not None:
                    self._file_bytes -= file.name.bytes

    def load_next(self, has_room: Callable[[int, int], bool]) -> tuple[SpoolFile, list[str]] | None:
        """Reads the oldest file back whose events are not in memory.

        has_room: whether so many events and bytes fit into memory
        """
        with self._lock:
            file = self._cold[0] if self._cold else None
            if file is None or not has_room(file.name.events, file.name.bytes):
                return None
            file.is_busy = True
        content = self._read(file)
        whole, damaged = check_lines(content or b"")
        self._keep_damaged(file, damaged)
        with self._lock:
            self._cold.remove(file)
            self._recount(file, len(whole))
            file.is_cold = file.is_busy = False
            self._remove_if_done(file)
        return None if content is None else (file, [json_of(line) for line in whole])

    def _read(self, file: SpoolFile) -> bytes | None:
        """Returns None when the file is gone, or cannot be read."""
        try:
            return self.folder().read(file.name)
        except OSError as err:
            self._left_alone.add(file.name.text)
            with self._lock:
                file.stays = True
                self._on_problem(f"{file.name.text} cannot be read: {err}")
            return None

    def _keep_damaged(self, file: SpoolFile, lines: Sequence[bytes]) -> None:
        if not lines:
            return
        failure: OSError | None = None
        try:
            self.folder().keep_damaged(file.name, lines)
        except OSError as err:
            failure = err
        with self._lock:
            self.damaged += len(lines)
            self._on_problem(f"{file.name.text} has {len(lines)} damaged lines: a disk changed them")
            if failure is not None:
                file.stays = True
                self._note_disk(failure)

    def set_aside(self, events: Sequence[tuple[Event, str]]) -> None:
        """Writes events that were set aside, with the reasons."""
        at = int(time.time())
        lines = [
            f'{{"rejected_at":{at},"reason":{json.dumps(reason, ensure_ascii=False)},"event":{event.json}}}'
            for event, reason in events
        ]
        content = b"".join(encode_line(line) for line in lines)
        try:
            self.folder().append_rejected(content)
        except OSError as err:
            with self._lock:
                self._note_disk(err)
            raise
        with self._lock:
            self._rejected_bytes += len(content)

    def tick(self, is_failing: bool) -> None:
        """Shows that this process lives, and takes over what dead ones left."""
        folder = self.folder()
        self._show_life(folder)
        try:
            listing = folder.list()
        except OSError as err:
            with self._lock:
                self._on_problem(f"the spool cannot be listed: {err}")
            return
        dead = self._take_over(folder, listing)
        for text in dead:
            try:
                folder.remove(text)
            except OSError as err:
                logger.warning("%s cannot be deleted: %s", text, err)
        if is_failing and now_ms() - self._merged_at >= self._timings.merge_ms:
            self._merged_at = now_ms()
            for is_cold in (True, False):
                while self._merge_some(is_cold):
                    self._show_life(folder)

    def _show_life(self, folder: SpoolFolder) -> None:
        """A full disk must not stop what follows."""
        try:
            folder.touch_alive()
        except OSError as err:
            with self._lock:
                self._on_problem(f"the spool cannot be written: {err}")

    def _take_over(self, folder: SpoolFolder, listing: Listing) -> list[str]:
        """Returns what dead processes left besides events."""

        def is_dead(nonce: str) -> bool:
            silent_ms = listing.silent_ms.get(nonce, float("inf"))
            return nonce != folder.nonce and silent_ms >= self._timings.dead_ms

        with self._lock:
            self._rejected_bytes = listing.rejected_bytes
            strange = [name for name in listing.files if name.nonce != folder.nonce and name.text not in self._files]
            left = [name for name in strange if is_dead(name.nonce) and name.text not in self._left_alone]
            for name in left:
                self._adopt(name)
            self._cold.sort(key=lambda file: file.name.text)
            self._others_bytes = sum(name.bytes for name in strange if name.text not in self._files)
        unfinished = [text for text, nonce in listing.unfinished if is_dead(nonce)]
        return [*unfinished, *(f"alive-{nonce}" for nonce in listing.silent_ms if is_dead(nonce))]

    def _adopt(self, name: FileName) -> None:
        file = SpoolFile(name, self._flushes.epoch, is_cold=True)
        self._flushes.add(file.epoch, file.left)
        self.taken_over += name.events
        self._track(file)
        self._cold.append(file)

    def _merge_some(self, is_cold: bool) -> bool:
        """Writes the events of small files as one file and then deletes the small ones.

        A crash in between leaves both, so that some events are sent twice. Returns whether there may be more to merge.
        """
        with self._lock:
            files = self._files_to_merge(is_cold)
            if len(files) < 2:
                return False
            for file in files:
                file.is_busy = True
        try:
            return self._merge(files, is_cold)
        except OSError as err:
            with self._lock:
                self._note_disk(err)
            return False
        finally:
            with self._lock:
                for file in files:
                    file.is_busy = False
                    self._remove_if_done(file)

    def _merge(self, files: Sequence[SpoolFile], is_cold: bool) -> bool:
        lines: list[bytes] = []
        read: list[SpoolFile] = []
        for file in files:
            content = self._read(file)
            whole, damaged = check_lines(content or b"")
            self._keep_damaged(file, damaged)
            with self._lock:
                # A file that is gone was sent by another process. Events in memory are sent again by this one.
                if is_cold:
                    self._recount(file, len(whole))
                if content is None and is_cold:
                    self._cold.remove(file)
            if content is not None:
                read.append(file)
                lines.extend(whole)
        if not lines:
            return True
        merged = self._write_lines(lines, min(file.epoch for file in read), is_cold)
        with self._lock:
            self._replace(read, merged)
        return True

    def _files_to_merge(self, is_cold: bool) -> list[SpoolFile]:
        small = sorted(
            (
                file
                for file in self._files.values()
                if file.is_cold == is_cold and not file.is_busy and not file.stays and file.left > 0
                if file.name.bytes < _SMALL_BYTES
            ),
            key=lambda file: file.name.text,
        )
        chosen: list[SpoolFile] = []
        bytes = 0
        for file in small:
            bytes += file.name.bytes
            if bytes > _MERGED_BYTES_MAX:
                break
            chosen.append(file)
        return chosen

    def _replace(self, read: Sequence[SpoolFile], merged: SpoolFile) -> None:
        merged.left = sum(file.left for file in read)
        for file in read:
            self._flushes.move(file.epoch, merged.epoch, file.left if file.is_cold else 0)
            file.into = merged
            self._remove_later(file)
        if merged.is_cold:
            self._cold = sorted(
                [merged, *(file for file in self._cold if file.into is None)], key=lambda file: file.name.text
            )
        self._remove_if_done(merged)

    def close(self) -> None:
        """Ends the sign of life, so that others take what is left over."""
        self.remove_done()
        if self._folder is not None:
            try:
                self._folder.remove_alive()
            except OSError as err:
                logger.warning("the sign of life cannot be deleted: %s", err)
