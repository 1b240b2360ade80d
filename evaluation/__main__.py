"""``python -m evaluation run [--sets FOLDER] [--model NAME]``: the quality of search."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from context_search.core.config import Precision
from context_search.core.errors import ContextSearchError
from evaluation.jsonl import UnreadableError
from evaluation.judged import QUERIES, SHIPPED, JudgedSet, read_sets
from evaluation.models import MODELS, model_named, shortened

if TYPE_CHECKING:
    from evaluation.report import Results


class NotMeasuredError(Exception):
    """The pipeline gave no answer that says something about a set."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns the exit code: 0 done, 2 not measured."""
    options = _options(arguments)
    try:
        return int(options.run(options))
    except (NotMeasuredError, UnreadableError) as error:
        print(f"not measured: {error}", file=sys.stderr)
        return 2


def _run(options: argparse.Namespace) -> int:
    from evaluation.report import lines, markdown  # noqa: PLC0415 - needs the local stack
    from evaluation.weights import table  # noqa: PLC0415

    sets = read_sets(options.sets, options.queries)
    models = list(dict.fromkeys(options.model or ["local"]))
    measured: dict[tuple[str, str], Results] = {}
    for name in models:
        for judged, results, seconds in _measure(name, sets, options):
            measured[name, judged.name] = results
            title = f"{name}, {_title(judged, seconds)}"
            print(title if len(models) > 1 else "\n".join(lines(title, results)), flush=True)
    if len(models) == 1:
        languages = {judged.name: judged.language for judged in sets}
        print("\n".join(markdown({name: each for (_, name), each in measured.items()}, languages)))
    print("\n".join(table(measured)))
    return 0


def _measure(
    name: str, sets: Sequence[JudgedSet], options: argparse.Namespace
) -> Iterator[tuple[JudgedSet, Results, float]]:
    """Yields the results of one model and the seconds that they took, set by set."""
    from evaluation.pipeline import config_for, running  # noqa: PLC0415 - needs the local stack
    from evaluation.report import evaluate  # noqa: PLC0415

    embedder = shortened(model_named(name, sets, options.vectors), options.dimensions)
    config = config_for(embedder, options.window_tokens, options.precision)
    calibrates = options.calibrate == "on"
    with running(embedder, config, calibrates=calibrates) as pipeline:
        sampled = [each.sample(options.questions) for each in sets]
        for judged in sampled:
            started = time.monotonic()
            try:
                results = evaluate(pipeline, judged, _questions_of_others(judged, sampled))
            except ContextSearchError as error:
                raise NotMeasuredError(f"{judged.name}: {error}") from error
            yield judged, results, time.monotonic() - started


def _title(judged: JudgedSet, seconds: float) -> str:
    title = f"{judged.name}: {len(judged.questions)} questions, {seconds:.0f} s"
    return f"{title}; {judged.unjudged} without a range left out" if judged.unjudged else title


def _questions_of_others(judged: JudgedSet, sets: Sequence[JudgedSet]) -> list[str]:
    """A few questions of each set about other documents."""
    others = [each for each in sets if each.document.keys() != judged.document.keys()]
    return [question.text for each in others for question in each.questions[::10]]


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m evaluation", description=__doc__)
    commands = parser.add_subparsers(required=True)
    run = commands.add_parser("run", help="measure the real pipeline on judged sets")
    run.add_argument("--sets", type=Path, default=SHIPPED, help="folder of sets, or one set")
    run.add_argument("--queries", default=QUERIES, help="file of questions (default: %(default)s)")
    run.add_argument("--model", action="append", choices=MODELS, help="default: local; repeatable")
    run.add_argument("--vectors", type=Path, help="file that keeps what slow models have embedded")
    run.add_argument("--questions", type=int, help="ask only so many of each set, a seeded sample")
    run.add_argument("--window-tokens", type=int, default=250, help="of a vector; 0: whole chunks")
    run.add_argument("--calibrate", choices=("on", "off"), default="on")
    run.add_argument("--dimensions", type=int, help="cut vectors to so many")
    run.add_argument("--precision", choices=get_args(Precision), default="f32")
    run.set_defaults(run=_run)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
