"""What a text calls a password, token or key: ``password: …``, ``API_KEY=…``, ``密码是…``.

A value in quotes, or one that no word and no name of a program looks like, is taken for a secret.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from context_search.domain.sensitive.spans import RUN, Spans

# A name begins with one of the stems, but for what stands before a key.
_STEMS = ("pass", "pwd", "secret", "token", "credential", "key", "session", "sess=", "sid=", "csrf")
_STEMS += (
    "xsrf",
    "jwt",
    "sig=",
    "密码",
    "密碼",
    "口令",
    "密钥",
    "密鑰",
    "秘钥",
    "私钥",
    "令牌",
    "凭证",
)
_NAME = re.compile(
    r"(?i:(?P<password>password|passwd|passphrase|pwd|(?P<pass>(?<![A-Za-z])pass(?![A-Za-z])))"
    r"|(?P<secret>secret|token|credentials?)|(?P<key>key(?:[_-]?id)?)"
    r"|(?P<session>session(?:[_-]?id)?|sess|(?<![A-Za-z])(?:sid|csrf|xsrf|jwt|sig)))"
    r"|(?P<chinese>密码|密碼|口令)|(?P<chinese_key>密钥|密鑰|秘钥|私钥|令牌|凭证)"
)
_KIND_OF_KEY = re.compile(
    r"(?i:(?P<secret>api|access|private|secret|account|encryption|signing|auth|master)[ _-]?\Z)"
    r"|(?P<variable>[A-Z0-9]_\Z)"
)
_SAID = re.compile(
    r"(?:(?P<listed>[\"']\s?,\s?(?=[\"']))|[\"'\])]{0,2}\s{0,3}(?P<sign>:=|=>|[:=](?![:=])|>(?=[^<>\s]{1,200}</)|是|为|設為|设为"
    r"|(?:(?:is|was|are) )?set to|\b(?:is|was)\b|))\s{0,6}"
    r"(?P<quote>[rbf]?[\"'`「“]|)"
)
# Of an endless value the beginning decides.
_BEGINNING = re.compile(rf"{RUN}{{1,256}}")
_REST = re.compile(rf"{RUN}*+")
_QUOTED = re.compile(r"[^\"'`」”\r\n\\<>{}]{1,200}(?=[\"'`」”])")

_WORDS = re.compile(
    r"(?i:required|optional|none|null|nil|true|false|str|string|text|number|int|integer|bool|boolean|any"
    r"|object|undefined|empty|unset|hidden|redacted|missing|invalid|wrong|incorrect|expired|default"
    r"|hash(?:ed)?|encrypted|plain(?:text)?|bearer|basic|password|passwd|passphrase|pwd|pass|secret|token"
    r"|key|varchar|char|bytes|read|write|ok|yes|no|see|here|login|example|change|reset|protected|unknown"
    r"|(?:sha|md|hs|rs|es|aes|rsa|utf|base|argon|oauth|bcrypt|pbkdf|scrypt|v)-?[0-9]{1,4}(?:id)?(?:[-_][a-z]+)?)"
)
_REFERENCE = re.compile(r"\$\w+|%\w+%|[A-Za-z_]+(?:\.[A-Za-z_]+)+[.:]?")
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
_NAMES_IN_IT = re.compile(r"(?i:pass|pwd|token|secret|key|hash)")
_WORD = re.compile(r"[A-Z]?[a-z]{3,}|(?<![A-Za-z])[A-Z]{4,}(?![A-Za-z])")
_MARK = re.compile(r"[!@#$%^&*+=~?]")
_ENDS = re.compile(r"[ \t]*(?:[\r\n\"'`,;<)#|】」”，。；、！）\\]|\Z|//)")
_COUNTED = re.compile(r"\s?[位年个個天秒次字至到种]|\s(?:chars?|characters|digits|bits|bytes)\b")
_LONGER_THAN_WORDS = 22


@dataclass(frozen=True, slots=True)
class _Said:
    """A value, how it was introduced, and what stands around it."""

    kind: Literal["password", "secret", "session", "variable"]
    sign: str
    is_quoted: bool
    is_spaced: bool
    is_attribute: bool
    is_short: bool
    is_chinese: bool
    is_on_next_line: bool
    value: str
    text: str
    end: int

    @property
    def is_assigned(self) -> bool:
        return self.sign in (":", "=", ":=", "=>", ">", "是", "为", "設為", "设为")


def named_secrets(text: str) -> Spans:
    """Returns the values, without their names."""
    at = 0
    for place in _places(text):
        name = _NAME.match(text, place) if place >= at else None
        said = _SAID.match(text, name.end()) if name else None
        if name is None or said is None:
            continue
        start = said.end()
        if name["key"] and not _KIND_OF_KEY.search(text, max(0, place - 12), place):
            continue
        value = (said["quote"] and _QUOTED.match(text, start)) or _BEGINNING.match(text, start)
        if value and _is_secret(_read(text, name, said, value)):
            at = _end(text, value, is_quoted=bool(said["quote"]))
            yield start, at


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


def _read(text: str, name: re.Match[str], said: re.Match[str], value: re.Match[str]) -> _Said:
    [group] = [group for group, value in name.groupdict().items() if value and group != "pass"]
    kind = {"chinese": "password", "chinese_key": "secret"}.get(group, group)
    before = text[max(0, name.start() - 40) : name.start()]
    if name["key"]:
        of = _KIND_OF_KEY.search(text, max(0, name.start() - 12), name.start())
        kind = of.lastgroup if of else None
    shown = value[0] if said["quote"] else value[0].rstrip(".:?")
    return _Said(
        kind=kind,  # type: ignore[arg-type]
        sign=said["sign"] or ("=" if said["listed"] and said["quote"] else ""),
        is_quoted=bool(said["quote"]),
        is_spaced=any(character.isspace() for character in said[0]),
        is_attribute=re.search(r"\w\.\w*\Z", before) is not None,
        is_short=bool(name["pass"]),
        is_chinese=group.startswith("chinese"),
        is_on_next_line="\n" in said[0],
        value=shown,
        text=text,
        end=value.start() + len(shown),
    )


def _is_secret(said: _Said) -> bool:
    value = said.value
    is_filled_in = len(set(value)) < 3 and not value.isdecimal()
    if is_filled_in or _WORDS.fullmatch(value) or _is_code(said):
        return False
    if not (said.sign or said.is_spaced or said.is_chinese):
        return False
    return _is_password(said) if said.kind == "password" else _is_token(said)


def _is_code(said: _Said) -> bool:
    """Tells whether the value is an expression, a name of a program or a hole in a template."""
    if said.is_quoted:
        return False
    if said.text[said.end : said.end + 1] in ("(", "[", "{"):
        return True
    value = said.value
    if _REFERENCE.fullmatch(value):
        return True
    if not _IDENTIFIER.fullmatch(value):
        return False
    return (said.is_attribute and said.is_spaced) or (
        "_" in value and (said.is_short or _NAMES_IN_IT.search(value) is not None)
    )


def _is_token(said: _Said) -> bool:
    if not is_random(said.value):
        return False
    if said.kind == "session":
        return said.sign == "=" and not said.is_spaced
    if said.kind == "variable":
        return said.is_assigned and len(said.value) >= 16
    return bool(said.sign) or len(said.value) >= (12 if said.is_chinese else 16)


def _is_password(said: _Said) -> bool:
    value = said.value
    has_mark = _MARK.search(value) is not None
    is_odd = has_mark or (_has_letter(value) and _has_digit(value))
    if said.is_quoted and said.sign:
        return len(value) >= 4 and (is_odd or " " not in value)
    if said.is_assigned:
        return _is_assigned_password(said)
    if said.sign or said.is_chinese:
        return (is_odd and len(value) >= 5) or len(value) >= _LONGER_THAN_WORDS
    return is_odd and len(value) >= 8 and (has_mark or not value.islower())


def _is_assigned_password(said: _Said) -> bool:
    value = said.value
    is_alone = _ENDS.match(said.text, said.end) is not None
    if value.isdecimal():
        return len(value) >= 4 and is_alone and not _COUNTED.match(said.text, said.end)
    return len(value) >= 5 and (_has_digit(value) or (is_alone and not said.is_on_next_line))


def is_random(value: str) -> bool:
    """Tells whether letters and digits are mixed as in no word or name; 8 characters or more."""
    if len(value) < 8 or not _has_letter(value) or not _has_digit(value):
        return False
    groups = len(re.findall("[0-9]+", value))
    words = sum(len(word) for word in _WORD.findall(value) if len(word) >= 4)
    return groups > 2 or words < 0.6 * len(value)


def _has_letter(value: str) -> bool:
    return re.search("[A-Za-z]", value) is not None


def _has_digit(value: str) -> bool:
    return re.search("[0-9]", value) is not None
