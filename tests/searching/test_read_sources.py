"""What stands around hits, read far enough that no end of it shows a part of a secret."""

from __future__ import annotations

import base64
import random
from datetime import UTC, datetime

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from context_search.core.model import HydratedChunk
from context_search.searching.retrieve import EXTENT_CHARS, read_sources
from context_search.searching.rules.retrieval import RetrievalSettings
from context_search.text.sensitive.kinds import SENSITIVE_KINDS, SensitiveKind
from testing.in_memory.clock import ManualClock
from tests.builders import english
from tests.faults.simulation.model.live_chunks import ModelLiveChunks
from tests.faults.simulation.model.rows import ChunkRow, Rows, SetRow
from tests.profile import examples

SEEN = 8
"""So many characters of a secret in a row would give it away."""
CHINESE = "图书馆每周三下午闭馆，读者可以在网上续借。管理员清点了书架，新书放在门口。"

BEGIN, END = (f"-----{word} RSA PRIVATE" + " KEY-----" for word in ("BEGIN", "END"))


def letters(length: int, seed: int) -> str:
    """Letters and digits, as keys have them."""
    draw = random.Random(seed)
    return "".join(
        draw.choices("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789", k=length)
    )


def lines(length: int, seed: int, between: str, width: int = 64) -> str:
    raw = base64.b64encode(random.Random(seed).randbytes(length * 3 // 4 + 1)).decode()
    rows = [raw[at : at + width] for at in range(0, len(raw), width)]
    return between.join([BEGIN, *rows, END])


def jwt(length: int, seed: int) -> str:
    third = max(9, length // 3)
    return "eyJ" + ".".join(letters(third, seed + part) for part in range(3))


FORMS = {
    "jwt": lambda n, seed: (f"token {jwt(n, seed)} end", jwt(n, seed)),
    "password": lambda n, seed: (f"password={letters(n, seed)}7a ", letters(n, seed)),
    "bearer": lambda n, seed: (f"Bearer {letters(max(n, 20), seed)}\n", letters(max(n, 20), seed)),
    "prefix": lambda n, seed: (f"s{'k-'}{letters(max(n, 16), seed)} ", letters(max(n, 16), seed)),
    "address": lambda n, seed: (f"pg://u:{letters(n, seed)}@db.example", letters(n, seed)),
    "json": lambda n, seed: (f'{{"apiKey":"{letters(n, seed)}1a2b3c"}}', letters(n, seed)),
    "pem": lambda n, seed: (lines(n, seed, "\n"), lines(n, seed, "\n")),
    "mail": lambda n, seed: ("> " + lines(n, seed, "\n> "), lines(n, seed, "\n> ")),
    "list": lambda n, seed: (
        f'["{lines(n, seed, chr(34) + "," + chr(34))}"]',
        lines(n, seed, '","'),
    ),
    "escaped": lambda n, seed: (f'"{lines(n, seed, chr(92) + "n")}"', lines(n, seed, "\\n")),
    "yaml": lambda n, seed: (f"key: |\n  {lines(n, seed, chr(10) + '  ')}", lines(n, seed, "\n  ")),
    "comment": lambda n, seed: (f"# {lines(n, seed, chr(10) + '# ')}", lines(n, seed, "\n# ")),
    "narrow": lambda n, seed: (lines(n, seed, "\n", width=40), lines(n, seed, "\n", width=40)),
}
SHORT: dict[SensitiveKind, list[str]] = {
    "email": ["keeper.of.the.light@house.example.org", "灯塔管理员@例子.公司"],
    "phone": ["+86 138-1234-5678", "(415) 555-2671", "0571-87654321"],
    "id_card": ["11010519491231002X"],
    "bank_card": ["4111 1111 1111 1111", "5555555555554444"],
    "iban": ["DE89 3704 0044 0532 0130 00", "GB82WEST12345698765432"],
    "ssn": ["SSN 401-22-7788"],
}


def shown(text: str, size: int, overlap: int, hit: int, neighbours: int = 0) -> tuple[str, int]:
    """What is shown of the passage at a hit, when a text is cut so; and where it begins."""
    starts = range(0, max(1, len(text) - overlap), size - overlap)
    rows = Rows()
    rows.sets[1] = SetRow(1, 1, "h", "active", len(starts))
    for index, start in enumerate(starts):
        part = text[start : start + size]
        rows.chunks[index + 1] = ChunkRow(
            index + 1,
            1,
            1,
            "/a",
            index,
            len(starts),
            part,
            start,
            start + len(part),
            "h",
            "n",
            "d",
            b"",
            b"",
        )
    row = rows.chunks[hit % len(starts) + 1]
    found = HydratedChunk(
        *(row.id, 1, "/a", row.index, row.total, row.text, row.start, row.end, "h", "n", "d"),
        changed_at=datetime(2026, 1, 1, tzinfo=UTC),
    )
    settings = RetrievalSettings(neighbours=neighbours)
    [(source, passage)] = read_sources(ModelLiveChunks(rows, ManualClock()), [found], settings)
    start, end = source.shown
    return passage.show(start, end).text, start


def longest_part(shown_text: str, secret: str) -> str:
    """The first part of the secret, so long that it gives it away, which is shown."""
    at = {secret[i : i + SEEN] for i in range(len(secret) - SEEN + 1)}
    parts = (shown_text[i : i + SEEN] for i in range(len(shown_text) - SEEN + 1))
    # What stands between the lines of a key, and its markers, are in texts that hold none.
    return next((p for p in parts if p in at and p not in BEGIN and p not in END), "")


PLACES = st.tuples(
    st.integers(0, 3_000),  # characters before it
    st.integers(400, 1_500),  # of a chunk
    st.integers(0, 150),  # of overlap
    st.integers(0, 60),  # the chunk that is found
)


@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.too_slow])
@pytest.mark.parametrize("form", FORMS)
@given(
    st.integers(12, 20_000),
    PLACES,
    st.integers(0, 9),
    st.integers(0, 1),
    st.sampled_from(["e", "c"]),
)
@example(3_690, (700, 1_000, 100, 2), 0, 0, "e")
def test_no_end_of_a_passage_shows_a_part_of_a_long_secret(
    form: str,
    length: int,
    place: tuple[int, int, int, int],
    seed: int,
    neighbours: int,
    filler: str,
) -> None:
    around = english(3_100, seed) if filler == "e" else CHINESE * 90
    before, size, overlap, hit = place
    written, secret = FORMS[form](length, seed)
    text = f"{around[:before]}\n{written}\n{around[:3_000]}"
    assert longest_part(shown(text, size, overlap, hit, neighbours)[0], secret) == ""


@settings(max_examples=examples(40))
@pytest.mark.parametrize(
    "secret", [secret for kind in SENSITIVE_KINDS for secret in SHORT.get(kind, [])]
)
@given(PLACES, st.sampled_from(["e", "c"]))
def test_no_end_of_a_passage_shows_a_part_of_a_short_secret(
    secret: str, place: tuple[int, int, int, int], filler: str
) -> None:
    around = english(3_100) if filler == "e" else CHINESE * 90
    before, size, overlap, hit = place
    text = f"{around[:before]} {secret} {around[:3_000]}"
    assert longest_part(shown(text, size, overlap, hit)[0], secret) == ""


@pytest.mark.parametrize("around", [english(9_000), CHINESE * 240], ids=["English", "Chinese"])
@pytest.mark.parametrize("hit", range(9))
def test_ordinary_text_is_shown_whole(around: str, hit: int) -> None:
    text, start = shown(around, 1_000, 100, hit)
    assert text == around[start : start + len(text)]
    assert len(text) >= 100


def test_a_run_that_goes_on_beyond_all_that_is_read_is_hidden_up_to_its_gap() -> None:
    blob = letters(EXTENT_CHARS * 3, 1)
    text = f"{english(2_000)} {blob} {english(2_000)}"
    middle, _ = shown(text, 1_000, 100, 15)
    assert middle == "[redacted:key]"
    first, _ = shown(text, 1_000, 100, 2)
    assert first.endswith("[redacted:key]")
    assert len(first) > 100


def test_what_is_read_further_on_tells_a_certificate_from_a_key() -> None:
    certificate = lines(5_000, 1, "\n").replace("RSA PRIVATE KEY", "CERTIFICATE")
    text = f"{english(2_000)}\n{certificate}\n{english(2_000)}"
    middle, start = shown(text, 1_000, 100, 4)
    assert middle == text[start : start + 1_000]


def test_sums_of_files_are_no_run_that_goes_on() -> None:
    sums = "\n".join(f"{letters(64, seed).lower()}  reports/page{seed}.txt" for seed in range(400))
    text, start = shown(sums, 1_000, 100, 12)
    assert text == sums[start : start + 1_000]
