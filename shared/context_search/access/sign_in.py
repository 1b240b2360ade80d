"""Signing a browser in to the console without a key in an address: a code that is good once."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from datetime import datetime

from context_search.access.keys import KeyOptions, ShownKey, add_key, key_hash
from context_search.core.callers import CONSOLE_KEY_S, SIGN_IN_CODE_S, KeyOwner, Principal
from context_search.core.errors import UnauthenticatedError
from context_search.core.limits import ProjectBounds
from context_search.store import Store


@dataclass(frozen=True, slots=True)
class ShownCode:
    """A code at the only time when its text, 256 random bits, is known."""

    text: str = field(repr=False)
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class SignIn:
    """Codes for browsers, and what becomes of them."""

    store: Store
    bounds: ProjectBounds = field(default_factory=ProjectBounds)

    def code_for(self, caller: Principal) -> ShownCode:
        """Makes a code that signs in once, within minutes, with what the caller may do."""
        text = secrets.token_urlsafe(32)
        with self.store.for_project(caller.project_id) as work:
            ends = work.keys.add_code(caller, key_hash(text), lifetime_s=SIGN_IN_CODE_S)
        return ShownCode(text, ends)

    def redeem(self, code: str) -> ShownKey:
        """Returns a key of the console in exchange, which ends with the maker's at the latest.

        Raises UnauthenticatedError, the same for a code that is unknown, used or has ended, and
        ProjectFullError.
        """
        with self.store.for_all("sign in with a code") as work:
            maker = work.keys.use_code(key_hash(code))
            if maker is None:
                raise UnauthenticatedError("the code is wrong, used or over five minutes old")
            options = KeyOptions("console", CONSOLE_KEY_S, maker.permissions, "console")
            return add_key(work, KeyOwner(maker.project_id), options, maker, self.bounds)
