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
from fake_target import ACCOUNT, METRIC, FakeServer, FakeTarget

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
from tally.reporter._outcome import HttpAnswer

FAST = Timings(list_ms=50, dead_ms=400, merge_ms=100)
LONG = os.environ.get("FAULT_LONG") == "1"
THREADS = 16
"""Those of `report_usage.py`."""
REPORT_USAGE = Path(__file__).with_name("report_usage.py")


def event(name: str, **more: Any) -> UsageEvent:
    made: Any = {"account": ACCOUNT, "metric": METRIC, "quantity": "1", "key": name, **more}
    return made  # type: ignore[no-any-return]


def until(is_so: Any, timeout_s: float = 10) -> None:
    end_at = time.monotonic() + timeout_s
    while not is_so():
        assert time.monotonic() < end_at, "it did not happen in time"
        time.sleep(0.01)


@pytest.fixture
def target() -> FakeTarget:
    return FakeTarget()


@pytest.fixture
def reporters() -> Iterator[Any]:
    """Makes reporters, and closes them at the end."""
    made: list[UsageReporter] = []

    def make(target: FakeTarget, dir: Path | None = None, **options: Any) -> UsageReporter:
        spool = None if dir is None else options.pop("spool", Spool(dir))
        made.append(UsageReporter(target, spool=spool, _timings=FAST, **{"linger_ms": 5, **options}))
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
        self, target: FakeTarget, reporters: Any, more: Any, fault: str
    ) -> None:
        usage = reporters(target)
        with pytest.raises(InvalidEventError, match=fault):
            usage.add(event("k", **more))
        assert usage.stats().queued_events == 0

    def test_a_float_is_refused(self, target: FakeTarget, reporters: Any) -> None:
        with pytest.raises(TypeError, match="is not an exact amount"):
            reporters(target).report(event("k", quantity=0.5))

    def test_all_forms_arrive_exactly(self, target: FakeTarget, reporters: Any) -> None:
        usage = reporters(target)
        at = datetime(2026, 1, 15, 12, tzinfo=timezone.utc)
        usage.report(event("1", quantity=Decimal("12345678901234567890.123456789012345678"), occurred_at=at))
        usage.report({"account": ACCOUNT, "currency": "usd", "quantity": -5, "properties": {"ä": [None, 0.5, "\n"]}})
        first, second = target.counted.values()
        assert first["quantity"] == "12345678901234567890.123456789012345678"
        assert first["occurred_at"] == 1768478400
        assert (second["quantity"], second["properties"]) == ("-5", {"ä": [None, 0.5, "\n"]})
        assert abs(second["occurred_at"] - time.time()) < 10


class TestWithoutSpool:
    def test_a_report_returns_when_tally_has_it(self, target: FakeTarget, reporters: Any) -> None:
        usage = reporters(target)
        usage.report(event("a"))
        assert target.keys == ["a"]
        assert usage.stats().accepted == 1

    def test_a_repeat_has_the_same_bytes(self, target: FakeTarget, reporters: Any) -> None:
        def fate(n: int) -> HttpAnswer | Exception | None:
            if n == 0:
                raise OSError("cut before")
            if n == 1:
                target.take(target.batches[n])
                raise OSError("cut after")
            return None

        target.fate = fate
        usage = reporters(target)
        usage.report({"account": ACCOUNT, "metric": METRIC, "quantity": 1})
        assert len(target.batches) == 3
        assert len(set(target.batches)) == 1
        assert (len(target.counted), target.received) == (1, 2)
        assert usage.stats().resent_requests == 2

    def test_many_threads_share_batches(self, target: FakeTarget, reporters: Any) -> None:
        usage = reporters(target, linger_ms=20)

        def work(thread: int) -> None:
            for n in range(50):
                usage.report(event(f"{thread}-{n}"))

        threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(target.counted) == target.received == 400
        assert len(target.batches) < 200

    def test_asyncio_waits_for_the_same(self, target: FakeTarget, reporters: Any) -> None:
        usage = reporters(target)

        async def work() -> None:
            await asyncio.gather(*(usage.report_async(event(str(n))) for n in range(100)))
            with pytest.raises(InvalidEventError):
                await usage.report_async(event("k", quantity="x"))
            cancelled = asyncio.ensure_future(usage.report_async(event("cancelled")))
            await asyncio.sleep(0)
            cancelled.cancel()

        asyncio.run(work())
        assert usage.flush(5_000)
        assert len(target.counted) == 101

    def test_a_full_queue_refuses_and_drops_nothing(self, target: FakeTarget, reporters: Any) -> None:
        target.is_slow.clear()
        usage = reporters(target, queue_events=10)
        assert [usage.add(event(str(n))) for n in range(10)] == [True] * 4 + [False] * 6
        with pytest.raises(ReporterFullError, match="the queue has 10 events"):
            usage.add(event("10"))
        assert usage.stats().state == "full"
        assert not usage.ready(50)
        target.is_slow.set()
        assert usage.ready(5_000)
        assert usage.flush(5_000)
        assert sorted(target.keys) == sorted(str(n) for n in range(10))

    def test_a_flush_waits_for_what_is_under_way(self, target: FakeTarget, reporters: Any) -> None:
        target.is_slow.clear()
        usage = reporters(target, linger_ms=60_000)
        usage.add(event("a"))
        assert not usage.flush(100)
        assert len(target.batches) == 1
        target.is_slow.set()
        assert usage.flush(5_000)
        assert target.keys == ["a"]

    def test_a_refused_event_does_not_harm_its_batch(self, target: FakeTarget, reporters: Any) -> None:
        target.fault = lambda one: "quantity: is odd" if one["idempotency_key"] == "odd" else None
        rejected: list[tuple[str, str]] = []
        usage = reporters(target, linger_ms=100, on_rejected=lambda event, reason: rejected.append((event, reason)))
        usage.add(event("a"))
        usage.add(event("b"))
        with pytest.raises(RejectedEventError, match="quantity: is odd") as raised:
            usage.report(event("odd"))
        assert usage.flush(5_000)
        assert sorted(target.keys) == ["a", "b"]
        assert rejected == [(raised.value.event, "quantity: is odd")]

    def test_it_gives_up_with_an_event_that_can_be_reported_again(self, target: FakeTarget, reporters: Any) -> None:
        target.is_away = True
        usage = reporters(target, give_up_after_ms=300)
        with pytest.raises(GaveUpError, match=r"within 0\.3 s") as raised:
            usage.report(event("a"))
        assert json.loads(raised.value.event)["idempotency_key"] == "a"
        assert usage.stats().queued_events == 0

    def test_a_wrong_key_sets_nothing_aside(self, target: FakeTarget, reporters: Any) -> None:
        target.fate = lambda n: HttpAnswer(401, "no such key", "text/plain")
        problems: list[ReporterProblem] = []
        usage = reporters(target, on_problem=problems.append)
        usage.add(event("a"))
        until(lambda: problems)
        assert problems == [ReporterProblem("blocked", "401 no such key")]
        assert (usage.stats().state, usage.stats().queued_events) == ("blocked", 1)

    def test_closing_says_what_was_not_sent(self, target: FakeTarget, reporters: Any) -> None:
        target.is_away = True
        usage = reporters(target)
        usage.add(event("a"))
        with pytest.raises(UnsentError, match="1 events were not sent") as raised:
            usage.close(100)
        assert [json.loads(one)["idempotency_key"] for one in raised.value.events] == ["a"]
        with pytest.raises(ReporterClosedError):
            usage.add(event("b"))

    def test_closing_sends_what_lingers(self, target: FakeTarget) -> None:
        with UsageReporter(target, linger_ms=60_000) as usage:
            for n in range(5):
                usage.add(event(str(n)))
        assert len(target.counted) == 5
        assert usage.close().accepted == 5


class TestSpool:
    def test_a_report_returns_when_it_is_on_the_disk(self, target: FakeTarget, reporters: Any, tmp_path: Path) -> None:
        target.is_away = True
        usage = reporters(target, tmp_path)
        for n in range(5):
            usage.report(event(str(n)))
        assert usage.stats().spooled_events == 5
        assert usage.close(0).kept == 5
        assert len(files_in(tmp_path)) > 0
        target.is_away = False
        later = reporters(target, tmp_path)
        until(lambda: len(target.counted) == 5 and not files_in(tmp_path))
        assert later.flush(5_000)
        assert (later.stats().taken_over, target.received) == (5, 5)

    def test_nothing_is_left_after_success(self, target: FakeTarget, reporters: Any, tmp_path: Path) -> None:
        usage = reporters(target, tmp_path)
        for n in range(200):
            usage.add(event(str(n)))
        result = usage.close()
        assert (result.accepted, result.kept, result.rejected) == (200, 0, 0)
        names = sorted(one.name for one in folder_in(tmp_path).iterdir())
        assert names == ["company", "damaged", "rejected"]

    def test_living_processes_keep_their_files(self, target: FakeTarget, reporters: Any, tmp_path: Path) -> None:
        target.is_away = True
        first = reporters(target, tmp_path)
        first.report(event("a"))
        second = reporters(FakeTarget(), tmp_path)
        time.sleep(0.8)
        assert second.stats().taken_over == 0
        assert first.stats().spooled_events == 1

    def test_refused_events_are_kept_with_the_reason(self, target: FakeTarget, reporters: Any, tmp_path: Path) -> None:
        target.fault = lambda one: "quantity: is odd" if one["idempotency_key"] == "odd" else None
        usage = reporters(target, tmp_path)
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
        assert sorted(target.keys) == ["a", "b"]

    def test_events_beyond_the_memory_are_read_back(self, target: FakeTarget, reporters: Any, tmp_path: Path) -> None:
        target.is_away = True
        usage = reporters(target, tmp_path, queue_events=10)
        for n in range(20):
            usage.report(event(str(n)))
        assert usage.stats().queued_events <= 10
        target.is_away = False
        until(lambda: len(target.counted) == 20 and not files_in(tmp_path), 20)

    def test_damaged_lines_cost_only_themselves(self, target: FakeTarget, reporters: Any, tmp_path: Path) -> None:
        target.is_away = True
        usage = reporters(target, tmp_path)
        usage.report(event("a"))
        usage.close(0)
        [name] = files_in(tmp_path)
        text = (folder_in(tmp_path) / name).read_bytes()
        (folder_in(tmp_path) / name).write_bytes(b"1 00000000 {}\n" + text + encode_line("{}")[:-4])
        target.is_away = False
        later = reporters(target, tmp_path)
        until(lambda: target.keys == ["a"] and not files_in(tmp_path))
        assert later.stats().damaged == 2
        assert (folder_in(tmp_path) / "damaged" / name).read_bytes().startswith(b"1 00000000 {}\n")

    def test_small_files_are_merged_while_tally_is_away(
        self, target: FakeTarget, reporters: Any, tmp_path: Path
    ) -> None:
        target.is_away = True
        usage = reporters(target, tmp_path, queue_events=5)
        for n in range(12):
            usage.report(event(str(n)))
        until(lambda: len(files_in(tmp_path)) <= 2)
        assert usage.stats().spooled_events == 12
        target.is_away = False
        until(lambda: len(target.counted) == 12 and not files_in(tmp_path), 20)
        assert usage.flush(5_000)

    def test_a_full_disk_refuses(self, target: FakeTarget, reporters: Any, tmp_path: Path, monkeypatch: Any) -> None:
        usage = reporters(target, tmp_path)
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
        assert target.keys == ["before", "after"]

    def test_a_bound_refuses(self, target: FakeTarget, reporters: Any, tmp_path: Path) -> None:
        target.is_away = True
        usage = reporters(target, tmp_path, spool=Spool(tmp_path, bytes_max=500))
        usage.report(event("a"))
        usage.report(event("b"))
        with pytest.raises(ReporterFullError, match="bytes_max is 500"):
            usage.report(event("c"))

    def test_another_company_gets_nothing(self, target: FakeTarget, reporters: Any, tmp_path: Path) -> None:
        usage = reporters(target, tmp_path)
        usage.report(event("a"))
        usage.close()
        other = FakeTarget()
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

    def test_they_are_looked_up_once(self, target: FakeTarget, reporters: Any, tmp_path: Path) -> None:
        target.ids = {'account a"c✓': ACCOUNT, "metric tokens": METRIC}
        for dir in (None, tmp_path):
            usage = reporters(target, dir)
            for _ in range(5):
                usage.report(self.EVENT)
            assert usage.flush(5_000)
            assert sorted(target.looked_up) == ['account a"c✓', "metric tokens"]
            target.looked_up.clear()
        assert len(target.counted) == 10
        assert all(one["account_id"] == ACCOUNT and one["metric_id"] == METRIC for one in target.counted.values())

    def test_they_are_written_when_tally_is_away(self, target: FakeTarget, reporters: Any, tmp_path: Path) -> None:
        target.is_away = True
        usage = reporters(target, tmp_path)
        usage.report(self.EVENT)
        usage.close(0)
        [name] = files_in(tmp_path)
        assert "account_external_id" in (folder_in(tmp_path) / name).read_text()
        target.is_away = False
        target.ids = {'account a"c✓': ACCOUNT, "metric tokens": METRIC}
        reporters(target, tmp_path)
        until(lambda: len(target.counted) == 1)
        [counted] = target.counted.values()
        assert (counted["account_id"], counted["metric_id"]) == (ACCOUNT, METRIC)

    def test_unknown_ones_are_rejected_or_made(self, target: FakeTarget, reporters: Any, tmp_path: Path) -> None:
        target.ids = {"metric tokens": METRIC}
        for dir in (None, tmp_path):
            with pytest.raises(RejectedEventError, match='there is no account a"c✓'):
                reporters(target, dir).report(self.EVENT)
        usage = reporters(target, create_accounts=True)
        usage.report(self.EVENT)
        assert len(target.counted) == 1


class TestProcesses:
    def test_a_child_begins_empty(self, target: FakeTarget, reporters: Any, tmp_path: Path) -> None:
        for dir in (None, tmp_path):
            target.is_slow.clear()
            usage = reporters(target, dir, linger_ms=60_000)
            for n in range(5):
                usage.add(event(f"parent {n}"))
            child = os.fork()
            if child == 0:
                os._exit(self.in_child(usage, target))
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
            target.is_slow.set()
            assert usage.flush(5_000)
            assert sorted(target.keys) == sorted(f"parent {n}" for n in range(5))
            target.counted.clear()

    @staticmethod
    def in_child(usage: UsageReporter, target: FakeTarget) -> int:
        try:
            is_empty = usage.stats().queued_events == 0
            target.is_slow = threading.Event()
            target.is_slow.set()
            usage.add(event("child"))
            return 0 if is_empty and usage.flush(5_000) and target.keys == ["child"] and usage.close() else 1
        except BaseException:
            return 2

    def test_a_child_begins_open_while_its_parent_closes(self, target: FakeTarget, reporters: Any) -> None:
        target.is_slow.clear()
        usage = reporters(target)
        usage.add(event("parent"))
        closing = threading.Thread(target=usage.close)
        closing.start()
        until(lambda: usage._is_closing)
        child = os.fork()
        if child == 0:
            signal.alarm(20)
            os._exit(self.in_child(usage, target))
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        target.is_slow.set()
        closing.join()
        assert target.keys == ["parent"]

    def test_an_exit_sends_what_it_can_and_says_what_it_could_not(self, target: FakeTarget) -> None:
        server = FakeServer(target)
        words = [sys.executable, str(REPORT_USAGE), server.url, "-", "exit", "50", "exit"]
        subprocess.run(words, check=True, timeout=60)
        assert len(target.counted) == 50
        target.is_away = True
        done = subprocess.run(words, check=True, timeout=60, capture_output=True, text=True)
        assert "50 usage events were not sent before the process ended" in done.stderr
        server.close()

    def test_no_acknowledged_event_is_lost_or_doubled_over_kills(self, target: FakeTarget, tmp_path: Path) -> None:
        seed = random.randrange(1 << 32)
        dice = random.Random(seed)
        kills, events = (20, 625) if LONG else (3, 50)  # of each thread
        fates = [None, None, None, OSError("cut"), HttpAnswer(503, "away", "text/plain")]

        def fate(n: int) -> HttpAnswer | Exception | None:
            chosen = dice.choice(fates)
            if isinstance(chosen, OSError) and dice.random() < 0.5:
                target.take(target.batches[n])  # the answer is lost
            return chosen

        target.fate = fate
        server = FakeServer(target)
        acknowledged: list[str] = []
        for run in range(kills + 1):
            words = [sys.executable, str(REPORT_USAGE), server.url, str(tmp_path), f"{run}", str(events), "close"]
            process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
            assert process.stdout is not None
            if run < kills:
                for _ in range(dice.randrange(THREADS * events)):
                    acknowledged.append(process.stdout.readline().strip())
                os.kill(process.pid, signal.SIGKILL)
            rest = process.stdout.read().split("\n")
            acknowledged += [line for line in rest if line and not line.startswith("CloseResult")]
            process.wait()
        target.fate = lambda n: None
        target.url = server.url
        # The killed ones are dead after 400 ms for this reporter.
        with UsageReporter(target, spool=Spool(tmp_path), _timings=FAST):
            until(lambda: not files_in(tmp_path), 60)
        server.close()
        counted = target.keys
        assert len(acknowledged) >= THREADS * events, f"seed {seed}"
        assert set(acknowledged) <= set(counted), f"seed {seed}"
        assert len(counted) == len(set(counted)), f"seed {seed}"
        names = {f"{run}-{thread}-{n}" for run in range(kills + 1) for thread in range(THREADS) for n in range(events)}
        assert set(counted) <= names


class TestOtherLanguages:
    FOLDER = os.environ.get("TALLY_TEST_SPOOLS")
    """`typescript` has events that the other reporter wrote. `python` is written here, for the other one."""

    @pytest.mark.skipif(FOLDER is None, reason="TALLY_TEST_SPOOLS is set by test/clients/python/python.test.ts")
    def test_a_folder_of_typescript_is_drained(self, target: FakeTarget, reporters: Any) -> None:
        target.ids = {'account a"c✓': ACCOUNT}
        dir = Path(self.FOLDER or "") / "typescript"
        usage = reporters(target, dir)
        until(lambda: len(target.counted) == 20 and not files_in(dir))
        assert usage.stats().damaged == 0
        assert sorted(target.keys) == sorted(f"typescript {n}" for n in range(20))
        assert {one["quantity"] for one in target.counted.values()} == {f"{n}.000000000000000001" for n in range(20)}
        assert {one["account_id"] for one in target.counted.values()} == {ACCOUNT}

    @pytest.mark.skipif(FOLDER is None, reason="TALLY_TEST_SPOOLS is set by test/clients/python/python.test.ts")
    def test_one_of_python_is_written(self, target: FakeTarget) -> None:
        target.is_away = True
        usage = UsageReporter(target, spool=Spool(Path(self.FOLDER or "") / "python"))
        for n in range(20):
            account: Any = ACCOUNT if n % 2 == 0 else {"external_id": 'a"c✓'}
            properties = {"text": "ä\u2028\n😀", "n": [None, n, 0.5]}
            quantity = f"{n}.000000000000000001"
            usage.report(event(f"python {n}", account=account, quantity=quantity, properties=properties))
        assert usage.close(0).kept == 20
