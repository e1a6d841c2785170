from __future__ import annotations

from collections.abc import Sequence

from .._errors import TallyError


class ReporterError(TallyError):
    """An error of the reporter about events."""


class InvalidEventError(ReporterError, ValueError):
    """The form of the event is wrong. Nothing was done with it."""


class ReporterFullError(ReporterError):
    """A bound, or the disk, leaves no room for the event. Nothing was done with it."""


class ReporterClosedError(ReporterError):
    """The reporter was closed. Nothing was done with the event."""


class WrongCompanyError(ReporterError):
    """The folder of the spool belongs to another company. Nothing is sent, and new events are refused."""


class RejectedEventError(ReporterError):
    """Tally refuses the event."""

    def __init__(self, event: str, reason: str) -> None:
        super().__init__(f"the event was refused: {reason}")
        self.event = event
        """The event as JSON, with its key and time."""
        self.reason = reason


class GaveUpError(ReporterError):
    """It is not known whether Tally has the event. It counts once if it is reported again as it is in `event`."""

    def __init__(self, event: str, message: str) -> None:
        super().__init__(message)
        self.event = event
        """The event as JSON, with its key and time."""


class UnsentError(ReporterError):
    """Events that are neither in Tally nor in a spool."""

    def __init__(self, events: Sequence[str]) -> None:
        super().__init__(f"{len(events)} events were not sent, and are kept nowhere but in this error")
        self.events = tuple(events)
        """The events as lines of JSON, with their keys and times."""
