"""Reports usage so that each event counts once, through failures of Tally, the network and the process."""

from ._errors import (
    GaveUpError,
    InvalidEventError,
    RejectedEventError,
    ReporterClosedError,
    ReporterError,
    ReporterFullError,
    UnsentError,
    WrongCompanyError,
)
from ._event import ExternalReference, UsageEvent
from ._options import ReporterProblem, Spool
from ._usage_reporter import CloseResult, ReporterStats, UsageReporter

__all__ = [
    "CloseResult",
    "ExternalReference",
    "GaveUpError",
    "InvalidEventError",
    "RejectedEventError",
    "ReporterClosedError",
    "ReporterError",
    "ReporterFullError",
    "ReporterProblem",
    "ReporterStats",
    "Spool",
    "UnsentError",
    "UsageEvent",
    "UsageReporter",
    "WrongCompanyError",
]
