from __future__ import annotations

import math
import queue
import random
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress

from .._client import Tally
from .._operations_gen import OPERATIONS
from .._retries import parse_date
from .._transport import TransportAnswer
from ._core import Batch, CoreOptions, Event, ReporterCore, Settled
from ._errors import (
    GaveUpError,
    RejectedEventError,
    ReporterError,
    ReporterFullError,
    WrongCompanyError,
)
from ._event import needs_of, occurred_at_of, with_ids
from ._flushes import Flushes
from ._lines import line_bytes
from ._locked import Locked
from ._options import Options, ReporterProblem
from ._outcome import (
    Blocked,
    Failing,
    Found,
    LookUpOutcome,
    Missing,
    Outcome,
    company_in,
    look_up_outcome_of,
    outcome_of,
)
from ._spool import Spool, now_ms
from ._spool_files import SpoolFile, SpoolFolder

_GATE = "company"
_GATHER_MS = 5
_GATHER_FAILING_MS = 100
"""While Tally fails, files wait for long. Fewer and larger ones are better."""
_GATHER_BYTES = 256 * 1024
_GROUP_BYTES_MAX = 8 * 1024 * 1024
_LOOK_UP_MS = 2_000
"""How long an event waits for ids before it is written without them."""
_CLOSE_JOIN_S = 2

Jobs = queue.SimpleQueue[Callable[[], None] | None]


class Engine:
    """Does for the core what it cannot do: requests, files, clocks and random numbers.

    One thread decides when something is sent, others wait for answers, and one reads and writes files. All of them
    change the state with one lock.
    """

    def __init__(self, tally: Tally, options: Options) -> None:
        self._url, self._call = tally.url, tally._call
        self.options = options
        self.lock = Locked()
        self.flushes = Flushes()
        gate = None if options.spool is None else _GATE
        self.core = ReporterCore(
            CoreOptions(
                options.batch_events,
                options.batch_bytes,
                options.linger_ms,
                options.in_flight,
                options.queue_events,
                options.queue_bytes,
                gate,
            )
        )
        self.spool: Spool | None = None
        if options.spool is not None:
            self.spool = Spool(
                self._open_folder,
                self.lock,
                self.flushes,
                options.spool.bytes_max,
                options.timings,
                lambda text: self.note_problem(ReporterProblem("full", text)),
            )
        self.accepted = self.rejected = self.resent = 0
        self.clock_skew_ms = 0.0
        self.last_error: str | None = None
        self.wrong_company: WrongCompanyError | None = None
        self._last_problem = ""
        self._armed_for = -math.inf
        self._is_started = self._is_stopped = False
        self._jobs: Jobs = queue.SimpleQueue()
        self._look_ups: Jobs = queue.SimpleQueue()
        """Look-ups before events are written. They must not stand before requests with events."""
        self._file_thread: threading.Thread | None = None
        # Of the spool:
        self._pending: list[Event] = []
        self._pending_bytes = self._writing_bytes = self._looking_up_bytes = 0
        self._pending_since = 0.0
        self._is_urgent = False
        self._looking_up: dict[Event, float] = {}
        """Events whose ids are looked up before they are written, and until when."""
        self._asked: set[str] = set()
        self._writing: list[Event] = []
        self._set_asides: list[tuple[Event, str]] = []
        self._ticked_at = -math.inf

    def start(self) -> None:
        """Starts the threads. They end with the process, whatever they do."""
        if self._is_started:
            return
        with self.lock:
            if self._is_started or self._is_stopped:
                return
            self._is_started = True
        for _ in range(self.options.in_flight):
            self._run(lambda: self._work(self._jobs))
        self._run(self._drive)
        if self.spool is not None:
            self._run(lambda: self._work(self._look_ups))
            self._file_thread = self._run(self._keep_files)

    def _run(self, work: Callable[[], None]) -> threading.Thread:
        thread = threading.Thread(target=work, name="tally-reporter", daemon=True)
        thread.start()
        return thread

    # What the reporter calls, with the lock:

    def refusal(self, bytes: int) -> str | None:
        """Why a new event has no room; None when it has."""
        if self.spool is None:
            if self.core.has_room(1, bytes):
                return None
            used = f"{self.core.events} events with {self.core.bytes} bytes"
            return f"the queue has {used}, which is as much as it may have"
        if self.unwritten_bytes + bytes > self.options.queue_bytes:
            return f"{self.unwritten_bytes} bytes wait for the disk, and queue_bytes is {self.options.queue_bytes}"
        return self.spool.refusal(self.unwritten_bytes + line_bytes(bytes))

    @property
    def unwritten_bytes(self) -> int:
        return self._looking_up_bytes + self._pending_bytes + self._writing_bytes

    @property
    def unwritten_events(self) -> int:
        return len(self._looking_up) + len(self._pending) + len(self._writing)

    @property
    def fullness(self) -> float:
        """The largest share that is used of a bound, from 0 on."""
        options = self.options
        if self.spool is None or options.spool is None:
            return max(self.core.events / options.queue_events, self.core.bytes / options.queue_bytes)
        spooled = (self.spool.size + self.unwritten_bytes) / options.spool.bytes_max
        return max(self.unwritten_bytes / options.queue_bytes, spooled)

    def keep(self, event: Event) -> None:
        """Takes an event for which there is room."""
        self.flushes.add(event.epoch, 1)
        if self.spool is None:
            self.core.restore(event)
            self._arm()
        elif not event.needs:
            self._write_later(event)
        else:
            self._looking_up[event] = now_ms() + _LOOK_UP_MS
            self._looking_up_bytes += event.bytes
            self._look_up_before_writing(event)

    def hurry(self) -> None:
        """Makes all present events due."""
        self.core.flush(now_ms())
        self._arm()

    def note_problem(self, problem: ReporterProblem) -> None:
        key = f"{problem.state} {problem.text}"
        on_problem = self.options.on_problem
        if key != self._last_problem and on_problem is not None:
            self.lock.later(lambda: on_problem(problem))
        self._last_problem = key

    # The ends of events, with the lock:

    def _finish(self, event: Event, err: ReporterError | None = None) -> None:
        """Ends the wait of `report()`."""
        report, event.report = event.report, None
        if report is None:
            return
        if err is None:
            self.lock.later(lambda: report.set_result(None))
        else:
            self.lock.later(lambda: report.set_exception(err))

    def refuse(self, event: Event, err: ReporterError) -> None:
        self._finish(event, err)
        self.flushes.done(event.epoch, 1)

    def _reject(self, event: Event, reason: str) -> None:
        """Called when Tally refuses an event, and it is in the list of those, if there is a list."""
        self.rejected += 1
        on_rejected = self.options.on_rejected
        if on_rejected is not None:
            self.lock.later(lambda: on_rejected(event.json, reason))
        self.refuse(event, RejectedEventError(event.json, reason))

    def give_up(self, event: Event, why: str) -> None:
        self.refuse(event, GaveUpError(event.json, f"{why}; report the event again as it is in this error"))

    def _settled(self, settled: Settled) -> None:
        accepted = settled.accepted
        self.accepted += len(accepted)
        for event in accepted:
            self._finish(event)
            self.flushes.done(event.epoch, 1)
            self._settle_file(event)
        if self.spool is None:
            for event, reason in settled.set_aside:
                self._reject(event, reason)
        else:
            self._set_asides.extend(settled.set_aside)
        on_accepted = self.options.on_accepted
        if accepted and on_accepted is not None:
            self.lock.later(lambda: on_accepted(len(accepted)))
        state, problem = self.core.state, self.core.problem
        if problem is not None:
            self.last_error = problem
        if state == "ok":
            self._last_problem = ""
        else:
            self.note_problem(ReporterProblem(state, problem or ""))
        self._changed()

    def _settle_file(self, event: Event) -> None:
        if self.spool is not None and event.file is not None:
            self.spool.settle(event.file, 1)

    def _changed(self) -> None:
        self._armed_for = -math.inf
        self.lock.changed.notify_all()

    def _arm(self) -> None:
        """Wakes the thread that sends, if it would wake too late by itself."""
        at = self.core.next_wake_at(now_ms())
        if at is not None and at < self._armed_for:
            self._changed()

    # The thread that decides when something is sent:

    def _drive(self) -> None:
        while True:
            with self.lock:
                if self._is_stopped:
                    return
                self._pump()
                now = now_ms()
                at = self.core.next_wake_at(now)
                self._armed_for = math.inf if at is None else at
                if at is None or at > now:
                    self.lock.wait(None if at is None else min((at - now) / 1_000, 1_000))
                # What is added from now on is seen in the next round.
                self._armed_for = -math.inf

    def _pump(self) -> None:
        """Sends what may be sent now."""
        why = f"Tally did not accept the event within {self.options.give_up_after_ms / 1_000:g} s"
        for event in self.core.expire(now_ms()):
            self.give_up(event, why)
        while True:
            now = now_ms()
            name = self.core.next_look_up(now)
            if name is not None:
                self._jobs.put(lambda name=name: self._look_up_for_core(name))  # type: ignore[misc]
                continue
            batch = self.core.next_batch(now)
            if batch is None:
                return
            self.resent += 1 if batch.attempt > 0 else 0
            self._jobs.put(lambda batch=batch: self._send(batch))  # type: ignore[misc]

    # The threads that wait for answers:

    def _work(self, jobs: Jobs) -> None:
        while True:
            job = jobs.get()
            if job is None:
                return
            job()

    def _send(self, batch: Batch) -> None:
        outcome = self._outcome_of(batch.events)
        with self.lock:
            if not self._is_stopped:
                self._settled(self.core.answered(batch, outcome, now_ms(), random.random()))

    def _outcome_of(self, events: Sequence[Event]) -> Outcome:
        body = f'{{"events":[{",".join(with_ids(event.json, event.ids) for event in events)}]}}'.encode()
        try:
            answer = self._call.answer(OPERATIONS["reportEvents"], body=body)
            self._note_date(answer)
            return outcome_of(answer, len(events), lambda at: occurred_at_of(events[at].json), time.time() * 1_000)
        except Exception as err:
            return _failing(err)

    def _note_date(self, answer: TransportAnswer) -> None:
        served_at = parse_date(answer.headers.get("date"))
        if served_at is None:
            return
        skew_ms = time.time() * 1_000 - served_at
        # The header has whole seconds.
        self.clock_skew_ms = 0 if 0 <= skew_ms < 1_000 else skew_ms

    def _look_up_for_core(self, name: str) -> None:
        outcome = self._ask(name)
        with self.lock:
            if not self._is_stopped:
                self._settled(self.core.looked_up(name, outcome, now_ms(), random.random()))

    def _ask(self, name: str) -> LookUpOutcome:
        try:
            if name == _GATE and self.spool is not None:
                return self._pass_gate(self._call.answer(OPERATIONS["getCaller"]))
            kind, external_id = name.split(":", 1)
            # No URL can name them, so nothing has such an external id.
            if external_id in (".", ".."):
                return Missing(f"there is no {kind} {external_id}")
            find = OPERATIONS["getAccountByExternalId" if kind == "account" else "getMetricByExternalId"]
            found = look_up_outcome_of(self._call.answer(find, [external_id]), name, time.time() * 1_000)
            if not isinstance(found, Missing) or kind != "account" or not self.options.create_accounts:
                return found
            account = {"name": external_id, "external_id": external_id}
            made = self._call.answer(OPERATIONS["createAccount"], body=account)
            # Another reporter may have made it at the same time.
            answer = self._call.answer(find, [external_id]) if made.status == 409 else made
            return look_up_outcome_of(answer, name, time.time() * 1_000)
        except Exception as err:
            return _failing(err)

    def _pass_gate(self, answer: TransportAnswer) -> LookUpOutcome:
        """Compares the company of the key with that of the spool, so that events are never sent to another company."""
        id = company_in(answer)
        if id is None or self.spool is None:
            # The answer has no id at its top level, so this says what is wrong with it.
            return look_up_outcome_of(answer, "company", time.time() * 1_000)
        noted = self.spool.folder().note_company(id)
        text = f"the spool belongs to company {noted}, and the key to company {id}"
        with self.lock:
            self.wrong_company = None if noted == id else WrongCompanyError(text)
        return Found(id) if noted == id else Missing(text)

    # Ids that are looked up before events are written, so that a later change of external ids does not matter:

    def _look_up_before_writing(self, event: Event) -> None:
        """Goes on with an event that waits for ids. With the lock."""
        for name in event.needs:
            id = self.core.id_of(name)
            if id is not None:
                event.ids[name] = id
            elif self.core.state != "ok":
                # Without an answer so far, Tally may be away.
                self._write_without_ids(event)
                return
            else:
                if name not in self._asked:
                    self._asked.add(name)
                    self._look_ups.put(lambda name=name: self._look_up_for_spool(name))  # type: ignore[misc]
                return
        self._stop_looking_up(event)
        event.json, event.needs = with_ids(event.json, event.ids), ()
        event.bytes = len(event.json.encode())
        self._write_later(event)

    def _look_up_for_spool(self, name: str) -> None:
        with self.lock:
            if not any(name in event.needs for event in self._looking_up):
                self._asked.discard(name)
                return  # they were written meanwhile
        outcome = self._ask(name)
        with self.lock:
            self._asked.discard(name)
            if isinstance(outcome, Found):
                self.core.learn(name, outcome.id)
            waiting = [event for event in self._looking_up if name in event.needs]
            for event in waiting:
                if isinstance(outcome, Missing):
                    self._reject_before_writing(event, outcome.text)
                elif isinstance(outcome, (Failing, Blocked)):
                    self._write_without_ids(event)
                else:
                    self._look_up_before_writing(event)
            self._changed()

    def _reject_before_writing(self, event: Event, reason: str) -> None:
        self._stop_looking_up(event)
        if event.report is not None:
            self._reject(event, reason)
        else:
            self._set_asides.append((event, reason))

    def _write_without_ids(self, event: Event) -> None:
        self._stop_looking_up(event)
        self._write_later(event)

    def _stop_looking_up(self, event: Event) -> None:
        del self._looking_up[event]
        self._looking_up_bytes -= event.bytes

    # The thread that reads and writes files:

    def _open_folder(self) -> SpoolFolder:
        spool = self.options.spool
        assert spool is not None
        try:
            mode = "test" if self._call.is_test() else "live"
        except Exception as err:
            # The folder is named after the kind of the key. It is tried again, as after a failure of the disk.
            raise OSError(f"there is no API key: {err}") from err
        return SpoolFolder(spool.dir, self._url, mode, spool.sync != "os")

    def _write_later(self, event: Event) -> None:
        if not self._pending:
            self._pending_since = now_ms()
            self.lock.changed.notify_all()
        self._pending.append(event)
        self._pending_bytes += event.bytes

    def _keep_files(self) -> None:
        spool = self.spool
        assert spool is not None
        while True:
            with self.lock:
                work, wait_ms = self._file_work(spool)
                if work is None:
                    if self._is_stopped:
                        break
                    self.lock.wait(wait_ms / 1_000)
                    continue
            # The disk refused. What is not done is tried again.
            with suppress(OSError):
                work()
        spool.close()

    def _file_work(self, spool: Spool) -> tuple[Callable[[], object] | None, float]:
        """Returns what is to be done with files now, or how long to wait. With the lock."""
        now = now_ms()
        for event, until in list(self._looking_up.items()):
            if until > now:
                break  # they are in order of time
            self._write_without_ids(event)
        if spool.has_done:
            return spool.remove_done, 0
        if self._is_stopped:
            return None, 0
        if self._set_asides and not spool.is_paused:
            return self._write_set_asides, 0
        waits = [1_000.0, self._ticked_at + self.options.timings.list_ms - now]
        if self._pending:
            waits.append(self._gather_until() - now)
            if waits[-1] <= 0:
                return self._write_group, 0
        waits.extend(until - now for until in list(self._looking_up.values())[:1])
        if waits[1] <= 0:
            return self._tick, 0
        if spool.has_cold and self._has_room_for_cold(spool):
            return self._load, 0
        return None, max(min(waits), 0)

    def _gather_until(self) -> float:
        if self._is_urgent or self._pending_bytes >= _GATHER_BYTES:
            return -math.inf
        return self._pending_since + (_GATHER_MS if self.core.state == "ok" else _GATHER_FAILING_MS)

    def _write_group(self) -> None:
        spool = self.spool
        assert spool is not None
        with self.lock:
            events = self._take_group()
        try:
            file = spool.write(events)
        except OSError as err:
            with self.lock:
                self._end_group()
                self._unwritten(events, err)
                self._changed()
            return
        with self.lock:
            self._end_group()
            for event in events:
                self._finish(event)
            self._written(spool, file, events)
            self._changed()

    def _take_group(self) -> list[Event]:
        bytes = 0
        count = 0
        for event in self._pending:
            bytes += event.bytes
            if count > 0 and bytes > _GROUP_BYTES_MAX:
                break
            count += 1
        events, self._pending = self._pending[:count], self._pending[count:]
        self._writing = events
        self._writing_bytes = sum(event.bytes for event in events)
        self._pending_bytes -= self._writing_bytes
        return events

    def _end_group(self) -> None:
        self._writing, self._writing_bytes = [], 0

    def _written(self, spool: Spool, file: SpoolFile, events: Sequence[Event]) -> None:
        if self._is_stopped:
            return  # the next process sends it
        bytes = sum(event.bytes for event in events)
        if spool.has_cold or not self.core.has_room(len(events), bytes):
            spool.cool(file)
            return
        for event in events:
            event.file = file
            self.core.restore(event)

    def _unwritten(self, events: Sequence[Event], err: OSError) -> None:
        """Events of `report()` are refused. The others were taken, so they are sent from memory."""
        for event in events:
            if event.report is None:
                self.core.restore(event)
            else:
                self.refuse(event, ReporterFullError(f"the spool cannot be written: {err}"))

    def _write_set_asides(self) -> None:
        spool = self.spool
        assert spool is not None
        with self.lock:
            some = list(self._set_asides)
        # When the disk is full, say, the events stay in their files, and in this list.
        spool.set_aside(some)
        with self.lock:
            del self._set_asides[: len(some)]
            for event, reason in some:
                self._reject(event, reason)
                self._settle_file(event)
            self._changed()

    def _tick(self) -> None:
        assert self.spool is not None
        with self.lock:
            self._ticked_at = now_ms()
            is_failing = self.core.state != "ok"
        self.spool.tick(is_failing)
        with self.lock:
            self._changed()

    def _has_room_for_cold(self, spool: Spool) -> bool:
        return self.core.is_low or spool.next_fits(self.core.has_room)

    def _load(self) -> None:
        """Reads back events for which there is room in memory."""
        assert self.spool is not None
        # A file that is larger than the queue must be read as well, and before the queue is empty.
        loaded = self.spool.load_next(lambda events, bytes: self.core.is_low or self.core.has_room(events, bytes))
        with self.lock:
            if loaded is None:
                self._changed()
                return
            file, texts = loaded
            for text in texts:
                event = Event(text, len(text.encode()), needs_of(text), 0, epoch=file.epoch, file=file)
                self.core.restore(event)
            self._changed()

    # The end:

    @property
    def is_written(self) -> bool:
        """Whether all is on the disk."""
        return self.spool is None or (self.unwritten_events == 0 and not self._set_asides)

    def wait_for(self, is_so: Callable[[], bool], timeout_ms: float | None) -> bool:
        """Waits until something is so. Returns False after the time."""
        end_at = math.inf if timeout_ms is None else now_ms() + timeout_ms
        with self.lock:
            while not is_so():
                left = end_at - now_ms()
                if left <= 0:
                    return False
                self.lock.wait(min(left / 1_000, 1))
            return True

    def write_now(self, timeout_ms: float) -> None:
        """Writes without gathering more. Returns when all is on the disk, or after this time."""
        with self.lock:
            self._is_urgent = True
            self._changed()
        self.wait_for(lambda: self.is_written, timeout_ms)

    def stop(self) -> list[Event]:
        """Ends all threads. Returns the events that are neither in Tally nor in a file."""
        with self.lock:
            self._is_stopped = True
            writing, held = self._writing, [*self._looking_up, *self._pending]
            held += [event for event, _ in self._set_asides if event.file is None]
            self._changed()
        for _ in range(self.options.in_flight):
            self._jobs.put(None)
        self._look_ups.put(None)
        if self._file_thread is not None:
            self._file_thread.join(_CLOSE_JOIN_S)
        with self.lock:
            unwritten = self._writing if writing is self._writing else []
            in_memory = [event for event in self.core.take_all() if event.file is None]
            return [*unwritten, *held, *in_memory]


def _failing(err: Exception) -> Failing:
    return Failing(str(err) or type(err).__name__, 0)


def new_report() -> Future[None]:
    """A future that cannot be cancelled: what was taken is sent."""
    future: Future[None] = Future()
    future.set_running_or_notify_cancel()
    return future
