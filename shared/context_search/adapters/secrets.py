"""Secrets of a deployment, from one Secrets Manager secret that holds a JSON object."""

from __future__ import annotations

from collections.abc import Mapping

from aws_lambda_powertools.utilities import parameters

MAX_AGE_S = 300


def with_secrets(environ: Mapping[str, str]) -> Mapping[str, str]:
    """Returns the environment with the secret's values in it, names in upper case.

    A null is an empty value: written out as text it would be a password that anybody can guess.
    Without ``SECRETS_ARN`` the environment holds the secrets itself, as on one machine.
    """
    arn = environ.get("SECRETS_ARN")
    if not arn:
        return environ
    values = parameters.get_secret(arn, transform="json", max_age=MAX_AGE_S)
    return {**environ, **{name.upper(): _text(value) for name, value in values.items()}}


def _text(value: object) -> str:
    return "" if value is None else str(value)
