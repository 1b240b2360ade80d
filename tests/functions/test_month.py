"""The model of the bill against what an emulated month counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from context_search.composition.parts import parts
from scripts.cost.load import NOW, Load
from scripts.cost.quantities import quantity
from scripts.cost.usage import Usage, first_load, month
from tests.contract.turbopuffer.targets import running
from tests.functions.deployment import Deployment, end_process
from tests.functions.month import Embeddings, Month
from tests.stack import DatabaseFactory

pytestmark = [pytest.mark.stack, pytest.mark.slow]

TOLERANCE = 0.15
LAMBDAS_LINES = 1_200  # what only AWS writes: start, report, the API's access log
DIMENSIONS = 512
RHYTHM_S = 3.75 * 86_400  # eight runs of cleanup in thirty days
LOADS = {
    "en": Load(6, 30_000, 0.2, 0.4, dimensions=DIMENSIONS, cleanup_s=RHYTHM_S, days=30),
    "zh": Load(
        2,
        14_000,
        0.2,
        0.4,
        language="zh",
        dimensions=DIMENSIONS,
        window_tokens=250,
        cleanup_s=RHYTHM_S,
        days=30,
        precision="f16",
    ),
}


@pytest.fixture(scope="module", params=list(LOADS))
def load(request: pytest.FixtureRequest) -> Load:
    return LOADS[request.param]


@pytest.fixture(scope="module")
def deployed(
    load: Load,
    databases: DatabaseFactory,
    postgres_url: str,
    tmp_path_factory: pytest.TempPathFactory,
    aws: dict[str, str],
) -> Iterator[Deployment]:
    """The functions, with a provider behind HTTP that tells what it charges for."""
    with (
        databases.migrated() as url,
        running(tmp_path_factory.mktemp("turbopuffer")) as turbopuffer,
        Embeddings().running() as model_url,
        pytest.MonkeyPatch.context() as patch,
    ):
        made = Deployment.of(
            aws,
            urlsplit(postgres_url)._replace(path=f"/{url.database}").geturl(),
            turbopuffer.url,
            EmbeddingModel="openai/text-embedding-3-small",
            EmbeddingApiBase=model_url,
            EmbeddingDimensions=str(load.dimensions),
            EmbeddingWindowTokens=str(load.window_tokens),
            VectorPrecision=load.precision,
        )
        for name, value in made.environment.items():
            patch.setenv(name, value)
        parts.cache_clear()
        yield made
        end_process()


@pytest.fixture(scope="module")
def counted(deployed: Deployment, load: Load) -> tuple[Counter[str], Counter[str]]:
    """What the first load and the month after it count."""
    lived = Month(deployed, load)
    return lived.first_load(), lived.rest()


def figures(usage: Usage) -> dict[str, float]:
    """What a model says, by the names of the counters."""
    return {
        "turbopuffer_written_bytes_total": usage.written_bytes,
        "turbopuffer_queried_bytes_total": usage.queried_bytes,
        "turbopuffer_returned_bytes_total": usage.returned_bytes,
        "embedding_tokens_total": usage.tokens,
        "rows": usage.rows,
        "orders": usage.index_runs,
    }


def test_the_first_load_is_as_the_model_says(
    counted: tuple[Counter[str], Counter[str]], load: Load
) -> None:
    expected = figures(first_load(load))
    for read in ("queried", "returned"):  # what a text holds twice is read back, not embedded twice
        del expected[f"turbopuffer_{read}_bytes_total"]
    assert {name: counted[0][name] for name in expected} == pytest.approx(expected, rel=TOLERANCE)


def test_the_month_after_it_is_as_the_model_says(
    counted: tuple[Counter[str], Counter[str]], load: Load
) -> None:
    expected, found, first = figures(month(load, NOW)), counted[1], figures(first_load(load))
    # Six edits are too few for a mean of changed chunks: that is in tests/cost/test_quantities.py.
    for name in ("embedding_tokens_total", "turbopuffer_written_bytes_total"):
        expected[name] += first[name]
        found[name] += counted[0][name]
    assert {name: found[name] for name in expected} == pytest.approx(expected, rel=TOLERANCE)


def test_functions_print_as_many_bytes_as_the_model_says(
    counted: tuple[Counter[str], Counter[str]], load: Load
) -> None:
    runs = {
        "search": load.questions,
        "index": month(load, NOW).index_runs,
        "cleanup": load.cleanups,
    }
    printed = {
        "search": counted[1]["search log"],
        "index": counted[1]["index-node log"],
        "cleanup": counted[1]["cleanup log"],
    }
    a_run = {name: printed[name] / count + LAMBDAS_LINES for name, count in runs.items()}
    assert a_run == pytest.approx(
        {name: quantity(f"{name} log", load.language) for name in runs}, rel=TOLERANCE
    )
