from __future__ import annotations

import os
import random
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from ._async_call import AsyncCall
from ._call import Call
from ._course import CallSettings
from ._hooks import Hooks
from ._http import AsyncHttpxTransport, HttpxTransport
from ._keys import ApiKey, AsyncApiKey, AsyncKeySource, KeySource
from ._resources_gen import AsyncResources, Resources

if TYPE_CHECKING:
    from types import TracebackType

    from ._transport import AsyncTransport, Transport

_TIMEOUT_MS = 35_000
_RETRIES = 2
_SOCKETS = 16


class Tally(Resources):
    """A client of Tally. It has a method for each operation of the API, by resource. Threads may share it.

    url: the address of Tally, without `/v2`; TALLY_URL when it is left out
    api_key: TALLY_API_KEY when it is left out. A function is called again when Tally refuses its key
    timeout_ms: how long each attempt may take, from the connection to the end of the answer
    max_retries: how often a request is sent again after a failure; 0 is never
    max_sockets: how many connections may be open at the same time
    transport: sends the requests, instead of httpx
    """

    def __init__(
        self,
        url: str | None = None,
        api_key: ApiKey | None = None,
        *,
        timeout_ms: int = _TIMEOUT_MS,
        max_retries: int = _RETRIES,
        max_sockets: int = _SOCKETS,
        transport: Transport | None = None,
        hooks: Hooks | None = None,
    ) -> None:
        self.url = read_url(url or os.environ.get("TALLY_URL"))
        settings = _settings(self.url, timeout_ms, max_retries, hooks)
        self._transport = transport or HttpxTransport(_whole("max_sockets", max_sockets, 1))
        keys = KeySource(api_key or _key_of_environment())
        self._call = Call(settings, keys, self._transport)
        super().__init__(self._call)

    def close(self) -> None:
        """Closes open connections."""
        self._transport.close()

    def __enter__(self) -> Tally:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        """The key is in no text, so no log shows it."""
        return f"Tally(url={self.url!r})"


class AsyncTally(AsyncResources):
    """A client of Tally for asyncio and trio. It belongs to one event loop; its arguments are those of Tally.

    api_key: a function may be async
    """

    def __init__(
        self,
        url: str | None = None,
        api_key: AsyncApiKey | None = None,
        *,
        timeout_ms: int = _TIMEOUT_MS,
        max_retries: int = _RETRIES,
        max_sockets: int = _SOCKETS,
        transport: AsyncTransport | None = None,
        hooks: Hooks | None = None,
    ) -> None:
        self.url = read_url(url or os.environ.get("TALLY_URL"))
        settings = _settings(self.url, timeout_ms, max_retries, hooks)
        self._transport = transport or AsyncHttpxTransport(_whole("max_sockets", max_sockets, 1))
        keys = AsyncKeySource(api_key or _key_of_environment())
        super().__init__(AsyncCall(settings, keys, self._transport))

    async def aclose(self) -> None:
        """Closes open connections."""
        await self._transport.aclose()

    async def __aenter__(self) -> AsyncTally:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        """The key is in no text, so no log shows it."""
        return f"AsyncTally(url={self.url!r})"


def _settings(url: str, timeout_ms: int, max_retries: int, hooks: Hooks | None) -> CallSettings:
    return CallSettings(
        base_url=url,
        timeout_ms=_whole("timeout_ms", timeout_ms, 1),
        max_retries=_whole("max_retries", max_retries, 0),
        hooks=hooks or Hooks(),
        random=random.random,
    )


def _key_of_environment() -> str:
    key = os.environ.get("TALLY_API_KEY")
    if not key:
        raise TypeError("api_key is missing: give it, or set TALLY_API_KEY")
    return key


def read_url(text: str | None) -> str:
    """Raises a TypeError when it is not an address of Tally."""
    if not text:
        raise TypeError("url is missing: give it, or set TALLY_URL")
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise TypeError(f"url must start with http:// or https://, not {text!r}")
    path = parts.path.rstrip("/")
    if path.endswith("/v2"):
        raise TypeError(f"url must not end in /v2: {text}")
    # As the client for TypeScript and the command line write it: the folder of a spool is named after it. A password
    # would stand in errors.
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    is_usual = parts.port in (None, 443 if parts.scheme == "https" else 80)
    return f"{parts.scheme}://{host}{'' if is_usual else f':{parts.port}'}{path}"


def _whole(name: str, value: int, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise TypeError(f"{name} must be a whole number from {least} on, not {value!r}")
    return value
