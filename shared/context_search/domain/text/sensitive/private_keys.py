"""Private keys in PEM and PGP armour: whole, cut off, quoted in a mail, or as strings of a program.

A certificate or a public key has the same lines. They are told apart by their first line only.
"""

from __future__ import annotations

import re

from context_search.domain.text.sensitive.spans import Spans

_MARKER = "[A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----"
# What stands between two lines: line ends, also written out, and what quotes or lists them.
_BETWEEN = r"(?:[\s>|\"',;*#:()\[\]<-]|\\[nrt]|\\{0,2}\"|&(?:gt|quot|nbsp);|//(?=\s)|\+(?=\s))"
_LINE_END = rf"(?:[ \t\"',;|]{{0,8}}(?:\r?\n|\\r\\n|\\n)|\\?[\"']\s{{0,4}},){_BETWEEN}{{0,60}}"
_HEADER = rf"(?:(?:Proc-Type|DEK-Info|Version|Comment|Hash|Charset): [^\r\n\\]{{0,100}}|{_BETWEEN})"
_LONGEST = 32_768
_PATTERNS = tuple(
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
        for pattern in _PATTERNS:
            yield from (match.span() for match in pattern.finditer(text))
    for body in _BODY.finditer(text):
        if not _PUBLIC.search(text, max(0, body.start() - 160), body.start()):
            yield body.span()
