from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

RetryRule = Literal["safe", "keyed", "never"]
"""Whether a request may be sent again when it is not known if it was done.

`safe`: a repeat has the same result. `keyed`: a repeat with the same Idempotency-Key is done once. `never`: a
repeat may do harm.
"""


@dataclass(frozen=True)
class Operation:
    """What the client knows of an operation of the API."""

    id: str
    method: str
    path: str
    """As in openapi.yaml: `/v2/accounts/{account_id}`."""
    status: int
    """The status of the only answer that means success."""
    media_type: str
    """The media type of that answer."""
    retry: RetryRule
    cursor: str | None = None
    """The field of a page's last item at which the next page starts. A `refill_key` is `account_id/metric_id`."""
    made: str | None = None
    """For keyed operations: the operation that gets what the request made."""
