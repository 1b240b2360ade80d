"""What a text calls a password, token or key: ``password: …``, ``API_KEY=…``, ``密码是…``."""

from __future__ import annotations

import re

from context_search.domain.text.sensitive.named_values import NamedValue, SecretKind, is_secret
from context_search.domain.text.sensitive.spans import RUN, Spans

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


def _is_row(text: str, name: re.Match[str], said: re.Match[str]) -> bool:
    before = text[max(0, name.start() - 60) : name.start()]
    return said["cell"] != "|" or _ROW.search(before) is not None
