"""Holds BLAS to one thread; must be imported before numpy.

More threads on busy cores make one query slower, not faster (measured: 9 ms became 132 ms).
"""

from __future__ import annotations

import os

# OpenBLAS reads this once, when numpy is loaded, and offers no other switch.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # noqa: TID251
