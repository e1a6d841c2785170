from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from support import Blocking

from tally import AsyncTally, Tally


@pytest.fixture(scope="session")
def portal() -> Iterator[BlockingPortal]:
    with start_blocking_portal() as portal:
        yield portal


@pytest.fixture(params=["sync", "async"])
def client(request: pytest.FixtureRequest, portal: BlockingPortal) -> Any:
    """Makes clients of both kinds. Those of asyncio are called as the other ones."""

    def make(**options: Any) -> Any:
        return Tally(**options) if request.param == "sync" else Blocking(portal, AsyncTally(**options))

    make.is_async = request.param == "async"  # type: ignore[attr-defined]
    return make


def _given(name: str) -> str:
    value = os.environ.get(name)
    if not value:
        pytest.fail(f"{name} is not set: test/clients/python/python.test.ts sets it")
    return value


@pytest.fixture(scope="session")
def url() -> str:
    return _given("TALLY_TEST_URL")


@pytest.fixture(scope="session")
def key() -> str:
    """The key of a live company."""
    return _given("TALLY_TEST_LIVE_KEY")


@pytest.fixture(scope="session")
def test_key() -> str:
    """The key of a test company."""
    return _given("TALLY_TEST_TEST_KEY")


@pytest.fixture(scope="session")
def requests_url() -> str:
    """Where requests of all operations are made."""
    return _given("TALLY_TEST_REQUESTS")


@contextmanager
def _environment(**values: str) -> Iterator[None]:
    before = dict(os.environ)
    os.environ.update(values)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


@pytest.fixture
def environment() -> Any:
    return _environment
