"""``python -m evaluation run [--sets FOLDER]`` and ``python -m evaluation compare ...``."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from evaluation.compare import Deployment, NotMeasuredError, compare, read_judged
from evaluation.judged import SHIPPED, JudgedSet, read_sets


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns the exit code: 0 done or not worse, 1 worse, 2 not measured."""
    options = _options(arguments)
    return int(options.run(options))


def _run(options: argparse.Namespace) -> int:
    from evaluation.pipeline import running  # noqa: PLC0415 - needs the local stack; compare not
    from evaluation.report import Results, evaluate, relevance_line, table  # noqa: PLC0415

    sets = read_sets(options.sets)
    by_language: dict[str, list[Results]] = {}
    with running() as pipeline:
        for judged in sets:
            started = time.monotonic()
            results = evaluate(pipeline, judged, _questions_of_others(judged, sets))
            by_language.setdefault(judged.language, []).append(results)
            seconds = time.monotonic() - started
            title = f"{judged.name}: {len(judged.questions)} questions, {seconds:.0f} s"
            print("\n".join([*table(title, [results]), relevance_line([results])]), flush=True)
    for language, results_of in by_language.items():
        if len(results_of) > 1:
            title = f"{language}: mean of {len(results_of)} sets"
            print("\n".join([*table(title, results_of), relevance_line(results_of)]), flush=True)
    return 0


def _questions_of_others(judged: JudgedSet, sets: Sequence[JudgedSet]) -> list[str]:
    """A few questions of each set about other documents."""
    others = [each for each in sets if each.document.keys() != judged.document.keys()]
    return [question.text for each in others for question in each.questions[::10]]


def _compare(options: argparse.Namespace) -> int:
    try:
        judged = read_judged(options.queries)
        ask = Deployment(options.url, options.key_file.read_text().strip())
        outcome = compare(ask, judged, options.base, options.candidate, measure=options.measure)
    except (NotMeasuredError, ValueError, LookupError, TypeError, OSError) as error:
        print(f"not measured: {error}", file=sys.stderr)
        return 2
    print("\n".join(outcome.lines()))
    return 1 if outcome.is_worse else 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m evaluation", description=__doc__)
    commands = parser.add_subparsers(required=True)
    run = commands.add_parser("run", help="measure the real pipeline on judged sets")
    run.add_argument("--sets", type=Path, default=SHIPPED, help="folder of sets")
    run.set_defaults(run=_run)
    two = commands.add_parser("compare", help="compare two Search Tools of a deployment")
    two.add_argument("--url", required=True, help="where the deployment answers")
    two.add_argument("--key-file", type=Path, required=True, help="file with the project key")
    two.add_argument("--queries", type=Path, required=True, help="judged questions, JSONL")
    two.add_argument("--base", type=int, required=True, help="id of the Search Tool in use")
    two.add_argument("--candidate", type=int, required=True, help="id of the one to try")
    two.add_argument("--measure", default="ndcg@10", help="what decides (default: %(default)s)")
    two.set_defaults(run=_compare)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
