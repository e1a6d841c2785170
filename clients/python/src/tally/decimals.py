"""Exact arithmetic on amounts.

Amounts are text, because a float would lose digits. A Decimal holds them, but its sums are rounded to 28 digits
unless the context is changed. These functions never round.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Literal

from ._amounts import amount_text

__all__ = ["add", "compare", "is_negative", "subtract"]

_AMOUNT = re.compile(r"(-?[0-9]+)(?:\.([0-9]+))?")


def compare(a: str | int | Decimal, b: str | int | Decimal) -> Literal[-1, 0, 1]:
    """Returns -1, 0 or 1."""
    x, y, _ = _aligned(a, b)
    return -1 if x < y else 1 if x > y else 0


def is_negative(amount: str | int | Decimal) -> bool:
    """Whether an amount is below zero."""
    return _parse(amount)[0] < 0


def add(a: str | int | Decimal, b: str | int | Decimal) -> str:
    x, y, places = _aligned(a, b)
    return _format(x + y, places)


def subtract(a: str | int | Decimal, b: str | int | Decimal) -> str:
    x, y, places = _aligned(a, b)
    return _format(x - y, places)


def _parse(amount: str | int | Decimal) -> tuple[int, int]:
    """Returns units and places: the amount is units / 10 ** places."""
    text = amount_text(amount, "amount")
    match = _AMOUNT.fullmatch(text)
    if match is None:
        raise TypeError(f"{text!r} is not an amount, such as '12.5'")
    whole, fraction = match[1], match[2] or ""
    return int(whole + fraction), len(fraction)


def _aligned(a: str | int | Decimal, b: str | int | Decimal) -> tuple[int, int, int]:
    (x, x_places), (y, y_places) = _parse(a), _parse(b)
    places = max(x_places, y_places)
    return x * 10 ** (places - x_places), y * 10 ** (places - y_places), places


def _format(units: int, places: int) -> str:
    """Formats without zeros at the end of the fraction, as Tally does."""
    digits = str(abs(units)).rjust(places + 1, "0")
    whole, fraction = digits[: len(digits) - places], digits[len(digits) - places :].rstrip("0")
    return ("-" if units < 0 else "") + whole + (f".{fraction}" if fraction else "")
