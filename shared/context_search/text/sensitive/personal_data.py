"""What names a person or an account: e-mail addresses, identity cards, bank accounts, phones."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date

from context_search.text.sensitive.spans import LOGIN, Spans, is_said, near_digits

# ---- E-mail addresses (RFC 5321, 6531): quoted and international ones, and at a host's number
# The part before the @ is read backwards, so that each run is read once.
_LATIN = "A-Za-z0-9\u00c0-\u024f"
# A mark that may also stand around an address belongs to it only behind a letter or digit.
_LOCAL_BACKWARDS = re.compile(
    rf"(?:[{_LATIN}._%+-]|['’&!#$*?^~](?=[{_LATIN}])|=(?=[{_LATIN}.-]{{1,64}}\+))++"
)
_FOREIGN_LOCAL_BACKWARDS = re.compile(r"[\w.%+-]{1,64}")
_QUOTED_BACKWARDS = re.compile(r'"[^"\r\n]{1,64}"')
_CHINESE_ENDS = (
    "中国|中國|公司|网络|網絡|香港|台湾|台灣|新加坡|公益|政务|网址|网店|网站|在线|中文网|集团|商城|商标"
    "|商店|手机|移动|娱乐|餐厅|健康|企业|信息|招聘|购物|时尚|游戏|广东|佛山|机构|组织机构|我爱你|世界|慈善"
)
_NO_FILE = r"(?!(?:png|jpe?g|gif|svg|webp)(?![A-Za-z]))"
_DOMAIN = re.compile(
    rf"@(?:[{_LATIN}-]++(?:\.[{_LATIN}-]++){{0,126}}\.{_NO_FILE}[A-Za-z\u00c0-\u024f]{{2,}}+"
    rf"|[\w-]{{1,63}}+(?:\.[\w-]{{1,63}}+){{0,8}}?\.(?:{_CHINESE_ENDS}|{_NO_FILE}[A-Za-z]{{2,}}+"
    r"|[\u0370-\u1fff\uac00-\ud7af]{2,}+)"
    r"|\[(?:[0-9]{1,3}(?:\.[0-9]{1,3}){3}|IPv6:[0-9A-Fa-f:.]{2,45})\])"
)


def emails(text: str) -> Spans:
    """Returns the addresses; ``user@host`` behind ``://`` is none."""
    if "@" not in text:
        return
    backwards = text[::-1]
    behind_logins = {login.end() for login in LOGIN.finditer(text)}
    for domain in _DOMAIN.finditer(text):
        if domain.start() in behind_logins:
            continue
        at = len(text) - domain.start()
        local = (
            _LOCAL_BACKWARDS.match(backwards, at)
            or _FOREIGN_LOCAL_BACKWARDS.match(backwards, at)
            or _QUOTED_BACKWARDS.match(backwards, at)
        )
        if local:
            yield len(text) - local.end(), domain.end()


# ---- Numbers with a check digit or a fixed form: identity cards, bank cards, IBANs, US SSNs
# Luhn (ISO 7812), mod 97 (ISO 13616) and mod 11-2 (GB 11643) tell them from other numbers. What has
# no check digit is taken only in its usual grouping, or behind words that name it.
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


# ---- Payment cards, by the ranges of their issuers
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


# ---- Phone numbers: digits in the usual groups, never a part of a longer number
_GAP = r"[ \t.\-·\u00a0\u2007\u2010-\u2015\u202f\u200b-\u200d\u2060\u2212\ufeff]"
# Not in a longer number, a decimal fraction, a power, a hexadecimal number or a name.
_BEFORE = r"(?<![0-9A-Fa-f_^])(?<![0-9]\.)(?<!0[xX])"
_AFTER = r"(?![0-9A-Fa-f_])(?!\.[0-9])"
_EXTENSION = (
    r"(?:\s?(?:ext\.?|extension|x|转|分机)\s?[0-9]{1,6}(?![0-9A-Za-z])|-[0-9]{3,5}(?![0-9-]))?"
)
_PHONE = re.compile(
    rf"""
    (?: {_BEFORE}                                                          # Chinese mobile
        (?: (?:\+|00)?86 {_GAP}{{0,3}} | \(\+?86\) {_GAP}{{0,3}} )?
        (?: 1[3-9][0-9] {_GAP}{{0,3}} [0-9]{{4}} {_GAP}{{0,3}} [0-9]{{4}}
          | 1[3-9][0-9]{{2}} {_GAP}{{1,3}} [0-9]{{3}} {_GAP}{{1,3}} [0-9]{{4}}
          | 1[3-9][0-9] {_GAP}{{1,3}} [0-9]{{3}} {_GAP}{{1,3}} [0-9]{{5}} )
      | (?<![0-9A-Za-z_)]) \+1 (?: (?:{_GAP}|[()]){{0,3}} [0-9] ){{10}}    # North America
      | {_BEFORE} (?: 1 {_GAP} )?
        (?: \([2-9][0-9]{{2}}\) {_GAP}{{0,2}} | [2-9][0-9]{{2}} {_GAP}{{1,2}} )
        (?P<office> [0-9]{{3}} ) {_GAP}{{1,2}} [0-9]{{4}}
      | {_BEFORE} (?<![$#.-]) (?P<bare> [2-9][0-9]{{9}} )
      | {_BEFORE} (?: \(0[1-9][0-9]{{1,2}}\) {_GAP}{{0,2}} | 0[1-9][0-9]{{1,2}} {_GAP}{{1,2}} )
        [0-9]{{3,4}} {_GAP}? [0-9]{{4}}                                  # area code and number
      | {_BEFORE} 0[0-9]{{4}} {_GAP} [0-9]{{3}} {_GAP}? [0-9]{{3}}
    ) {_AFTER} {_EXTENSION}
    | (?<![0-9A-Za-z_)]) \+[1-9] (?: (?:{_GAP}|[()]){{0,3}} [0-9] ){{7,14}} {_AFTER} {_EXTENSION}
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
