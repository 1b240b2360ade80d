"""The table of models: what the default costs, per set and for the worst of them."""

from __future__ import annotations

import numpy as np

from evaluation.report import DEFAULT, Results
from evaluation.weights import Row, table


def results(keyword: float, semantic: float, default: float, best: float) -> Results:
    means = {"keyword": keyword, "semantic": semantic, DEFAULT: default}
    return Results(
        ways={way: {"ndcg@10": np.array([mean, mean])} for way, mean in means.items()},
        weights={0.0: np.array([keyword]), 0.35: np.array([best]), 1.0: np.array([semantic])},
        used=0.2,
        own=np.array([0.9, 0.1]),
        foreign=np.array([0.69, 0.7, 0.1, 0.2]),
        passed=np.array([3.0, 0.0]),
    )


def test_regret_is_to_the_best_weight_and_under_is_to_the_better_leg() -> None:
    row = Row(results(0.5, 0.75, 0.625, 0.875))
    assert (row.best, row.regret, row.under) == ((0.875, 0.35), 0.25, 0.125)


def test_the_table_has_a_row_a_set_and_one_of_means_and_the_worst() -> None:
    measured = {
        ("m", "one"): results(0.5, 0.75, 0.625, 0.875),
        ("m", "two"): results(0.5, 0.25, 0.625, 0.625),
        ("n", "one"): results(0.5, 0.75, 0.875, 0.875),
    }
    assert list(table(measured))[2:] == [
        "| m | one | .500 | .750 | .625 @ 0.20 | .875 @ 0.35 | 25.0 | 12.5 | 50.0% | 25.0% | 1.5 |",
        "| m | two | .500 | .250 | .625 @ 0.20 | .625 @ 0.35 | 0.0 | -12.5 | 50.0% | 25.0% | 1.5 |",
        "| **m** | mean (worst) | .500 | .500 | .625 | .750 | 12.5 (25.0) | (12.5) |"
        " 50.0% | 25.0% | 1.5 |",
        "| n | one | .500 | .750 | .875 @ 0.20 | .875 @ 0.35 | 0.0 | -12.5 | 50.0% | 25.0% | 1.5 |",
    ]
