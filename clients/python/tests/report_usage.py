"""A process that reports, and may be killed at any moment.

Its argument is an order of test/clients/sdk/reporter/report.main.ts, as JSON, and it prints what that program prints.
Without a spool there is only `add()`, and the process ends without closing.
"""

from __future__ import annotations

import json
import sys
from concurrent.futures import ThreadPoolExecutor

from tally import Tally
from tally.reporter import Spool, UsageReporter
from tally.reporter._options import Timings

THREADS = 64

order = json.loads(sys.argv[1])
spool = order["options"].get("spool")
timings = order["timings"]
usage = UsageReporter(
    Tally(order["url"], order["apiKey"]),
    spool=spool and Spool(spool["dir"]),
    batch_events=order["options"].get("batchEvents", 1_000),
    _timings=Timings(timings["listMs"], timings["deadMs"], timings["mergeMs"]),
)


def event(n: int) -> dict[str, object]:
    key = f"{order['run']}-{n}"
    return {**order["event"], "key": key, "properties": {"key": key}}


def report(n: int) -> int:
    usage.report(event(n))  # type: ignore[arg-type]
    return n


with ThreadPoolExecutor(THREADS) as pool:
    for first in range(0, order["events"], order["wave"]):
        wave = range(first, min(first + order["wave"], order["events"]))
        print(f"tried {wave.start} {wave.stop}", flush=True)
        if order.get("adds"):
            for n in wave:
                if not usage.add(event(n)):  # type: ignore[arg-type]
                    usage.ready()
        else:
            print("safe", *pool.map(report, wave), flush=True)
if order["end"] == "close":
    print("closed", usage.close(), flush=True)
