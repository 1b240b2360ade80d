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
    try:
        values = json.loads(_text_of(arn))
    except ValueError:
        values = None
    if not isinstance(values, dict):
        # Outside of the handler: a decoder's error quotes what it could not read.
        raise SettingsError("the secret of SECRETS_ARN is not a JSON object")
    return with_values(environ, values)


def _text_of(arn: str) -> str:
    """The secret as it is now, empty for a binary one."""
    import boto3  # noqa: PLC0415 - 0.2 s, and nobody needs it without a secret
    from botocore.config import Config  # noqa: PLC0415
    from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415

    # A request may wait for it.
    config = Config(connect_timeout=2, read_timeout=2, retries={"total_max_attempts": 2})
    try:
        client = boto3.client("secretsmanager", config=config)
        return client.get_secret_value(SecretId=arn).get("SecretString", "")
    except (BotoCoreError, ClientError) as error:
        raise SettingsError(f"the secret of SECRETS_ARN: {_reason(error)}") from None


def _reason(error: Exception) -> str:
    response = getattr(error, "response", {})
    return str(response.get("Error", {}).get("Code", type(error).__name__))


def with_values(environ: Mapping[str, str], values: Mapping[str, object]) -> dict[str, str]:
    """Returns the environment with the values of a secret in it, names in upper case.

    A null is an empty value: written out as text it would be a password that anybody can guess.
    """
    return {**environ, **{name.upper(): _text(value) for name, value in values.items()}}


def _text(value: object) -> str:
    return "" if value is None else str(value)
