"""PostgreSQL on this machine: the server of a wheel."""

from __future__ import annotations

from local.postgres.server import PostgresServer

__all__ = ["PostgresServer"]
