from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from typing import Any, Generic, TypeVar

from ._errors import CallFacts, NotTallyError
from ._operation import Operation

T = TypeVar("T")

Fetched = dict[str, Any]
"""A page as it was received."""


class Page(Generic[T]):
    """A page of a list."""

    def __init__(
        self,
        fetched: Fetched,
        operation: Operation,
        fetch: Callable[[str | None], Fetched],
        after: str | None = None,
    ) -> None:
        self.data: Sequence[T] = fetched["data"]
        self.has_more: bool = fetched["has_more"]
        self._operation = operation
        self._fetch = fetch
        self._after = after

    def next(self) -> Page[T] | None:
        """Gets the next page; None after the last one."""
        if not self.has_more:
            return None
        last = _last_of(self._operation, self.data, self._after)
        return Page(self._fetch(last), self._operation, self._fetch, last)


class Pages(Generic[T]):
    """What a list answers: all its items, one by one. Nothing is sent until it is iterated.

    The next page is requested when the last item was taken, never ahead.
    """

    def __init__(self, operation: Operation, fetch: Callable[[str | None], Fetched]) -> None:
        self._operation = operation
        self._fetch = fetch

    def page(self) -> Page[T]:
        """Gets the first page."""
        return Page(self._fetch(None), self._operation, self._fetch)

    def __iter__(self) -> Iterator[T]:
        page: Page[T] | None = self.page()
        while page is not None:
            yield from page.data
            page = page.next()


class AsyncPage(Generic[T]):
    """A page of a list."""

    def __init__(
        self,
        fetched: Fetched,
        operation: Operation,
        fetch: Callable[[str | None], Awaitable[Fetched]],
        after: str | None = None,
    ) -> None:
        self.data: Sequence[T] = fetched["data"]
        self.has_more: bool = fetched["has_more"]
        self._operation = operation
        self._fetch = fetch
        self._after = after

    async def next(self) -> AsyncPage[T] | None:
        """Gets the next page; None after the last one."""
        if not self.has_more:
            return None
        last = _last_of(self._operation, self.data, self._after)
        return AsyncPage(await self._fetch(last), self._operation, self._fetch, last)


class AsyncPages(Generic[T]):
    """What a list answers: all its items, one by one, by `async for`. Nothing is sent until it is iterated.

    The next page is requested when the last item was taken, never ahead.
    """

    def __init__(self, operation: Operation, fetch: Callable[[str | None], Awaitable[Fetched]]) -> None:
        self._operation = operation
        self._fetch = fetch

    async def page(self) -> AsyncPage[T]:
        """Gets the first page."""
        return AsyncPage(await self._fetch(None), self._operation, self._fetch)

    async def __aiter__(self) -> AsyncIterator[T]:
        page: AsyncPage[T] | None = await self.page()
        while page is not None:
            for item in page.data:
                yield item
            page = await page.next()


def _last_of(operation: Operation, data: Sequence[Any], after: str | None) -> str:
    if not data:
        text = json.dumps({"data": [], "has_more": True})
        raise NotTallyError("an empty page says that there are more", 200, text, CallFacts(operation.id))
    cursor = operation.cursor or "id"
    fields = ["account_id", "metric_id"] if cursor == "refill_key" else [cursor]
    last = "/".join(str(data[-1][field]) for field in fields)
    if last == after:
        why = "a page that goes no further says that there are more"
        raise NotTallyError(why, 200, json.dumps({"data": data, "has_more": True}), CallFacts(operation.id))
    return last
