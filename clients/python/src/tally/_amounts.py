from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal

from ._operations_gen import AMOUNT_FIELDS


def amount_text(amount: object, field: str) -> str:
    """Formats an amount as decimal text.

    A float may have lost digits before it came here, so it is a TypeError.
    """
    if isinstance(amount, str):
        return amount
    if isinstance(amount, int) and not isinstance(amount, bool):
        return str(amount)
    if isinstance(amount, Decimal) and amount.is_finite():
        return "0" if amount.is_zero() else format(amount, "f")
    raise TypeError(f"{field}: {amount!r} is not an exact amount; give text such as '12.5', an int or a Decimal")


def with_amounts_as_text(value: object) -> object:
    """Turns the amounts of a body into text. `properties` stay as they are: their names belong to the caller."""
    if isinstance(value, Mapping):
        return {name: _field(name, field) for name, field in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes, bytearray)):
        return [with_amounts_as_text(one) for one in value]
    return value


def _field(name: object, field: object) -> object:
    if name == "properties":
        return field
    if name in AMOUNT_FIELDS and isinstance(field, (int, float, Decimal)):
        return amount_text(field, str(name))
    return with_amounts_as_text(field)
