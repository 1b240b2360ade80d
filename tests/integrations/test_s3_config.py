"""The options of S3's client, for the botocore that is there: on Lambda it is AWS's choice."""

from __future__ import annotations

from botocore.config import Config

from context_search.integrations.s3 import s3_config

CHECKSUMS = "request_checksum_calculation"


def option(config: Config) -> str | None:
    reported: str | None = getattr(config, CHECKSUMS)
    return reported


def test_this_botocore_is_asked_for_no_checksums() -> None:
    assert option(s3_config()) == "when_required"


def test_a_botocore_that_does_not_know_of_them_is_not_asked() -> None:
    older = Config.OPTION_DEFAULTS.keys() - {CHECKSUMS}
    assert option(s3_config(older)) is None
