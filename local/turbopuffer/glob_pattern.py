"""Glob patterns as the service reads them: the syntax of Rust's ``globset`` with its defaults.

``*`` and ``?`` also match ``/``; ``**`` as a whole path part stands for any number of parts;
``[a-z]``, ``[!a]``, ``{a,b}`` and ``\\`` work as usual (docs.rs/globset).
"""

from __future__ import annotations

import re

from local.turbopuffer.errors import invalid

_PIECE = re.compile(
    r"""
      (?P<middle>/\*\*/)
    | (?P<suffix>/\*\*\Z)
    | (?P<prefix>\A\*\*/)
    | (?P<stars>\*+)
    | (?P<any>\?)
    | \[(?P<negated>[!^]?)(?P<members>\]?[^\]]*)\]
    | (?P<open>\{) | (?P<close>\}) | (?P<comma>,)
    | \\(?P<escaped>.)
    | (?P<literal>[^\[\\])
    """,
    re.VERBOSE | re.DOTALL,
)
_FIXED = {
    "middle": "(?:/|/.*/)",
    "suffix": "/.*",
    "prefix": "(?:/?|.*/)",
    "stars": ".*",
    "any": ".",
    "open": "(?:",
    "close": ")",
    "comma": "|",
}


def compile_glob(pattern: str, *, ignore_case: bool) -> re.Pattern[str]:
    """The expression that matches whole values; 400 for an unclosed class or alternative."""
    parts: list[str] = []
    position, depth = 0, 0
    while position < len(pattern):
        piece = _PIECE.match(pattern, position)
        if piece is None:
            raise invalid(f"glob {pattern!r} ends inside a class or an escape")
        depth += (piece["open"] is not None) - (piece["close"] is not None)
        if depth < 0:
            raise invalid(f"glob {pattern!r} closes an alternative that is not open")
        parts.append(_expression(piece, inside=depth > 0))
        position = piece.end()
    if depth:
        raise invalid(f"glob {pattern!r} has an unclosed alternative")
    return re.compile("".join(parts), re.DOTALL | (re.IGNORECASE if ignore_case else 0))


def _expression(piece: re.Match[str], *, inside: bool) -> str:
    """The regular expression for one piece; a comma divides only ``inside`` braces."""
    if piece["members"] is not None:
        members = re.sub(r"([\\\[\]^&~|])", r"\\\1", piece["members"])
        return f"[{'^' if piece['negated'] else ''}{members}]"
    for name, expression in _FIXED.items():
        if piece[name] is not None and (name != "comma" or inside):
            return expression
    return re.escape(piece["escaped"] or piece[0])
