"""The configuration of a function, read once from its environment, as one frozen value."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypedDict

from context_search.domain.access_tokens import is_safe_address
from context_search.domain.errors import ContextSearchError
from context_search.domain.limits import ProjectLimits
from context_search.domain.uploads import MAX_UPLOAD_BYTES

MAX_NODE_CHARS = 50_000_000
MAX_NODE_CHUNKS = 200_000
INDEX_LEASE_S = 90.0
SILENT_AFTER_S = 180.0
DELETE_GRACE_S = 1800.0
INDEX_CONCURRENCY = 8


class SettingsError(ContextSearchError):
    """A variable is missing or malformed. The message names it and never shows its value."""

    code = "MISCONFIGURED"


@dataclass(frozen=True, slots=True)
class TokenSettings:
    """Whose JSON web tokens are taken, for whom they must be, and where they name the project."""

    issuer: str
    audience: str
    project_claim: str = "project_id"


@dataclass(frozen=True, slots=True)
class Settings:
    """All that deployments may differ in. Durations are seconds, lengths code points.

    Secrets have no ``repr``, so that no log of this object can hold one.
    """

    database_url: str = field(repr=False)
    queue_url: str
    dead_letter_queue_url: str
    turbopuffer_api_key: str = field(repr=False)
    embedding_model: str
    embedding_dimensions: int
    internal_secrets: tuple[str, ...] = field(repr=False)
    query_hash_key: str = field(repr=False)
    turbopuffer_region: str | None = None
    turbopuffer_base_url: str | None = None
    embedding_api_key: str | None = field(default=None, repr=False)
    embedding_api_base: str | None = None
    embedding_price: float | None = None
    embedding_window_tokens: int = 0
    embedding_query_params: Mapping[str, object] = field(default_factory=dict)
    embedding_passage_params: Mapping[str, object] = field(default_factory=dict)
    allowed_origins: tuple[str, ...] = ()
    allowed_hosts: tuple[str, ...] | None = None
    tokens: TokenSettings | None = None
    index_lease_s: float = INDEX_LEASE_S
    silent_after_s: float = SILENT_AFTER_S
    delete_grace_s: float = DELETE_GRACE_S
    index_concurrency: int = INDEX_CONCURRENCY
    delete_unknown_namespaces: bool = False
    max_node_chars: int = MAX_NODE_CHARS
    max_node_chunks: int = MAX_NODE_CHUNKS
    project_limits: ProjectLimits = field(default_factory=ProjectLimits)
    database_connections: int = 2
    upload_bucket: str = ""
    upload_max_bytes: int = MAX_UPLOAD_BYTES
    memory_bytes: int | None = None

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> Settings:
        """Returns the settings of an environment into which the secrets are already merged.

        Raises SettingsError that names the variable.
        """
        read = _Reader(environ)
        secrets = (read.text("INTERNAL_SECRET"), read.optional("INTERNAL_SECRET_PREVIOUS"))
        return cls(
            database_url=read.text("DATABASE_URL"),
            queue_url=read.text("QUEUE_URL"),
            dead_letter_queue_url=read.text("DEAD_LETTER_QUEUE_URL"),
            turbopuffer_api_key=read.text("TURBOPUFFER_API_KEY"),
            **_turbopuffer(read),
            embedding_model=read.text("EMBEDDING_MODEL"),
            embedding_dimensions=int(read.number("EMBEDDING_DIMENSIONS", None)),
            embedding_api_key=read.optional("EMBEDDING_API_KEY"),
            embedding_api_base=read.optional("EMBEDDING_API_BASE"),
            embedding_price=read.number("EMBEDDING_PRICE", 0) or None,
            embedding_window_tokens=int(read.number("EMBEDDING_WINDOW_TOKENS", 0)),
            embedding_query_params=read.json_object("EMBEDDING_QUERY_PARAMS"),
            embedding_passage_params=read.json_object("EMBEDDING_PASSAGE_PARAMS"),
            internal_secrets=tuple(secret for secret in secrets if secret),
            query_hash_key=read.text("QUERY_HASH_KEY"),
            allowed_origins=tuple((read.optional("ALLOWED_ORIGINS") or "").split()),
            allowed_hosts=tuple((read.optional("ALLOWED_HOSTS") or "").split()) or None,
            tokens=_tokens(read),
            index_lease_s=read.number("INDEX_LEASE_SECONDS", INDEX_LEASE_S),
            silent_after_s=read.number("SILENT_AFTER_SECONDS", SILENT_AFTER_S),
            delete_grace_s=read.number("DELETE_GRACE_SECONDS", DELETE_GRACE_S),
            index_concurrency=int(read.number("INDEX_CONCURRENCY", INDEX_CONCURRENCY)),
            delete_unknown_namespaces=read.flag("DELETE_UNKNOWN_NAMESPACES"),
            max_node_chars=int(read.number("STRING_MAX_CHARS", MAX_NODE_CHARS)),
            max_node_chunks=int(read.number("STRING_MAX_CHUNKS", MAX_NODE_CHUNKS)),
            project_limits=_project_limits(read),
            database_connections=int(read.number("DATABASE_CONNECTIONS", 2)),
            upload_bucket=read.optional("UPLOAD_BUCKET") or "",
            upload_max_bytes=int(read.number("UPLOAD_MAX_BYTES", MAX_UPLOAD_BYTES)),
            # Lambda's own, in MB; on one machine there is none.
            memory_bytes=int(read.number("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", 0)) << 20 or None,
        )


@dataclass(frozen=True, slots=True)
class _Reader:
    environ: Mapping[str, str]

    def optional(self, name: str) -> str | None:
        return self.environ.get(name) or None

    def text(self, name: str) -> str:
        value = self.optional(name)
        if value is None:
            raise SettingsError(f"{name} is not set")
        return value

    def number(self, name: str, default: float | None) -> float:
        value = self.optional(name)
        if value is None and default is not None:
            return default
        try:
            return float(value or "")
        except ValueError:
            raise SettingsError(f"{name} is not a number") from None

    def flag(self, name: str) -> bool:
        value = self.optional(name) or "false"
        if value not in ("true", "false"):
            raise SettingsError(f"{name} is neither true nor false")
        return value == "true"

    def json_object(self, name: str) -> Mapping[str, object]:
        try:
            value = json.loads(self.optional(name) or "{}")
        except ValueError:
            raise SettingsError(f"{name} is not JSON") from None
        if not isinstance(value, dict):
            raise SettingsError(f"{name} is not a JSON object")
        return value


class _Turbopuffer(TypedDict):
    turbopuffer_region: str | None
    turbopuffer_base_url: str | None


def _turbopuffer(read: _Reader) -> _Turbopuffer:
    region, base_url = read.optional("TURBOPUFFER_REGION"), read.optional("TURBOPUFFER_BASE_URL")
    if region is None and base_url is None:
        raise SettingsError("neither TURBOPUFFER_REGION nor TURBOPUFFER_BASE_URL is set")
    return {"turbopuffer_region": region, "turbopuffer_base_url": base_url}


def _tokens(read: _Reader) -> TokenSettings | None:
    issuer, audience = read.optional("JWT_ISSUER"), read.optional("JWT_AUDIENCE")
    if issuer is None and audience is None:
        return None
    if issuer is None or audience is None:
        raise SettingsError("of JWT_ISSUER and JWT_AUDIENCE one is set without the other")
    if not is_safe_address(issuer) or "?" in issuer:
        raise SettingsError("JWT_ISSUER is not an https address without a query")
    return TokenSettings(issuer, audience, read.optional("JWT_PROJECT_CLAIM") or "project_id")


def _project_limits(read: _Reader) -> ProjectLimits:
    usual = ProjectLimits()
    return ProjectLimits(
        max_chunks=int(read.number("PROJECT_MAX_CHUNKS", usual.max_chunks)),
        max_vector_bytes=int(read.number("PROJECT_MAX_VECTOR_BYTES", usual.max_vector_bytes)),
        idle_s=read.number("INDEX_COLD_SECONDS", usual.idle_s),
    )


def environment() -> Mapping[str, str]:
    """Returns the variables of this machine: the only place that reads them."""
    return os.environ  # noqa: TID251 - this is settings.py
