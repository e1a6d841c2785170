from __future__ import annotations

import time
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from support import Fate, FaultyProxy

import tally
from tally import decimals

LOGIN: Fate = (502, {"content-type": "text/html"}, "<html>Bad Gateway</html>")
FATES: list[Fate] = ["cut before", "cut after", (429, {"retry-after": "0"}, ""), (500, {}, ""), LOGIN, (503, {}, "")]
HISTORIES: list[list[Fate]] = [
    history for first in FATES for history in ([first], *([first, second] for second in FATES))
]
"""Every fate at each of the two attempts that may fail."""


@pytest.fixture
def proxy(url: str) -> Iterator[FaultyProxy]:
    made = FaultyProxy(url)
    yield made
    made.close()


@pytest.fixture
def behind(client: Any, proxy: FaultyProxy, key: str) -> Any:
    """A client behind the proxy that does not wait between attempts."""
    made = client(url=proxy.url, api_key=key)

    async def no_wait(_: float) -> None:
        return None

    target = made._target if client.is_async else made
    target.accounts._call._wait = no_wait if client.is_async else (lambda _: None)
    return made


def test_what_is_made_is_made_once_and_answered(behind: Any, proxy: FaultyProxy) -> None:
    account = behind.accounts.create({"name": "a"})["id"]
    made = set()
    for history in HISTORIES:
        proxy.fates[:] = history
        grant = {"account_id": account, "currency": "eur", "amount": 1, "effective_at": 0}
        made.add(behind.grants.create(grant)["id"])
    assert len(made) == len(HISTORIES)
    assert behind.accounts.balance(account, {"currency": "eur"})["grant_total"] == str(len(HISTORIES))


def test_reported_usage_counts_once(behind: Any, proxy: FaultyProxy) -> None:
    account, metric = behind.accounts.create({"name": "a"})["id"], behind.metrics.create({"name": "m"})["id"]
    total = "0"
    for history in HISTORIES:
        proxy.fates[:] = history
        behind.events.report({"account_id": account, "metric_id": metric, "quantity": Decimal("0.1")})
        proxy.fates[:] = history
        event = {"account_id": account, "metric_id": metric, "quantity": 1}
        assert behind.events.report_many({"events": [event, event]})["accepted"] == 2
        total = decimals.add(total, "2.1")

    def usage() -> str:
        return str(behind.accounts.balance(account, {"metric_id": metric})["usage_total"])

    end_at = time.monotonic() + 20
    while decimals.compare(usage(), total) < 0 and time.monotonic() < end_at:
        time.sleep(0.1)
    assert usage() == total


def test_a_lost_key_is_named(behind: Any, proxy: FaultyProxy) -> None:
    proxy.fates[:] = ["cut after"]
    with pytest.raises(tally.OutcomeUnknownError) as raised:
        behind.api_keys.create({"name": "lost", "permissions": ["read:all"]})
    assert raised.value.id is not None
    assert behind.api_keys.get(raised.value.id)["name"] == "lost"
    behind.api_keys.revoke(raised.value.id)
