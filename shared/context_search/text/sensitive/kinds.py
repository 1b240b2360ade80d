"""The kinds of text that must not be shown."""

from __future__ import annotations

from typing import Literal, get_args

SensitiveKind = Literal["key", "email", "id_card", "iban", "bank_card", "ssn", "phone"]
# Where finds overlap, the kind that stands first names the whole.
SENSITIVE_KINDS: tuple[SensitiveKind, ...] = get_args(SensitiveKind)
