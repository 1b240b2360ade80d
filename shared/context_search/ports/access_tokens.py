"""Tokens that somebody else has issued."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol


class AccessTokens(Protocol):
    """The tokens of one issuer for one audience."""

    def claims_of(self, token: str) -> Mapping[str, object]:
        """Returns the claims of a token that is genuine, for us, and has not expired.

        Raises UnauthenticatedError for any other, and TokenIssuerUnavailableError when the
        issuer's keys cannot be had at the moment.
        """
        ...
