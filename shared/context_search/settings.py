"""The configuration of a function, read once from its environment, as one frozen value."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from secrets import token_urlsafe
from typing import Annotated

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    Json,
    ValidationError,
    model_validator,
)

from context_search.core.callers import is_safe_address
from context_search.core.config import Model, Precision
from context_search.core.errors import ContextSearchError
from context_search.core.limits import MAX_UPLOAD_BYTES, DailyLimits, ProjectBounds, ProjectLimits


class SettingsError(ContextSearchError, code="MISCONFIGURED"):
    """A variable is missing or malformed. The message names it and never shows its value."""


@dataclass(frozen=True, slots=True)
class TokenSettings:
    """Whose JSON web tokens are taken, for whom they must be, and where they name the project."""

    issuer: str
    audiences: tuple[str, ...]
    project_claim: str = "project_id"


def _variable(field: str) -> str:
    """The variable of a field: ``index_lease_s`` is INDEX_LEASE_SECONDS."""
    return (field.removesuffix("_s") + "_seconds" if field.endswith("_s") else field).upper()


def _number(given: object) -> object:
    """CloudFormation writes large integers as 2.0E10. What is no number is left to pydantic."""
    try:
        return float(given) if isinstance(given, str) else given
    except ValueError:
        return given


def _or_none(value: float | tuple[str, ...] | None) -> float | tuple[str, ...] | None:
    return value or None


def _without_secrets(params: dict[str, object]) -> dict[str, object]:
    """Refuses what looks like a credential: parameters are stored and shown in the clear."""
    named = sorted(name for name in _names(params) if _CREDENTIAL.search(name))
    if named:
        raise ValueError(f"{', '.join(named)}: credentials belong into EMBEDDING_API_KEY")
    return params


def _names(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield name
            yield from _names(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _names(inner)


_CREDENTIAL = re.compile(r"key(?!word)|secret|token(?!s)|password|credential|authorization", re.I)
"""Part of a parameter's name that stands for a credential; ``max_tokens`` and keywords do not."""
_USUAL, _BOUNDS = ProjectLimits(), ProjectBounds()
_ORIGIN = re.compile(r"https?://([A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?")
_RATE = re.compile(r"rate\((\d+) (second|minute|hour|day)s?\)")
_UNITS_S = {"second": 1.0, "minute": 60.0, "hour": 3_600.0, "day": 86_400.0}
Secret = Annotated[str, Field(repr=False)]
# 32 characters of a random text: more than anybody guesses.
LongSecret = Annotated[str, Field(repr=False, min_length=32)]
_nobody_knows = Field(default_factory=token_urlsafe)
Words = Annotated[tuple[str, ...], BeforeValidator(str.split)]
Flag = Annotated[bool, BeforeValidator({"true": True, "false": False}.get)]
Params = Annotated[Json[dict[str, object]], AfterValidator(_without_secrets)]
Count = Annotated[int, BeforeValidator(_number), Field(ge=0)]
Positive = Annotated[int, BeforeValidator(_number), Field(ge=1)]
Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class Settings(BaseModel):
    """All that deployments may differ in: each field is the variable of its name.

    Durations are seconds, lengths code points. Secrets have no ``repr``, so that no log of this
    object can hold one.
    """

    model_config = ConfigDict(
        frozen=True, alias_generator=_variable, validate_by_name=True, hide_input_in_errors=True
    )

    database_url: Secret
    """``postgresql://user:password@host:port/name``."""
    database_connections: Positive = 2
    """Maximum number of connections for each process."""
    database_connect_s: Seconds = 5.0
    """How long a server may take for each step of a new connection: a sleeping one wakes first."""
    queue_url: str
    dead_letter_queue_url: str
    turbopuffer_api_key: Secret
    turbopuffer_region: str | None = None
    turbopuffer_base_url: str | None = None
    """Address of another server than turbopuffer's. It wins over the region; one of both is
    needed.
    """
    embedding_model: str
    """litellm's name of the model, provider first."""
    embedding_dimensions: Positive
    vector_precision: Precision = "f32"
    """What turbopuffer keeps of each number of a vector: 4 bytes, or 2."""
    embedding_api_key: Annotated[str | None, Field(repr=False)] = None
    embedding_api_base: str | None = None
    embedding_price: Annotated[Seconds | None, AfterValidator(_or_none)] = None
    """Price of a million tokens; 0 and none: unknown."""
    embedding_window_tokens: Count = 250
    """Number of tokens of text for one vector; 0: one vector a chunk."""
    embedding_query_params: Params = Field(default_factory=dict)
    embedding_passage_params: Params = Field(default_factory=dict)
    """Extra arguments when a question, or a passage, is embedded."""
    rerank_models: Words = ()
    """litellm's names of the models that tools may rerank with, all of one provider."""
    rerank_api_key: Annotated[str | None, Field(repr=False)] = None
    rerank_api_base: str | None = None
    rerank_timeout_ms: Positive = 400
    """How long a search waits for them."""
    allow_plain_providers: Flag = False
    """Whether turbopuffer and models may be asked without TLS beyond this machine."""
    serves_http: Flag = True
    """Whether the function answers requests: only then are the next three given."""
    internal_secret: LongSecret = _nobody_knows
    internal_secret_previous: Annotated[str | None, Field(repr=False, min_length=32)] = None
    query_hash_key: LongSecret = _nobody_knows
    """Key of the hashes that stand for questions in logs."""
    allowed_origins: Words = ()
    """Web origins that may call ``/mcp``."""
    public_url: str | None = None
    """Address that people reach this deployment at, without a path; None: answers name none."""
    console: Flag = True
    """Whether ``/console`` serves the web console."""
    allowed_hosts: Annotated[Words | None, AfterValidator(_or_none)] = None
    """Names that ``/mcp`` is asked for by; None: any."""
    jwt_issuer: str | None = None
    jwt_audience: Words = ()
    """Both or neither: see ``tokens``."""
    jwt_project_claim: str = "project_id"
    jwt_max_key_days: Count = 90
    """Days that a key made with a token lives at most; 0: for ever."""
    index_lease_s: Seconds = 90.0
    """How long a worker owns a node without a sign of life."""
    silent_after_s: Seconds = 180.0
    """Seconds after which silence is a failure."""
    delete_grace_s: Seconds = 1800.0
    """Seconds between the first and the last delete of a vector row."""
    cleanup_schedule: str = ""
    """The schedule of ``cleanup``. From ``rate(…)`` follows how long a round of sweeps takes; from
    any other form nothing does.
    """
    cleanup_idle_minutes: Positive = 1
    """For how long ``cleanup`` may leave the database alone where nothing is due."""
    index_concurrency: Positive = 8
    """Number of workers."""
    index_cold_s: Seconds = _USUAL.idle_s
    """An index that was searched or created more recently is never evicted."""
    create_wait_s: Annotated[Seconds, Field(le=25)] = 5.0
    """How long the create of a tool is held at most, whatever its ``wait`` says."""
    project_max_chunks: Count = _USUAL.max_chunks
    project_max_vector_bytes: Count = _USUAL.max_vector_bytes
    """Maximum bytes of vectors of one project. Over it, the coldest index is evicted."""
    project_max_tables: Count = _BOUNDS.tables
    project_max_document_bytes: Count = _BOUNDS.document_bytes
    """Maximum bytes of one project's documents, as Postgres stores them."""
    project_max_tools: Count = _BOUNDS.tools
    project_max_keys: Positive = _BOUNDS.keys
    project_max_mcps: Count = _BOUNDS.mcps
    project_daily_tokens: Annotated[Count | None, AfterValidator(_or_none)] = None
    project_daily_reranks: Annotated[Count | None, AfterValidator(_or_none)] = None
    """What may be spent for one project in a day (UTC); 0 and none: no limit."""
    max_node_chars: Annotated[Positive, Field(validation_alias="STRING_MAX_CHARS")] = 50_000_000
    max_node_chunks: Annotated[Positive, Field(validation_alias="STRING_MAX_CHUNKS")] = 200_000
    """Maximum number of chunks of one string. A longer one is skipped."""
    delete_unknown_namespaces: Flag = False
    """Whether ``cleanup`` deletes namespaces named like ours that the database does not know."""
    upload_bucket: str = ""
    upload_max_bytes: Positive = MAX_UPLOAD_BYTES
    aws_lambda_function_memory_size: Count = 0
    """Memory of the function in MB, set by Lambda; 0: not on Lambda."""

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> Settings:
        """Returns the settings of an environment into which the secrets are already merged.

        An empty variable is none. Raises SettingsError that names every variable that is wrong.
        """
        given = {name: value for name, value in environ.items() if value}
        try:
            return cls.model_validate(given, by_alias=True, by_name=False)
        except ValidationError as refused:
            raise SettingsError("; ".join(_reported(error) for error in refused.errors())) from None

    @property
    def internal_secrets(self) -> tuple[str, ...]:
        """Returns the secrets that open the internal routes: two while one is being rotated."""
        both = (self.internal_secret, self.internal_secret_previous)
        return tuple(secret for secret in both if secret)

    @property
    def tokens(self) -> TokenSettings | None:
        """Returns whose tokens are taken; None: keys only."""
        if self.jwt_issuer is None:
            return None
        return TokenSettings(self.jwt_issuer, self.jwt_audience, self.jwt_project_claim)

    @property
    def project_limits(self) -> ProjectLimits:
        """What one project may hold."""
        return ProjectLimits(
            self.project_max_chunks, self.project_max_vector_bytes, self.index_cold_s
        )

    @property
    def project_bounds(self) -> ProjectBounds:
        """What one project may have, and how long keys made with a token live."""
        return ProjectBounds(
            self.project_max_tables,
            self.project_max_document_bytes,
            self.project_max_tools,
            self.project_max_keys,
            self.project_max_mcps,
            self.jwt_max_key_days * 86_400.0 or None,
        )

    @property
    def daily_limits(self) -> DailyLimits:
        """What may be spent for one project in a day."""
        return DailyLimits(self.project_daily_tokens, self.project_daily_reranks)

    @property
    def memory_bytes(self) -> int | None:
        """Returns the function's memory in bytes; None on one machine: no document is too large."""
        return self.aws_lambda_function_memory_size << 20 or None

    @property
    def model(self) -> Model:
        """What new indexes are built with."""
        return Model(
            name=self.embedding_model,
            dimensions=self.embedding_dimensions,
            window_tokens=self.embedding_window_tokens,
            price=self.embedding_price,
            precision=self.vector_precision,
        )

    @property
    def cleanup_idle_s(self) -> float:
        """Returns for how long ``cleanup`` may leave the database alone where nothing is due."""
        return 60.0 * self.cleanup_idle_minutes

    @property
    def cleanup_every_s(self) -> float:
        """Returns how often ``cleanup`` runs; 0: not known."""
        found = _RATE.fullmatch(self.cleanup_schedule.strip())
        return int(found[1]) * _UNITS_S[found[2]] if found else 0.0

    @model_validator(mode="after")
    def _are_reached_safely(self) -> Settings:
        addresses = {
            "TURBOPUFFER_BASE_URL": self.turbopuffer_base_url,
            "EMBEDDING_API_BASE": self.embedding_api_base,
            "RERANK_API_BASE": self.rerank_api_base,
        }
        unsafe = [name for name, url in addresses.items() if url and not is_safe_address(url)]
        if unsafe and not self.allow_plain_providers:
            raise ValueError(
                f"{', '.join(unsafe)}: not an https address; documents and keys would go in the"
                " clear. ALLOW_PLAIN_PROVIDERS=true allows it"
            )
        return self

    @model_validator(mode="after")
    def _knows_callers(self) -> Settings:
        needed = ("internal_secret", "query_hash_key")
        lacking = [_variable(name) for name in needed if name not in self.model_fields_set]
        if self.serves_http and lacking:
            raise ValueError("; ".join(f"{name} is not set" for name in lacking))
        return self

    @model_validator(mode="after")
    def _fit_together(self) -> Settings:
        if self.turbopuffer_region is None and self.turbopuffer_base_url is None:
            raise ValueError("neither TURBOPUFFER_REGION nor TURBOPUFFER_BASE_URL is set")
        if len({model.partition("/")[0] for model in self.rerank_models}) > 1:
            raise ValueError("RERANK_MODELS are of several providers, and there is one key")
        if (self.jwt_issuer is None) == bool(self.jwt_audience):
            raise ValueError("of JWT_ISSUER and JWT_AUDIENCE one is set without the other")
        if self.jwt_issuer and (not is_safe_address(self.jwt_issuer) or "?" in self.jwt_issuer):
            raise ValueError("JWT_ISSUER is not an https address without a query")
        if self.public_url and not (
            _ORIGIN.fullmatch(self.public_url) and is_safe_address(self.public_url)
        ):
            raise ValueError("PUBLIC_URL is not an https address without a path")
        return self


def _reported(error: Mapping[str, object]) -> str:
    """Returns an error of pydantic without its value: the variable, and what it should be."""
    location, message = error["loc"], str(error["msg"]).removeprefix("Value error, ")
    name = location[0] if isinstance(location, tuple) and location else ""
    if not name:
        return message
    return f"{name} is not set" if error["type"] == "missing" else f"{name}: {message}"


def environment() -> Mapping[str, str]:
    """Returns the variables of this machine: the only place that reads them."""
    return os.environ  # noqa: TID251 - this is settings.py
