"""Phone numbers: digits in the usual groups, never a part of a longer number."""

from __future__ import annotations

import re

from context_search.domain.text.sensitive.numbers import OTHER_NUMBERS
from context_search.domain.text.sensitive.spans import Spans, is_said, near_digits

_GAP = r"[ \t.\-·\u00a0\u2007\u2010-\u2015\u202f\u200b-\u200d\u2060\u2212\ufeff]"
# Not in a longer number, a decimal fraction, a power, a hexadecimal number or a name.
_START = r"(?<![0-9A-Fa-f_^])(?<![0-9]\.)(?<!0[xX])"
_STOP = r"(?![0-9A-Fa-f_])(?!\.[0-9])"
_EXTENSION = (
    r"(?:\s?(?:ext\.?|extension|x|转|分机)\s?[0-9]{1,6}(?![0-9A-Za-z])|-[0-9]{3,5}(?![0-9-]))?"
)
_PHONE = re.compile(
    rf"""
    (?: {_START}                                                          # Chinese mobile
        (?: (?:\+|00)?86 {_GAP}{{0,3}} | \(\+?86\) {_GAP}{{0,3}} )?
        (?: 1[3-9][0-9] {_GAP}{{0,3}} [0-9]{{4}} {_GAP}{{0,3}} [0-9]{{4}}
          | 1[3-9][0-9]{{2}} {_GAP}{{1,3}} [0-9]{{3}} {_GAP}{{1,3}} [0-9]{{4}}
          | 1[3-9][0-9] {_GAP}{{1,3}} [0-9]{{3}} {_GAP}{{1,3}} [0-9]{{5}} )
      | (?<![0-9A-Za-z_)]) \+1 (?: (?:{_GAP}|[()]){{0,3}} [0-9] ){{10}}    # North America
      | {_START} (?: 1 {_GAP} )?
        (?: \([2-9][0-9]{{2}}\) {_GAP}{{0,2}} | [2-9][0-9]{{2}} {_GAP}{{1,2}} )
        (?P<office> [0-9]{{3}} ) {_GAP}{{1,2}} [0-9]{{4}}
      | {_START} (?<![$#.-]) (?P<bare> [2-9][0-9]{{9}} )
      | {_START} (?: \(0[1-9][0-9]{{1,2}}\) {_GAP}{{0,2}} | 0[1-9][0-9]{{1,2}} {_GAP}{{1,2}} )
        [0-9]{{3,4}} {_GAP}? [0-9]{{4}}                                  # area code and number
      | {_START} 0[0-9]{{4}} {_GAP} [0-9]{{3}} {_GAP}? [0-9]{{3}}
    ) {_STOP} {_EXTENSION}
    | (?<![0-9A-Za-z_)]) \+[1-9] (?: (?:{_GAP}|[()]){{0,3}} [0-9] ){{7,14}} {_STOP} {_EXTENSION}
    """,
    re.VERBOSE,
)
_WORDS = re.compile(
    r"(?i:\b(?:phone|tel|mobile|cell|fax|call|dial|ring|whatsapp)|电话|電話|手机|座机|热线|客服|拨)"
)
_SUM = re.compile(r"=\s{0,3}[\w.]{1,40}\s{1,3}\Z")
_CHINESE = re.compile(rf"\+?86{_GAP}{{0,3}}1[3-9]|1[3-9][0-9]")
_DECIMAL = re.compile(r"\+[0-9]{1,3}\.[0-9]{4,8}(?![0-9])")
_SERVICE_CODE = re.compile(r"[2-9]11|[2-9]9[0-9]|37[0-9]|96[0-9]")
_LARGEST_INTEGERS = frozenset({"2147483647", "2147483648", "4294967295", "4294967296"})


def phones(text: str) -> Spans:
    """Returns the numbers, with their extensions."""
    for match in near_digits(_PHONE, text):
        if _is_phone(text, match):
            yield match.span()


def _is_phone(text: str, match: re.Match[str]) -> bool:
    start = match.start()
    if is_said(_WORDS, text, start, reach=24):
        return True
    if match["bare"]:
        return _is_north_american(match["bare"]) and not is_said(OTHER_NUMBERS, text, start)
    if text[start] == "+" and not _CHINESE.match(text, start):
        return not _DECIMAL.match(text, start) and not _SUM.search(text[max(0, start - 50) : start])
    return match["office"] is None or not _is_row(text, match)


def _is_north_american(digits: str) -> bool:
    """Tells whether the numbering plan can give such a number; 400 and 800 are Chinese too."""
    area, office = digits[:3], digits[3:6]
    if digits in _LARGEST_INTEGERS or digits.endswith("00000"):
        return False
    return area in ("400", "800") or not (
        _SERVICE_CODE.fullmatch(area) or office[0] in "01" or office[1:] == "11"
    )


def _is_row(text: str, match: re.Match[str]) -> bool:
    """Tells whether three groups are rather numbers of a row: only spaces, round or with others."""
    groups = match[0].split(" ")
    if len(groups) != 3 or not all(group.isdecimal() for group in groups):
        return False
    others = re.search(r"[0-9] \Z", text[max(0, match.start() - 2) : match.start()]) or re.match(
        r" [0-9]{1,4}(?![0-9])", text[match.end() : match.end() + 6]
    )
    return bool(others) or all(group.endswith("0") for group in groups)
