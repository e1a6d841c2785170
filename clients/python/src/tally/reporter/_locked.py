from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from types import TracebackType

logger = logging.getLogger("tally")


class Locked:
    """The lock of a reporter. Callbacks of the caller are called after it, by the thread that had it."""

    def __init__(self) -> None:
        self.changed = threading.Condition(threading.RLock())
        self._depth = 0
        self._calls: list[Callable[[], object]] = []

    def later(self, call: Callable[[], object]) -> None:
        """Calls this after the lock is let go."""
        self._calls.append(call)

    def __enter__(self) -> None:
        self.changed.acquire()
        self._depth += 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._depth -= 1
        calls: list[Callable[[], object]] = []
        if self._depth == 0:
            calls, self._calls = self._calls, []
        self.changed.release()
        for call in calls:
            try:
                call()
            except Exception:
                logger.warning("a callback of the reporter failed", exc_info=True)

    def wait(self, timeout_s: float | None) -> None:
        """Waits until something changes. It must be called with the lock, taken once.

        It returns at once if there is something to call, which the end of the lock does.
        """
        if self._calls:
            return
        self._depth -= 1
        try:
            self.changed.wait(timeout_s)
        finally:
            self._depth += 1
