"""The logger of a function: lines of JSON, and of libraries nothing below a warning."""

from __future__ import annotations

import logging

from aws_lambda_powertools import Logger


def function_logger(service: str) -> Logger:
    """Returns the logger that a function writes its lines with.

    Lambda writes what goes through ``logging`` otherwise: as JSON too, because the template says
    so. It reads level and time of every line, the time in the form of RFC 3339.
    """
    # Below that libraries quote what they send and get: questions, documents, the secret itself.
    # Whatever level the template asks for is for our own lines.
    logging.getLogger().setLevel(logging.WARNING)
    logging.captureWarnings(True)
    return Logger(service=service, use_rfc3339=True)
