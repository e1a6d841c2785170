"""A process that reports, and may be killed at any moment.

Its arguments: URL, folder of the spool or `-`, name, number of events, `exit` or `close`. It prints the key of each
event whose `report()` has returned. `exit` adds events and ends without closing.
"""

from __future__ import annotations

import sys
import threading

from fake_target import ACCOUNT

from tally.reporter import HttpTarget, Spool, UsageReporter

THREADS = 16

url, folder, name, events, end = sys.argv[1:]
spool = None if folder == "-" else Spool(folder)
usage = UsageReporter(HttpTarget(url, "tally_test_k"), spool=spool)


def report(thread: int) -> None:
    for n in range(int(events)):
        key = f"{name}-{thread}-{n}"
        usage.report({"account": ACCOUNT, "currency": "usd", "quantity": 1, "key": key})
        # One write, so that a kill leaves no half of a line.
        sys.stdout.write(f"{key}\n")
        sys.stdout.flush()


if end == "exit":
    for n in range(int(events)):
        usage.add({"account": ACCOUNT, "currency": "usd", "quantity": 1, "key": f"{name}-{n}"})
else:
    threads = [threading.Thread(target=report, args=(thread,)) for thread in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(usage.close())
