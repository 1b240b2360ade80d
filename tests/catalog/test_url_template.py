"""Templates of addresses: which are taken, and what becomes of one."""

from __future__ import annotations

from urllib.parse import parse_qs, unquote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_search.catalog.rules.url_template import (
    MAX_ADDRESS,
    MAX_TEMPLATE,
    fault_of,
    filled,
)

PLACE = {"table_id": 7, "pointer": "/a b/~1&#", "start": 3, "end": 12, "cite": "AbC_-9"}


@pytest.mark.parametrize(
    ("template", "address"),
    [
        (
            "https://a.example/{table_id}?at={pointer}&c={cite}#{start}-{end}",
            "https://a.example/7?at=%2Fa%20b%2F~1%26%23&c=AbC_-9#3-12",
        ),
        ("http://127.0.0.1:8080/{cite}", "http://127.0.0.1:8080/AbC_-9"),
        ("http://[::1]:80/{start}{end}{start}", "http://[::1]:80/3123"),
        ("HTTPS://wiki/%E4%B9%A6", "HTTPS://wiki/%E4%B9%A6"),
        ("https://a.example?{cite}", "https://a.example?AbC_-9"),
    ],
)
def test_an_address_has_each_value_encoded(template: str, address: str) -> None:
    assert fault_of(template) is None
    assert filled(template, **PLACE) == address  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "template",
    [
        "",
        "/{table_id}",
        "//a.example/{table_id}",
        "a.example/{table_id}",
        "ftp://a.example/{cite}",
        "javascript:alert({table_id})",
        "data:text/html,{pointer}",
        "file:///{pointer}",
        "https:///{pointer}",
        "https://{pointer}/",
        "https://a.example{pointer}/",
        "https://a.example:{start}/",
        "https://a.example:99999/",
        "https://a.example:x/",
        "{pointer}://a.example/",
        "https://user@a.example/{cite}",
        "https://user:password@a.example/{cite}",
        "https://[::1/{cite}",
        "https://a.example/{unknown}",
        "https://a.example/{table_id",
        "https://a.example/{{cite}}",
        "https://a.example/}{",
        "https://a.example/{cite!r}",
        "https://a.example/{0}",
        "https://a.example/ {cite}",
        "https://a.example/\t{cite}",
        "https://a.example/\n{cite}",
        "https://a.example/{cite}\n",
        " https://a.example/{cite}",
        "https://a.example/\0{cite}",
        "https://a.example/\u202e{cite}",
        "https://例子.example/{cite}",
        "https://a.example\\@b.example/{cite}",
        'https://a.example/"onload={cite}',
        "https://a.example/<{cite}>",
        "https://a.example/" + "x" * MAX_TEMPLATE,
    ],
)
def test_what_is_no_template_is_told_and_never_filled(template: str) -> None:
    assert fault_of(template)
    assert filled(template, **PLACE) is None  # type: ignore[arg-type]


def test_an_address_that_nobody_could_open_is_none() -> None:
    long = {**PLACE, "pointer": "/" + "é" * (MAX_ADDRESS // 6)}
    assert filled("https://a.example/{cite}", **long) is not None  # type: ignore[arg-type]
    assert filled("https://a.example/{pointer}", **long) is None  # type: ignore[arg-type]


@given(st.text(max_size=200), st.text(max_size=40))
def test_a_value_stays_in_its_place_whatever_it_is(pointer: str, cite: str) -> None:
    pointer, cite = (text.encode(errors="ignore").decode() for text in (pointer, cite))
    address = filled(
        "https://a.example/{cite}/x?at={pointer}&more=1",
        **{**PLACE, "pointer": pointer, "cite": cite},  # type: ignore[arg-type]
    )
    assert address is not None
    parts = urlsplit(address)
    assert (parts.netloc, parts.fragment) == ("a.example", "")
    assert [unquote(part) for part in parts.path.split("/")] == ["", cite, "x"]
    assert parse_qs(parts.query, keep_blank_values=True) == {"at": [pointer], "more": ["1"]}
