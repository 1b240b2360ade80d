"""Numbers with a check digit or a fixed form: identity cards, bank cards, IBANs, US SSNs.

Luhn (ISO 7812), mod 97 (ISO 13616) and mod 11-2 (GB 11643) tell them from other numbers. What has
no check digit is taken only in its usual grouping, or behind words that name it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date

from context_search.domain.text.sensitive.spans import Spans, is_said, near_digits

_SPACE = "[ \u00a0\u2007\u202f-]"
_START, _END = r"(?<![0-9A-Za-z_])(?<![0-9]\.)", r"(?![0-9A-Za-z_])(?!\.[0-9])"
# Numbers that name a thing.
OTHER_NUMBERS = re.compile(
    r"(?i:\b(?:order|invoice|tracking|item|part|sku|isbn|ean|upc|serial|ticket|ref|timestamp|[ugp]?id)\b"
    r"|订单|单号|流水|编号|序列号|条码|快递|#)[^0-9]{0,12}\Z"
)

# ---- Chinese identity cards: place, date of birth, serial number, and since 1999 a check digit
_PROVINCES = "1[1-5]|2[1-3]|3[1-7]|4[1-6]|5[0-4]|6[1-5]|71|8[1-3]|91"
_MONTH_DAY = r"(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])"
_ID_CARD = re.compile(
    rf"{_START}((?:{_PROVINCES})[0-9]{{4}})({_SPACE}?)((?:18|19|20)[0-9]{{2}}{_MONTH_DAY})\2"
    rf"([0-9]{{3}}[0-9Xx]){_END}"
)
_OLD_ID_CARD = re.compile(rf"{_START}(?:{_PROVINCES})[0-9]{{6}}{_MONTH_DAY}[0-9]{{3}}{_END}")
_ID_WORDS = re.compile(r"(?i:身份证|身份號|證件|证件|\bid card|\bid n(?:o|umber)\b|identity card)")


def id_cards(text: str) -> Spans:
    """Returns Chinese identity card numbers; old ones, of 15 digits, behind words that say so."""
    for match in near_digits(_ID_CARD, text):
        place, _, born, serial = match.groups()
        if _is_date(born) and _check_11_2(place + born + serial.upper()):
            yield match.span()
    for match in near_digits(_OLD_ID_CARD, text):
        if is_said(_ID_WORDS, text, match.start()):
            yield match.span()


def _is_date(digits: str) -> bool:
    try:
        date(int(digits[:4]), int(digits[4:6]), int(digits[6:]))
    except ValueError:
        return False
    return True


def _check_11_2(number: str) -> bool:
    weighed = sum(int(digit) * 2 ** (17 - place) for place, digit in enumerate(number[:17]))
    return "10X98765432"[weighed % 11] == number[17]


# ---- IBAN: country, check digits, then the account, alone or in groups of four
_COUNTRY = re.compile(
    r"A[DELTZ]|B[AEGHIRY]|C[HRYZ]|D[EJKO]|E[EGS]|F[IKOR]|G[BEILRT]|H[NRU]|I[ELQST]|JO|K[WZ]"
    r"|L[BCITUVY]|M[CDEKNRTU]|N[ILO]|OM|P[KLST]|QA|R[OSU]|S[ACDEIKMOTV]|T[LNR]|UA|V[AG]|XK|YE"
)
_IBAN = re.compile(
    rf"{_START}[A-Za-z]{{2}}[0-9]{{2}}"
    rf"(?:(?:{_SPACE}[A-Z0-9]{{4}}){{2,7}}(?:{_SPACE}[A-Z0-9]{{1,3}})?|[A-Za-z0-9]{{11,30}}){_END}"
)
_SHORTEST_IBAN = 15


def ibans(text: str) -> Spans:
    """Returns international bank account numbers."""
    for match in near_digits(_IBAN, text):
        for end in _group_ends(match):
            number = re.sub(_SPACE, "", match[0][: end - match.start()]).upper()
            is_long = len(number) >= _SHORTEST_IBAN
            if is_long and _COUNTRY.match(number) and _check_97(number):
                yield match.start(), end
                break


def _group_ends(match: re.Match[str]) -> Iterator[int]:
    """Where a number in groups may end, the longest first: what follows may look like a group."""
    yield match.end()
    gaps = [gap.start() for gap in re.finditer(_CARD_GAP, match[0])]
    yield from (match.start() + gap for gap in reversed(gaps))


def _check_97(number: str) -> bool:
    turned = number[4:] + number[:4]
    return int("".join(str(int(character, 36)) for character in turned)) % 97 == 1


# ---- payment cards, by the ranges of their issuers
_CARD_GAP = "[ \u00a0\u2007\u202f.-]"
_CARD = re.compile(
    rf"{_START}(?:[2-69][0-9]{{12,18}}"
    rf"|[2-69][0-9]{{3}}({_CARD_GAP})[0-9]{{4}}\1[0-9]{{4}}\1[0-9]{{1,4}}(?:\1[0-9]{{1,3}})?"
    rf"|3[0-9]{{3}}({_CARD_GAP})[0-9]{{6}}\2[0-9]{{4,5}}|6[0-9]{{5}}{_SPACE}[0-9]{{10,13}}){_END}"
)
_ISSUERS = re.compile(
    r"4(?:[0-9]{12}|[0-9]{15}|[0-9]{18})|5[1-5][0-9]{14}|2(?:2[2-9]|[3-6][0-9]|7[01])[0-9]{13}"
    r"|3[47][0-9]{13}|3(?:0[0-5]|[68][0-9])[0-9]{11}|35[0-9]{14}|6(?:011|4[4-9][0-9]|5[0-9]{2})"
    r"[0-9]{12,15}|(?:6[0-367]|50|5[6-8])[0-9]{14,17}|955[0-9]{13,16}"
)
_CARD_WORDS = re.compile(r"(?i:\b(?:card|visa|debit|credit)|卡)")
_OLD_VISA_DIGITS = 13


def bank_cards(text: str) -> Spans:
    """Returns the numbers of debit and credit cards."""
    for match in near_digits(_CARD, text):
        is_called_card = is_said(_CARD_WORDS, text, match.start())
        if is_said(OTHER_NUMBERS, text, match.start()) and not is_called_card:
            continue
        for end in _group_ends(match):
            number = re.sub(_CARD_GAP, "", match[0][: end - match.start()])
            is_card = _ISSUERS.fullmatch(number) and _check_luhn(number)
            if is_card and (len(number) > _OLD_VISA_DIGITS or is_called_card):
                yield match.start(), end
                break


def _check_luhn(number: str) -> bool:
    doubled = sum(sum(divmod(2 * int(digit), 10)) for digit in number[-2::-2])
    return (doubled + sum(map(int, number[-1::-2]))) % 10 == 0


# ---- US social security numbers
_SSN = re.compile(
    rf"{_START}(?<!-)(?!000|666|9)[0-9]{{3}}([- ]?)(?!00)[0-9]{{2}}\1(?!0000)[0-9]{{4}}(?!-){_END}"
)
_SSN_WORDS = re.compile(r"(?i:\bssns?\b|\bssn|social security|社会安全)")


def ssns(text: str) -> Spans:
    """Returns social security numbers: with hyphens, or behind words that say so."""
    for match in near_digits(_SSN, text):
        if is_said(_SSN_WORDS, text, match.start()) or (
            match[1] == "-" and not is_said(OTHER_NUMBERS, text, match.start())
        ):
            yield match.span()
