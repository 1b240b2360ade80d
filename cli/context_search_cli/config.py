"""Where the server is and with which key it is asked; nothing here is ever printed.

A URL and a key come from one place together, so that no key is sent to somebody else's server:

1. options: ``--url`` and ``--key-file``, each completed by the environment
2. ``--profile NAME`` of the configuration file
3. the environment: ``CONTEXT_SEARCH_URL`` with ``…_KEY_FILE`` or ``…_KEY``
4. ``.local/endpoints.json`` of ``make serve``, in this folder or above
5. the configuration file's default profile
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from context_search_cli.failures import UsageError

URL = "CONTEXT_SEARCH_URL"
KEY = "CONTEXT_SEARCH_KEY"
KEY_FILE = "CONTEXT_SEARCH_KEY_FILE"
PROFILE = "CONTEXT_SEARCH_PROFILE"
CONFIG = "CONTEXT_SEARCH_CONFIG"
SECRET = "CONTEXT_SEARCH_SECRET"  # noqa: S105 - the name of a variable
SECRET_FILE = "CONTEXT_SEARCH_SECRET_FILE"  # noqa: S105 - the name of a variable
LOCAL = Path(".local") / "endpoints.json"
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A server and what opens it. ``source`` says in words where that was read.

    ``is_found``: nobody has named it but a file in this folder or above.
    """

    url: str
    source: str
    key: str | None = field(default=None, repr=False)
    secret: str | None = field(default=None, repr=False)
    project_id: int | None = None
    is_found: bool = False

    def __post_init__(self) -> None:
        """Raises UsageError for a key or a secret that no header takes."""
        for text in (self.key, self.secret):
            if text is not None:
                checked_secret(text, self.source)

    @property
    def is_plain(self) -> bool:
        """Whether the key would travel unencrypted, and not on this machine alone."""
        return urlsplit(self.url).scheme == "http" and not _is_loopback(self.url)


@dataclass(frozen=True, slots=True)
class EndpointOptions:
    """What the options of a command say about the endpoint."""

    profile: str | None = None
    url: str | None = None
    key_file: Path | None = None


class Configuration:
    """The environment, the configuration file and the folder in which a command runs."""

    def __init__(self, environment: Mapping[str, str], folder: Path) -> None:
        self.environment = environment
        self.folder = folder

    @property
    def path(self) -> Path:
        """The configuration file: ``CONTEXT_SEARCH_CONFIG``, else below XDG's folder."""
        if named := self.environment.get(CONFIG):
            return Path(named)
        home = Path(self.environment.get("HOME") or Path.home())
        base = self.environment.get("XDG_CONFIG_HOME")
        return (Path(base) if base else home / ".config") / "context-search" / "config.json"

    def endpoint(self, wanted: EndpointOptions) -> Endpoint:
        """The endpoint that a command talks to. Raises UsageError where none is known."""
        if wanted.url or wanted.key_file:
            return self._of_options(wanted)
        if name := wanted.profile or self.environment.get(PROFILE):
            return self._profile(name)
        places: list[Callable[[], Endpoint | None]] = [
            self._of_environment,
            self._of_local_stack,
            self._default_profile,
        ]
        for place in places:
            if (found := place()) is not None:
                return found
        raise UsageError(
            "no server is known here: context-search login --url https://HOST, or set "
            f"{URL} and {KEY_FILE}; that of make serve is found in its folder and below"
        )

    def secret(self, file: Path | None, endpoint: Endpoint) -> str:
        """The internal secret: of a file, the environment or the local stack; never an option.

        That of the environment is not for a server that a folder names.
        """
        environment = {} if endpoint.is_found else self.environment
        named = file or _path(environment.get(SECRET_FILE))
        found = read_secret(named) if named else environment.get(SECRET) or endpoint.secret
        if not found:
            raise UsageError(
                f"this needs the internal secret: --secret-file FILE, {SECRET_FILE} or {SECRET}"
            )
        return found

    def save(self, name: str, endpoint: Endpoint) -> Path:
        """Writes a profile, which becomes the default one. Only the owner may read the file."""
        content = self._file()
        content["profiles"][name] = {
            "url": endpoint.url,
            "key": endpoint.key,
            "project_id": endpoint.project_id,
        }
        content["default"] = name
        self._write(content)
        return self.path

    def forget(self, name: str) -> bool:
        """Takes a profile out of the file. Returns whether it was there."""
        content = self._file()
        if content["profiles"].pop(name, None) is None:
            return False
        if content.get("default") == name:
            content["default"] = next(iter(content["profiles"]), None)
        self._write(content)
        return True

    def default_name(self) -> str | None:
        """The name of the default profile."""
        name = self._file().get("default")
        return name if isinstance(name, str) else None

    def is_open_to_others(self) -> bool:
        """Whether others than the owner may read the configuration file."""
        return self.path.exists() and bool(self.path.stat().st_mode & 0o077)

    def _of_options(self, wanted: EndpointOptions) -> Endpoint:
        url = wanted.url or self.environment.get(URL)
        if not url:
            raise UsageError(f"--key-file needs --url or {URL}")
        key = read_secret(wanted.key_file) if wanted.key_file else self._key_of_environment()
        return Endpoint(checked_url(url), "options", key)

    def _of_environment(self) -> Endpoint | None:
        url, key = self.environment.get(URL), self._key_of_environment()
        if not url and key is None:
            return None
        if not url:
            raise UsageError(f"a key is in the environment, but no {URL}")
        return Endpoint(checked_url(url, "environment"), "environment", key)

    def _key_of_environment(self) -> str | None:
        file = _path(self.environment.get(KEY_FILE))
        return read_secret(file) if file else self.environment.get(KEY) or None

    def _of_local_stack(self) -> Endpoint | None:
        for folder in (self.folder, *self.folder.parents):
            path = folder / LOCAL
            if path.is_file():
                found = _read_json(path)
                return Endpoint(
                    _own_local_url(path, str(found.get("base_url"))),
                    str(path),
                    found.get("api_key"),
                    found.get("internal_secret"),
                    found.get("project_id"),
                    is_found=True,
                )
        return None

    def _default_profile(self) -> Endpoint | None:
        name = self.default_name()
        return self._profile(name) if name else None

    def _profile(self, name: str) -> Endpoint:
        found = self._file()["profiles"].get(name)
        if not isinstance(found, dict):
            raise UsageError(f"{self.path} has no profile {name}")
        url = checked_url(str(found.get("url")), f"profile {name}")
        return Endpoint(url, f"profile {name}", found.get("key"), None, found.get("project_id"))

    def _file(self) -> dict[str, Any]:
        content = _read_json(self.path) if self.path.exists() else {}
        if not isinstance(content.setdefault("profiles", {}), dict):
            raise UsageError(f"{self.path} is not as this command writes it")
        return content

    def _write(self, content: dict[str, Any]) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_private(self.path, json.dumps(content, indent=2, ensure_ascii=False) + "\n")


def write_private(path: Path, text: str) -> None:
    """Writes a file that only its owner may read, all or nothing."""
    draft = path.with_name(f".{path.name}.{os.getpid()}.new")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def read_secret(path: Path) -> str:
    """The only line of a file. Raises UsageError, which never quotes what is there."""
    try:
        text = path.read_text(encoding="utf-8").strip()
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{path} holds no key: it is no text") from None
    return checked_secret(text, str(path))


def checked_secret(text: object, source: str) -> str:
    """A key as a header takes it. Raises UsageError, which never quotes it."""
    if not isinstance(text, str) or not re.fullmatch("[!-~]+", text):
        raise UsageError(f"{source} holds no key: one line of visible ASCII characters")
    return text


def checked_url(text: str, source: str = "options") -> str:
    """An address without a slash at its end. Raises UsageError."""
    try:
        parts = urlsplit(text)
        is_good = parts.scheme in {"http", "https"} and bool(re.fullmatch(r"\S+", text))
        is_good = is_good and bool(parts.hostname)
        _ = parts.port
    except ValueError:
        is_good = False
    if not is_good:
        raise UsageError(
            f"the URL of {source} has to begin with http:// or https:// and name a host"
        )
    if parts.username or parts.password or parts.query or parts.fragment:
        raise UsageError(f"the URL of {source} has more than a server: no user, password, query")
    return text.rstrip("/")


def _is_loopback(url: str) -> bool:
    return (urlsplit(url).hostname or "") in _LOOPBACK


def _own_local_url(path: Path, url: str) -> str:
    """Return the address in a folder's file. Raises UsageError for a stranger's file or server.

    A cloned repository, or a file above the folder, must not choose who receives documents.
    """
    if path.stat().st_uid != os.getuid():
        raise UsageError(f"{path} belongs to another user: name the server with --profile or --url")
    if not _is_loopback(checked_url(url, str(path))):
        raise UsageError(
            f"{path} names {url}, which is not this machine: "
            "name that server with --profile or --url, or delete the file"
        )
    return url.rstrip("/")


def _path(text: str | None) -> Path | None:
    return Path(text) if text else None


def _read_json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from None
    except ValueError:
        raise UsageError(f"{path} cannot be read: it is no JSON") from None
    if not isinstance(content, dict):
        raise UsageError(f"{path} holds no JSON object")
    return content
