"""How much longer numbers are than they need be, counted in a document as it stands."""

from __future__ import annotations

from decimal import Decimal

import pytest

from context_search.core.documents import number_padding, parse_exact, parse_json
from context_search.core.json_number import PLAIN_LENGTH, Numbers
from context_search.core.json_text import to_json


def written(sent: str) -> str:
    """What Postgres writes: every digit and no exponent, as many decimals as were sent."""
    return f"{Decimal(sent):f}"


@pytest.mark.parametrize(
    "sent", ["1e300", "-25e299", "7e32", "-123e-400", "1e-999", "0e-900", "-1E+200", "12345678e-40"]
)
def test_what_a_number_grew_by_is_seen_in_the_number_itself(sent: str) -> None:
    grown = len(written(sent)) - len(sent.replace("+", ""))
    assert number_padding(parse_exact(f"[{written(sent)}]")) == grown > 0
    assert number_padding(parse_json(sent.replace("+", "").encode())) == grown


@pytest.mark.parametrize(
    "sent",
    [
        *("0", "-1", "1.50", "0e900", "1e20", "0.00", "1" + "0" * (PLAIN_LENGTH - 1)),
        *("9" * 300, "0." + "123456789" * 90, "1." + "0" * 500, "1" + "0" * 200 + ".5"),
    ],
)
def test_digits_that_have_to_be_sent_are_no_growth(sent: str) -> None:
    assert number_padding(parse_exact(f'[{written(sent)}, true, "1e300"]')) == 0
    assert number_padding(parse_json(sent.encode())) == 0


@pytest.mark.parametrize("sent", ["1e31", "0e-30", "-1e30", "1.5e-29"])
def test_what_counts_nothing_has_at_most_seven_times_what_was_sent(sent: str) -> None:
    assert number_padding(parse_exact(written(sent))) == 0
    assert len(f"{written(sent)}, ") <= 7 * len(f"{sent},")


def test_the_numbers_of_a_document_count_together_wherever_they_are() -> None:
    sent = parse_json(b"[1e300, [1e-300]]")
    assert number_padding({"a": [{"b": 10**300}], "c": sent}) == 3 * 296


@pytest.mark.parametrize(
    "sent", ["1.10", "-0.0", "0.000", "123456789012345678901234567890.50", "0." + "1" * 900]
)
def test_digits_and_zeros_are_written_as_they_were_read(sent: str) -> None:
    assert to_json(parse_json(f"[{sent}]".encode())) == f"[{sent}]"
    assert to_json(parse_exact(f"[{sent}]")) == f"[{sent}]"


@pytest.mark.parametrize("sent", ["1e300", "-2.50E-7", "0e-9", "12e0", "0.00000001", "1e-400"])
def test_an_exponent_is_written_otherwise_and_means_the_same(sent: str) -> None:
    stored = to_json(parse_json(sent.encode()))
    assert Decimal(stored).as_tuple() == Decimal(sent).as_tuple()


@pytest.mark.parametrize("sent", ["1.5e300", "1.5e+300", "-1.50E+0300", "0.00001e-200", "1e300"])
def test_a_document_that_comes_in_is_not_too_long_where_it_is_put_back(sent: str) -> None:
    numbers = Numbers()
    document = numbers.finite(sent)
    assert numbers.growth >= number_padding(document) > 0
