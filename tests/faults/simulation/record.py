"""Records a history that catches each faulty variant: changes of the code move them.

``make simulate`` runs it. A variant whose recorded history is stale is caught all the same, by
many histories more (``tests/faults/simulation/test_mutants.py``).
"""

from __future__ import annotations

import re
from pathlib import Path

from tests.faults.simulation import mutants
from tests.faults.simulation.history import first_violation
from tests.faults.simulation.mutation import Mutation


def main() -> None:
    """Rewrites the seeds in ``mutants.py`` that catch nothing any more, and says which."""
    path = Path(mutants.__file__)
    for mutant in mutants.MUTANTS:
        if (seed := catching(mutant)) != mutant.seed:
            print(f"{mutant.name}: seed {mutant.seed:_} → {seed:_}")
            path.write_text(with_seed(path.read_text(), mutant.name, seed))


def catching(mutant: Mutation) -> int:
    """The recorded seed, if it catches the variant; else the first that does."""
    for seed in (mutant.seed, *range(mutant.within)):
        if first_violation([seed], mutant):
            return int(seed)
    raise AssertionError(f"nothing catches {mutant.name!r}")


def with_seed(text: str, name: str, seed: int) -> str:
    """The list of variants with another seed for one."""
    before, named, rest = text.partition(f'"{name}"')
    own, following, others = rest.partition("\n    Mutation(")
    own, were_recorded = re.subn(r"\bseed=[\d_]+", f"seed={seed:_}", own)
    return before + named + ("" if were_recorded else f", seed={seed:_}") + own + following + others


if __name__ == "__main__":
    main()
