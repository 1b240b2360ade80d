"""RE2 in a process of its own: right places, hostile patterns, and nothing that stays behind."""

from __future__ import annotations

import json
import os
import re
import signal
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager
from importlib.util import find_spec
from pathlib import Path
from random import Random

import pytest

from context_search.core.errors import (
    ContextSearchError,
    PatternInvalidError,
    PatternTooComplexError,
    PatternTooSlowError,
    TooManyMatchesError,
)
from context_search.integrations.patterns import re2_patterns
from context_search.integrations.patterns.re2_patterns import MAX_GROUPS, Re2Pattern, Re2Patterns
from context_search.text.pattern_matches import MAX_SPANS

pytestmark = pytest.mark.slow

TIMEOUT_S = 30.0
WORKER = Path(re2_patterns.__file__).with_name("re2_worker.py")
QUADRATIC = "a.*?z|a"
"""Looks for a z from every a on."""
SLOW_TEXT = "a" * 1_000_000


def compiled(pattern: str, *, case_sensitive: bool = True) -> AbstractContextManager[Re2Pattern]:
    return Re2Patterns().compiled(pattern, case_sensitive=case_sensitive, timeout_s=TIMEOUT_S)


def found(pattern: str, *texts: str, case_sensitive: bool = True) -> list[list[str]]:
    with compiled(pattern, case_sensitive=case_sensitive) as search:
        matches = search.matches(texts, groups=[], text_timeout_s=TIMEOUT_S)
        return [
            [text[start:end] for start, end in spans]
            for text, spans in zip(texts, matches, strict=True)
        ]


def children() -> dict[int, str]:
    """The processes that this one has started, and their commands; zombies have none."""
    found = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            parent = (entry / "stat").read_text().rpartition(")")[2].split()[1]
            command = (entry / "cmdline").read_text()
        except OSError:
            continue
        if int(parent) == os.getpid():
            found[int(entry.name)] = command
    return found


def workers() -> list[int]:
    """Those that search for patterns."""
    return [pid for pid, command in children().items() if "re2_worker" in command]


def test_the_process_gets_little_memory_few_files_and_no_processes() -> None:
    with Re2Patterns().compiled("a", case_sensitive=True, timeout_s=5):
        [pid] = workers()
        lines = Path(f"/proc/{pid}/limits").read_text().splitlines()
    limits = {line[:26].strip(): line[26:].split()[:2] for line in lines}
    assert limits["Max address space"] == [str(1 << 30)] * 2
    assert limits["Max open files"] == ["16"] * 2
    assert limits["Max processes"] == ["0"] * 2


# The user of the tests may be root, which reads everything by one of these capabilities.
WITHOUT_POWERS = """
import ctypes, os, sys

for each in (SYS_PTRACE := 19, SYS_ADMIN := 21, PERFMON := 38):
    ctypes.CDLL(None).prctl(24, each, 0, 0, 0)  # PR_CAPBSET_DROP
os.execv(sys.executable, [sys.executable, "-c", sys.argv[1]])
"""
PARENT = """
import os, subprocess, sys
from context_search.integrations.patterns.re2_patterns import Re2Patterns

def read():
    program = f"open('/proc/{os.getpid()}/environ').read()"
    told = subprocess.run([sys.executable, "-c", program])
    return ["read", "refused"][told.returncode]

before = read()
with Re2Patterns().compiled("a", case_sensitive=True, timeout_s=20):
    print(before, read())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="there is no /proc")
def test_the_process_cannot_read_the_environment_of_the_one_that_starts_it() -> None:
    reported = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-c", WITHOUT_POWERS, PARENT], capture_output=True, text=True, check=True
    )
    assert reported.stdout.split() == ["read", "refused"]
    assert "PermissionError" in reported.stderr


@pytest.fixture(autouse=True)
def _nothing_is_left() -> Iterator[None]:
    # pathspec, of mypy's tests, imports it where it is there.
    before, is_imported = children().keys(), "re2" in sys.modules
    yield
    assert children().keys() - before == set()
    assert ("re2" in sys.modules) == is_imported


def test_places_are_code_points() -> None:
    with compiled("(?P<name>林)小(雨)?") as search:
        assert (search.groups, search.names) == (2, {"name": 1})
        texts = ["😀林小雨é林小", "", "nothing", "\U0010ffff" * 3 + "林小"]
        matches = search.matches(texts, groups=[2, 1], text_timeout_s=TIMEOUT_S)
        assert [list(spans) for spans in matches] == [
            [(1, 4, 3, 4, 1, 2), (5, 7, -1, -1, 5, 6)],
            [],
            [],
            [(3, 5, -1, -1, 3, 4)],
        ]


@pytest.mark.parametrize(
    ("pattern", "text", "places"),
    [
        ("^b$", "a\nb\nb", ["b", "b"]),
        (r"\Aa", "a\na", ["a"]),
        (r"a\z", "a\na", ["a"]),
        ("a.b", "a\nb axb", ["axb"]),
        (r"\w+", "é1a", ["1a"]),
        (r"\bb", "éb", ["b"]),
        (r"\pL+", "é1a林", ["é", "a林"]),
        ("[cbh]at", "cat bat hat scatter", ["cat", "bat", "hat", "cat"]),
        ("(?i)K", "k\u212aK", ["k", "\u212a", "K"]),
        (r"\x{1F600}", "😀", ["😀"]),
        (r"a\\b", "a\\b", ["a\\b"]),
    ],
)
def test_a_pattern_means_what_re2_says(pattern: str, text: str, places: list[str]) -> None:
    assert found(pattern, text) == [places]


def test_case_is_folded_character_by_character() -> None:
    assert found("straße|i", "STRASSE STRAẞE İ I ı", case_sensitive=False) == [["STRAẞE", "I"]]


def random_pattern(random: Random, depth: int = 3) -> str:
    """One that RE2 and ``re`` understand alike, without empty loops in loops."""
    if depth == 0:
        return random.choice(["a", "b", "é", "林", "😀", ".", "[a-bé]", "[^a]", "\\n", r"\d", "1"])
    one, other = random_pattern(random, depth - 1), random_pattern(random, depth - 1)
    atom = random_pattern(random, 0)
    return random.choice(
        [one + other, f"(?:{one}|{other})", f"({one})", f"({one})?{other}", f"{atom}*?{other}",
         f"{one}{atom}+", f"{one}{atom}{{1,3}}", f"^{one}", f"{one}$", atom]
    )  # fmt: skip


def matches_of_re(pattern: str, text: str, groups: list[int]) -> tuple[list[tuple[int, ...]], int]:
    compiled_by_re = re.compile(pattern, re.MULTILINE | re.ASCII)
    spans: list[tuple[int, ...]] = []
    empty, at = 0, 0
    while at <= len(text) and (match := compiled_by_re.search(text, at)):
        if match.end() == match.start():
            empty += 1
            at = match.end() + 1
        else:
            spans.append(tuple(place for group in (0, *groups) for place in match.span(group)))
            at = match.end()
    return spans, empty


@pytest.mark.parametrize("seed", range(4))
def test_patterns_match_what_the_engine_of_python_matches(seed: int) -> None:
    random = Random(seed)
    for _ in range(25):
        pattern = random_pattern(random)
        texts = ["".join(random.choices("ab1é林😀\n", k=random.randint(0, 12))) for _ in range(100)]
        with compiled(pattern) as search:
            groups = random.sample(range(1, search.groups + 1), random.randint(0, search.groups))
            answers = search.matches(texts, groups=groups, text_timeout_s=TIMEOUT_S)
            for text, matches in zip(texts, answers, strict=True):
                expected = matches_of_re(pattern, text, groups)
                assert (list(matches), matches.empty) == expected, (pattern, text)


def test_long_texts_and_many_short_ones_come_back_in_order() -> None:
    long = "林" * 400_000 + "x" + "é" * 400_000 + "x"
    texts = ["x", long, "", *[f"{'é' * n}x" for n in range(2_000)], long, "xx"]
    with compiled("x") as search:
        answers = list(search.matches(texts, groups=[], text_timeout_s=TIMEOUT_S))
    assert [[start for start, _ in matches] for matches in answers] == [
        [at for at, character in enumerate(text) if character == "x"] for text in texts
    ]


@pytest.mark.parametrize(
    ("pattern", "position", "said"),
    [
        ("secret(", 7, "missing )"),
        ("secret)(b", 7, "unexpected )"),
        ("secret[a", 8, "missing ]"),
        ("secret**", 8, "bad repetition operator"),
        ("*secret", 1, "no argument for repetition operator"),
        ("secret{1001}", 12, "invalid repetition size"),
        ("a*secret(*)", 10, "no argument for repetition operator"),
        (r"\pL+secret[z-a]b", 14, "invalid character class range"),
        (r"\d\dsecret" + "\\", 11, "trailing \\"),
        ("secret(?=a)", 9, "invalid perl operator"),
        ("secret(?<!a)", 11, "invalid perl operator"),
        (r"(secret)\1", 10, "invalid escape sequence"),
        ("secret(?P<n", 11, "invalid named capture group"),
        ("(" * 1_000, 1_000, "missing )"),
    ],
)
def test_what_is_no_pattern_is_refused_with_its_place(
    pattern: str, position: int, said: str
) -> None:
    with pytest.raises(PatternInvalidError) as refused, compiled(pattern):
        pass
    assert refused.value.message.endswith(f"after {position} characters: {said}")
    assert "secret" not in refused.value.message
    assert refused.value.code == "PATTERN_INVALID"


@pytest.mark.parametrize(
    "pattern",
    [r"\pL{200}", "(?s).{1000}zz", "a{1000}" * 6, "()" * (MAX_GROUPS + 1), r"(?i)\pL{900}\pN{900}"],
)
def test_a_pattern_with_too_large_a_program_is_refused(pattern: str) -> None:
    with pytest.raises(PatternTooComplexError), compiled(pattern):
        pass


@pytest.mark.parametrize(("pattern", "text"), [(r"\C", "é"), (r"a(\C)", "aé"), (r"(\C)b?", "x林")])
def test_a_pattern_that_cuts_characters_is_refused_by_what_it_does(pattern: str, text: str) -> None:
    with compiled(pattern) as search:
        (matches,) = search.matches(["aab"], groups=[], text_timeout_s=TIMEOUT_S)
        assert len(matches) > 0
        with pytest.raises(PatternInvalidError, match="parts of characters"):
            list(search.matches([text], groups=[], text_timeout_s=TIMEOUT_S))


def test_more_matches_than_one_text_may_have_are_refused() -> None:
    nested = "(" * MAX_GROUPS + "a" + ")" * MAX_GROUPS
    most = MAX_SPANS // (MAX_GROUPS + 1)
    with compiled(nested) as search:
        groups = range(1, MAX_GROUPS + 1)
        (matches,) = search.matches(["a" * most], groups=groups, text_timeout_s=TIMEOUT_S)
        assert len(matches) == most
        with pytest.raises(TooManyMatchesError, match=r"10,000 matches in one string"):
            list(search.matches(["a" * (most + 1)], groups=groups, text_timeout_s=TIMEOUT_S))


def test_a_text_that_takes_too_long_is_left_and_the_others_are_not() -> None:
    with compiled(QUADRATIC) as search:
        texts = ["az", SLOW_TEXT, "a", "ba"]
        answers = list(search.matches(texts, groups=[], text_timeout_s=0.5))
        assert [(list(matches), matches.too_slow) for matches in answers] == [
            ([(0, 2)], False),
            ([], True),
            ([(0, 1)], False),
            ([(1, 2)], False),
        ]


def test_the_third_text_that_takes_too_long_is_the_end() -> None:
    with compiled(QUADRATIC) as search:
        answers = search.matches([SLOW_TEXT] * 4, groups=[], text_timeout_s=0.2)
        assert next(answers).too_slow
        assert next(answers).too_slow
        with pytest.raises(PatternTooSlowError):
            next(answers)
        assert workers() == []


@pytest.mark.parametrize(
    "pattern",
    [
        *("(a+)+$", "(?:a?){500}a{500}b", "(?s).{400}zz", "x*", "^", "a)(b", "(x+x+)+y"),
        *("(" * 1_000, "(?i)" + "é" * 990, "|".join(["ab", "b"] * 200), QUADRATIC, r"\C"),
        *("(?:(?:a*)*)*b", "[^z]*[^y]*[^x]*w", "(a|a)*b", "$", r"\b", "(?s).*", "(.*)(.*)(.*)q"),
    ],
)
@pytest.mark.parametrize("text", ["a" * 2_000_000 + "É", "éz" * 1_000_000], ids=["a", "éz"])
def test_a_hostile_pattern_ends_at_its_deadline(pattern: str, text: str) -> None:
    ends = {"found", "too slow", "PATTERN_TOO_COMPLEX", "PATTERN_INVALID", "TOO_MANY_MATCHES"}
    assert end_of_search(pattern, text) in ends


def end_of_search(pattern: str, text: str) -> str:
    try:
        with compiled(pattern, case_sensitive=False) as search:
            hostile, short = search.matches([text, "é"], groups=[], text_timeout_s=0.5)
            assert not short.too_slow
            return "too slow" if hostile.too_slow else "found"
    except ContextSearchError as error:
        return error.code


def test_a_process_that_was_killed_is_replaced() -> None:
    with compiled("a") as search:
        texts = ["a" * 300_000, "a", "ba"]
        answers = search.matches(texts, groups=[], text_timeout_s=TIMEOUT_S)
        assert len(next(answers)) == 300_000
        (pid,) = workers()
        os.kill(pid, signal.SIGKILL)
        assert next(answers).too_slow
        assert list(next(answers)) == [(1, 2)]
        assert workers() != [pid]


def test_a_process_that_stands_still_is_killed() -> None:
    with compiled("a") as search:
        (pid,) = workers()
        os.kill(pid, signal.SIGSTOP)  # no alarm of its own ends it now
        answers = search.matches(["a" * 300_000, "ba"], groups=[], text_timeout_s=0.2)
        assert next(answers).too_slow
        assert list(next(answers)) == [(1, 2)]
        assert pid not in children()
        (pid,) = workers()
        os.kill(pid, signal.SIGSTOP)


def test_what_a_search_left_unread_is_not_the_answer_of_the_next() -> None:
    with compiled("a|(\\C)b") as search:
        first = search.matches(["a", "ba", "bba"], groups=[], text_timeout_s=TIMEOUT_S)
        assert list(next(first)) == [(0, 1)]
        with pytest.raises(RuntimeError):
            next(search.matches(["a"], groups=[], text_timeout_s=TIMEOUT_S))
        del first
        with pytest.raises(PatternInvalidError):
            list(search.matches(["éb", "a"], groups=[], text_timeout_s=TIMEOUT_S))
        (last,) = search.matches(["bbba"], groups=[], text_timeout_s=TIMEOUT_S)
        assert list(last) == [(0, 2), (3, 4)]


def test_no_process_outlives_its_with() -> None:
    with pytest.raises(KeyError), compiled("a") as search:  # noqa: PT012 - what a caller may do
        answers = search.matches(["a"] * 3, groups=[], text_timeout_s=TIMEOUT_S)
        next(answers)
        raise KeyError
    assert workers() == []
    with pytest.raises(RuntimeError):
        next(search.matches(["a"], groups=[], text_timeout_s=TIMEOUT_S))


def test_the_process_knows_nothing_of_ours() -> None:
    with compiled("a"):
        (pid,) = workers()
        environment = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        files = {entry.name: entry.readlink() for entry in Path(f"/proc/{pid}/fd").iterdir()}
    assert {name.partition(b"=")[0] for name in environment} <= {b"LD_LIBRARY_PATH", b""}
    assert files.pop("2") == Path("/dev/null")
    assert files.keys() == {"0", "1"}


def test_the_process_ends_itself_when_nobody_else_ends_it() -> None:
    origin = find_spec("re2")
    assert origin
    assert origin.origin
    asked = {"pattern": QUADRATIC, "case_sensitive": True, "timeout_s": 9, "max_memory": 8 << 20}
    about = {"texts": 1, "groups": [], "timeout_s": 0.3, "max_spans": 10**6}
    frames = [json.dumps(asked).encode(), json.dumps(about).encode(), SLOW_TEXT.encode(), b""]
    ended = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-I", "-S", str(WORKER), str(Path(origin.origin).parents[1])],
        input=b"".join(struct.pack("<I", len(frame)) + frame for frame in frames),
        capture_output=True,
        check=False,
    )
    assert ended.returncode == -signal.SIGALRM
    assert ended.stderr == b""


def test_the_engine_has_a_name_and_a_release() -> None:
    assert re.fullmatch(r"re2 \d[\d.]+", Re2Patterns().engine)
    assert isinstance(Re2Pattern("a", case_sensitive=True, timeout_s=1).names, dict)
