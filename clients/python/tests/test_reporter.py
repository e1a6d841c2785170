from __future__ import annotations

import asyncio
import errno
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any, ClassVar

import pytest
from fake_tally import ACCOUNT, KEY, METRIC, FakeServer, FakeTally, text

from tally import AsyncTally, Hooks, TransportAnswer
from tally.reporter import (
    GaveUpError,
    InvalidEventError,
    RejectedEventError,
    ReporterClosedError,
    ReporterFullError,
    ReporterProblem,
    Spool,
    UnsentError,
    UsageEvent,
    UsageReporter,
    WrongCompanyError,
    _spool_files,
)
from tally.reporter._lines import check_lines, encode_line, json_of
from tally.reporter._options import Timings

FAST = Timings(list_ms=50, dead_ms=400, merge_ms=100)
LONG = os.environ.get("FAULT_LONG") == "1"
REPORT_USAGE = Path(__file__).with_name("report_usage.py")


def event(name: str, **more: Any) -> UsageEvent:
    made: Any = {"account": ACCOUNT, "metric": METRIC, "quantity": "1", "key": name, **more}
    return made  # type: ignore[no-any-return]


def until(is_so: Any, timeout_s: float = 10) -> None:
    end_at = time.monotonic() + timeout_s
    while not is_so():
        assert time.monotonic() < end_at, "it did not happen in time"
        time.sleep(0.01)


def command(url: str, **more: Any) -> list[str]:
    """The words that start a process which reports."""
    order = {
        "url": url,
        "apiKey": KEY,
        "options": {},
        "timings": {"listMs": 10_000, "deadMs": 60_000, "mergeMs": 60_000},
        "event": {"account": ACCOUNT, "currency": "usd", "quantity": 1},
        "run": "run",
        "wave": 50,
        "end": "close",
        **more,
    }
    return [sys.executable, str(REPORT_USAGE), json.dumps(order)]


@pytest.fixture
def fake() -> FakeTally:
    return FakeTally()


@pytest.fixture
def reporters() -> Iterator[Any]:
    """Makes reporters, and closes them at the end."""
    made: list[UsageReporter] = []

    def make(fake: FakeTally, dir: Path | None = None, **options: Any) -> UsageReporter:
        spool = None if dir is None else options.pop("spool", Spool(dir))
        client = fake.client(**{name: options.pop(name) for name in ["api_key"] if name in options})
        made.append(UsageReporter(client, spool=spool, _timings=FAST, **{"linger_ms": 5, **options}))
        return made[-1]

    yield make
    for reporter in made:
        with suppress(UnsentError):  # some tests leave events
            reporter.close(0)


def folder_in(dir: Path) -> Path:
    [folder] = dir.iterdir()
    return folder


def files_in(dir: Path) -> list[str]:
    return sorted(one.name for one in folder_in(dir).glob("*.ndjson"))


class TestForms:
    @pytest.mark.parametrize(
        ("more", "fault"),
        [
            ({"account": "acme"}, "account: must be an id"),
            ({"account": {"external_id": ""}}, "account: must be an id, or"),
            ({"account": {"external_id": "\ud800"}}, "account: must be an id, or"),
            ({"account": {"external_id": "😀" * 129}}, "account: must be an id, or"),
            ({"metric": None}, "exactly one of them"),
            ({"currency": "usd"}, "exactly one of them"),
            ({"metric": None, "currency": "usdollar"}, "three letters"),
            ({"quantity": "1e3"}, "decimal text"),
            ({"quantity": Decimal("0.0000000000000000001")}, "decimal text"),
            ({"quantity": None}, "quantity: is missing"),
            ({"occurred_at": 1.5}, "Unix seconds"),
            ({"occurred_at": datetime(2026, 1, 1)}, "Unix seconds"),
            ({"occurred_at": -1}, "Unix seconds"),
            ({"key": ""}, "key: must be text"),
            ({"key": "a\0"}, "key: must be text"),
            ({"properties": [1]}, "properties: must be a mapping"),
            ({"properties": {"a": float("nan")}}, "cannot be written as JSON"),
            ({"properties": {"a": Decimal(1)}}, "cannot be written as JSON"),
            ({"properties": {"a": "\ud800"}}, "cannot be written as JSON"),
            ({"properties": {"a": "x" * 16_384}}, "at most 16384 bytes"),
            ({"propertys": {}}, "there is no such field"),
        ],
    )
    def test_what_is_wrong_is_said_before_anything(
        self, fake: FakeTally, reporters: Any, more: Any, fault: str
    ) -> None:
        usage = reporters(fake)
        with pytest.raises(InvalidEventError, match=fault):
            usage.add(event("k", **more))
        assert usage.stats().queued_events == 0

    def test_a_float_is_refused(self, fake: FakeTally, reporters: Any) -> None:
        with pytest.raises(TypeError, match="is not an exact amount"):
            reporters(fake).report(event("k", quantity=0.5))

    def test_all_forms_arrive_exactly(self, fake: FakeTally, reporters: Any) -> None:
        usage = reporters(fake)
        at = datetime(2026, 1, 15, 12, tzinfo=timezone.utc)
        usage.report(event("1", quantity=Decimal("12345678901234567890.123456789012345678"), occurred_at=at))
        usage.report({"account": ACCOUNT, "currency": "usd", "quantity": -5, "properties": {"ä": [None, 0.5, "\n"]}})
        first, second = fake.counted.values()
        assert first["quantity"] == "12345678901234567890.123456789012345678"
        assert first["occurred_at"] == 1768478400
        assert (second["quantity"], second["properties"]) == ("-5", {"ä": [None, 0.5, "\n"]})
        assert abs(second["occurred_at"] - time.time()) < 10


class TestWithoutSpool:
    def test_a_report_returns_when_tally_has_it(self, fake: FakeTally, reporters: Any) -> None:
        usage = reporters(fake)
        usage.report(event("a"))
        assert fake.keys == ["a"]
        assert usage.stats().accepted == 1

    def test_a_repeat_has_the_same_bytes(self, fake: FakeTally, reporters: Any) -> None:
        def fate(n: int) -> TransportAnswer | Exception | None:
            if n == 0:
                raise OSError("cut before")
            if n == 1:
                fake.take(fake.batches[n])
                raise OSError("cut after")
            return None

        fake.fate = fate
        usage = reporters(fake)
        usage.report({"account": ACCOUNT, "metric": METRIC, "quantity": 1})
        assert len(fake.batches) == 3
        assert len(set(fake.batches)) == 1
        assert (len(fake.counted), fake.received) == (1, 2)
        assert usage.stats().resent_requests == 2

    def test_many_threads_share_batches(self, fake: FakeTally, reporters: Any) -> None:
        usage = reporters(fake, linger_ms=20)

        def work(thread: int) -> None:
            for n in range(50):
                usage.report(event(f"{thread}-{n}"))

        threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(fake.counted) == fake.received == 400
        assert len(fake.batches) < 200

    def test_asyncio_waits_for_the_same(self, fake: FakeTally, reporters: Any) -> None:
        usage = reporters(fake)

        async def work() -> None:
            await asyncio.gather(*(usage.report_async(event(str(n))) for n in range(100)))
            with pytest.raises(InvalidEventError):
                await usage.report_async(event("k", quantity="x"))
            cancelled = asyncio.ensure_future(usage.report_async(event("cancelled")))
            await asyncio.sleep(0)
            cancelled.cancel()

        asyncio.run(work())
        assert usage.flush(5_000)
        assert len(fake.counted) == 101

    def test_a_full_queue_refuses_and_drops_nothing(self, fake: FakeTally, reporters: Any) -> None:
        fake.is_slow.clear()
        usage = reporters(fake, queue_events=10)
        assert [usage.add(event(str(n))) for n in range(10)] == [True] * 4 + [False] * 6
        with pytest.raises(ReporterFullError, match="the queue has 10 events"):
            usage.add(event("10"))
        assert usage.stats().state == "full"
        assert not usage.ready(50)
        fake.is_slow.set()
        assert usage.ready(5_000)
        assert usage.flush(5_000)
        assert sorted(fake.keys) == sorted(str(n) for n in range(10))

    def test_a_flush_waits_for_what_is_under_way(self, fake: FakeTally, reporters: Any) -> None:
        fake.is_slow.clear()
        usage = reporters(fake, linger_ms=60_000)
        usage.add(event("a"))
        assert not usage.flush(100)
        assert len(fake.batches) == 1
        fake.is_slow.set()
        assert usage.flush(5_000)
        assert fake.keys == ["a"]

    def test_a_refused_event_does_not_harm_its_batch(self, fake: FakeTally, reporters: Any) -> None:
        fake.fault = lambda one: "quantity: is odd" if one["idempotency_key"] == "odd" else None
        rejected: list[tuple[str, str]] = []
        usage = reporters(fake, linger_ms=100, on_rejected=lambda event, reason: rejected.append((event, reason)))
        usage.add(event("a"))
        usage.add(event("b"))
        with pytest.raises(RejectedEventError, match="quantity: is odd") as raised:
            usage.report(event("odd"))
        assert usage.flush(5_000)
        assert sorted(fake.keys) == ["a", "b"]
        assert rejected == [(raised.value.event, "quantity: is odd")]

    def test_it_gives_up_with_an_event_that_can_be_reported_again(self, fake: FakeTally, reporters: Any) -> None:
        fake.is_away = True
        usage = reporters(fake, give_up_after_ms=300)
        with pytest.raises(GaveUpError, match=r"within 0\.3 s") as raised:
            usage.report(event("a"))
        assert json.loads(raised.value.event)["idempotency_key"] == "a"
        assert usage.stats().queued_events == 0

    def test_a_wrong_key_sets_nothing_aside(self, fake: FakeTally, reporters: Any) -> None:
        fake.fate = lambda n: text(401, "no such key")
        problems: list[ReporterProblem] = []
        usage = reporters(fake, on_problem=problems.append)
        usage.add(event("a"))
        until(lambda: problems)
        assert problems == [ReporterProblem("blocked", "401 no such key")]
        assert (usage.stats().state, usage.stats().queued_events) == ("blocked", 1)

    def test_it_uses_the_key_function_and_the_hooks_of_its_client(self, fake: FakeTally) -> None:
        keys, seen = iter(["tally_test_old", "tally_test_new"]), []
        hooks = Hooks(
            on_request=lambda start: start.headers.update({"traceparent": "trace"}),
            on_response=lambda info, _: seen.append((info.operation, info.attempt, info.status)),
        )
        fake.fate = lambda n: text(401, "no such key") if n == 0 else None
        with UsageReporter(fake.client(api_key=lambda: next(keys), hooks=hooks), linger_ms=5) as usage:
            usage.report(event("a"))
        assert [request.headers["x-api-key"] for request in fake.requests] == ["tally_test_old", "tally_test_new"]
        assert {request.headers["traceparent"] for request in fake.requests} == {"trace"}
        assert seen == [("reportEvents", 1, 401), ("reportEvents", 2, 202)]
        assert (fake.keys, fake.requests[0].body) == (["a"], fake.requests[1].body)

    def test_it_needs_a_client_that_blocks(self) -> None:
        with pytest.raises(TypeError, match="needs a Tally"):
            UsageReporter(AsyncTally("http://tally.test", KEY))  # type: ignore[arg-type]

    def test_closing_says_what_was_not_sent(self, fake: FakeTally, reporters: Any) -> None:
        fake.is_away = True
        usage = reporters(fake)
        usage.add(event("a"))
        with pytest.raises(UnsentError, match="1 events were not sent") as raised:
            usage.close(100)
        assert [json.loads(one)["idempotency_key"] for one in raised.value.events] == ["a"]
        with pytest.raises(ReporterClosedError):
            usage.add(event("b"))

    def test_closing_sends_what_lingers(self, fake: FakeTally) -> None:
        with UsageReporter(fake.client(), linger_ms=60_000) as usage:
            for n in range(5):
                usage.add(event(str(n)))
        assert len(fake.counted) == 5
        assert usage.close().accepted == 5


class TestSpool:
    def test_a_report_returns_when_it_is_on_the_disk(self, fake: FakeTally, reporters: Any, tmp_path: Path) -> None:
        fake.is_away = True
        usage = reporters(fake, tmp_path)
        for n in range(5):
            usage.report(event(str(n)))
        assert usage.stats().spooled_events == 5
        assert usage.close(0).kept == 5
        assert len(files_in(tmp_path)) > 0
        fake.is_away = False
        later = reporters(fake, tmp_path)
        until(lambda: len(fake.counted) == 5 and not files_in(tmp_path))
        assert later.flush(5_000)
        assert (later.stats().taken_over, fake.received) == (5, 5)

    def test_nothing_is_left_after_success(self, fake: FakeTally, reporters: Any, tmp_path: Path) -> None:
        usage = reporters(fake, tmp_path)
        for n in range(200):
            usage.add(event(str(n)))
        result = usage.close()
        assert (result.accepted, result.kept, result.rejected) == (200, 0, 0)
        names = sorted(one.name for one in folder_in(tmp_path).iterdir())
        assert names == ["company", "damaged", "rejected"]

    def test_living_processes_keep_their_files(self, fake: FakeTally, reporters: Any, tmp_path: Path) -> None:
        fake.is_away = True
        first = reporters(fake, tmp_path)
        first.report(event("a"))
        second = reporters(FakeTally(), tmp_path)
        time.sleep(0.8)
        assert second.stats().taken_over == 0
        assert first.stats().spooled_events == 1

    def test_refused_events_are_kept_with_the_reason(self, fake: FakeTally, reporters: Any, tmp_path: Path) -> None:
        fake.fault = lambda one: "quantity: is odd" if one["idempotency_key"] == "odd" else None
        usage = reporters(fake, tmp_path)
        for key in ("a", "odd", "b"):
            usage.report(event(key))
        assert usage.flush(5_000)
        assert usage.stats().rejected == 1
        [file] = (folder_in(tmp_path) / "rejected").iterdir()
        whole, damaged = check_lines(file.read_bytes())
        assert damaged == []
        [line] = [json.loads(json_of(line)) for line in whole]
        assert (line["reason"], line["event"]["idempotency_key"]) == ("quantity: is odd", "odd")
        until(lambda: not files_in(tmp_path))
        assert sorted(fake.keys) == ["a", "b"]

    def test_events_beyond_the_memory_are_read_back(self, fake: FakeTally, reporters: Any, tmp_path: Path) -> None:
        fake.is_away = True
        usage = reporters(fake, tmp_path, queue_events=10)
        for n in range(20):
            usage.report(event(str(n)))
        assert usage.stats().queued_events <= 10
        fake.is_away = False
        until(lambda: len(fake.counted) == 20 and not files_in(tmp_path), 20)

    def test_damaged_lines_cost_only_themselves(self, fake: FakeTally, reporters: Any, tmp_path: Path) -> None:
        fake.is_away = True
        usage = reporters(fake, tmp_path)
        usage.report(event("a"))
        usage.close(0)
        [name] = files_in(tmp_path)
        text = (folder_in(tmp_path) / name).read_bytes()
        (folder_in(tmp_path) / name).write_bytes(b"1 00000000 {}\n" + text + encode_line("{}")[:-4])
        fake.is_away = False
        later = reporters(fake, tmp_path)
        until(lambda: fake.keys == ["a"] and not files_in(tmp_path))
        assert later.stats().damaged == 2
        assert (folder_in(tmp_path) / "damaged" / name).read_bytes().startswith(b"1 00000000 {}\n")

    def test_small_files_are_merged_while_tally_is_away(self, fake: FakeTally, reporters: Any, tmp_path: Path) -> None:
        fake.is_away = True
        usage = reporters(fake, tmp_path, queue_events=5)
        for n in range(12):
            usage.report(event(str(n)))
        # While another merge runs, the events of its files are there twice.
        until(lambda: len(files_in(tmp_path)) <= 2 and usage.stats().spooled_events == 12, 30)
        fake.is_away = False
        until(lambda: len(fake.counted) == 12 and not files_in(tmp_path), 20)
        assert usage.flush(5_000)

    def test_a_full_disk_refuses(self, fake: FakeTally, reporters: Any, tmp_path: Path, monkeypatch: Any) -> None:
        usage = reporters(fake, tmp_path)
        usage.report(event("before"))
        write = _spool_files._write

        def full(*_: object) -> None:
            raise OSError(errno.ENOSPC, "no space left")

        monkeypatch.setattr(_spool_files, "_write", full)
        with pytest.raises(ReporterFullError, match="no space left"):
            usage.report(event("refused"))
        assert usage.stats().state == "full"
        monkeypatch.setattr(_spool_files, "_write", write)
        with pytest.raises(ReporterFullError):
            usage.add(event("too early"))
        time.sleep(1.1)
        usage.report(event("after"))
        assert usage.flush(5_000)
        assert fake.keys == ["before", "after"]

    def test_a_bound_refuses(self, fake: FakeTally, reporters: Any, tmp_path: Path) -> None:
        fake.is_away = True
        usage = reporters(fake, tmp_path, spool=Spool(tmp_path, bytes_max=500))
        usage.report(event("a"))
        usage.report(event("b"))
        with pytest.raises(ReporterFullError, match="bytes_max is 500"):
            usage.report(event("c"))

    def test_a_key_function_that_fails_refuses_until_it_has_a_key(
        self, fake: FakeTally, reporters: Any, tmp_path: Path
    ) -> None:
        keys: list[str] = []
        usage = reporters(fake, tmp_path, api_key=lambda: keys[0])
        with pytest.raises(ReporterFullError, match="there is no API key"):
            usage.report(event("refused"))
        keys.append(KEY)
        time.sleep(1.1)
        usage.report(event("a"))
        assert usage.flush(5_000)
        assert fake.keys == ["a"]

    def test_another_company_gets_nothing(self, fake: FakeTally, reporters: Any, tmp_path: Path) -> None:
        usage = reporters(fake, tmp_path)
        usage.report(event("a"))
        usage.close()
        other = FakeTally()
        other.company = "company-2"
        usage = reporters(other, tmp_path)
        usage.report(event("b"))
        until(lambda: usage.stats().state == "blocked")
        with pytest.raises(WrongCompanyError, match="belongs to company company-1, and the key to company company-2"):
            usage.report(event("c"))
        assert other.batches == []


class TestExternalIds:
    EVENT: ClassVar[UsageEvent] = {
        "account": {"external_id": 'a"c✓'},
        "metric": {"external_id": "tokens"},
        "quantity": 1,
    }

    def test_they_are_looked_up_once(self, fake: FakeTally, reporters: Any, tmp_path: Path) -> None:
        fake.ids = {'account a"c✓': ACCOUNT, "metric tokens": METRIC}
        for dir in (None, tmp_path):
            usage = reporters(fake, dir)
            for _ in range(5):
                usage.report(self.EVENT)
            assert usage.flush(5_000)
            assert sorted(fake.looked_up) == ['account a"c✓', "metric tokens"]
            fake.looked_up.clear()
        assert len(fake.counted) == 10
        assert all(one["account_id"] == ACCOUNT and one["metric_id"] == METRIC for one in fake.counted.values())

    def test_they_are_written_when_tally_is_away(self, fake: FakeTally, reporters: Any, tmp_path: Path) -> None:
        fake.is_away = True
        usage = reporters(fake, tmp_path)
        usage.report(self.EVENT)
        usage.close(0)
        [name] = files_in(tmp_path)
        assert "account_external_id" in (folder_in(tmp_path) / name).read_text()
        fake.is_away = False
        fake.ids = {'account a"c✓': ACCOUNT, "metric tokens": METRIC}
        reporters(fake, tmp_path)
        until(lambda: len(fake.counted) == 1)
        [counted] = fake.counted.values()
        assert (counted["account_id"], counted["metric_id"]) == (ACCOUNT, METRIC)

    def test_unknown_ones_are_rejected_or_made(self, fake: FakeTally, reporters: Any, tmp_path: Path) -> None:
        fake.ids = {"metric tokens": METRIC}
        for dir in (None, tmp_path):
            with pytest.raises(RejectedEventError, match='there is no account a"c✓'):
                reporters(fake, dir).report(self.EVENT)
        with pytest.raises(RejectedEventError, match=r"there is no account \.\.$"):
            reporters(fake).report({**self.EVENT, "account": {"external_id": ".."}})
        usage = reporters(fake, create_accounts=True)
        usage.report(self.EVENT)
        assert len(fake.counted) == 1


class TestProcesses:
    def test_a_child_begins_empty(self, fake: FakeTally, reporters: Any, tmp_path: Path) -> None:
        for dir in (None, tmp_path):
            fake.is_slow.clear()
            usage = reporters(fake, dir, linger_ms=60_000)
            for n in range(5):
                usage.add(event(f"parent {n}"))
            child = os.fork()
            if child == 0:
                os._exit(self.in_child(usage, fake))
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
            fake.is_slow.set()
            assert usage.flush(5_000)
            assert sorted(fake.keys) == sorted(f"parent {n}" for n in range(5))
            fake.counted.clear()

    @staticmethod
    def in_child(usage: UsageReporter, fake: FakeTally) -> int:
        try:
            is_empty = usage.stats().queued_events == 0
            fake.is_slow = threading.Event()
            fake.is_slow.set()
            usage.add(event("child"))
            return 0 if is_empty and usage.flush(5_000) and fake.keys == ["child"] and usage.close() else 1
        except BaseException:
            return 2

    def test_a_child_begins_open_while_its_parent_closes(self, fake: FakeTally, reporters: Any) -> None:
        fake.is_slow.clear()
        usage = reporters(fake)
        usage.add(event("parent"))
        closing = threading.Thread(target=usage.close)
        closing.start()
        until(lambda: usage._is_closing)
        child = os.fork()
        if child == 0:
            signal.alarm(20)
            os._exit(self.in_child(usage, fake))
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        fake.is_slow.set()
        closing.join()
        assert fake.keys == ["parent"]

    def test_an_exit_sends_what_it_can_and_says_what_it_could_not(self, fake: FakeTally) -> None:
        server = FakeServer(fake)
        words = command(server.url, events=50, end="nothing", adds=True)
        subprocess.run(words, check=True, timeout=60)
        assert len(fake.counted) == 50
        fake.is_away = True
        done = subprocess.run(words, check=True, timeout=60, capture_output=True, text=True)
        assert "50 usage events were not sent before the process ended" in done.stderr
        server.close()

    def test_no_acknowledged_event_is_lost_or_doubled_over_kills(self, fake: FakeTally, tmp_path: Path) -> None:
        seed = random.randrange(1 << 32)
        dice = random.Random(seed)
        kills, events = (20, 10_000) if LONG else (3, 800)
        fates = [None, None, None, OSError("cut"), text(503, "away")]

        def fate(n: int) -> TransportAnswer | Exception | None:
            chosen = dice.choice(fates)
            if isinstance(chosen, OSError) and dice.random() < 0.5:
                fake.take(fake.batches[n])  # the answer is lost
            return chosen

        fake.fate = fate
        server = FakeServer(fake)
        acknowledged: set[str] = set()
        options = {"spool": {"dir": str(tmp_path)}}
        for run in range(kills + 1):
            words = command(server.url, options=options, run=f"{run}", events=events)
            process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
            assert process.stdout is not None
            lines = []
            if run < kills:
                for _ in range(dice.randrange(2 * events // 50)):
                    lines.append(process.stdout.readline())
                os.kill(process.pid, signal.SIGKILL)
            lines += process.stdout.read().splitlines(keepends=True)
            for line in lines:
                if line.startswith("safe ") and line.endswith("\n"):
                    acknowledged |= {f"{run}-{n}" for n in line.split()[1:]}
            process.wait()
        fake.fate = lambda n: None
        # The killed ones are dead after 400 ms for this reporter.
        with UsageReporter(fake.client(server.url), spool=Spool(tmp_path), _timings=FAST):
            until(lambda: not files_in(tmp_path), 60)
        server.close()
        counted = fake.keys
        assert len(acknowledged) >= events, f"seed {seed}"
        assert acknowledged <= set(counted), f"seed {seed}"
        assert len(counted) == len(set(counted)), f"seed {seed}"
        names = {f"{run}-{n}" for run in range(kills + 1) for n in range(events)}
        assert set(counted) <= names


class TestOtherLanguages:
    FOLDER = os.environ.get("TALLY_TEST_SPOOLS")
    """`typescript` has events that the other reporter wrote. `python` is written here, for the other one."""

    @pytest.mark.skipif(FOLDER is None, reason="TALLY_TEST_SPOOLS is set by test/clients/python/python.test.ts")
    def test_a_folder_of_typescript_is_drained(self, fake: FakeTally, reporters: Any) -> None:
        fake.ids = {'account a"c✓': ACCOUNT}
        dir = Path(self.FOLDER or "") / "typescript"
        usage = reporters(fake, dir)
        until(lambda: len(fake.counted) == 20 and not files_in(dir))
        assert usage.stats().damaged == 0
        assert sorted(fake.keys) == sorted(f"typescript {n}" for n in range(20))
        assert {one["quantity"] for one in fake.counted.values()} == {f"{n}.000000000000000001" for n in range(20)}
        assert {one["account_id"] for one in fake.counted.values()} == {ACCOUNT}

    @pytest.mark.skipif(FOLDER is None, reason="TALLY_TEST_SPOOLS is set by test/clients/python/python.test.ts")
    def test_one_of_python_is_written(self, fake: FakeTally) -> None:
        fake.is_away = True
        usage = UsageReporter(fake.client(), spool=Spool(Path(self.FOLDER or "") / "python"))
        for n in range(20):
            account: Any = ACCOUNT if n % 2 == 0 else {"external_id": 'a"c✓'}
            properties = {"text": "ä\u2028\n😀", "n": [None, n, 0.5]}
            quantity = f"{n}.000000000000000001"
            usage.report(event(f"python {n}", account=account, quantity=quantity, properties=properties))
        assert usage.close(0).kept == 20
