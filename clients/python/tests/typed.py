"""What a strict type checker must take, and what it must refuse. This file is checked, not run."""

from __future__ import annotations

from decimal import Decimal

from tally import AsyncTally, Tally
from tally.types import Grant, NewUsageEvent


def blocking(client: Tally) -> str:
    account = client.accounts.create({"name": "Acme", "external_id": None}, idempotency_key="k", timeout_ms=5)
    event: NewUsageEvent = {"account_id": account["id"], "metric_id": "m", "quantity": Decimal(1)}
    client.events.report(event)
    client.events.report_many({"events": [event, {**event, "quantity": 1}]})
    grants: list[Grant] = list(client.grants.list({"account_id": account["id"], "status": "active"}))
    price = client.prices.create({"product_id": "p", "currency": "usd", "model": "flat", "amount": 5})
    if price["model"] == "flat":
        return price["amount"] + grants[0]["amount"]
    return client.accounts.balance(account["id"], {"currency": "usd"})["balance"]


async def awaited(client: AsyncTally) -> str:
    page = await client.accounts.list({"limit": 1}).page()
    async for account in client.accounts.list():
        return account["id"]
    return page.data[0]["name"]


def refused(client: Tally) -> None:
    client.accounts.create({"nam": "Acme"})  # type: ignore[typeddict-item]
    client.accounts.create({"name": "Acme"}, idempotencykey="k")  # type: ignore[call-arg]
    client.grants.create({"account_id": "a", "amount": 0.5, "effective_at": 0})  # type: ignore[typeddict-item]
    client.grants.list({"status": "old"})  # type: ignore[arg-type]
    client.accounts.get("a")["balance"]  # type: ignore[typeddict-item]
    client.accounts.get(5)  # type: ignore[arg-type]
