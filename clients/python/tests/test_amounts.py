from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
from support import Scripted

from tally import decimals

EXACT = "12345678901234567890.123456789012345678"


def test_amounts_are_sent_as_text_at_any_depth(client: Any) -> None:
    scripted = Scripted(client, [{"id": "price_1"}])
    tiers = [{"up_to": 10, "unit_amount": Decimal("0.10")}, {"up_to": None, "flat_amount": Decimal("1E+3")}]
    scripted.tally.prices.create({"model": "graduated", "tiers": tiers, "product_id": "p", "currency": "usd"})
    assert scripted.requests[0].body["tiers"] == [
        {"up_to": "10", "unit_amount": "0.10"},
        {"up_to": None, "flat_amount": "1000"},
    ]


def test_no_digit_is_lost(client: Any) -> None:
    scripted = Scripted(client, [{"id": "event_1"}])
    event = {"account_id": "a", "metric_id": "m", "quantity": Decimal(EXACT)}
    scripted.tally.events.report(event)
    assert scripted.requests[0].body["quantity"] == EXACT
    scripted.tally.events.report({**event, "quantity": Decimal("-0.00")})
    assert scripted.requests[1].body["quantity"] == "0"


@pytest.mark.parametrize("amount", [0.1, 1.0, float("nan"), True, Decimal("NaN"), Decimal("Infinity")])
def test_what_is_not_exact_is_refused_before_anything_is_sent(client: Any, amount: object) -> None:
    scripted = Scripted(client, [{"id": "grant_1"}])
    with pytest.raises(TypeError, match=r"amount: .* is not an exact amount"):
        scripted.tally.grants.create({"account_id": "a", "currency": "usd", "amount": amount, "effective_at": 0})
    assert scripted.requests == []


def test_properties_stay_as_they_are(client: Any) -> None:
    scripted = Scripted(client, [{"id": "event_1"}])
    properties = {"amount": 1, "quantity": 0.5, "ünïcode": ["\u2028", None, True]}
    scripted.tally.events.report({"account_id": "a", "metric_id": "m", "quantity": 1, "properties": properties})
    assert json.loads(scripted.bodies[0] or b"")["properties"] == properties


def test_decimals_never_round() -> None:
    assert decimals.add(EXACT, "0.000000000000000001") == "12345678901234567890.123456789012345679"
    assert decimals.subtract("1", "1.50") == "-0.5"
    assert decimals.add("0.1", Decimal("0.2")) == "0.3"
    assert decimals.add(5, "-5.0") == "0"
    assert [decimals.compare(a, b) for a, b in [("2", "10"), ("1.0", "1"), (EXACT, "-1")]] == [-1, 0, 1]
    assert decimals.is_negative("-0.1")
    assert not decimals.is_negative("-0")
    for wrong in ["1e3", "", "1.", "NaN", " 1", "\uff11"]:
        with pytest.raises(TypeError):
            decimals.add(wrong, "0")
    with pytest.raises(TypeError):
        decimals.add(0.1, "0")  # type: ignore[arg-type]
