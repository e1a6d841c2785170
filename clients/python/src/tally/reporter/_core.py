from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from ._outcome import Blocked, EventFault, Failing, Found, LookUpOutcome, Missing, Outcome, Refused

if TYPE_CHECKING:
    from concurrent.futures import Future

    from ._spool_files import SpoolFile


@dataclass(eq=False)
class Event:
    """An event on its way to Tally."""

    json: str
    bytes: int
    """The size of its JSON."""
    needs: tuple[str, ...]
    """Names of ids that must be known before it is sent: `account:acme`, `metric:tokens`."""
    added_at: float
    give_up_at: float = math.inf
    """When the event is returned unsent, unless a request with it is under way."""
    ids: dict[str, str] = field(default_factory=dict[str, str])
    """The ids by name, as far as they are known."""
    epoch: int = 0
    """The number of flushes before it."""
    file: SpoolFile | None = None
    """The file that has it; None when it is only in memory."""
    report: Future[None] | None = None
    """Set while `report()` waits for it."""


@dataclass(frozen=True)
class CoreOptions:
    batch_events: int
    batch_bytes: int
    linger_ms: float
    in_flight: int
    queue_events: int
    queue_bytes: int
    gate: str | None = None
    """A name that must be looked up before any event is sent."""


@dataclass(frozen=True)
class Batch:
    events: Sequence[Event]
    attempt: int
    """How often it was sent before."""
    epoch: int
    """The number of failures when it was sent."""


@dataclass(frozen=True)
class Settled:
    """What became of events."""

    accepted: Sequence[Event] = ()
    set_aside: Sequence[tuple[Event, str]] = ()


State = Literal["ok", "failing", "blocked"]

_FIRST_WAIT_MS = 200
_LONGEST_WAIT_MS = 30_000
_BLOCKED_WAIT_MS = 30_000
_RETRY_AFTER_MAX_MS = 600_000
"""A longer Retry-After is probably a mistake, and would stop the reporter for that long."""
_HOLD_MAX_MS = 86_400_000
"""An event further ahead than this has a wrong time. A clock that is so wrong would be noticed."""
_KNOWN_MAX = 100_000
_LOW = 4
"""The queue is low when only this part of it is used."""


class ReporterCore:
    """Decides what a reporter sends and when.

    It does no I/O and has no clock: every method gets the time, in milliseconds from any start, and each random
    number. The TypeScript SDK has the same machine, and both run the histories of `clients/vectors/reporter.json`.
    """

    def __init__(self, options: CoreOptions) -> None:
        self._options = options
        self._all: dict[Event, None] = {}
        """Every event that is not settled, the oldest first."""
        self._bytes = 0
        self._queue: deque[Event] = deque()
        self._queue_bytes = 0
        self._again: deque[tuple[Sequence[Event], int]] = deque()
        """Batches that are sent as they are, before the queue, and how often each was sent."""
        self._held: list[tuple[Event, float]] = []
        self._next_held_at = math.inf
        self._waiting: dict[str, list[Event]] = {}
        self._looking_up: dict[str, int] = {}
        self._known: dict[str, str] = {}
        self._batches = 0
        self._gate_is_open = options.gate is None
        self._epoch = 0
        self._failures = 0
        self._retry_at = 0.0
        self._due_before = -math.inf
        self._next_give_up_at = math.inf
        self.state: State = "ok"
        self.problem: str | None = None
        """What is wrong, while the state is not ok."""

    @property
    def events(self) -> int:
        return len(self._all)

    @property
    def bytes(self) -> int:
        return self._bytes

    @property
    def in_flight(self) -> int:
        return self._batches

    @property
    def held_events(self) -> int:
        """The events that wait until Tally's clock has reached their time."""
        return len(self._held)

    @property
    def oldest(self) -> Event | None:
        return next(iter(self._all), None)

    @property
    def is_low(self) -> bool:
        """Whether so little is left that more is needed soon."""
        options = self._options
        return self.events * _LOW <= options.queue_events and self._bytes * _LOW <= options.queue_bytes

    def has_room(self, events: int, bytes: int) -> bool:
        options = self._options
        return self.events + events <= options.queue_events and self._bytes + bytes <= options.queue_bytes

    def add(self, event: Event) -> bool:
        """Takes an event. Returns False when a bound refuses it."""
        if not self.has_room(1, event.bytes):
            return False
        self.restore(event)
        return True

    def restore(self, event: Event) -> None:
        """Takes an event that has to be taken, beyond the bounds as well."""
        self._all[event] = None
        self._bytes += event.bytes
        self._note_give_up(event)
        self._place(event)

    def flush(self, now: float) -> None:
        """Makes all present events due, so that they do not linger."""
        self._due_before = now

    def next_look_up(self, now: float) -> str | None:
        """Returns the name that is to be looked up now. Each must be ended by `looked_up`."""
        if not self._may_try(now):
            return None
        name = self._name_to_look_up()
        if name is not None:
            self._looking_up[name] = self._epoch
        return name

    def looked_up(self, name: str, outcome: LookUpOutcome, now: float, random: float) -> Settled:
        """random: from 0 up to 1"""
        epoch = self._looking_up.pop(name, self._epoch)
        is_gate = name == self._options.gate
        if isinstance(outcome, (Failing, Blocked)):
            self._fail(outcome, epoch, now, random)
            return Settled()
        if is_gate and isinstance(outcome, Missing):
            self._fail(Blocked(outcome.text), epoch, now, random)
            return Settled()
        self._succeed()
        if not is_gate:
            return self._settle_name(name, outcome)
        self._gate_is_open = True
        return Settled()

    def id_of(self, name: str) -> str | None:
        return self._known.get(name)

    def learn(self, name: str, id: str) -> None:
        """Notes the id of a name. Events that wait for it may be sent."""
        self._known[name] = id
        if len(self._known) > _KNOWN_MAX:
            del self._known[next(iter(self._known))]
        for event in self._waiting.pop(name, []):
            self._place(event)

    def next_batch(self, now: float) -> Batch | None:
        """Returns the batch that is to be sent now. Each must be ended by `answered`."""
        self._release(now)
        if not self._gate_is_open or not self._may_try(now):
            return None
        following = self._again.popleft() if self._again else self._cut(now)
        if following is None:
            return None
        self._batches += 1
        return Batch(*following, epoch=self._epoch)

    def answered(self, batch: Batch, outcome: Outcome, now: float, random: float) -> Settled:
        """random: from 0 up to 1"""
        self._batches -= 1
        if isinstance(outcome, (Failing, Blocked)):
            self._fail(outcome, batch.epoch, now, random)
            self._send_again(batch.events, batch.attempt + 1)
            return Settled()
        self._succeed()
        if isinstance(outcome, Refused):
            return self._refused(batch.events, outcome, now)
        for event in batch.events:
            self._forget(event)
        return Settled(accepted=batch.events)

    def expire(self, now: float) -> list[Event]:
        """Removes and returns the events that are given up. Those under way are not."""
        if now < self._next_give_up_at:
            return []
        self._next_give_up_at = math.inf
        return self._remove(lambda event: event.give_up_at > now)

    def take_all(self) -> list[Event]:
        """Removes and returns all events, those under way as well."""
        all_events = list(self._all)
        self._all.clear()
        self._bytes = 0
        return all_events

    def next_wake_at(self, now: float) -> float | None:
        """When there is something to do next, if nothing else happens; None for never."""
        at = min(self._next_give_up_at, self._next_held_at, self._next_try_at(now))
        return None if at == math.inf else max(at, now)

    def _remove(self, stays: Callable[[Event], bool]) -> list[Event]:
        gone: list[Event] = []

        def kept(events: Iterable[Event]) -> list[Event]:
            left: list[Event] = []
            for event in events:
                if stays(event):
                    self._note_give_up(event)
                    left.append(event)
                else:
                    gone.append(event)
            return left

        queue = kept(self._queue)
        self._queue_bytes = sum(event.bytes for event in queue)
        self._queue = deque(queue)
        again = [(kept(events), attempt) for events, attempt in self._again]
        self._again = deque((events, attempt) for events, attempt in again if events)
        held = set(kept(event for event, _ in self._held))
        self._held = [(event, until) for event, until in self._held if event in held]
        waiting = {name: kept(events) for name, events in self._waiting.items()}
        self._waiting = {name: events for name, events in waiting.items() if events}
        self._note_held()
        for event in gone:
            self._forget(event)
        return gone

    def _note_give_up(self, event: Event) -> None:
        self._next_give_up_at = min(self._next_give_up_at, event.give_up_at)

    def _forget(self, event: Event) -> None:
        if event in self._all:
            del self._all[event]
            self._bytes -= event.bytes

    def _place(self, event: Event) -> None:
        """Puts an event into the queue, or lets it wait for the first id that is not known."""
        for name in event.needs:
            if name in event.ids:
                continue
            id = self._known.get(name)
            if id is None:
                self._waiting.setdefault(name, []).append(event)
                return
            event.ids[name] = id
        self._queue.append(event)
        self._queue_bytes += event.bytes

    def _settle_name(self, name: str, outcome: Found | Missing) -> Settled:
        if isinstance(outcome, Found):
            self.learn(name, outcome.id)
            return Settled()
        events = self._waiting.pop(name, [])
        for event in events:
            self._forget(event)
        return Settled(set_aside=[(event, outcome.text) for event in events])

    def _may_try(self, now: float) -> bool:
        under_way = self._batches + len(self._looking_up)
        if self.state == "ok":
            return under_way < self._options.in_flight
        return under_way == 0 and now >= self._retry_at

    def _name_to_look_up(self) -> str | None:
        gate = self._options.gate
        if not self._gate_is_open:
            return None if gate in self._looking_up else gate
        return next((name for name in self._waiting if name not in self._looking_up), None)

    def _due_at(self, first: Event) -> float:
        options = self._options
        is_full = len(self._queue) >= options.batch_events or self._queue_bytes >= options.batch_bytes
        return -math.inf if is_full or first.added_at <= self._due_before else first.added_at + options.linger_ms

    def _cut(self, now: float) -> tuple[Sequence[Event], int] | None:
        if not self._queue or now < self._due_at(self._queue[0]):
            return None
        events: list[Event] = []
        bytes = 0
        while self._queue and len(events) < self._options.batch_events:
            if events and bytes + self._queue[0].bytes > self._options.batch_bytes:
                break
            events.append(self._queue.popleft())
            bytes += events[-1].bytes
        self._queue_bytes -= bytes
        return events, 0

    def _send_again(self, events: Sequence[Event], attempt: int) -> None:
        self._again.append((events, attempt))
        for event in events:
            self._note_give_up(event)

    def _refused(self, events: Sequence[Event], outcome: Refused, now: float) -> Settled:
        named = {fault.index: fault for fault in outcome.faults if fault.index < len(events)}
        if not named:
            return self._halve(events, outcome.text)
        set_aside: list[tuple[Event, str]] = []
        rest: list[Event] = []
        for index, event in enumerate(events):
            fault = named.get(index)
            if fault is None:
                rest.append(event)
            elif _is_held(fault):
                until = now + (fault.ahead_ms or 0)
                self._held.append((event, until))
                self._next_held_at = min(self._next_held_at, until)
                self._note_give_up(event)
            else:
                set_aside.append((event, fault.reason))
        if rest:
            self._send_again(rest, 0)
        for event, _ in set_aside:
            self._forget(event)
        return Settled(set_aside=set_aside)

    def _halve(self, events: Sequence[Event], text: str) -> Settled:
        if len(events) == 1:
            self._forget(events[0])
            return Settled(set_aside=[(events[0], text)])
        middle = len(events) // 2
        self._send_again(events[:middle], 0)
        self._send_again(events[middle:], 0)
        return Settled()

    def _release(self, now: float) -> None:
        if now < self._next_held_at:
            return
        due = [event for event, until in self._held if until <= now]
        self._held = [(event, until) for event, until in self._held if until > now]
        self._note_held()
        for event in due:
            self._place(event)

    def _succeed(self) -> None:
        self.state = "ok"
        self.problem = None
        self._failures = 0

    def _fail(self, outcome: Failing | Blocked, epoch: int, now: float, random: float) -> None:
        """Several batches may be under way when Tally fails.

        Only the first answer counts as a failure, because the others are no further attempts.
        """
        asked = min(outcome.retry_after_ms, _RETRY_AFTER_MAX_MS) if isinstance(outcome, Failing) else 0
        if epoch != self._epoch:
            if self.state != "ok":
                self._retry_at = max(self._retry_at, now + asked)
            return
        self._epoch += 1
        self.problem = outcome.text
        if isinstance(outcome, Blocked):
            self.state = "blocked"
            self._retry_at = now + _BLOCKED_WAIT_MS
            return
        self.state = "failing"
        full = min(_FIRST_WAIT_MS * 2 ** min(self._failures, 10), _LONGEST_WAIT_MS)
        self._failures += 1
        self._retry_at = now + max(math.floor(full / 2 + (random * full) / 2), asked)

    def _note_held(self) -> None:
        self._next_held_at = min((until for _, until in self._held), default=math.inf)

    def _next_try_at(self, now: float) -> float:
        work_at = self._work_at()
        if self.state != "ok":
            is_trying = self._batches + len(self._looking_up) > 0
            return math.inf if is_trying else max(work_at, self._retry_at)
        return work_at if self._may_try(now) else math.inf

    def _work_at(self) -> float:
        if self._name_to_look_up() is not None:
            return -math.inf
        if not self._gate_is_open:
            return math.inf
        if self._again:
            return -math.inf
        return self._due_at(self._queue[0]) if self._queue else math.inf


def _is_held(fault: EventFault) -> bool:
    return fault.ahead_ms is not None and 0 < fault.ahead_ms <= _HOLD_MAX_MS
