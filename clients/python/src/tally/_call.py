from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from ._course import (
    UNREADABLE,
    CallSettings,
    Course,
    Done,
    GetMade,
    Outcome,
    Prepared,
    RenewKey,
    outcome_unknown,
    prepare,
    prepare_made,
)
from ._errors import TallyError
from ._pages import Fetched, Pages

if TYPE_CHECKING:
    from ._course import Attempt
    from ._keys import KeySource
    from ._operation import Operation
    from ._options import CallOptions
    from ._transport import Transport

Query = Mapping[str, Any]


class Call:
    """Calls operations, and waits for their answers."""

    def __init__(
        self,
        settings: CallSettings,
        keys: KeySource,
        transport: Transport,
        wait: Callable[[float], object] = time.sleep,
    ) -> None:
        self._settings = settings
        self._keys = keys
        self._transport = transport
        self._wait = wait

    def one(
        self,
        operation: Operation,
        path: Sequence[str],
        query: object,
        body: object,
        options: CallOptions,
    ) -> object:
        content = cast("Query | None", query), cast("Query | None", body)
        return self._perform(prepare(self._settings, operation, path, *content, options))

    def pages(self, operation: Operation, path: Sequence[str], query: object, options: CallOptions) -> Pages[Any]:
        given = cast("Query", query or {})

        def fetch(after: str | None) -> Fetched:
            asked = given if after is None else {**given, "starting_after": after}
            return cast("Fetched", self.one(operation, path, asked, None, options))

        return Pages(operation, fetch)

    def _perform(self, prepared: Prepared) -> object:
        """Sends a request until it is done, or must not be sent again."""
        course = Course(self._settings, prepared)
        key = self._keys.get()
        while True:
            step = course.after(self._send(course.attempt(key)))
            if isinstance(step, Done):
                return step.value
            if isinstance(step, RenewKey):
                renewed = self._keys.renew(key)
                if renewed is None:
                    raise step.error
                key = renewed
            elif isinstance(step, GetMade):
                return self._get_made(prepared, step)
            else:
                self._wait(step.ms / 1_000)

    def _send(self, attempt: Attempt) -> Outcome:
        try:
            answer = self._transport.send(attempt.request)
        except Exception as err:
            return attempt.failed(err)
        return attempt.answered(answer)

    def _get_made(self, prepared: Prepared, made: GetMade) -> object:
        request = prepare_made(self._settings, prepared, made)
        try:
            return self._perform(request)
        except TallyError as err:
            raise outcome_unknown(prepared, made, UNREADABLE) from err
