"""Where the database is and how far the way to it is trusted."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, cast, get_args
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from context_search.core.errors import InvalidInputError

SslMode = Literal["verify-full", "disable"]

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_PARAMETERS = frozenset({"sslmode", "sslrootcert", "host"})


@dataclass(frozen=True, slots=True)
class DatabaseUrl:
    """A parsed ``postgresql://`` URL.

    ``socket_dir`` is the directory of a Unix socket, used instead of ``host`` when given.
    ``sslrootcert`` is a file of CA certificates; None means those of the system.
    """

    user: str
    password: str | None = field(repr=False)
    host: str
    port: int
    database: str
    sslmode: SslMode
    sslrootcert: str | None = None
    socket_dir: str | None = None

    @classmethod
    def parse(cls, text: str) -> DatabaseUrl:
        """Reads ``postgresql://user:password@host:port/database``.

        Parameters, with libpq's names: ``sslmode`` (``verify-full`` or ``disable``; without it
        ``disable`` for loopback and Unix sockets and ``verify-full`` for everything else),
        ``sslrootcert`` (path) and ``host`` (directory of a Unix socket, absolute).
        Raises InvalidInputError, whose message never shows the URL.
        """
        try:
            parts = urlsplit(text)
            port = parts.port or 5432
            parameters = dict(parse_qsl(parts.query, keep_blank_values=True, strict_parsing=True))
        except ValueError:
            raise InvalidInputError("the database URL is malformed") from None
        _check(parts, parameters)
        host, socket_dir = parts.hostname or "", parameters.get("host")
        is_local = socket_dir is not None or host in _LOOPBACK
        default_sslmode = "disable" if is_local else "verify-full"
        return cls(
            user=unquote(parts.username or ""),
            password=None if parts.password is None else unquote(parts.password),
            host=host,
            port=port,
            database=unquote(parts.path[1:]),
            sslmode=_sslmode(parameters.get("sslmode", default_sslmode)),
            sslrootcert=parameters.get("sslrootcert"),
            socket_dir=socket_dir,
        )


def _check(parts: SplitResult, parameters: dict[str, str]) -> None:
    if parts.scheme not in {"postgresql", "postgres"}:
        raise InvalidInputError("the database URL must start with postgresql://")
    if not parts.username or len(parts.path) < 2:
        raise InvalidInputError("the database URL must name a user and a database")
    if unknown := parameters.keys() - _PARAMETERS:
        raise InvalidInputError(f"unknown database URL parameter: {', '.join(sorted(unknown))}")
    if not parameters.get("host", "/").startswith("/"):
        raise InvalidInputError("host= in the database URL must be the directory of a Unix socket")
    if "host" in parameters and parameters.get("sslmode") == "verify-full":
        raise InvalidInputError("a Unix socket in the database URL cannot be verified by TLS")
    if not parts.hostname and "host" not in parameters:
        raise InvalidInputError("the database URL must name a host")


def _sslmode(given: str) -> SslMode:
    if given not in get_args(SslMode):
        raise InvalidInputError("sslmode in the database URL must be verify-full or disable")
    return cast(SslMode, given)
