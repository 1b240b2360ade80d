"""JSON numbers as they are written, so that documents keep the numbers of their owners.

A fraction, or a number with an exponent, is a ``Decimal``, which keeps every digit and the zeros
behind the last one: ``1.10`` stays ``1.10``. An integer is an ``int``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from context_search.core.errors import DocumentTooLargeError, InvalidDocumentError

MAX_DIGITS = 1000
MAX_GROWTH = 6_000_000
PLAIN_LENGTH = 32
"""Most characters that a number may take without being counted as padded."""


def integer(text: str) -> int:
    """Returns an integer of a request. Raises InvalidDocumentError over 1,000 digits."""
    if len(text) > MAX_DIGITS:
        raise InvalidDocumentError(f"a number has over {MAX_DIGITS} digits")
    return int(text)


def stored_integer(text: str) -> int | Decimal:
    """Returns an integer that Postgres holds; Python's own refuse more than 4,300 digits."""
    return int(text) if len(text) <= MAX_DIGITS else Decimal(text)


@dataclass(slots=True)
class Numbers:
    """Reads the numbers of one document and counts by how much Postgres lengthens them.

    ``1e-999`` is six characters in a request and 1,001 in ``jsonb``. Each number is within the
    limits, but all of them together may not be.
    """

    growth: int = 0

    def finite(self, text: str) -> Decimal:
        """Returns a number of a request, exact.

        Raises InvalidDocumentError over 1,000 digits, written out in full, beyond the range of a
        double (most who read the document would take it for infinity), and where the numbers
        that it reads become over 6,000,000 characters longer than they were sent or need be.
        """
        if len(text) <= PLAIN_LENGTH and "e" not in text and "E" not in text:
            return Decimal(text)
        if len(text) > MAX_DIGITS or math.isinf(float(text)):
            raise InvalidDocumentError("a number is out of range")
        try:
            number = Decimal(text)
        except InvalidOperation:  # an exponent of more than 18 digits
            raise InvalidDocumentError("a number is out of range") from None
        if abs(int(number.as_tuple().exponent)) > MAX_DIGITS:
            raise InvalidDocumentError("a number is out of range")
        # Never less than is counted in the document afterwards: what comes in may be put back.
        self.growth += max(padding(number), len(_written(number)) - len(text))
        if self.growth > MAX_GROWTH:
            raise DocumentTooLargeError(
                "the numbers, written out in full, are over"
                f" {MAX_GROWTH} characters longer than they need be"
            )
        return number


def padding(number: Decimal) -> int:
    """Returns by how many characters a number, as Postgres writes it, exceeds its shortest form.

    ``1e300`` stands for a 1 with 300 zeros. 0 for a number of up to 32 characters.
    """
    written = _written(number)
    if len(written) <= PLAIN_LENGTH:
        return 0
    whole, _, fraction = written.removeprefix("-").partition(".")
    digits = f"{whole}{fraction}".lstrip("0") if fraction else whole.rstrip("0")
    power = -len(fraction) if fraction else len(whole) - len(digits)
    shortest = f"{digits or 0}e{power}"
    return max(0, len(written) - written.startswith("-") - len(shortest))


def _written(number: Decimal) -> str:
    """Returns the number as Postgres writes it: without an exponent, with all digits."""
    return f"{number:f}"
