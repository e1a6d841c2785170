from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

if sys.version_info >= (3, 11):
    from typing import TypedDict
else:
    from typing_extensions import TypedDict


class CallOptions(TypedDict, total=False):
    """What a caller may choose for one call, by keyword."""

    idempotency_key: str | None
    """For operations that take an Idempotency-Key. Without it, the client makes one for operations that need it."""
    timeout_ms: int | None
    """How long each attempt may take, from the connection to the end of the answer."""
    max_retries: int | None
    """How often the request is sent again after a failure; 0 is never."""
    headers: Mapping[str, str] | None
    """Further headers."""


OPTION_NAMES = frozenset(CallOptions.__annotations__)


def require_known(options: CallOptions) -> None:
    """Raises a TypeError for an option that does not exist, for example one that is spelled wrongly."""
    for name in options:
        if name not in OPTION_NAMES:
            raise TypeError(f"there is no option {name!r}; the options are {', '.join(sorted(OPTION_NAMES))}")
