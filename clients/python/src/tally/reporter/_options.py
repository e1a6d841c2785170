from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Spool:
    """Where a reporter keeps events while Tally cannot be reached."""

    dir: str | os.PathLike[str]
    """A folder that stays. Several processes may use one."""
    bytes_max: int = 1024 * 1024 * 1024
    """How large the files of all processes may be together."""
    sync: Literal["group", "os"] = "group"
    """How much survives.

    `group`: synced to the disk, so that a power cut loses nothing. `os`: only a crash of the process loses nothing.
    """


@dataclass(frozen=True)
class ReporterProblem:
    """What is wrong, or was: a state that changed."""

    state: Literal["failing", "blocked", "full"]
    text: str


@dataclass(frozen=True)
class Timings:
    """How often things happen, in milliseconds. Only tests change it."""

    list_ms: float = 10_000
    """How often the folder is listed, and the sign of life given."""
    dead_ms: float = 60_000
    """After this time without a sign of life the files of a process are sent by others."""
    merge_ms: float = 60_000


_MIB = 1024 * 1024
_BATCH_EVENTS_MAX = 1_000
"""The largest number of events that Tally takes in one request."""


@dataclass(frozen=True)
class Options:
    spool: Spool | None
    batch_events: int
    batch_bytes: int
    linger_ms: float
    in_flight: int
    queue_events: int
    queue_bytes: int
    give_up_after_ms: float
    create_accounts: bool
    on_rejected: Callable[[str, str], object] | None
    on_problem: Callable[[ReporterProblem], object] | None
    on_accepted: Callable[[int], object] | None
    timings: Timings

    def __post_init__(self) -> None:
        """Raises a ValueError when a number is out of range."""
        for name in ("batch_events", "batch_bytes", "in_flight", "queue_events", "queue_bytes", "give_up_after_ms"):
            if not getattr(self, name) >= 1:
                raise ValueError(f"{name}: must be at least 1")
        if not self.linger_ms >= 0:
            raise ValueError("linger_ms: must be at least 0")
        if self.batch_events > _BATCH_EVENTS_MAX:
            raise ValueError(f"batch_events: must be at most {_BATCH_EVENTS_MAX}")
        if self.spool is not None and not self.spool.bytes_max >= 1:
            raise ValueError("bytes_max: must be at least 1")


def default_queue(spool: Spool | None) -> tuple[int, int]:
    """How many events may be in memory, and how large they may be together.

    With a spool, what waits longer is read back from the disk.
    """
    return (100_000, 32 * _MIB) if spool is None else (8_000, 8 * _MIB)
