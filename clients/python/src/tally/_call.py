from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from ._course import (
    UNREADABLE,
    Attempt,
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
    from ._keys import KeySource
    from ._operation import Operation
    from ._options import CallOptions
    from ._transport import Transport, TransportAnswer

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
        return self._perform(prepare(self._settings, operation, path, cast("Query | None", query), body, options))

    def pages(self, operation: Operation, path: Sequence[str], query: object, options: CallOptions) -> Pages[Any]:
        given = cast("Query", query or {})

        def fetch(after: str | None) -> Fetched:
            asked = given if after is None else {**given, "starting_after": after}
            return cast("Fetched", self.one(operation, path, asked, None, options))

        return Pages(operation, fetch)

    def answer(self, operation: Operation, path: Sequence[str] = (), body: object = None) -> TransportAnswer:
        """Sends a request once, or twice when the key was refused and there is another one.

        body: a mapping, or JSON as bytes, which are sent as they are
        Returns the answer, whatever it says. Raises a TallyError when there is no whole answer.
        """
        prepared = prepare(self._settings, operation, path, None, body, {})
        key = self._keys.get()
        outcome = self._send(Attempt(self._settings, prepared, key, 1))
        renewed = self._keys.renew(key) if outcome.answer is not None and outcome.answer.status == 401 else None
        if renewed is not None:
            outcome = self._send(Attempt(self._settings, prepared, renewed, 2))
        if outcome.answer is None:
            assert outcome.error is not None
            raise outcome.error
        return outcome.answer

    def is_test(self) -> bool:
        """Whether the key is of a test company."""
        return self._keys.get().startswith("tally_test_")

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
