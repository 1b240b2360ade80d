"""A turbopuffer-compatible HTTP server for one machine (turbopuffer.com/docs, API v1 and v2).

It answers the part of the API that context-search uses, exactly and durably, and refuses the
rest with the status that the real service would give.
"""

from __future__ import annotations

from local.turbopuffer import one_thread as one_thread  # before anything that imports numpy
from local.turbopuffer.app import create_app

__all__ = ["create_app"]
