"""How many threads numpy's BLAS may use; to be called before anything imports numpy."""

from __future__ import annotations

import os

_SWITCHES = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


def limit_blas_threads() -> None:
    """Keep BLAS on the calling thread, unless the environment already says otherwise.

    The worker threads already fill the cores: with four BLAS threads on two busy cores a query
    took 132 ms instead of 9. BLAS reads the variables once, when numpy is imported, so every
    program of the local stack calls this first; afterwards it changes nothing.
    """
    for switch in _SWITCHES:
        os.environ.setdefault(switch, "1")  # noqa: TID251 the only way to tell BLAS in time
