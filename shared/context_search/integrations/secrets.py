"""Secrets of a deployment, from Secrets Manager secrets that each hold a JSON object.

Passwords and keys are rotated while processes live.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import TypeVar

from context_search.core.errors import ContextSearchError
from context_search.integrations.ports import Clock, SystemClock
from context_search.settings import Settings, SettingsError

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


MAX_AGE = timedelta(seconds=300)
RETRY = timedelta(seconds=60)
PAUSE = timedelta(seconds=5)
"""Minimum time between two reads of the secret, whatever is refused meanwhile, and by whomever."""
T = TypeVar("T")


class LiveSettings:
    """Settings that follow a rotated secret: read again after a refusal, and every five minutes.

    After a refusal, ``instead_of`` returns the present value. Values that nobody refuses are read
    from ``fresh_settings``, at most five minutes old. ``read_again`` returns the settings with the
    present secret; None: nothing can change.
    """

    clock: Clock

    def __init__(
        self, settings: Settings, read_again: Callable[[], Settings] | None = None
    ) -> None:
        self.settings = settings
        self.clock = SystemClock()
        self._read_again = read_again
        self._read_at = self.clock.now()
        self._looked_at: datetime | None = None
        self._looking = threading.Lock()

    @property
    def fresh_settings(self) -> Settings:
        """Returns the settings, read again when they are older than five minutes."""
        if self.clock.now() - self._read_at >= MAX_AGE:
            self._look()
        return self.settings

    def instead_of(self, pick: Callable[[Settings], T], refused: T) -> T | None:
        """Returns the value that has replaced a refused one; None if it has not changed."""
        if pick(self.settings) == refused:
            self._look()
        value = pick(self.settings)
        return None if value == refused else value

    def _look(self) -> None:
        if self._read_again is None:
            return
        with self._looking:
            now = self.clock.now()
            if self._looked_at is not None and now - self._looked_at < PAUSE:
                return
            self._looked_at = now
            try:
                self.settings = self._read_again()
            except ContextSearchError:
                # What is known goes on being used, and its age is asked for again in a minute.
                self._read_at = now - MAX_AGE + RETRY
            else:
                self._read_at = now
