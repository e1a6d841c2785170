from __future__ import annotations


class Flushes:
    """Counts the events that are not settled, so that a flush can wait for those that were added before it."""

    def __init__(self) -> None:
        self._open: dict[int, int] = {}
        """Events by the number of flushes before them."""
        self.epoch = 0
        """The number of flushes so far."""

    def add(self, epoch: int, events: int) -> None:
        if events > 0:
            self._open[epoch] = self._open.get(epoch, 0) + events

    def done(self, epoch: int, events: int) -> None:
        if events <= 0:
            return
        left = self._open.get(epoch, 0) - events
        if left > 0:
            self._open[epoch] = left
        else:
            self._open.pop(epoch, None)

    def move(self, before: int, after: int, events: int) -> None:
        """Counts events with earlier ones."""
        if before != after:
            self.add(after, events)
            self.done(before, events)

    def begin(self) -> int:
        """Begins a flush. Returns what `is_done` must get."""
        self.epoch += 1
        return self.epoch - 1

    def is_done(self, flush: int) -> bool:
        return all(epoch > flush for epoch in self._open)
