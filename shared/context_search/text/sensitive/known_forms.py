"""Secrets with a form of their own: prefixes of makers, tokens, headers, private keys.

Where a pattern has a group, only the group is secret.
"""

from __future__ import annotations

import re
from base64 import b64decode
from binascii import Error

from context_search.text.sensitive.named_secrets import is_random
from context_search.text.sensitive.spans import LOGIN, RUN, Spans, is_said

# One of the words must be in the text, or the pattern is not tried.
_PATTERNS = tuple(
    (words.split(" "), re.compile(pattern))
    for words, pattern in (
        (
            "AKIA ASIA ABIA ACCA",
            r"(?<![A-Za-z0-9])(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Z0-9])",
        ),
        ("sk-", r"(?<![A-Za-z])sk-[A-Za-z0-9_-]{16,}+"),
        ("cs_", r"(?<![A-Za-z])cs_(?:mcp_)?[A-Za-z0-9_-]{43}(?![A-Za-z0-9_-])"),
        (
            "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ glpat- xox xapp- npm_ pypi- hf_ tpuf_ whsec_"
            " _live_ _test_ _v1_ shpat_ shpca_ shppa_ shpss_ ATATT PMAK- r8_ rubygems_"
            " GOCSPX- dckr_pat_ gsk_ nvapi- lin_api_ sq0csp- vercel_blob_rw_",
            r"(?:gh[pousr]_|github_pat_|glpat-|xox[abeoprs]-|xapp-|npm_|pypi-|hf_|tpuf_|whsec_"
            r"|(?:sk|rk|pk)_(?:live|test)_|do[opr]_v1_|shp(?:at|ca|pa|ss)_|ATATT|PMAK-|r8_|rubygems_"
            r"|GOCSPX-|dckr_pat_|gsk_|nvapi-|lin_api_|sq0csp-|vercel_blob_rw_)"
            r"[A-Za-z0-9_=-]{20,}+",
        ),
        # Mailgun, Twilio, Facebook
        ("key-", r"(?<![A-Za-z0-9-])key-[0-9a-z]{32}(?![0-9A-Za-z])"),
        ("SK AC", r"(?<![A-Za-z0-9])(?:SK|AC)[0-9a-f]{32}(?![0-9A-Za-z])"),
        ("EAA", r"(?<![A-Za-z0-9+/=])EAA[A-Za-z0-9]{40,}+"),
        ("AIza", r"AIza[A-Za-z0-9_-]{30,}+"),
        ("LTAI AKID", r"(?:LTAI|AKID)[A-Za-z0-9]{12,}+"),
        ("ya29.", r"ya29\.[A-Za-z0-9_-]{20,}+"),
        ("SG.", r"SG\.[A-Za-z0-9_-]{16,}+\.[A-Za-z0-9_-]{16,}+"),
        ("AGE-SECRET-KEY-1", r"AGE-SECRET-KEY-1[0-9A-Z]{50,}+"),
        (
            "hooks.slack.com",
            r"hooks\.slack\.com/\w{8,9}/\w{8,12}/\w{8,12}/(\w{16,}+)",
        ),
        # JSON Web Token
        (
            "eyJ",
            r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]{8,}+(?:\.[A-Za-z0-9_-]*+)*+",
        ),
    )
)
_HEADERS = re.compile(
    r"(?i:bearer)\s{1,4}([A-Za-z0-9._~+/=-]{20,}+)"
    r"|(?i:authorization)[\"']?\s{0,3}[:=]\s{0,3}[\"']?(?:[A-Za-z]{2,12}\s{1,4})?"
    r"([A-Za-z0-9._~+/=-]{12,}+)"
)
_BASIC = re.compile(r"(?i:basic)\s{1,4}([A-Za-z0-9+/_-]{6,}+={0,2}+)")
_USER = re.compile(rf"(?<![\w-])(?:-u|--user)[ =]{{0,2}}[\"']?[\w.@+-]{{1,64}}+:({RUN}{{3,}}+)")
# A password of a command: behind a gap only where ``-p`` has no other meaning.
_OF_COMMAND = re.compile(
    rf"(?<=\s)-p(?:(?P<attached>(?![$'\"]){RUN}{{4,}}+)"
    rf"|\s?(?P<quote>[\"'])(?P<quoted>(?!\$)[^\"'\r\n]{{3,100}})(?P=quote)"
    rf"|\s(?P<apart>(?![$'\"]){RUN}{{4,}}+))"
)
_MYSQL = re.compile(r"\b(?:mysql\w{0,10}|mariadb(?:-\w{1,10})?)\s[^;|&\n]{0,150}\Z")
_SSHPASS = re.compile(r"\bsshpass\s[^;|&\n]{0,40}\Z")
_ODD = re.compile(r"(?=.{0,80}[A-Za-z])(?=.{0,80}[0-9!@#$%^&*+=~?]).", re.DOTALL)
_SHORTEST_TOKEN = 16
_CURL = re.compile(r"\b(?:curl|wget|http|https)\b")


def known_keys(text: str) -> Spans:
    """Returns the secrets."""
    for words, pattern in _PATTERNS:
        if any(word in text for word in words):
            yield from (match.span(match.lastindex or 0) for match in pattern.finditer(text))
    lower = text.lower()
    if "bearer" in lower or "authorization" in lower:
        yield from (match.span(match.lastindex or 0) for match in _HEADERS.finditer(text))
    for match in _BASIC.finditer(text) if "basic" in lower else ():
        if _is_user_and_password(match[1]):
            yield match.span(1)
    for match in _USER.finditer(text) if "-u" in text else ():
        if is_said(_CURL, text, match.start(), reach=200):
            yield match.span(1)
    for match in _OF_COMMAND.finditer(text) if " -p" in text else ():
        if _is_of_command(text, match):
            yield match.span(match.lastgroup or 0)


def address_secrets(text: str) -> Spans:
    """Returns the passwords in addresses, as in ``redis://:…@host``, and tokens in their place."""
    for login in LOGIN.finditer(text):
        if login["password"]:
            yield login.span("password")
        elif login["user"] and len(login["user"]) >= _SHORTEST_TOKEN and is_random(login["user"]):
            yield login.span("user")


def _is_of_command(text: str, match: re.Match[str]) -> bool:
    if is_said(_SSHPASS, text, match.start(), reach=60):
        return bool(match["quoted"]) or _ODD.match(match["attached"] or match["apart"]) is not None
    if match["apart"] or (match["quoted"] and text[match.start() + 2].isspace()):
        return False
    value = match["attached"] or match["quoted"]
    is_mysql = is_said(_MYSQL, text, match.start(), reach=200)
    return is_mysql and _ODD.match(value) is not None


def _is_user_and_password(encoded: str) -> bool:
    """Tells whether it is ``user:password`` in base64, cut to any length."""
    try:
        # Only the beginning: a name is no longer, and what follows may have been cut off.
        decoded = b64decode(encoded[: min(400, len(encoded)) // 4 * 4], altchars=b"-_")
    except Error:
        return False
    return b":" in decoded and all(byte >= 0x20 for byte in decoded)


# ---- Private keys in PEM and PGP armour: whole, cut off, quoted in a mail, or as strings
# of a program. A certificate or a public key has the same lines. They are told apart by their first
# line only.

_MARKER = "[A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----"
# What stands between two lines: line ends, also written out, and what quotes or lists them.
_BETWEEN = r"(?:[\s>|\"',;*#:()\[\]<-]|\\[nrt]|\\{0,2}\"|&(?:gt|quot|nbsp);|//(?=\s)|\+(?=\s))"
_LINE_END = rf"(?:[ \t\"',;|]{{0,8}}(?:\r?\n|\\r\\n|\\n)|\\?[\"']\s{{0,4}},){_BETWEEN}{{0,60}}"
_HEADER = rf"(?:(?:Proc-Type|DEK-Info|Version|Comment|Hash|Charset): [^\r\n\\]{{0,100}}|{_BETWEEN})"
_LONGEST = 32_768
_BLOCKS = tuple(
    re.compile(pattern)
    for pattern in (
        # whole; cut off behind; cut off before
        rf"-----BEGIN {_MARKER}(?:[^-]|-(?!----)){{0,{_LONGEST}}}+-----END {_MARKER}",
        rf"-----BEGIN {_MARKER}{_HEADER}{{0,200}}+(?:{_BETWEEN}{{0,100}}+[A-Za-z0-9+/=]{{16,}}+)*+",
        rf"(?<![A-Za-z0-9+/=])[A-Za-z0-9+/=]{{1,76}}+{_LINE_END}"
        rf"(?:[A-Za-z0-9+/]{{60,76}}+{_LINE_END}){{0,50}}+"
        rf"(?:[A-Za-z0-9+/=]{{1,76}}+{_LINE_END})?-----END {_MARKER}",
    )
)
# Nothing but lines of the body.
_BODY = re.compile(
    rf"(?<![A-Za-z0-9+/=])(?:[A-Za-z0-9+/]{{60,76}}{_LINE_END}){{2,}}+[A-Za-z0-9+/=]{{0,76}}+"
)
_PUBLIC = re.compile(
    r"-----BEGIN [A-Z0-9 ]{0,30}(?:CERTIFICATE(?: REQUEST)?|PUBLIC KEY(?: BLOCK)?)-----"
    rf"{_BETWEEN}{{0,60}}\Z"
)


def private_keys(text: str) -> Spans:
    """Returns the keys."""
    if "PRIVATE KEY" in text:
        for pattern in _BLOCKS:
            yield from (match.span() for match in pattern.finditer(text))
    for body in _BODY.finditer(text):
        if not _PUBLIC.search(text, max(0, body.start() - 160), body.start()):
            yield body.span()
