"""Finds e-mail addresses, phone numbers and secrets in text.

Every search takes time linear in the text, also on text made to hang it. What repeats is bounded,
or possessive (``++`` gives nothing back) and cannot be started again inside the run it took.
Full-width forms count as the ASCII characters they stand for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Literal, get_args

SensitiveKind = Literal["key", "email", "phone"]
# Where finds overlap, the kind that stands first names the whole.
SENSITIVE_KINDS: tuple[SensitiveKind, ...] = get_args(SensitiveKind)

Spans = Iterator[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Sensitive:
    """A part that must not be shown: code points ``start`` to ``end`` (exclusive) of a text."""

    kind: SensitiveKind
    start: int
    end: int


def find_sensitive(text: str, kinds: Collection[SensitiveKind]) -> tuple[Sensitive, ...]:
    """Returns the sensitive parts of ``text`` by position; none of them overlap."""
    folded = text.translate(_HALF_WIDTH)
    found = [
        (start, end, rank)
        for rank, kind in enumerate(SENSITIVE_KINDS)
        if kind in kinds
        for start, end in _FINDERS[kind](folded)
    ]
    united: list[tuple[int, int, int]] = []
    for start, end, rank in sorted(found):
        if united and start < united[-1][1]:
            first, last, kept = united[-1]
            united[-1] = (first, max(last, end), min(kept, rank))
        else:
            united.append((start, end, rank))
    return tuple(Sensitive(SENSITIVE_KINDS[rank], start, end) for start, end, rank in united)


_HALF_WIDTH = {**{code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}, 0x3000: 0x20}

# ---- e-mail: the part before the @ is read backwards, so that each run is read once
_LOCAL_BACKWARDS = re.compile(r"[A-Za-z0-9\u00c0-\u024f._%+-]++")
_DOMAIN = re.compile(
    r"@[A-Za-z0-9\u00c0-\u024f-]+(?:\.[A-Za-z0-9\u00c0-\u024f-]+)*\.[A-Za-z\u00c0-\u024f]{2,}"
)


def _emails(text: str) -> Spans:
    backwards = text[::-1]
    for domain in _DOMAIN.finditer(text):
        local = _LOCAL_BACKWARDS.match(backwards, len(text) - domain.start())
        if local:
            yield len(text) - local.end(), domain.end()


# ---- phone numbers: digits in the usual groups, never a part of a longer number
_GAP = r"[ \t.\-·\u00a0\u2007\u2010-\u2015\u202f\u200b-\u200d\u2060\u2212\ufeff]"
_PHONE = re.compile(
    rf"""
    (?: (?<![0-9])                                                       # Chinese mobile
        (?: (?:\+|00)?86 {_GAP}{{0,3}} | \(\+?86\) {_GAP}{{0,3}} )?
        (?: 1[3-9][0-9] {_GAP}{{0,3}} [0-9]{{4}} {_GAP}{{0,3}} [0-9]{{4}}
          | 1[3-9][0-9]{{2}} {_GAP}{{1,3}} [0-9]{{3}} {_GAP}{{1,3}} [0-9]{{4}}
          | 1[3-9][0-9] {_GAP}{{1,3}} [0-9]{{3}} {_GAP}{{1,3}} [0-9]{{5}} )
      | \+1 (?: (?:{_GAP}|[()]){{0,3}} [0-9] ){{10}}                      # North America
      | (?<![0-9]) (?: \([2-9][0-9]{{2}}\) {_GAP}{{0,2}} | [2-9][0-9]{{2}} {_GAP}{{1,2}} )
        [0-9]{{3}} {_GAP}{{1,2}} [0-9]{{4}}
      | (?<![0-9]) (?: \(0[0-9]{{2,3}}\) {_GAP}{{0,2}} | 0[0-9]{{2,3}} {_GAP}{{1,2}} )
        [0-9]{{3,4}} {_GAP}? [0-9]{{4}}                                  # area code and number
      | (?<![0-9]) 0[0-9]{{4}} {_GAP} [0-9]{{3}} {_GAP}? [0-9]{{3}}
    ) (?![0-9])
    | \+ [1-9] (?: (?:{_GAP}|[()]){{0,3}} [0-9] ){{7,}}+                  # any other country
    """,
    re.VERBOSE,
)


def _phones(text: str) -> Spans:
    return (match.span() for match in _PHONE.finditer(text))


# ---- secrets; where a pattern has a group, only the group is secret
_MARKER = "[A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----"
_LINE_END = r"(?:\r?\n|\\r\\n|\\n)"
_NAMES = (
    "api[_-]?key|access[_-]?key(?:[_-]?id)?|secret(?:[_-]?(?:access[_-]?)?key)?|private[_-]?key"
    "|(?:access|auth|refresh)?[_-]?token|password|passwd|pwd|密钥|密码|口令|令牌"
)
_SECRETS = tuple(
    re.compile(pattern)
    for pattern in (
        # PEM and PGP: whole, cut off behind, cut off before, or nothing but lines of the body
        rf"-----BEGIN {_MARKER}(?:[^-]|-(?!----)){{0,20000}}+-----END {_MARKER}",
        rf"-----BEGIN {_MARKER}(?:(?:\s|\\[nr])*+[A-Za-z0-9+/=]{{16,}}+)*+",
        rf"(?<![A-Za-z0-9+/=])[A-Za-z0-9+/=]{{1,76}}+{_LINE_END}"
        rf"(?:[A-Za-z0-9+/]{{60,76}}+{_LINE_END}){{0,50}}+"
        rf"(?:[A-Za-z0-9+/=]{{1,76}}+{_LINE_END})?-----END {_MARKER}",
        rf"(?<![A-Za-z0-9+/=])(?:[A-Za-z0-9+/]{{60,76}}{_LINE_END}){{2,}}+[A-Za-z0-9+/=]{{0,76}}+",
        # AWS, then keys that their makers have given a prefix, ours among them
        r"(?<![A-Za-z0-9])(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Z0-9])",
        r"(?<![A-Za-z])(?:sk-[A-Za-z0-9_-]{16,}+|cs_(?:mcp_)?[A-Za-z0-9_-]{43}(?![A-Za-z0-9_-]))",
        r"(?:gh[pousr]_|github_pat_|glpat-|xox[abeoprs]-|npm_|pypi-|hf_|tpuf_|whsec_"
        r"|(?:sk|rk|pk)_(?:live|test)_)[A-Za-z0-9_-]{20,}+",
        r"AIza[A-Za-z0-9_-]{30,}+|(?:LTAI|AKID)[A-Za-z0-9]{12,}+|ya29\.[A-Za-z0-9_-]{20,}+",
        r"SG\.[A-Za-z0-9_-]{16,}+\.[A-Za-z0-9_-]{16,}+",
        # JSON Web Token
        r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]{8,}+(?:\.[A-Za-z0-9_-]*+)?",
        # what is said to be one
        r"(?i:bearer)\s{1,4}([A-Za-z0-9._~+/=-]{20,}+)",
        r"(?i:authorization)[\"']?\s{0,3}[:=]\s{0,3}[\"']?(?:[A-Za-z]{2,12}\s{1,4})?"
        r"([A-Za-z0-9._~+/=-]{12,}+)",
        rf"(?i:{_NAMES})[\"']?\s{{0,3}}(?:[:=]|=>|是|为)\s{{0,3}}[\"']?"
        r"((?=[A-Za-z_+/.-]{0,80}[0-9])[A-Za-z0-9_+/=.~!@#$%^&*-]{8,}+)",
        r"://[^\s/@:\"'<>]{1,100}+:([^\s/@\"'<>]{1,200}+)@",
    )
)


def _secrets(text: str) -> Spans:
    matches = chain.from_iterable(pattern.finditer(text) for pattern in _SECRETS)
    return (match.span(match.lastindex or 0) for match in matches)


_FINDERS: dict[SensitiveKind, Callable[[str], Spans]] = {
    "key": _secrets,
    "email": _emails,
    "phone": _phones,
}
