"""Addresses of places of a document in its owner's application: a template with placeholders."""

from __future__ import annotations

import re
from urllib.parse import quote, urlsplit

PLACEHOLDERS = ("table_id", "pointer", "start", "end", "cite")
MAX_TEMPLATE = 2_000
"""Maximum length of a template, in characters."""
MAX_ADDRESS = 8_000
"""Maximum length of an address, in characters: servers and browsers refuse longer ones."""
_PLACEHOLDER = re.compile(r"\{(" + "|".join(PLACEHOLDERS) + r")\}")
# RFC 3986, section 2, and what stands in the place of a value.
_ALLOWED = re.compile(r"[A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=%-]*")
_HOST = re.compile(r"[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]")


def fault_of(template: str) -> str | None:
    """Says what is wrong with a template; None: it is one.

    It is an absolute http or https address, in which only the part behind the host has
    placeholders: what is cited never says whose page is opened.
    """
    if len(template) > MAX_TEMPLATE:
        return f"has over {MAX_TEMPLATE} characters"
    fixed = _PLACEHOLDER.sub("", template)
    if "{" in fixed or "}" in fixed:
        known = ", ".join(f"{{{name}}}" for name in PLACEHOLDERS)
        return f"has a brace beside the placeholders {known}"
    if not _ALLOWED.fullmatch(fixed):
        return "has a character that no address has: percent-encode it"
    try:
        parts = urlsplit(template)
        host = parts.netloc.removesuffix(f":{parts.port}")
    except ValueError:
        return "is not an absolute http or https address"
    if parts.scheme not in {"http", "https"} or not _HOST.fullmatch(host):
        return "is not an absolute http or https address, with placeholders behind its host only"
    return None


def filled(
    template: str, *, table_id: int, pointer: str, start: int, end: int, cite: str
) -> str | None:
    """Returns the address of a place, each value percent-encoded.

    None where it would be longer than MAX_ADDRESS, and for what is no template: plain SQL may
    have written anything.
    """
    if fault_of(template) is not None:
        return None
    values = {"table_id": table_id, "pointer": pointer, "start": start, "end": end, "cite": cite}
    address = _PLACEHOLDER.sub(lambda found: quote(str(values[found[1]]), safe=""), template)
    return address if len(address) <= MAX_ADDRESS else None
