"""``python -m local.serve`` and ``local.reset`` as a user runs them."""

from __future__ import annotations

import json
import os
import signal
import socket
import stat
import urllib.request
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from context_search.postgres.pool import Database
from context_search.postgres.url import DatabaseUrl
from local.processes import listen
from local.queues import sqs_client
from local.sign_in import console_address
from tests.local.tiny import family, is_alive, listening_addresses
from tests.local.tiny_stack import REAL_MODEL, REAL_SERVICES, tiny_serve
from tests.stack import eventually

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator

    from tests.local.tiny_stack import TinyServe

pytestmark = pytest.mark.stack

Running = tuple["TinyServe", "subprocess.Popen[str]"]


@pytest.fixture
def serve() -> Iterator[TinyServe]:
    with tiny_serve() as serve:
        yield serve


@pytest.fixture(scope="module")
def running() -> Iterator[Running]:
    with tiny_serve() as serve, serve.serving("--schedule-every=0.2") as process:
        yield serve, process


def _get(url: str) -> Any:
    with urllib.request.urlopen(url, timeout=10) as reply:  # noqa: S310  our own server
        return json.load(reply)


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""  # it has ended meanwhile


def test_endpoints_json_says_where_everything_is(running: Running) -> None:
    serve, _ = running
    endpoints = serve.endpoints()
    assert list(endpoints) == [
        "base_url",
        "mcp_url",
        "api_key",
        "project_id",
        "internal_secret",
        "turbopuffer_url",
        "database_url",
        "queue_url",
        "dead_letter_queue_url",
    ]
    assert endpoints["mcp_url"] == endpoints["base_url"] + "/mcp"
    assert endpoints["project_id"] == 1
    assert endpoints["api_key"].startswith("cs_")
    assert endpoints["turbopuffer_url"] == "https://aws-eu-central-1.turbopuffer.com"
    assert endpoints["dead_letter_queue_url"].endswith("/Dead")


def test_secrets_are_readable_for_their_owner_only(running: Running) -> None:
    serve, _ = running
    files = ("endpoints.json", "secrets.json", "project.json")
    modes = [stat.S_IMODE(serve.state.joinpath(file).stat().st_mode) for file in files]
    assert modes == [0o600] * 3


def test_functions_see_local_parts_and_the_users_own_services(running: Running) -> None:
    serve, _ = running
    endpoints = serve.endpoints()

    def seen(name: str) -> Any:
        return _get(f"{endpoints['base_url']}/environment/{name}")["value"]

    assert seen("DATABASE_URL") == endpoints["database_url"]
    assert seen("QUEUE_URL") == endpoints["queue_url"]
    assert endpoints["queue_url"].startswith(seen("AWS_ENDPOINT_URL"))
    assert {name: seen(name) for name in REAL_SERVICES} == REAL_SERVICES
    assert seen("AWS_ACCESS_KEY_ID") == "local"


def test_the_schema_is_there(running: Running) -> None:
    serve, _ = running
    url = DatabaseUrl.parse(serve.endpoints()["database_url"])
    with closing(Database(url)) as database, database.transaction() as tx:
        [[migrations]] = tx.run("SELECT count(*) FROM context_search.migration")
    assert migrations > 0


def test_a_message_reaches_the_function_and_a_schedule_fires(running: Running) -> None:
    serve, _ = running
    url = serve.endpoints()["queue_url"]
    client = sqs_client(url.rsplit("/", 2)[0])
    client.send_message(QueueUrl=url, MessageBody="from the test")

    def printed(function: str) -> bool:
        return f"EVENT {function} " in serve.function_log()

    assert eventually(lambda: printed("Index") and printed("Cleanup"))
    assert "from the test" in serve.function_log()


def test_nothing_listens_beyond_the_loopback_address(running: Running) -> None:
    _, process = running
    addresses = {address for pid in family(process.pid) for address in listening_addresses(pid)}
    assert len(addresses) >= 3
    assert {address for address, _ in addresses} == {"127.0.0.1"}


def test_a_second_stack_on_the_same_folder_is_refused_in_one_line(running: Running) -> None:
    serve, process = running
    with serve.start() as second:
        output, error = second.communicate(timeout=20)
    assert (second.returncode, output) == (2, "")
    where = f"(pid {process.pid}): {serve.endpoints()['base_url']}"
    assert error == f"error: a stack already runs on {serve.state} {where}\n"


@pytest.mark.parametrize("folder", ["state", "."])
def test_reset_is_refused_while_a_stack_runs(running: Running, folder: str) -> None:
    serve, _ = running
    serve.checkout.joinpath("lock").touch()
    refused = serve.reset(serve.checkout / folder)
    assert refused.returncode == 2
    assert "already runs" in refused.stderr
    assert serve.endpoints_file.exists()


def test_reset_does_not_touch_a_folder_that_no_stack_has_used(serve: TinyServe) -> None:
    refused = serve.reset(serve.checkout / "functions")
    assert refused.returncode == 2
    assert refused.stderr.endswith("is not the state folder of a stack\n")
    assert serve.checkout.joinpath("functions", "cleanup", "app.py").exists()


def test_a_busy_port_is_one_line_and_exit_code_2(serve: TinyServe) -> None:
    with closing(listen(0)) as other:
        port = other.getsockname()[1]
        with serve.start(port=port) as process:
            output, error = process.communicate(timeout=20)
    assert (process.returncode, output) == (2, "")
    assert error.startswith(f"error: port {port} of 127.0.0.1 is not free")
    assert error.count("\n") == 1


def test_ctrl_c_stops_every_child_and_removes_the_endpoints(serve: TinyServe) -> None:
    with serve.serving() as process:
        first_key = serve.endpoints()["api_key"]
        pids = family(process.pid)
        assert len(pids) >= 4
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        output, error = process.communicate(timeout=20)
    assert (process.returncode, error) == (0, "")
    assert output.endswith("stopped\n")
    assert "EVENT" not in output
    assert "KeyboardInterrupt" not in serve.function_log()
    assert not any(is_alive(pid) for pid in pids)
    assert not serve.endpoints_file.exists()
    with serve.serving() as process:
        assert serve.endpoints()["api_key"] == first_key
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=20)
    assert process.returncode == 0
    assert serve.reset().returncode == 0
    assert [path.name for path in serve.state.iterdir()] == ["lock"]


def test_a_killed_stack_leaves_no_process_and_the_next_one_goes_on() -> None:
    with tiny_serve(REAL_MODEL) as serve:
        _kill_and_start_again(serve)


def _kill_and_start_again(serve: TinyServe) -> None:
    with serve.serving() as process:
        pids = family(process.pid)
        commands = " ".join(_command(pid) for pid in pids)
        for part in ("ministack", "local.turbopuffer", "bin/postgres", "local.runner"):
            assert part in commands
        process.kill()
        assert eventually(lambda: not any(is_alive(pid) for pid in pids), 10)
    assert serve.endpoints_file.exists()
    with serve.start() as process:
        assert process.stdout is not None
        assert "the last stack here was killed" in process.stdout.readline()
        assert "context-search serves" in process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=20)
    assert process.returncode == 0


def test_a_part_that_dies_is_named_with_the_end_of_its_log(serve: TinyServe) -> None:
    serve.write_handler("index_node", "raise RuntimeError('broken on import')")
    with serve.start() as process:
        output, error = process.communicate(timeout=30)
    assert (process.returncode, output) == (1, "")
    assert error.startswith("error: functions ended with code 1.")
    assert "broken on import" in error


def test_a_variable_that_the_functions_would_not_take_is_named_at_the_start() -> None:
    with tiny_serve({**REAL_SERVICES, "PROJECT_MAX_CHUNKS": "abc"}) as serve, serve.start() as run:
        output, error = run.communicate(timeout=30)
        assert (run.returncode, output) == (1, "")
        assert error.startswith("error: MISCONFIGURED: PROJECT_MAX_CHUNKS: ")
        assert "abc" not in error
        assert not serve.endpoints_file.exists()


def test_a_model_of_another_dimension_is_refused_with_the_number_to_set() -> None:
    wrong = {**REAL_SERVICES, "EMBEDDING_DIMENSIONS": "1536"}
    with tiny_serve(wrong) as serve, serve.start() as process:
        output, error = process.communicate(timeout=30)
    assert (process.returncode, output) == (1, "")
    assert error == (
        "error: EMBEDDING_DIMENSIONS is 1536, but the model openai/of-the-user answers 3 numbers: "
        "set EMBEDDING_DIMENSIONS=3\n"
    )


def test_a_model_that_is_away_is_a_warning_and_the_banner_names_the_parts_of_the_user() -> None:
    away = {**REAL_SERVICES, "EMBEDDING_API_BASE": "http://127.0.0.1:9"}
    with tiny_serve(away) as serve, serve.start() as process:
        assert process.stdout is not None
        output = "".join(iter(process.stdout.readline, "Ctrl-C stops it\n"))
    model = "the model openai/of-the-user does not answer now: EMBEDDING_UNAVAILABLE"
    assert output.startswith(f"warning: {model}")
    assert "\n  yours turbopuffer, embedding\n" in output


def test_ctrl_c_during_the_start_leaves_no_process(serve: TinyServe) -> None:
    serve.write_handler("cleanup", "import time; time.sleep(60)")
    with serve.start() as process:
        assert eventually(lambda: any("local.runner" in _command(p) for p in family(process.pid)))
        pids = family(process.pid)
        process.send_signal(signal.SIGINT)
        output, error = process.communicate(timeout=20)
    assert (process.returncode, output, error) == (0, "stopped\n", "")
    # What had only just been started may take a moment to be gone.
    assert eventually(lambda: not any(is_alive(pid) for pid in pids))


def test_the_address_of_the_page_has_no_code_when_the_functions_have_ended() -> None:
    with socket.socket() as bound:  # and it does not listen
        bound.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{bound.getsockname()[1]}"
        assert console_address(url, "key") == f"{url}/console"


def test_a_part_that_is_killed_stops_the_stack(serve: TinyServe) -> None:
    with serve.serving() as process:
        pids = family(process.pid)
        [runner] = [pid for pid in pids if "local.runner" in _command(pid)]
        os.kill(runner, signal.SIGKILL)
        _, error = process.communicate(timeout=20)
    assert process.returncode == 1
    assert error.startswith("error: functions was killed by signal 9.")
    assert not any(is_alive(pid) for pid in pids)
    assert not serve.endpoints_file.exists()


def test_a_database_that_is_killed_stops_the_stack_and_its_log_is_named(serve: TinyServe) -> None:
    with serve.serving() as process:
        [server] = [
            pid
            for pid in family(process.pid)
            if "bin/postgres" in _command(pid) and "\0-D\0" in _command(pid)
        ]
        os.kill(server, signal.SIGKILL)
        _, error = process.communicate(timeout=20)
    assert process.returncode == 1
    first, *end = error.splitlines()
    log = Path(first.removeprefix("error: PostgreSQL ended by itself. The end of ").rstrip(":"))
    assert log.is_file()
    assert end[-1] == log.read_text().splitlines()[-1]
