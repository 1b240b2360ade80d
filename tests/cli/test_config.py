"""Where the server and the key come from; that the key is nowhere else."""

from __future__ import annotations

import json
import os
from pathlib import Path

import httpx2
import pytest

from context_search.access.routes import sign_in
from context_search.web import console
from context_search.web.app import http_app
from context_search.web.openapi import contract, every_router
from context_search_cli.config import (
    Configuration,
    Endpoint,
    EndpointOptions,
    checked_url,
    read_secret,
)
from context_search_cli.failures import UsageError
from tests.cli.running import URL, CommandLine
from tests.web.in_process import InProcess

KEY = "cs_key"


def configuration(folder: Path, **environment: str) -> Configuration:
    return Configuration({"HOME": str(folder), **environment}, folder)


def test_a_profile_is_kept_for_its_owner_alone(tmp_path: Path) -> None:
    kept = configuration(tmp_path)
    path = kept.save("work", Endpoint("https://a.test", "", KEY, None, 7))
    assert path == tmp_path / ".config" / "context-search" / "config.json"
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert [each.name for each in path.parent.iterdir()] == ["config.json"]
    assert kept.endpoint(EndpointOptions()) == Endpoint(
        "https://a.test", "profile work", KEY, None, 7
    )
    path.chmod(0o644)
    assert kept.is_open_to_others()
    kept.save("other", Endpoint("https://b.test", "", KEY))
    assert not kept.is_open_to_others()
    assert kept.endpoint(EndpointOptions("work")).url == "https://a.test"
    assert kept.forget("other")
    assert kept.default_name() == "work"
    assert not kept.forget("other")


def test_the_environment_is_before_the_local_stack_and_that_before_profiles(tmp_path: Path) -> None:
    configuration(tmp_path).save("p", Endpoint("https://p.test", "", "p"))
    assert configuration(tmp_path).endpoint(EndpointOptions()).key == "p"
    local = {"base_url": "http://127.0.0.1:8787", "api_key": "l", "project_id": 1}
    (tmp_path / ".local").mkdir()
    (tmp_path / ".local" / "endpoints.json").write_text(json.dumps(local))
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    found = Configuration({"HOME": str(tmp_path)}, below).endpoint(EndpointOptions())
    assert (found.key, found.project_id) == ("l", 1)
    variables = {"CONTEXT_SEARCH_URL": "https://e.test", "CONTEXT_SEARCH_KEY": "e"}
    assert configuration(tmp_path, **variables).endpoint(EndpointOptions()).key == "e"
    assert configuration(tmp_path, **variables).endpoint(EndpointOptions("p")).key == "p"


def test_a_key_goes_to_no_server_that_it_was_not_given_for(tmp_path: Path) -> None:
    configuration(tmp_path).save("p", Endpoint("https://p.test", "", "p"))
    assert configuration(tmp_path).endpoint(EndpointOptions(url="https://q.test")).key is None
    with pytest.raises(UsageError, match="CONTEXT_SEARCH_URL"):
        configuration(tmp_path, CONTEXT_SEARCH_KEY="e").endpoint(EndpointOptions())
    (tmp_path / "key").write_text("k\n")
    with pytest.raises(UsageError, match="--url"):
        configuration(tmp_path).endpoint(EndpointOptions(key_file=tmp_path / "key"))


@pytest.mark.parametrize("text", ["", " ", "two words", "schlüssel", "a\nb", "a\x00"])
def test_what_is_no_key_is_refused_without_quoting_it(tmp_path: Path, text: str) -> None:
    path = tmp_path / "key"
    path.write_text(text)
    with pytest.raises(UsageError) as refused:
        read_secret(path)
    assert "schl" not in str(refused.value)


def test_where_no_server_is_known_all_ways_to_one_are_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as refused:
        Configuration({"HOME": str(tmp_path)}, tmp_path).endpoint(EndpointOptions())
    for way in ("context-search login --url", "CONTEXT_SEARCH_URL", "make serve"):
        assert way in str(refused.value)


@pytest.mark.parametrize(
    "url",
    [
        *("", "api.test", "ftp://a.test", "https://", "https://u:p@a.test", "https://a.test?k=1"),
        *("http://a.test:x", "http://a b.test"),
    ],
)
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(UsageError):
        checked_url(url)


@pytest.mark.parametrize("content", ["{", "[]", '{"profiles": 5}'])
def test_a_broken_file_is_told(tmp_path: Path, content: str) -> None:
    path = tmp_path / "config.json"
    path.write_text(content)
    with pytest.raises(UsageError):
        configuration(tmp_path, CONTEXT_SEARCH_CONFIG=str(path)).endpoint(EndpointOptions())


@pytest.mark.parametrize(
    ("stack", "said"),
    [
        ({}, "the URL of "),
        ({"base_url": 7}, "the URL of "),
        ({"base_url": "https://a.test", "api_key": "k"}, "https://a.test, which is not this"),
        ({"base_url": "http://[::1]:8787", "api_key": 7}, "no key"),
        ({"base_url": "http://localhost", "api_key": "k", "internal_secret": "a b"}, "no key"),
    ],
)
def test_a_file_of_another_stack_is_told_by_its_place(
    tmp_path: Path, stack: dict[str, object], said: str
) -> None:
    (tmp_path / ".local").mkdir()
    (tmp_path / ".local" / "endpoints.json").write_text(json.dumps(stack))
    with pytest.raises(UsageError, match=said) as refused:
        configuration(tmp_path).endpoint(EndpointOptions())
    assert "endpoints.json" in str(refused.value)


@pytest.mark.skipif(os.getuid() != 0, reason="only root gives a file away")
def test_a_file_of_another_user_names_no_server(tmp_path: Path) -> None:
    local_stack(tmp_path)
    os.chown(tmp_path / ".local" / "endpoints.json", 65534, -1)
    with pytest.raises(UsageError, match="belongs to another user"):
        configuration(tmp_path).endpoint(EndpointOptions())


def test_a_server_that_only_a_folder_names_is_reported(cli: CommandLine) -> None:
    assert "endpoints.json" not in cli("tables", "list").err
    local_stack(cli.folder, cli.key)
    cli.environment |= {"CONTEXT_SEARCH_URL": "", "CONTEXT_SEARCH_KEY": ""}
    assert "server http://127.0.0.1:8787, from " in cli("tables", "list").err
    assert "server" not in cli("tables", "list", "-q").err


def local_stack(folder: Path, key: str = "k") -> None:
    stack = {"base_url": "http://127.0.0.1:8787", "api_key": key}
    (folder / ".local").mkdir()
    (folder / ".local" / "endpoints.json").write_text(json.dumps(stack))


def test_a_key_of_the_environment_that_is_none_is_not_sent(cli: CommandLine) -> None:
    cli.environment["CONTEXT_SEARCH_KEY"] = "schlüssel"
    result = cli("whoami")
    assert result.code == 2
    assert "environment holds no key" in result.err
    assert cli.network.requests == []


def test_a_profile_that_cannot_be_kept_is_told(cli: CommandLine) -> None:
    cli.environment["CONTEXT_SEARCH_CONFIG"] = str(cli.file("file", "") / "folder" / "config.json")
    result = cli("login", "--json")
    assert (result.code, result.document["error"]["code"]) == (2, "USAGE")
    assert "Not a directory" in result.err


def test_an_endpoint_shows_no_secret() -> None:
    assert "canary" not in repr(Endpoint("https://a.test", "", "canary-key", "canary-secret"))


def test_login_tries_the_key_and_keeps_it(cli: CommandLine) -> None:
    cli.environment |= {"CONTEXT_SEARCH_URL": "", "CONTEXT_SEARCH_KEY": ""}
    assert cli("whoami").code == 2
    reported = cli.done("login", "--url", URL, "--key-file", "-", stdin=f"{cli.key}\n")
    assert f"project {cli.project_id}" in reported.out
    whoami = cli.json("whoami")
    assert whoami["project"]["id"] == cli.project_id
    cli.done("logout")
    assert cli("whoami").code == 2


def test_the_console_opens_signed_in_by_a_code(cli: CommandLine) -> None:
    address, code = cli.json("console")["url"].split("#/once/")
    assert address == f"{URL}/console"
    assert cli.key not in code
    used = httpx2.Request("POST", f"{URL}/api/v1/console/sign-in", json={"code": code})
    reply = cli.network.inside.handle_request(used)
    reply.read()
    assert reply.json()["kind"] == "console"


def test_the_console_asks_for_a_key_that_may_not_manage(cli: CommandLine) -> None:
    made = cli.json("keys", "create", "--scope", "search")
    cli.environment["CONTEXT_SEARCH_KEY"] = made["api_key"]
    reported = cli.done("console")
    assert reported.out == f"{URL}/console\n"
    assert "sign in there" in reported.err
    assert made["api_key"] not in reported.out + reported.err


@pytest.mark.parametrize("environment", [{}, {"CONTEXT_SEARCH_KEY": ""}])
def test_a_deployment_without_a_console_says_so(
    cli: CommandLine, environment: dict[str, str]
) -> None:
    served = [each for each in every_router() if each not in [console.router, sign_in.router]]
    cli.network.inside = InProcess(http_app(served, cli.parts.use_cases, contract=contract))
    cli.environment |= environment
    result = cli("console", "--json")
    assert (result.code, result.document["error"]["code"]) == (3, "NO_CONSOLE")
    assert "CONSOLE=true" in result.err


def test_the_console_of_a_server_whose_key_is_unknown_is_named(cli: CommandLine) -> None:
    cli.environment["CONTEXT_SEARCH_KEY"] = ""
    assert cli.done("console").out == f"{URL}/console\n"


def test_login_with_a_wrong_key_keeps_nothing(cli: CommandLine) -> None:
    wrong = cli.file("key", "cs_wrong")
    result = cli("login", "--url", URL, "--key-file", wrong)
    assert result.code == 6
    assert "cs_wrong" not in result.out + result.err
    assert not (cli.folder / ".config").exists()


def test_login_without_a_key_asks_nobody_in_a_pipe(cli: CommandLine) -> None:
    assert cli("login", "--url", URL).code == 2


def test_no_option_takes_a_key(cli: CommandLine) -> None:
    assert cli("whoami", "--key", "x").code == 2
    assert cli("ops", "integrity", "--secret", "x").code == 2


@pytest.mark.parametrize("own", [{"internal_secret": "local"}, {}])
def test_the_secret_of_the_environment_goes_to_no_server_that_a_folder_names(
    tmp_path: Path, own: dict[str, str]
) -> None:
    stack = {"base_url": "http://127.0.0.1:8787", "api_key": "l", **own}
    (tmp_path / ".local").mkdir()
    (tmp_path / ".local" / "endpoints.json").write_text(json.dumps(stack))
    (tmp_path / "secret").write_text("of a file")
    for variables in (
        {"CONTEXT_SEARCH_SECRET": "production"},
        {"CONTEXT_SEARCH_SECRET_FILE": str(tmp_path / "secret")},
    ):
        here = configuration(tmp_path, **variables)
        found = here.endpoint(EndpointOptions())
        if own:
            assert here.secret(None, found) == "local"
        else:
            with pytest.raises(UsageError, match="--secret-file"):
                here.secret(None, found)
    named = configuration(
        tmp_path, CONTEXT_SEARCH_URL="https://e.test", CONTEXT_SEARCH_SECRET="production"
    )
    assert named.secret(None, named.endpoint(EndpointOptions())) == "production"
