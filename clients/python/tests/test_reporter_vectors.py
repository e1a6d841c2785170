"""What the reporters of all languages must do."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from support import VECTORS as FOLDER

from tally import TransportAnswer
from tally.reporter import _lines
from tally.reporter._core import Batch, CoreOptions, Event, ReporterCore, Settled
from tally.reporter._outcome import (
    Accepted,
    Blocked,
    EventFault,
    Failing,
    Found,
    Missing,
    Refused,
    look_up_outcome_of,
    outcome_of,
)

VECTORS: dict[str, Any] = json.loads((FOLDER / "reporter.json").read_text())


def answer_from(given: dict[str, Any]) -> TransportAnswer:
    headers = {name.replace("_", "-"): given[name] for name in ("content_type", "retry_after", "date") if name in given}
    return TransportAnswer(given["status"], headers, given["text"])


def outcome_from(given: dict[str, Any]) -> Any:
    kind = given["kind"]
    if kind == "accepted":
        return Accepted()
    if kind == "refused":
        faults = [EventFault(one["index"], one["reason"], one.get("aheadMs")) for one in given["faults"]]
        return Refused(given["text"], tuple(faults))
    if kind == "failing":
        return Failing(given["text"], given["retryAfterMs"])
    if kind == "blocked":
        return Blocked(given["text"])
    return Found(given["id"]) if kind == "found" else Missing(given["text"])


@pytest.mark.parametrize("vector", VECTORS["answers"])
def test_answers_mean_the_same(vector: dict[str, Any]) -> None:
    times = vector["occurred_at"]
    got = outcome_of(
        answer_from(vector["answer"]),
        len(times),
        lambda index: times[index] if index < len(times) else None,
        vector["now"],
    )
    assert got == outcome_from(vector["outcome"])


@pytest.mark.parametrize("vector", VECTORS["look_ups"])
def test_look_ups_mean_the_same(vector: dict[str, Any]) -> None:
    got = look_up_outcome_of(answer_from(vector["answer"]), vector["name"], vector["now"])
    assert got == outcome_from(vector["outcome"])


@pytest.mark.parametrize("vector", VECTORS["lines"])
def test_lines_are_the_same(vector: dict[str, Any]) -> None:
    line = _lines.encode_line(vector["json"])
    assert line.decode() == vector["line"]
    assert _lines.json_of(line) == vector["json"]
    assert _lines.check_lines(line) == ([line], [])
    damaged = line[:-2] + b"?"
    assert _lines.check_lines(line + damaged + b"\n\n" + line + line[:-1]) == ([line, line], [damaged, line[:-1]])


@pytest.mark.parametrize("vector", VECTORS["folders"])
def test_folders_are_the_same(vector: dict[str, Any]) -> None:
    assert vector["folder"].endswith(_lines.folder_name_of(vector["url"], vector["mode"]))


class History:
    """Runs a history, step by step. Events are known by their numbers."""

    def __init__(self, options: dict[str, Any]) -> None:
        self.core = ReporterCore(
            CoreOptions(
                batch_events=options["batchEvents"],
                batch_bytes=options["batchBytes"],
                linger_ms=options["lingerMs"],
                in_flight=options["inFlight"],
                queue_events=options["queueEvents"],
                queue_bytes=options["queueBytes"],
                gate=options.get("gate"),
            )
        )
        self.batches: list[Batch] = []

    def numbers(self, events: Any) -> list[int]:
        return [int(event.json) for event in events]

    def settled(self, settled: Settled) -> list[Any]:
        return [[int(event.json), reason] for event, reason in settled.set_aside]

    def run(self, step: list[Any]) -> tuple[Any, Any]:
        """Returns what the step says and what the core does."""
        name, now, *rest = step
        core = self.core
        if name == "add":
            number, bytes, needs, give_up_at, taken = rest
            at = math.inf if give_up_at is None else give_up_at
            return taken, core.add(Event(str(number), bytes, tuple(needs), now, at))
        if name == "flush":
            return None, core.flush(now)  # type: ignore[func-returns-value]
        if name == "look-up":
            return rest[0], core.next_look_up(now)
        if name == "looked-up":
            external, outcome, random, set_aside = rest
            return set_aside, self.settled(core.looked_up(external, outcome_from(outcome), now, random))
        if name == "batch":
            batch = core.next_batch(now)
            if batch is not None:
                self.batches.append(batch)
            got = [None] if batch is None else [self.numbers(batch.events), batch.attempt]
            return rest[: len(got)], got
        if name == "answer":
            number, outcome, random, accepted, set_aside = rest
            settled = core.answered(self.batches[number], outcome_from(outcome), now, random)
            return [accepted, set_aside], [len(settled.accepted), self.settled(settled)]
        if name == "expire":
            return rest[0], sorted(self.numbers(core.expire(now)))
        assert name == "wake"
        return rest, [core.next_wake_at(now), core.state, core.events, core.bytes, core.held_events]


def test_histories_are_the_same() -> None:
    assert len(VECTORS["histories"]) >= 500
    for number, history in enumerate(VECTORS["histories"]):
        run = History(history["options"])
        for at, step in enumerate(history["steps"]):
            expected, got = run.run(step)
            assert got == expected, f"history {number}, step {at}: {step}"
