from __future__ import annotations

import inspect
import os
import re
import threading
import weakref
from collections.abc import Awaitable, Callable

import anyio

ApiKey = str | Callable[[], str]
"""The API key, or a function that gets it, for example from a store of secrets."""
AsyncApiKey = str | Callable[[], str | Awaitable[str]]


def checked_key(given: object) -> str:
    key = given.strip() if isinstance(given, str) else ""
    if re.fullmatch(r"[\x21-\x7e]+", key) is None:
        raise TypeError("api_key must be an API key of Tally")
    return key


class KeySource:
    """Keeps the key that a function returns until Tally refuses it. Threads at the same time share a call."""

    def __init__(self, api_key: ApiKey) -> None:
        self._ask = None if isinstance(api_key, str) else api_key
        self._key = checked_key(api_key) if isinstance(api_key, str) else None
        self._lock = threading.Lock()
        _sources.add(self)

    def get(self) -> str:
        key = self._key
        if key is not None:
            return key
        with self._lock:
            return self._key if self._key is not None else self._asked()

    def renew(self, refused: str) -> str | None:
        """Asks again after a key was refused. Returns another key; None when there is none."""
        if self._ask is None:
            return None
        with self._lock:
            if self._key is not None and self._key != refused:
                return self._key  # another call has asked meanwhile
            renewed = self._asked()
            return None if renewed == refused else renewed

    def _asked(self) -> str:
        assert self._ask is not None
        self._key = None  # if the function fails, the next request asks again
        self._key = checked_key(self._ask())
        return self._key


_sources: weakref.WeakSet[KeySource] = weakref.WeakSet()


def _unlock_in_child() -> None:
    """A child has no thread that would let go of a lock which one of the parent had."""
    for source in _sources:
        source._lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_unlock_in_child)


class AsyncKeySource:
    """Keeps the key that a function returns until Tally refuses it. Calls at the same time share a call of it."""

    def __init__(self, api_key: AsyncApiKey) -> None:
        self._ask = None if isinstance(api_key, str) else api_key
        self._key = checked_key(api_key) if isinstance(api_key, str) else None
        self._lock: anyio.Lock | None = None

    def _locked(self) -> anyio.Lock:
        # Why not in the constructor: a lock belongs to the event loop that runs.
        if self._lock is None:
            self._lock = anyio.Lock()
        return self._lock

    async def get(self) -> str:
        if self._key is not None:
            return self._key
        async with self._locked():
            return self._key if self._key is not None else await self._asked()

    async def renew(self, refused: str) -> str | None:
        """Asks again after a key was refused. Returns another key; None when there is none."""
        if self._ask is None:
            return None
        async with self._locked():
            if self._key is not None and self._key != refused:
                return self._key  # another call has asked meanwhile
            renewed = await self._asked()
            return None if renewed == refused else renewed

    async def _asked(self) -> str:
        assert self._ask is not None
        self._key = None  # if the function fails, the next request asks again
        given = self._ask()
        self._key = checked_key(await given if inspect.isawaitable(given) else given)
        return self._key
