"""JSON numbers as they are written, for documents that are somebody else's."""

from __future__ import annotations

import re

from context_search.domain.errors import InvalidDocumentError

MAX_DIGITS = 1000
_FRACTION = re.compile(r"\.(\d+)")
_EXPONENT = re.compile(r"[eE]([-+]?\d+)\Z")


class JsonNumber(float):
    """A number that keeps its ``text``: ``1.10``, ``1e-400``, an integer of 5,000 digits.

    As a float it is the nearest one, infinity where there is none.
    """

    __slots__ = ("text",)
    text: str

    def __new__(cls, text: str) -> JsonNumber:
        """``text`` is a number by the grammar of RFC 8259."""
        number = super().__new__(cls, text)
        number.text = text
        return number


def integer(text: str) -> int:
    """Returns an integer of a request. Raises InvalidDocumentError over 1,000 digits."""
    if len(text) > MAX_DIGITS:
        raise InvalidDocumentError(f"a number has over {MAX_DIGITS} digits")
    return int(text)


def finite(text: str) -> JsonNumber:
    """Returns a number of a request, exact.

    Raises InvalidDocumentError over 1,000 digits, written out in full, and beyond the range of a
    double: most who read the document would take it for infinity.
    """
    number = JsonNumber(text)
    is_infinite = number in (float("inf"), float("-inf"))
    if len(text) > MAX_DIGITS or is_infinite or _places(text) > MAX_DIGITS:
        raise InvalidDocumentError("a number is out of range")
    return number


def _places(text: str) -> int:
    """How far the last digit, or a zero's exponent, is from the decimal point."""
    fraction, exponent = _FRACTION.search(text), _EXPONENT.search(text)
    decimals = len(fraction[1]) if fraction else 0
    return abs((int(exponent[1]) if exponent else 0) - decimals)


def stored_integer(text: str) -> int | JsonNumber:
    """Returns an integer that Postgres holds; Python's own refuse more than 4,300 digits."""
    return int(text) if len(text) <= MAX_DIGITS else JsonNumber(text)
