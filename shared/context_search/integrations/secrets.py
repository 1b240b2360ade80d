"""Secrets of a deployment, from Secrets Manager secrets that each hold a JSON object."""

from __future__ import annotations

import json
from collections.abc import Mapping

from context_search.settings import SettingsError

_ARNS = ("SECRETS_ARN", "MODEL_SECRETS_ARN", "INTERNAL_SECRETS_ARN")
"""Variables that name a secret; a function has those that it needs."""


def with_secrets(environ: Mapping[str, str]) -> Mapping[str, str]:
    """Returns the environment with the values of its secrets in it, see ``with_values``.

    A later secret wins over an earlier one. Without any the environment holds the secrets itself,
    as on one machine. They are read anew at each call. Raises SettingsError when that fails, and
    when one is not a JSON object.
    """
    arns = {variable: arn for variable in _ARNS if (arn := environ.get(variable))}
    for variable, text in _texts_of(arns).items() if arns else ():
        try:
            values = json.loads(text)
        except ValueError:
            values = None
        if not isinstance(values, dict):
            # Outside of the handler: a decoder's error quotes what it could not read.
            raise SettingsError(f"the secret of {variable} is not a JSON object")
        environ = with_values(environ, values)
    return environ


def _texts_of(arns: Mapping[str, str]) -> dict[str, str]:
    """The secrets as they are now, by their variables; a binary one is empty."""
    import boto3  # noqa: PLC0415 - 0.2 s, needed for secrets only
    from botocore.config import Config  # noqa: PLC0415
    from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415

    # A request may wait for them.
    config = Config(connect_timeout=2, read_timeout=2, retries={"total_max_attempts": 2})
    client, texts = None, {}
    for variable, arn in arns.items():
        try:
            client = client or boto3.client("secretsmanager", config=config)
            texts[variable] = client.get_secret_value(SecretId=arn).get("SecretString", "")
        except (BotoCoreError, ClientError) as error:
            raise SettingsError(f"the secret of {variable}: {_reason(error)}") from None
    return texts


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
