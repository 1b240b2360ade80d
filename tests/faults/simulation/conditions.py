"""Under what conditions histories run: times, sizes, configurations, texts."""

from __future__ import annotations

from dataclasses import replace

from context_search.core.config import IndexConfig
from context_search.core.limits import ProjectLimits

LAMBDA_S = 900.0
LEASE_S = 120.0
SILENT_S = 300.0
NETWORK_S = 60.0
GRACE_S = LAMBDA_S + NETWORK_S + LEASE_S
VISIBILITY_S = 600.0
KEEP_S = (600.0, 50_000.0)
IDLE_S, LONG_IDLE_S = 60.0, 50_000.0
LONG_IDLE_SEEDS = (3, 5)  # of each eight
MAX_RECEIVES = 5
WINDOW = 2
OVERTAKES = 3
SLOW_PACES = (0.1, 0.03, 0.003)
MAX_SLOW = 2

CONFIG = IndexConfig("in-memory/words", 16, threshold=20, chunk_size=40, chunk_overlap=4)
WITH_WINDOWS = IndexConfig(
    "in-memory/words", 16, threshold=40, chunk_size=60, chunk_overlap=0, window_tokens=8
)
CONFIGS = (CONFIG, CONFIG, CONFIG, WITH_WINDOWS, replace(CONFIG, window_tokens=8))
REBUILT_WINDOWS = (0, 0, 8)

NO_LIMITS = ProjectLimits()
LIMITS = (
    *[NO_LIMITS] * 4,
    ProjectLimits(max_chunks=6, idle_s=20.0),
    ProjectLimits(max_chunks=10, idle_s=100.0),
    ProjectLimits(max_vector_bytes=8 * 16 * 4, idle_s=20.0),
)
MAX_NODE_CHARS = (10_000, 10_000, 10_000, 100)

_BOX, _JUGS, _WIZARDS, _VOW = (
    "pack my box with liquor jugs.\n\n",
    "five boxing wizards jump quickly.\n\n",
    "sphinx of black quartz, judge.\n\n",
    "my vow is a daft zebra, how vexing.\n\n",
)
RELATED_TEXTS = [
    _BOX + _JUGS + _WIZARDS,
    _BOX + _JUGS + _VOW,
    _BOX + _JUGS + _WIZARDS + _VOW,
    _VOW + _BOX + _JUGS + _WIZARDS,
    f"# Boxes\n\n{_BOX}{_JUGS}{_WIZARDS}",
    f"# Boxes\n\n{_BOX}{_JUGS}{_VOW}",
    f"# Jugs\n\n{_BOX}{_JUGS}{_WIZARDS}",
]
"""They have chunks in common, under the same headings or under others."""
LONG_TEXTS = [
    "the quick brown fox jumps over the lazy dog. " * 2,
    *RELATED_TEXTS,
    "敏捷的棕色狐狸跳过了懒狗。" * 5,
]
TEXTS = [*LONG_TEXTS, "how vexingly quick daft zebras jump! ", "short"]
QUERIES = ("quick fox", "zebras", "狐狸", "box")
SMALL_SCOPES = ("", "/a")
SCOPES = ("", "/a", "/b", "/b/c")
