"""Modules with one thing wrong, which tests have to tell from the right ones."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType


@contextmanager
def mutant(module: ModuleType, old: str, new: str, folder: Path) -> Iterator[ModuleType]:
    """The module with another text in its source, under another name."""
    source = Path(str(module.__file__)).read_text("utf-8")
    assert source.count(old) == 1
    file = folder / "mutant.py"
    file.write_text(source.replace(old, new), "utf-8")
    spec = importlib.util.spec_from_file_location("mutant", file)
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    sys.modules["mutant"] = made
    try:
        spec.loader.exec_module(made)
        yield made
    finally:
        del sys.modules["mutant"]
