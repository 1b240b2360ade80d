"""How a database URL is read, and what it never gives away."""

from __future__ import annotations

import pytest

from context_search.core.errors import InvalidInputError
from context_search.postgres.url import DatabaseUrl


def test_a_url_with_everything_is_read_part_by_part() -> None:
    url = DatabaseUrl.parse(
        "postgresql://us%40er:p%3Aw%2F@db.example.org:6432/shop%20db"
        "?sslmode=verify-full&sslrootcert=/etc/ca.pem"
    )
    assert url == DatabaseUrl(
        user="us@er",
        password="p:w/",
        host="db.example.org",
        port=6432,
        database="shop db",
        sslmode="verify-full",
        sslrootcert="/etc/ca.pem",
    )


@pytest.mark.parametrize(
    ("text", "sslmode"),
    [
        ("postgresql://u:p@db.example.org/d", "verify-full"),
        ("postgres://u:p@10.0.0.7/d", "verify-full"),
        ("postgresql://u:p@127.0.0.1/d", "disable"),
        ("postgresql://u:p@[::1]/d", "disable"),
        ("postgresql://u:p@localhost/d?sslmode=verify-full", "verify-full"),
        ("postgresql://u:p@db/d?sslmode=disable", "disable"),
        ("postgresql://u:p@/d?host=/run/postgresql", "disable"),
    ],
)
def test_only_this_machine_is_trusted_without_tls_unless_the_url_says_so(
    text: str, sslmode: str
) -> None:
    assert DatabaseUrl.parse(text).sslmode == sslmode


def test_a_unix_socket_is_a_directory_and_a_port() -> None:
    url = DatabaseUrl.parse("postgresql://u@:5433/d?host=/run/pg")
    assert (url.socket_dir, url.port, url.password) == ("/run/pg", 5433, None)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "mysql://u:canary@h/d",
        "postgresql://h/d",
        "postgresql://u:canary@h",
        "postgresql://u:canary@h/",
        "postgresql://u:canary@/d",
        "postgresql://u:canary@h:port/d",
        "postgresql://u:canary@h:70000/d",
        "postgresql://u:canary@[::1/d",
        "postgresql://u:canary@h/d?sslmode=require",
        "postgresql://u:canary@h/d?sslmode=prefer",
        "postgresql://u:canary@h/d?options=-c%20x=y",
        "postgresql://u:canary@h/d?sslmode",
        "postgresql://u:canary@h/d?host=elsewhere",
        "postgresql://u:canary@/d?host=/run&sslmode=verify-full",
    ],
)
def test_a_url_that_cannot_be_followed_is_refused_without_being_quoted(text: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        DatabaseUrl.parse(text)
    assert "canary" not in str(caught.value)


def test_a_password_is_not_in_the_representation() -> None:
    assert "canary" not in repr(DatabaseUrl.parse("postgresql://u:canary@h/d"))
