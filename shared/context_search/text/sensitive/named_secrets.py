"""What a text calls a password, token or key: ``password: …``, ``API_KEY=…``, ``密码是…``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from context_search.text.sensitive.spans import RUN, Spans

# A name begins with one of the stems, but for what stands before a key.
_STEMS = (
    *("pass", "pwd", "pw", "secret", "token", "credential", "key"),
    *("session", "sessid", "sess=", "sid=", "csrf", "xsrf", "jwt", "sig="),
    *("密码", "密碼", "口令", "密钥", "密鑰", "秘钥", "私钥", "令牌", "凭证"),
)
_NAME = re.compile(
    r"(?i:(?P<password>password|passwd|passphrase|pwd|(?<![A-Za-z])pw(?![A-Za-z])|(?P<pass>(?<![A-Za-z])pass(?![A-Za-z])))"
    r"|(?P<secret>secret|token|credentials?)|(?P<key>key(?:[_-]?id)?)"
    r"|(?P<session>sess(?:ion)?(?:[_-]?id)?|(?<![A-Za-z])(?:sid|csrf|xsrf|jwt|sig)))"
    r"|(?P<chinese>密码|密碼|口令)|(?P<chinese_key>密钥|密鑰|秘钥|私钥|令牌|凭证)"
)
_KIND_OF_KEY = re.compile(
    r"(?i:(?P<secret>api|access|private|secret|account|encryption|signing|auth|master)[ _-]?\Z)"
    r"|(?P<variable>[A-Z0-9]_\Z)"
)
# Quotes in a string have backslashes before them.
_ESCAPES = r"\\{0,7}"
_TAG = r"</?(?i:b|i|em|strong|code|tt|kbd|span)>"
_SAID = re.compile(
    rf"(?:(?P<listed>{_ESCAPES}[\"']\s?,\s?(?={_ESCAPES}[\"']))"
    rf"|(?:{_ESCAPES}[\"']|[\])]|(?:`|\*{{1,2}})(?=\s{{0,3}}[:=|])|{_TAG}){{0,3}}"
    r"(?:\s(?:for|of|to|on)\s[\w.-]{1,30}(?=\s))?\s{0,3}"
    r"(?P<sign>:=|=>|[:=](?![:=])|%3[ADad]|>(?=[^<>\s]{1,200}</)|(?:设置|設置|修改|改)?[为成為]了?|是"
    r"|(?P<cell>\|(?=\s)|</t[dh]>\s{0,6}<td>)"
    r"|(?:(?:is|was|are) )?set to|\b(?:is|was)\b|(?<=\s)[-–—](?=\s)|))"
    rf"(?:(?<=[:=])[*_]{{1,2}}(?=\s))?\s{{0,6}}(?:{_TAG}\s{{0,2}}){{0,2}}"
    rf"(?P<quote>[rbf]?{_ESCAPES}[\"'`「“]|)"
)
# The first cell of a row.
_ROW = re.compile(r"^[ \t>]{0,8}\|[^|\n]{0,40}\Z", re.MULTILINE)
# Of an endless value the beginning decides.
_BEGINNING = re.compile(rf"{RUN}{{1,80}}")
_REST = re.compile(rf"{RUN}*+")
_QUOTED = re.compile(r"[^\"'`」”\r\n\\<>{}]{1,200}(?=\\{0,7}[\"'`」”])")
_ATTRIBUTE = re.compile(r"\w\.\w{0,30}\Z")


def named_secrets(text: str) -> Spans:
    """Returns the values, without their names."""
    at = 0
    for place in _places(text):
        name = _NAME.match(text, place) if place >= at else None
        said = _SAID.match(text, name.end()) if name else None
        if name is None or said is None:
            continue
        kind = _kind(text, name)
        if kind is None:
            continue
        quoted = _QUOTED.match(text, said.end()) if said["quote"] else None
        value = quoted or _BEGINNING.match(text, said.end())
        if value and is_secret(_named(text, kind, name, said, value)):
            at = _end(text, value, is_quoted=bool(said["quote"]))
            yield value.start(), at


def _places(text: str) -> list[int]:
    """Where a stem of a name begins."""
    lower = text.replace("\u0130", "I").lower()  # the one letter that is two in lower case
    places = []
    for stem in _STEMS:
        at = lower.find(stem)
        while at >= 0:
            places.append(at)
            at = lower.find(stem, at + len(stem))
    return sorted(places)


def _end(text: str, value: re.Match[str], *, is_quoted: bool) -> int:
    """Where the whole of it ends; the end of a sentence is not part of it."""
    rest = _REST.match(text, value.end())
    end = rest.end() if rest else value.end()
    return end if is_quoted else value.start() + len(text[value.start() : end].rstrip(".:?"))


def _kind(text: str, name: re.Match[str]) -> SecretKind | None:
    if name["password"] or name["chinese"]:
        return "password"
    if name["secret"] or name["chinese_key"]:
        return "secret"
    if name["session"]:
        return "session"
    of = _KIND_OF_KEY.search(text, max(0, name.start() - 12), name.start())
    return None if of is None else "secret" if of["secret"] else "variable"


def _named(
    text: str, kind: SecretKind, name: re.Match[str], said: re.Match[str], value: re.Match[str]
) -> NamedValue:
    shown = value[0] if said["quote"] else value[0].rstrip(".:?")
    sign = "=" if (said["sign"] or "").startswith("%") else said["sign"]
    return NamedValue(
        kind=kind,
        sign=sign or ("=" if said["listed"] and said["quote"] else ""),
        is_quoted=bool(said["quote"]),
        is_spaced=any(character.isspace() for character in said[0]),
        is_attribute=_ATTRIBUTE.search(text, max(0, name.start() - 40), name.start()) is not None,
        is_short=bool(name["pass"]),
        is_variable=name[0].isupper(),
        is_surely_one=_is_surely_one(text, name),
        is_cell=said["cell"] is not None and _is_row(text, name, said),
        is_listed=said["listed"] is not None and (shown.isupper() or not _is_constant(text, name)),
        is_chinese=bool(name["chinese"] or name["chinese_key"]),
        is_on_next_line="\n" in said[0],
        value=shown,
        text=text,
        end=value.start() + len(shown),
    )


def _is_surely_one(text: str, name: re.Match[str]) -> bool:
    """Tells whether nothing but a secret has that name; a token may be a part of a text."""
    if name["key"] or (name["secret"] or "").lower() == "secret":
        return True
    before = _KIND_OF_KEY.search(text, max(0, name.start() - 12), name.start())
    return name[0].isupper() or (before is not None and before["secret"] is not None)


def _is_constant(text: str, name: re.Match[str]) -> bool:
    """Tells whether it is the end of a name in capitals, as in ``define('DB_PASSWORD', …)``."""
    return name[0].isupper() and text[max(0, name.start() - 1) : name.start()] == "_"


def _is_row(text: str, name: re.Match[str], said: re.Match[str]) -> bool:
    before = text[max(0, name.start() - 60) : name.start()]
    return said["cell"] != "|" or _ROW.search(before) is not None


# ---- Whether what a text calls a password, a token or a key is one.
# What no word, expression or name of a program looks like is taken for a secret; a password may be
# a word too, where it stands in quotes or is all that follows.

_WORDS = re.compile(
    r"(?i:required|optional|none|null|nil|true|false|str|string|text|number|int|integer|bool|boolean|any"
    r"|object|undefined|empty|unset|hidden|redacted|missing|invalid|wrong|incorrect|expired|default"
    r"|hash(?:ed)?|encrypted|plain(?:text)?|bearer|basic|password|passwd|passphrase|pwd|pass|secret|token"
    r"|key|varchar|char|bytes|read|write|ok|yes|no|see|here|login|example|change|reset|protected|unknown"
    r"|(?:sha|md|hs|rs|es|aes|rsa|utf|base|argon|oauth|bcrypt|pbkdf|scrypt|v)-?[0-9]{1,4}(?:id)?(?:[-_][a-z]++)?)"
)
_REFERENCE = re.compile(r"\$\w++|%\w++%|[A-Za-z_]++(?:\.[A-Za-z_]++)++[.:]?")
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*+")
_NAMES_IN_IT = re.compile(r"(?i:pass|pwd|token|secret|key|hash)")
_WORD = re.compile(r"[A-Z]?[a-z]{3,}+|(?<![A-Za-z])[A-Z]{4,}+(?![A-Za-z])")
_MARK = re.compile(r"[!@#$%^&*+=~?]")
_ENDS = re.compile(r"[ \t]*+(?:[\r\n\"'`,;<)#|】」”，。；、！）\\]|\Z|//)")
_COUNTED = re.compile(r"\s?[位年个個天秒次字至到种]|\s(?:chars?|characters|digits|bits|bytes)\b")
_LONGER_THAN_WORDS = 22
_SWITCH = re.compile(r"(?i:off|on|get|set|put|new|old|all|env|tbd|todo|low|high|auto|file|ask)")
# What a short secret is made of that is assigned: no path, reference or name of two words.
_SHORT_SECRET = re.compile(r"(?!\w{0,80}[a-z0-9][A-Z][a-z])[A-Za-z0-9][A-Za-z0-9!@#^*+~-]{5,79}")
_CLOSED = re.compile(r"[\s;\"'`|<\\]|\Z")
_CELL_END = re.compile(r"[`*\"']{0,2}[ \t]*+(?:\||</)")
_TYPE = re.compile(
    r"(?i:n?varchar[0-9]?|utf-?8\w{0,4}|u?int[0-9]{1,3}|float[0-9]{2}|rfc-?[0-9]{1,5}|(?:base|bcrypt|md|sha)\w{1,8}"
    r"|(?:option|field|column|value|user|table|note|step|level|text|input)[0-9]{1,2})"
)
_PHRASE = re.compile(r"[a-z]{2,12}(?:[ -][a-z]{2,12}){3,11}")
# What a message or a description has in it, rather than a passphrase.
_PROSE = re.compile(
    r"\b(?:the|your|is|are|was|be|must|should|can|cannot|may|will|has|have|enter|type|choose|please|provide"
    r"|use|used|using|set|of|for|from|to|at|in|on|by|as|an|and|or|if|when|with|without|that|this|it|not|no"
    r"|passwords?|passphrase|user|users|username|account|invalid|wrong|incorrect|required|missing|forgot"
    r"|new|old|confirm|current|reset|change|least|minimum|characters?|letters|long|short|match|field"
    r"|what|who|how|you|we|they|before|after|value|string|stored|hashed|encrypted|optional|default|login|key|token|credentials?|api|client)\b"
)


SecretKind = Literal["password", "secret", "session", "variable"]
"""``variable`` is a key of which nothing but the ending of a name tells."""


@dataclass(frozen=True, slots=True)
class NamedValue:
    """What a text names as a password, a token or a session, and how.

    ``sign`` is what stands between name and value, if anything. ``is_listed`` tells that both stand
    in quotes in a list or among arguments, where the name may be a value itself. The value ends at
    ``end`` of ``text``; of a long one it is the beginning.
    """

    kind: SecretKind
    sign: str
    is_quoted: bool
    is_spaced: bool
    is_attribute: bool
    is_short: bool
    is_variable: bool
    is_surely_one: bool
    is_cell: bool
    is_listed: bool
    is_chinese: bool
    is_on_next_line: bool
    value: str
    text: str
    end: int

    @property
    def is_assigned(self) -> bool:
        """Says whether the sign shows that the value is complete."""
        return self.sign in (":", "=", ":=", "=>", ">", "是", "为", "為")


def is_secret(named: NamedValue) -> bool:
    """Tells whether a value is a secret, rather than a word, an expression or a name."""
    value = named.value
    least = 2 if named.is_variable and named.sign == "=" and value.isalpha() else 3
    is_filled_in = len(set(value)) < least and not value.isdecimal()
    if is_filled_in or _WORDS.fullmatch(value) or _is_code(named):
        return False
    if named.is_listed and (" " in value or not (_is_odd(value) or value.isdecimal())):
        return False
    if not (named.sign or named.is_spaced or named.is_chinese):
        return False
    if named.sign.startswith(("|", "</")):
        return named.is_cell and _is_in_cell(named)
    return _is_password(named) if named.kind == "password" else _is_token(named)


def _is_code(named: NamedValue) -> bool:
    """Tells whether the value is an expression, a name of a program or a hole in a template."""
    if named.is_quoted:
        return False
    if named.text[named.end : named.end + 1] in ("(", "[", "{"):
        return True
    value = named.value
    if _REFERENCE.fullmatch(value):
        return True
    if not _IDENTIFIER.fullmatch(value):
        return False
    return (named.is_attribute and named.is_spaced) or (
        "_" in value and (named.is_short or _NAMES_IN_IT.search(value) is not None)
    )


def _is_token(named: NamedValue) -> bool:
    if named.kind == "secret" and (_is_short_secret(named) or _is_phrase(named)):
        return True
    if not is_random(named.value):
        return False
    if named.kind == "session":
        return named.sign == "=" and not named.is_spaced
    if named.kind == "variable":
        return named.is_assigned and len(named.value) >= 16
    return bool(named.sign) or len(named.value) >= (12 if named.is_chinese else 16)


def _is_password(named: NamedValue) -> bool:
    value = named.value
    if named.is_quoted and named.sign:
        return len(value) >= 4 and (_is_odd(value) or " " not in value or _is_phrase(named))
    if named.is_assigned:
        return _is_assigned_password(named)
    if named.sign or named.is_chinese:
        return (_is_odd(value) and len(value) >= 5) or len(value) >= _LONGER_THAN_WORDS
    return len(value) >= 8 and (_has_mark(value) or is_random(value))


def _is_assigned_password(named: NamedValue) -> bool:
    value = named.value
    is_alone = _ENDS.match(named.text, named.end) is not None
    if value.isdecimal():
        return len(value) >= 4 and is_alone and not _COUNTED.match(named.text, named.end)
    if named.is_variable and named.sign == "=" and not named.is_spaced and len(value) in (3, 4):
        # DB_PASSWORD=abc
        is_closed = _CLOSED.match(named.text, named.end) is not None
        return is_closed and not _SWITCH.fullmatch(value)
    return len(value) >= 5 and (_has_digit(value) or (is_alone and not named.is_on_next_line))


def _is_short_secret(named: NamedValue) -> bool:
    """Says whether it is a secret that is too short to look random, as in
    ``client_secret=abc123``.
    """
    value = named.value.partition("&")[0]
    if named.sign != "=" or not named.is_surely_one or (named.is_spaced and not named.is_quoted):
        return False
    if not (_SHORT_SECRET.fullmatch(value) and _has_letter(value) and _has_digit(value)):
        return False
    is_name = _WORDS.fullmatch(value) or _TYPE.fullmatch(value) or _NAMES_IN_IT.search(value)
    return not is_name and _CLOSED.match(named.text, named.end) is not None


def _is_phrase(named: NamedValue) -> bool:
    """Says whether it is a quoted passphrase: four or more words that form no message."""
    is_said = (
        named.is_quoted and bool(named.sign) and (named.is_surely_one or named.kind != "secret")
    )
    phrase = _PHRASE.fullmatch(named.value) if is_said else None
    return phrase is not None and " " in phrase[0] and not _PROSE.search(phrase[0])


def _is_in_cell(named: NamedValue) -> bool:
    """Says whether the value is in the table cell beside its name. Other cells only describe it."""
    value = named.value
    if not _CELL_END.match(named.text, named.end) or not (_has_letter(value) and _has_digit(value)):
        return False
    if named.kind != "password":
        return _is_token(named)
    return len(value) >= 5 and " " not in value and not _TYPE.fullmatch(value)


def is_random(value: str) -> bool:
    """Tells whether letters and digits are mixed as in no word or name; 8 characters or more."""
    if len(value) < 8 or not _has_letter(value) or not _has_digit(value):
        return False
    groups = len(re.findall("[0-9]++", value))
    words = sum(len(word) for word in _WORD.findall(value) if len(word) >= 4)
    return groups > 2 or words < 0.6 * len(value)


def _is_odd(value: str) -> bool:
    """Tells whether there is more in it than letters or digits alone."""
    return _has_mark(value) or (_has_letter(value) and _has_digit(value))


def _has_mark(value: str) -> bool:
    return _MARK.search(value) is not None


def _has_letter(value: str) -> bool:
    return re.search("[A-Za-z]", value) is not None


def _has_digit(value: str) -> bool:
    return re.search("[0-9]", value) is not None
