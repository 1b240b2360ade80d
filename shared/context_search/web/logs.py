"""The logger of a function: lines of JSON, and of libraries nothing below a warning."""

from __future__ import annotations

import logging
import warnings
from typing import TextIO

from aws_lambda_powertools import Logger


def function_logger(service: str) -> Logger:
    """Returns the logger that a function writes its lines with.

    Lambda writes what goes through ``logging`` otherwise: as JSON too, because the template says
    so. It reads level and time of every line, the time in the form of RFC 3339.
    """
    # Below that libraries quote what they send and get: questions, documents, the secret itself.
    # Whatever level the template asks for is for our own lines.
    logging.getLogger().setLevel(logging.WARNING)
    warnings.showwarning = _log_warning
    return Logger(service=service, use_rfc3339=True)


def _log_warning(
    message: Warning | str,  # noqa: ARG001 - pydantic's, for one, quotes the value it is about
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,  # noqa: ARG001 - Python's own parameters
    line: str | None = None,  # noqa: ARG001
) -> None:
    """Logs kind and place of a warning of Python, never its text."""
    logging.getLogger("py.warnings").warning("%s at %s:%d", category.__name__, filename, lineno)
