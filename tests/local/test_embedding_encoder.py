"""The two-speed encoder: meaning across languages, one space, and equality with the package."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from local.embedding.encoder import TwoSpeedEncoder
from local.embedding.provider import shared_encoder
from tests.local.embedding_topics import TOPICS, column

ROOT = Path(__file__).parents[2]
ODD_TEXTS = ["", "   \n\t", "😀", "👨‍👩‍👧 家庭 family", "a\x00b", "x" * 300_000, "中文" * 50_000]


@pytest.fixture(scope="module")
def encoder() -> TwoSpeedEncoder:
    return shared_encoder()


@pytest.mark.parametrize(
    ("questions", "passages"),
    [("en_query", "en"), ("en_query", "zh"), ("zh_query", "en"), ("zh_query", "zh")],
)
def test_a_question_finds_its_passage_among_a_dozen_within_and_across_languages(
    encoder: TwoSpeedEncoder, questions: str, passages: str
) -> None:
    similarity = (
        encoder.encode_queries(column(questions)) @ encoder.encode_passages(column(passages)).T
    )
    hits = int((similarity.argmax(axis=1) == np.arange(len(TOPICS))).sum())
    assert hits >= 10  # chance finds one; the words of a question are not those of its passage


@pytest.mark.parametrize("language", ["en", "zh"])
def test_both_speeds_live_in_one_space(encoder: TwoSpeedEncoder, language: str) -> None:
    texts = column(language)
    similarity = encoder.encode_queries(texts) @ encoder.encode_passages(texts).T
    assert (similarity.argmax(axis=1) == np.arange(len(texts))).all()
    assert np.diag(similarity).min() > 0.5


def test_a_lone_token_has_the_networks_own_vector(encoder: TwoSpeedEncoder) -> None:
    ids = np.array([5, 777, 31_337, 127_999], dtype=np.int32)
    expected = np.empty((len(ids), 512), dtype=np.float32)
    for row, token in enumerate(ids.tolist()):
        encoder._network._encode_batch([[token]], 1, expected[row : row + 1])
    encoder._table.fill(ids)
    alone = np.stack([encoder._table.scaled_sum(ids[i : i + 1]) for i in range(len(ids))])
    assert np.allclose(encoder._head(alone), expected, atol=1e-6)


@pytest.mark.parametrize("text", ODD_TEXTS, ids=range(len(ODD_TEXTS)))
def test_any_text_has_a_unit_vector_at_both_speeds(encoder: TwoSpeedEncoder, text: str) -> None:
    for vectors in (encoder.encode_queries([text]), encoder.encode_passages([text])):
        assert vectors.shape == (1, 512)
        assert np.isfinite(vectors).all()
        assert np.linalg.norm(vectors) == pytest.approx(1.0, abs=1e-5)


def test_a_passage_has_the_same_vector_in_any_company(encoder: TwoSpeedEncoder) -> None:
    texts = column("zh")
    together = encoder.encode_passages(texts)
    alone = np.concatenate([encoder.encode_passages([text]) for text in texts])
    assert np.allclose(together, alone, atol=1e-5)


def test_threads_that_fill_the_table_together_get_the_vectors_of_one(
    encoder: TwoSpeedEncoder,
) -> None:
    fresh = TwoSpeedEncoder()
    texts = column("en") + column("zh")
    expected = encoder.encode_passages(texts), encoder.encode_queries(texts)
    start = threading.Barrier(4)
    results: list[bool] = []

    def work(shift: int) -> None:
        order = np.roll(np.arange(len(texts)), shift)
        start.wait()
        passages = fresh.encode_passages([texts[i] for i in order])
        queries = fresh.encode_queries([texts[i] for i in order])
        results.append(
            np.allclose(passages, expected[0][order], atol=1e-5)
            and np.allclose(queries, expected[1][order], atol=1e-5)
        )

    threads = [threading.Thread(target=work, args=(shift,)) for shift in (0, 6, 12, 18)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [True] * 4


PROGRAM = """
import hashlib
from local.embedding import limit_blas_threads
limit_blas_threads()
from local.embedding.encoder import TwoSpeedEncoder
from tests.local.embedding_topics import column
encoder = TwoSpeedEncoder()
texts = column("en") + column("zh")
vectors = [encoder.encode_passages(texts), encoder.encode_queries(texts)]
print(hashlib.sha256(b"".join(v.tobytes() for v in vectors)).hexdigest())
"""


@pytest.mark.slow
def test_two_processes_compute_the_same_bytes() -> None:
    digests = {
        subprocess.run(  # noqa: S603 our own program
            [sys.executable, "-c", PROGRAM],
            env={
                "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "shared")]),
                "PYTHONHASHSEED": seed,
            },
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(digests) == 1
    assert len(digests.pop().strip()) == hashlib.sha256().digest_size * 2


def test_the_space_is_the_one_that_stored_indexes_were_built_in(encoder: TwoSpeedEncoder) -> None:
    text = "The quick brown fox 敏捷的棕色狐狸"
    passage, query = encoder.encode_passages([text])[0], encoder.encode_queries([text])[0]
    assert passage[:4] == pytest.approx([-0.03194, -0.05952, -0.05357, -0.05900], abs=1e-3)
    assert query[:4] == pytest.approx([-0.04120, -0.04855, -0.02781, -0.04100], abs=1e-3)
