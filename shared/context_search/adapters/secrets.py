"""Secrets of a deployment, from one Secrets Manager secret that holds a JSON object."""

from __future__ import annotations

import json
from collections.abc import Mapping

from context_search.settings import SettingsError


def with_secrets(environ: Mapping[str, str]) -> Mapping[str, str]:
    """Returns the environment with the secret's values in it, see ``with_values``.

    Without ``SECRETS_ARN`` the environment holds the secrets itself, as on one machine.
    The secret is read anew at each call. Raises SettingsError when that fails, and when it is not
    a JSON object.
    """
    arn = environ.get("SECRETS_ARN")
    if not arn:
        return environ
    from aws_lambda_powertools.utilities import parameters  # noqa: PLC0415 - with boto3, 0.2 s

    try:
        text = parameters.get_secret(arn, force_fetch=True)
    except parameters.exceptions.GetParameterError as error:
        reason = type(error.__cause__).__name__
        raise SettingsError(f"the secret of SECRETS_ARN cannot be read: {reason}") from None
    try:
        values = json.loads(text)
    except (ValueError, TypeError):  # binary, which is no UTF-8
        values = None
    if not isinstance(values, dict):
        # Outside of the handler: a decoder's error quotes what it could not read.
        raise SettingsError("the secret of SECRETS_ARN is not a JSON object")
    return with_values(environ, values)


def with_values(environ: Mapping[str, str], values: Mapping[str, object]) -> dict[str, str]:
    """Returns the environment with the values of a secret in it, names in upper case.

    A null is an empty value: written out as text it would be a password that anybody can guess.
    """
    return {**environ, **{name.upper(): _text(value) for name, value in values.items()}}


def _text(value: object) -> str:
    return "" if value is None else str(value)
