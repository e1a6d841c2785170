from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import anyio

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
from ._pages import AsyncPages, Fetched

if TYPE_CHECKING:
    from ._course import Attempt
    from ._keys import AsyncKeySource
    from ._operation import Operation
    from ._options import CallOptions
    from ._transport import AsyncTransport

Query = Mapping[str, Any]


class AsyncCall:
    """Calls operations, for asyncio and trio. A cancelled call ends at once, also while it waits."""

    def __init__(
        self,
        settings: CallSettings,
        keys: AsyncKeySource,
        transport: AsyncTransport,
        wait: Callable[[float], Awaitable[object]] = anyio.sleep,
    ) -> None:
        self._settings = settings
        self._keys = keys
        self._transport = transport
        self._wait = wait

    async def one(
        self,
        operation: Operation,
        path: Sequence[str],
        query: object,
        body: object,
        options: CallOptions,
    ) -> object:
        request = prepare(self._settings, operation, path, cast("Query | None", query), body, options)
        return await self._perform(request)

    def pages(self, operation: Operation, path: Sequence[str], query: object, options: CallOptions) -> AsyncPages[Any]:
        given = cast("Query", query or {})

        async def fetch(after: str | None) -> Fetched:
            asked = given if after is None else {**given, "starting_after": after}
            return cast("Fetched", await self.one(operation, path, asked, None, options))

        return AsyncPages(operation, fetch)

    async def _perform(self, prepared: Prepared) -> object:
        """Sends a request until it is done, or must not be sent again."""
        course = Course(self._settings, prepared)
        key = await self._keys.get()
        while True:
            step = course.after(await self._send(course.attempt(key)))
            if isinstance(step, Done):
                return step.value
            if isinstance(step, RenewKey):
                renewed = await self._keys.renew(key)
                if renewed is None:
                    raise step.error
                key = renewed
            elif isinstance(step, GetMade):
                return await self._get_made(prepared, step)
            else:
                await self._wait(step.ms / 1_000)

    async def _send(self, attempt: Attempt) -> Outcome:
        try:
            answer = await self._transport.send(attempt.request)
        except Exception as err:
            return attempt.failed(err)
        return attempt.answered(answer)

    async def _get_made(self, prepared: Prepared, made: GetMade) -> object:
        request = prepare_made(self._settings, prepared, made)
        try:
            return await self._perform(request)
        except TallyError as err:
            raise outcome_unknown(prepared, made, UNREADABLE) from err
