"""A turbopuffer-compatible HTTP server for one machine (turbopuffer.com/docs, API v1 and v2).

It answers the part of the API that context-search calls, exactly and durably. Everything else is
refused with a 400 that names it, never ignored. ``make test-turbopuffer-sdk`` compares it with what
the vendor's own tests expect.
"""

from __future__ import annotations

from local.blas import limit_blas_threads

limit_blas_threads()  # before anything imports numpy

from local.turbopuffer.app import create_app  # noqa: E402

__all__ = ["create_app"]
