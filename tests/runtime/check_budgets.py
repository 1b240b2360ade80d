"""The jail is one, and what the functions cost in it, as ratios to a function that does nothing."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from functools import partial
from statistics import median
from typing import Any

import pytest

from local.lambda_jail import FunctionError, LambdaEnvironment
from scripts.package import lambda_python
from tests.builders import english
from tests.functions.deployment import Deployment
from tests.functions.test_rotation import Rotating
from tests.runtime.built import BuiltFunctions, ask

TRIES = 5
FIRST_QUESTIONS = 2
# CPU time of INIT in bare functions' and MB of memory at its peak, with room for a loaded machine:
# a third over the 18 (85 routes), 13, 7 and 7 of a quiet one, which was not enough at a ninth.
INIT = {"create_tool": (24, 90), "search": (17, 90), "index_node": (10, 70), "cleanup": (9, 70)}
COLD_QUESTION = {"openai/text-embedding-3-small": (13, 110), "jina_ai/m": (90, 250)}
"""The same of the first hybrid search, by its model: the second is litellm's, with its import."""
FOLDERS = ["/", "/etc", "/opt", "/tmp", "/usr", "/var", "/var/runtime", "/var/task"]  # noqa: S108


def show(capsys: pytest.CaptureFixture[str], line: str) -> None:
    with capsys.disabled():
        print(f"\n{line}", end="")  # noqa: T201 - the figures are what is asked for


@pytest.mark.arm64
def test_the_jail_is_one_and_what_is_not_jailed_is_told(
    rotating: tuple[BuiltFunctions, Rotating], capsys: pytest.CaptureFixture[str]
) -> None:
    built = rotating[0]
    means = built.jail.means
    for sentence in means.missing() or ["jailed in all respects"]:
        show(capsys, sentence)
    with built.cold("bare") as bare:
        # Without a jail these would be folders of this machine.
        seen = bare.invoke({"folders": FOLDERS if means.unshare else []})
        assert not means.unshare or bare.written() == ["trial"]
        with pytest.raises(FunctionError):
            bare.invoke({"mb": 2 * bare.function.memory_mb})
    assert seen["home"] is None
    assert seen["uid"] == (993 if means.user else 0 if means.unshare else os.getuid())
    if means.unshare:
        assert (seen["writable"], seen["tmp_mb"], seen["shm"]) == (["/tmp"], 512, False)  # noqa: S108


@pytest.fixture(scope="session")
def bare_s(rotating: tuple[BuiltFunctions, Rotating]) -> float:
    """CPU seconds of the bare function's INIT."""
    if rotating[0].jail.arm64 is None and lambda_python() is None:
        pytest.skip(f"no Python of Lambda's version, but {sys.version}: budgets say nothing")
    return cheapest(rotating[0], "bare")[0]


def cheapest(built: BuiltFunctions, name: str) -> tuple[float, float]:
    """CPU seconds of INIT and MB of memory: the least of some tries, which disturbs least."""
    return min(cold_start(built, name) for _ in range(_tries(built)))


def cold_start(built: BuiltFunctions, name: str) -> tuple[float, float]:
    """CPU seconds of INIT and MB of memory."""
    with built.cold(name) as environment:
        return environment.cpu_s, environment.peak_mb


def _tries(built: BuiltFunctions) -> int:
    return 1 if built.jail.arm64 else TRIES


@pytest.mark.arm64
@pytest.mark.parametrize("name", INIT)
def test_a_cold_start_stays_in_its_budget(
    rotating: tuple[BuiltFunctions, Rotating],
    bare_s: float,
    name: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    built = rotating[0]
    # Each beside a bare one: what disturbs a machine for a while disturbs both.
    pairs = [(cold_start(built, "bare")[0], cold_start(built, name)) for _ in range(_tries(built))]
    times = median(cpu_s / beside_s for beside_s, (cpu_s, _) in pairs)
    cpu_s, peak_mb = min(each for _, each in pairs)
    show(
        capsys,
        f"{name:12} INIT {cpu_s * 1000:5.0f} ms of CPU, {times:4.1f} times the bare "
        f"{bare_s * 1000:.0f}; {peak_mb:.0f} MB",
    )
    limit, limit_mb = INIT[name]
    assert times <= limit
    assert peak_mb <= limit_mb or rotating[0].jail.arm64  # the emulator's own is in it


def first_question(
    deployed: Deployment, tool: dict[str, Any], search: LambdaEnvironment
) -> tuple[float, float, float, float]:
    """CPU seconds of the first and of the second question and of all with INIT; MB at the peak.

    Neither answer may be degraded.
    """
    spent = [search.cpu_s]
    for question in ("harbour winter ledger", "railway budget"):
        assert ask(deployed, tool, question)["retrieval"]["degraded"] == []
        spent.append(search.cpu_s)
    return spent[1] - spent[0], spent[2] - spent[1], spent[1], search.peak_mb


@pytest.mark.parametrize("model", COLD_QUESTION)
def test_a_cold_hybrid_search_is_whole_and_stays_in_its_budget(
    rotating: tuple[BuiltFunctions, Rotating],
    bare_s: float,
    model: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    built, rotation = rotating
    cold = partial(built.cold, EMBEDDING_MODEL=model)
    with cold("create_tool") as create_tool, cold("index_node") as index_node:
        functions = {"create_tool": create_tool, "index_node": index_node}
        deployed = replace(rotation.deployed, functions=functions)
        tool = deployed.tool({"a": english(2_000)}, strategy="hybrid")
        deployed.drain()
    asked = []
    for _ in range(FIRST_QUESTIONS):  # the least counts: it was disturbed least
        with cold("search") as search:
            deployed = replace(deployed, functions={"search": search})
            asked.append(first_question(deployed, tool, search))
    cold_s, warm_s, whole_s, peak_mb = min(asked)
    show(
        capsys,
        f"search       first hybrid with {model} {cold_s * 1000:.0f} ms of CPU, "
        f"{cold_s / bare_s:.1f} times the bare, {whole_s * 1000:.0f} with INIT; "
        f"warm {warm_s * 1000:.0f} ms; {peak_mb:.0f} MB",
    )
    limit, limit_mb = COLD_QUESTION[model]
    assert cold_s / bare_s <= limit
    assert peak_mb <= limit_mb
