from __future__ import annotations

import asyncio
import atexit
import math
import os
import time
import warnings
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from types import TracebackType
from typing import Literal

from .._client import Tally
from ._core import Event, State
from ._engine import Engine, new_report
from ._errors import ReporterClosedError, ReporterFullError, UnsentError
from ._event import UsageEvent, encode_event
from ._options import Options, ReporterProblem, Spool, Timings, default_queue
from ._spool import now_ms

_HALF = 0.5
_WRITE_MS = 2_000
"""How long `close()` waits at least for the disk."""
_EXIT_MS = 5_000


@dataclass(frozen=True)
class ReporterStats:
    state: State | Literal["full"]
    queued_events: int
    """Events in memory, with those under way."""
    queued_bytes: int
    in_flight: int
    """Requests under way."""
    held_events: int
    """Events that wait until Tally's clock has reached their time."""
    spooled_events: int
    spooled_bytes: int
    spooled_files: int
    oldest_unsent_age_ms: int
    accepted: int
    resent_requests: int
    rejected: int
    damaged: int
    """Lines of the spool that a disk changed."""
    taken_over: int
    """Events of processes that died."""
    last_error: str | None
    clock_skew_ms: float
    """How far this machine's clock is ahead of Tally's."""


@dataclass(frozen=True)
class CloseResult:
    accepted: int
    """Events that Tally accepted from this reporter."""
    kept: int
    """Events that are in the spool."""
    rejected: int
    """Events that Tally refused."""


class UsageReporter:
    """Reports usage so that each event counts once, through failures of Tally, the network and this process.

    With a spool, `report()` returns when the event is on the disk. Without one, it returns when Tally has accepted
    the event. No event is ever dropped: when there is no room, a new event is refused by an error. Threads may share
    a reporter. After a fork the child begins with an empty one.

    tally: its key, hooks, time-out and connections are used. Only the reporter decides what is sent again
    linger_ms: how long the first event of a batch waits for others
    in_flight: how many requests may be under way at the same time
    queue_events, queue_bytes: how many events may be in memory, and how large they may be together
    give_up_after_ms: without a spool, how long `report()` tries
    create_accounts: whether accounts are made whose external id is not found
    on_rejected, on_problem, on_accepted: called by threads of the reporter
    """

    def __init__(
        self,
        tally: Tally,
        *,
        spool: Spool | None = None,
        batch_events: int = 1_000,
        batch_bytes: int = 1024 * 1024,
        linger_ms: float = 200,
        in_flight: int = 4,
        queue_events: int | None = None,
        queue_bytes: int | None = None,
        give_up_after_ms: float = 120_000,
        create_accounts: bool = False,
        on_rejected: Callable[[str, str], object] | None = None,
        on_problem: Callable[[ReporterProblem], object] | None = None,
        on_accepted: Callable[[int], object] | None = None,
        _timings: Timings | None = None,
    ) -> None:
        if not isinstance(tally, Tally):
            raise TypeError("a reporter needs a Tally, also beside an AsyncTally")
        events, bytes = default_queue(spool)
        self._options = Options(
            spool,
            batch_events,
            batch_bytes,
            linger_ms,
            in_flight,
            events if queue_events is None else queue_events,
            bytes if queue_bytes is None else queue_bytes,
            give_up_after_ms,
            create_accounts,
            on_rejected,
            on_problem,
            on_accepted,
            _timings or Timings(),
        )
        self._tally = tally
        self._engine = Engine(tally, self._options)
        self._is_closing = False
        self._closed: CloseResult | UnsentError | None = None
        _all.add(self)
        # With a spool, there may be something to send already.
        if spool is not None:
            self._engine.start()

    def report(self, event: UsageEvent) -> None:
        """Reports an event. Returns when it is safe: in the spool, or accepted by Tally if there is no spool.

        InvalidEventError, TypeError, ReporterFullError, ReporterClosedError, WrongCompanyError: nothing was done with
        the event. RejectedEventError: Tally refuses the event before it is safe. GaveUpError: without a spool, Tally
        could not be reached; the event may be reported again.
        """
        self._reported(event).result()

    async def report_async(self, event: UsageEvent) -> None:
        """Does what `report()` does, for asyncio. The event is taken at once, and a cancelled call does not undo it."""
        await asyncio.shield(asyncio.wrap_future(self._reported(event)))

    def add(self, event: UsageEvent) -> bool:
        """Adds an event without waiting. `on_rejected` and `stats()` show what becomes of it.

        Returns False when half of a bound is used up: then call `ready()`. It raises the errors of `report()` that
        mean that nothing was done.
        """
        engine = self._engine
        with engine.lock:
            engine.keep(self._entered(event, math.inf))
            is_ready = engine.fullness < _HALF
        engine.start()
        return is_ready

    def ready(self, timeout_ms: float | None = None) -> bool:
        """Waits until less than half of each bound is used up. Returns False after the time."""
        return self._engine.wait_for(lambda: self._engine.fullness < _HALF, timeout_ms)

    def flush(self, timeout_ms: float | None = None) -> bool:
        """Waits until every event that was added before is accepted or refused by Tally.

        Returns whether this is so; False after `timeout_ms`.
        """
        engine = self._engine
        with engine.lock:
            flush = engine.flushes.begin()
            engine.hurry()
        return engine.wait_for(lambda: engine.flushes.is_done(flush), timeout_ms)

    def close(self, deadline_ms: float = 10_000) -> CloseResult:
        """Refuses new events, and sends what it can until the deadline. With a spool, the rest is kept there.

        It raises an UnsentError when events are neither in Tally nor in the spool.
        """
        engine = self._engine
        with engine.lock:
            is_first, self._is_closing = not self._is_closing, True
        if is_first:
            closed = self._end(deadline_ms)
            with engine.lock:
                self._closed = closed
                engine.lock.changed.notify_all()
        engine.wait_for(lambda: self._closed is not None, None)
        if isinstance(self._closed, UnsentError):
            raise self._closed
        assert self._closed is not None
        return self._closed

    def stats(self) -> ReporterStats:
        engine, core = self._engine, self._engine.core
        with engine.lock:
            spooled = None if engine.spool is None else engine.spool.stats()
            failure = None if engine.spool is None else engine.spool.failure
            oldest = core.oldest
            age_ms = 0.0 if oldest is None else now_ms() - oldest.added_at
            if spooled is not None:
                age_ms = 0 if spooled.oldest_at is None else time.time() * 1_000 - spooled.oldest_at
            return ReporterStats(
                state=core.state if failure is None and engine.fullness < 1 else "full",
                queued_events=core.events + engine.unwritten_events,
                queued_bytes=core.bytes + engine.unwritten_bytes,
                in_flight=core.in_flight,
                held_events=core.held_events,
                spooled_events=0 if spooled is None else spooled.events,
                spooled_bytes=0 if spooled is None else spooled.bytes,
                spooled_files=0 if spooled is None else spooled.files,
                oldest_unsent_age_ms=round(max(age_ms, 0)),
                accepted=engine.accepted,
                resent_requests=engine.resent,
                rejected=engine.rejected,
                damaged=0 if engine.spool is None else engine.spool.damaged,
                taken_over=0 if engine.spool is None else engine.spool.taken_over,
                last_error=engine.last_error if failure is None else failure,
                clock_skew_ms=engine.clock_skew_ms,
            )

    def __enter__(self) -> UsageReporter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _reported(self, event: UsageEvent) -> Future[None]:
        engine = self._engine
        future = new_report()
        give_up_at = math.inf if engine.spool is not None else now_ms() + self._options.give_up_after_ms
        with engine.lock:
            entry = self._entered(event, give_up_at)
            entry.report = future
            engine.keep(entry)
        engine.start()
        return future

    def _entered(self, event: UsageEvent, give_up_at: float) -> Event:
        """Checks an event, and whether there is room for it. With the lock."""
        engine = self._engine
        if self._is_closing:
            raise ReporterClosedError("the reporter is closed")
        if engine.wrong_company is not None:
            raise engine.wrong_company
        text, needs = encode_event(event, time.time())
        bytes = len(text.encode())
        full = engine.refusal(bytes)
        if full is not None:
            engine.note_problem(ReporterProblem("full", full))
            raise ReporterFullError(full)
        return Event(text, bytes, needs, now_ms(), give_up_at, epoch=engine.flushes.epoch)

    def _end(self, deadline_ms: float) -> CloseResult | UnsentError:
        engine = self._engine
        end_at = now_ms() + deadline_ms
        self.flush(deadline_ms)
        # What is not on the disk yet may be so in a moment.
        engine.write_now(max(end_at - now_ms(), _WRITE_MS))
        unsent = engine.stop()
        with engine.lock:
            for event in unsent:
                engine.give_up(event, "the reporter was closed")
            kept = 0 if engine.spool is None else engine.spool.stats().events
        _all.discard(self)
        if unsent:
            return UnsentError([event.json for event in unsent])
        return CloseResult(engine.accepted, kept, engine.rejected)

    def _begin_in_child(self) -> None:
        """The queue, its files and its threads are the parent's. So is its end: another thread may be closing it."""
        self._is_closing, self._closed = False, None
        self._engine = Engine(self._tally, self._options)


_all: set[UsageReporter] = set()
"""Those that are not closed."""


def _after_fork() -> None:
    for reporter in list(_all):
        reporter._begin_in_child()


def _at_exit() -> None:
    end_at = now_ms() + _EXIT_MS
    for reporter in list(_all):
        try:
            reporter.close(max(end_at - now_ms(), 0))
        except UnsentError as err:
            text = f"{len(err.events)} usage events were not sent before the process ended"
            warnings.warn(text, RuntimeWarning, stacklevel=1)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
atexit.register(_at_exit)
