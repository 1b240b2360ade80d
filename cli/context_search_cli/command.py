"""What all commands share: their options, their session, and how they end."""

from __future__ import annotations

import inspect
import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, wraps
from pathlib import Path
from typing import Annotated, Any, Concatenate, ParamSpec, get_args, get_type_hints

import httpx2
import typer

from context_search_cli.client import TRIES, Client
from context_search_cli.config import Configuration, Endpoint, EndpointOptions
from context_search_cli.failures import CommandError, EndedError, UsageError
from context_search_cli.output import Output

P = ParamSpec("P")
INTERRUPTED = 130
LARGEST = 2**63 - 1
"""The largest id and revision that a server has."""


@dataclass(frozen=True)
class World:
    """What a command takes from outside. Tests give their own as Typer's ``obj``."""

    environment: Mapping[str, str] = field(repr=False)
    folder: Path
    transport: httpx2.BaseTransport | None = None
    sleep: Callable[[float], None] = time.sleep
    monotonic: Callable[[], float] = time.monotonic

    @classmethod
    def of_process(cls) -> World:
        """This process' environment, folder, network and clock."""
        return cls(dict(os.environ), Path.cwd())  # noqa: TID251 - read here, once


@dataclass
class Session:
    """One run of a command; ``tries`` is how often it sends a request at most."""

    world: World
    out: Output
    wanted: EndpointOptions = field(default_factory=EndpointOptions)
    tries: int = TRIES

    @cached_property
    def configuration(self) -> Configuration:
        """The environment and the configuration file."""
        return Configuration(self.world.environment, self.world.folder)

    @cached_property
    def _known(self) -> Endpoint:
        """The server; one that only a folder names is reported. Raises UsageError."""
        endpoint = self.configuration.endpoint(self.wanted)
        if endpoint.is_found:
            self.out.note(f"server {endpoint.url}, from {endpoint.source}")
        return endpoint

    @cached_property
    def endpoint(self) -> Endpoint:
        """The server and the key. Raises UsageError where either is unknown."""
        endpoint = self._known
        if endpoint.key is None:
            raise UsageError(f"{endpoint.source} names no key: context-search login, or --key-file")
        return replace(endpoint, secret=None)

    @cached_property
    def client(self) -> Client:
        """Asks with the project's key."""
        return self.client_of(self.endpoint)

    @cached_property
    def project_id(self) -> int:
        """The project of the key: as it was kept beside it, else as the server says."""
        known = self.endpoint.project_id
        return (
            known if known is not None else int(self.client.get("/api/v1/whoami")["project"]["id"])
        )

    @property
    def project(self) -> str:
        """The path below which the project's routes are."""
        return f"/api/v1/projects/{self.project_id}"

    def client_of(self, endpoint: Endpoint) -> Client:
        """Asks another endpoint, or with other credentials."""
        return Client(
            endpoint,
            transport=self.world.transport,
            tries=self.tries,
            report=self.out.note,
            sleep=self.world.sleep,
            monotonic=self.world.monotonic,
        )

    def internal(self, secret_file: Path | None) -> Client:
        """Asks with the internal secret; the project's key stays away."""
        endpoint = self._known
        secret = self.configuration.secret(secret_file, endpoint)
        return self.client_of(replace(endpoint, key=None, secret=secret))


def filled(text: str | None) -> str | None:
    """An option's text. Raises BadParameter for an empty one, of an unset variable, say."""
    if text is not None and not text.strip():
        raise typer.BadParameter("it is empty")
    return text


def writable(path: Path | None) -> Path | None:
    """A file to be written. Raises BadParameter where it cannot be, before anything is done."""
    if path is None:
        return None
    if path.is_dir():
        raise typer.BadParameter(f"{path} is a folder")
    if not path.parent.is_dir():
        raise typer.BadParameter(f"there is no folder {path.parent}")
    if not os.access(path.parent, os.W_OK):
        raise typer.BadParameter(f"nobody here may write to {path.parent}")
    return path


Json = Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No notes, no progress.")]
Profile = Annotated[
    str | None,
    typer.Option(
        "--profile", metavar="NAME", callback=filled, help="A profile that login has kept."
    ),
]
Url = Annotated[
    str | None, typer.Option("--url", callback=filled, help="The server, with --key-file.")
]
KeyFile = Annotated[
    Path | None, typer.Option("--key-file", metavar="FILE", help="A file with the key.")
]
_SHARED = {"as_json": Json, "quiet": Quiet, "profile": Profile, "url": Url, "key_file": KeyFile}

TableId = Annotated[int, typer.Argument(metavar="TABLE", min=1, help="Id of a table.")]
ToolId = Annotated[int, typer.Argument(metavar="TOOL", min=1, help="Id of a Search Tool.")]
Limit = Annotated[int, typer.Option("--limit", min=0, help="Rows at most; 0: all.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do it without asking.")]
Wait = Annotated[bool, typer.Option("--wait", help="Wait until it is done.")]
Shared = Annotated[bool, typer.Option("--shared", help="Also where other tools use the index.")]
Timeout = Annotated[float, typer.Option("--timeout", min=0, help="Seconds to wait at most.")]
SecretFile = Annotated[
    Path | None,
    typer.Option("--secret-file", metavar="FILE", help="A file with the internal secret."),
]


def group(name: str, text: str) -> typer.Typer:
    """A command with commands below it."""
    return typer.Typer(name=name, help=text, no_args_is_help=True, pretty_exceptions_enable=False)


def command(
    app: typer.Typer, name: str
) -> Callable[[Callable[Concatenate[Session, P], None]], Callable[Concatenate[Session, P], None]]:
    """Makes a function a command: its docstring is its help, the shared options are added.

    The function's first parameter is the session, all others are keyword-only. What it takes as
    ``**name: Unpack[Options]``, a TypedDict, are options that nobody has to give.
    """

    def register(
        function: Callable[Concatenate[Session, P], None],
    ) -> Callable[Concatenate[Session, P], None]:
        app.command(name)(_with_shared_options(function))
        return function

    return register


def _with_shared_options(function: Callable[..., None]) -> Callable[..., None]:
    @wraps(function)
    def run(context: typer.Context, **given: Any) -> None:
        world = context.obj or World.of_process()
        shared = {name: given.pop(name) for name in _SHARED if name not in own}
        out = printer(world, as_json=bool(shared.get("as_json")), quiet=bool(shared.get("quiet")))
        wanted = EndpointOptions(shared.get("profile"), shared.get("url"), shared.get("key_file"))
        session = Session(world, out, wanted)
        code = _ended(lambda: function(session, **_within_bounds(given)), out)
        if code:
            raise typer.Exit(code)

    hints = get_type_hints(function, include_extras=True)
    _, *parameters = inspect.signature(function).parameters.values()
    own = {each.name for each in parameters}
    kept: list[inspect.Parameter] = []
    for each in parameters:
        hint = hints[each.name]
        if each.kind is inspect.Parameter.VAR_KEYWORD:
            options = get_type_hints(get_args(hint)[0], include_extras=True)
            kept += [_option(*each, default=None) for each in options.items()]
        else:
            kept.append(each.replace(annotation=hint))
    context = inspect.Parameter(
        "context", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context
    )
    added = [
        _option(name, hint, default=False if name in {"as_json", "quiet"} else None)
        for name, hint in _SHARED.items()
        if name not in own
    ]
    signature = inspect.Signature([context, *kept, *added])
    run.__signature__ = signature  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in signature.parameters.values()}
    return run


def _within_bounds(given: dict[str, Any]) -> dict[str, Any]:
    """What an option or an argument says. Raises UsageError for a number that no server takes."""
    for value in given.values():
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, int) and each > LARGEST:
                raise UsageError(f"{each} is too large: ids and other numbers end at {LARGEST}")
    return given


def _option(name: str, hint: Any, *, default: object) -> inspect.Parameter:
    kind = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, kind, default=default, annotation=hint)


def printer(world: World, *, as_json: bool, quiet: bool) -> Output:
    """Where a command prints, in colours unless its environment says no."""
    return Output(as_json=as_json, quiet=quiet, colour=not world.environment.get("NO_COLOR"))


def failed(failure: CommandError, out: Output) -> int:
    """Says why a command failed, on stderr, with --json on stdout, too; returns its exit code."""
    out.error(str(failure))
    out.failed(failure.reported)
    return int(failure.ends_with)


def _ended(run: Callable[[], None], out: Output) -> int:
    """The exit code of what has run."""
    try:
        run()
    except EndedError as failure:
        return int(failure.ends_with)
    except CommandError as failure:
        return failed(failure, out)
    except OSError as error:
        if error.filename is None:  # no file: whoever reads what is printed has gone, say
            raise
        return failed(UsageError(f"{error.filename}: {error.strerror}"), out)
    except (KeyboardInterrupt, typer.Abort):
        out.warn("stopped")
        out.failed({"code": "INTERRUPTED", "detail": "stopped", "exit": INTERRUPTED})
        return INTERRUPTED
    return 0


def json_object(option: str, text: str) -> dict[str, Any]:
    """What an option says in JSON. Raises UsageError where it is no object."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{option} is a JSON object: {error}") from None
    if not isinstance(found, dict):
        raise UsageError(f"{option} is a JSON object")
    return found


def confirmed(session: Session, question: str, *, yes: bool) -> None:
    """Asks before something is destroyed. Raises UsageError where nobody can be asked."""
    if yes:
        return
    if not (sys.stdin.isatty() and session.out.stderr.is_terminal):
        raise UsageError(f"{question} Say --yes, as nobody can be asked here.")
    if not typer.confirm(question, err=True):
        raise CommandError("nothing was changed")


def delete_named(session: Session, path: str, what: str, and_with: str = "", *, yes: bool) -> None:
    """Deletes what is at a path, ``table 7`` say, after asking for it by its name."""
    if not yes:
        name = session.client.get(path)["name"]
        confirmed(session, f"Delete {what} ({name}){and_with}?", yes=yes)
    session.client.delete(path)
    number = int(path.rpartition("/")[2])
    session.out.result({"deleted": number}, lambda: session.out.made(number, f"{what} is deleted"))
