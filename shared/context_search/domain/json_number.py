"""JSON numbers as they are written, for documents that are somebody else's."""

from __future__ import annotations

import re
from dataclasses import dataclass

from context_search.domain.errors import DocumentTooLargeError, InvalidDocumentError

MAX_DIGITS = 1000
MAX_GROWTH = 6_000_000
PLAIN_LENGTH = 32
"""Longer ones than this are no figures that people or programs write out with their zeros."""
_INFINITY = float("inf")
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


@dataclass(slots=True)
class Numbers:
    """Reads the numbers of one document, and counts how much longer Postgres writes them.

    ``1e-999`` is six characters in a request and 1,001 in ``jsonb``: each is within the limits,
    but all of them together are not.
    """

    growth: int = 0

    def finite(self, text: str) -> JsonNumber:
        """Returns a number of a request, exact.

        Raises InvalidDocumentError over 1,000 digits, written out in full, beyond the range of a
        double (most who read the document would take it for infinity), and where the numbers
        that it reads become over 6,000,000 characters longer than they were sent.
        """
        number = JsonNumber(text)
        exponent = _EXPONENT.search(text)
        is_infinite = number in (_INFINITY, -_INFINITY)
        if (
            len(text) > MAX_DIGITS  # first: Python reads no exponent of 5,000 digits
            or is_infinite
            or abs(decimals := _decimals(text, exponent)) > MAX_DIGITS
        ):
            raise InvalidDocumentError("a number is out of range")
        if exponent is not None:
            self.growth += max(0, _written_length(number, text, exponent, decimals) - len(text))
            if self.growth > MAX_GROWTH:
                raise DocumentTooLargeError(
                    "the numbers, written out in full, are over"
                    f" {MAX_GROWTH} characters longer than they were sent"
                )
        return number


def _decimals(text: str, exponent: re.Match[str] | None) -> int:
    """How far the last digit, or a zero's exponent, is behind the decimal point."""
    fraction = _FRACTION.search(text)
    return (len(fraction[1]) if fraction else 0) - (int(exponent[1]) if exponent else 0)


def _written_length(number: float, text: str, exponent: re.Match[str], decimals: int) -> int:
    """How many characters Postgres writes, at most: no exponent, and every place that there is."""
    mantissa = text[: exponent.start()].removeprefix("-")
    whole = len(mantissa.partition(".")[0]) + int(exponent[1]) if number else 1
    fraction = 1 + decimals if decimals > 0 else 0
    return text.startswith("-") + max(1, whole) + fraction


def padding(text: str) -> int:
    """Returns how many characters a number takes that a request need not send.

    Zeros at the end of an integer, and in front of a fraction's digits: ``1e300`` says the same.
    0 for a number that Postgres writes in at most 32 characters.
    """
    exponent = _EXPONENT.search(text) if "e" in text or "E" in text else None
    if exponent is None:
        return 0 if len(text) <= PLAIN_LENGTH else _zeros(text)
    written = _written_length(float(text), text, exponent, _decimals(text, exponent))
    return max(0, written - len(text)) if written > PLAIN_LENGTH else 0


def _zeros(text: str) -> int:
    whole, _, fraction = text.removeprefix("-").partition(".")
    if not fraction:
        zeros = len(whole) - len(whole.rstrip("0"))
        return max(0, zeros - len(f"e{zeros}"))
    if whole == "0":
        digits = fraction.lstrip("0") or "0"
        return max(0, len(f"0.{fraction}") - len(f"{digits}e-{len(fraction)}"))
    return 0


def stored_integer(text: str) -> int | JsonNumber:
    """Returns an integer that Postgres holds; Python's own refuse more than 4,300 digits."""
    return int(text) if len(text) <= MAX_DIGITS else JsonNumber(text)
