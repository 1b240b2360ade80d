"""Secrets of a deployment, from one Secrets Manager secret that holds a JSON object."""

from __future__ import annotations

import json
from collections.abc import Mapping

from aws_lambda_powertools.utilities import parameters

from context_search.settings import SettingsError

MAX_AGE_S = 300


def with_secrets(environ: Mapping[str, str]) -> Mapping[str, str]:
    """Returns the environment with the secret's values in it, names in upper case.

    A null is an empty value: written out as text it would be a password that anybody can guess.
    Without ``SECRETS_ARN`` the environment holds the secrets itself, as on one machine.
    Raises SettingsError when the secret is not a JSON object.
    """
    arn = environ.get("SECRETS_ARN")
    if not arn:
        return environ
    text = parameters.get_secret(arn, max_age=MAX_AGE_S)
    try:
        values = json.loads(text)
    except (ValueError, TypeError):  # binary, which is no UTF-8
        values = None
    if not isinstance(values, dict):
        # Outside of the handler: a decoder's error quotes what it could not read.
        raise SettingsError("the secret of SECRETS_ARN is not a JSON object")
    return {**environ, **{name.upper(): _text(value) for name, value in values.items()}}


def _text(value: object) -> str:
    return "" if value is None else str(value)
