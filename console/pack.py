"""What makes the console's file smaller: texts without their names, and names of one letter.

The sources are copied to ``made/packed``; TypeScript checks the sources, esbuild takes the copies.
A text is read as ``t().find`` in the sources and as ``t(3)`` in the copies, so its name is in the
file neither where it is written nor where it is read. A dictionary that somewhere is read by a
computed name keeps the names, once for both languages.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

_DICTIONARY = re.compile(
    r"^export const (\w+) = dictionary\(\n  \{\n(.*?)^  \},\n  \{\n(.*?)^  \},\n\);",
    re.DOTALL | re.MULTILINE,
)
_NAME = re.compile(r"^    (\w+):", re.MULTILINE)
_IMPORTED = re.compile(r"^import \{([^}]*)\} from \"\.[./]*/(?:i18n/)?\w+\";$", re.MULTILINE)

SECOND = Path("i18n/second.ts")
"""Where the texts of the second language stand, all beside each other: packed so, its script takes
half a kilobyte less than between texts of the first."""
_LISTS = 'import {{ bytes, num, plural }} from "./language";\nexport const second = [\n{}\n];\n'


class TextsError(Exception):
    """The texts cannot be packed; the message says which."""


def packed(sources: Path, target: Path) -> None:
    """Copies the sources. Raises TextsError for texts out of order, and for texts nobody reads."""
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(sources, target)
    files = {path: path.read_text(encoding="utf-8") for path in sorted(target.rglob("*.ts*"))}
    texts = _texts(files)
    by_name = {name for name in texts if any(_computed(text, name) for text in files.values())}
    read: set[tuple[str, str]] = set()
    second: list[str] = []
    for path, text in files.items():
        for name, called in _called(text).items():
            if name in texts and name not in by_name:
                text = _numbered(text, name, called, texts[name], read)  # noqa: PLW2901
        path.write_text(_DICTIONARY.sub(_shorter(by_name, second), text), encoding="utf-8")
    (target / SECOND).write_text(_LISTS.format(",\n".join(second)), encoding="utf-8")
    unread = {(name, key) for name in texts.keys() - by_name for key in texts[name]} - read
    if unread:
        raise TextsError(f"nobody reads {', '.join(f'{a}.{b}' for a, b in sorted(unread))}")


def _texts(files: dict[Path, str]) -> dict[str, list[str]]:
    """Returns the names of the texts of each dictionary, in order."""
    found: dict[str, list[str]] = {}
    for text in files.values():
        for name, first, second in _DICTIONARY.findall(text):
            found[name] = _NAME.findall(first)
            if found[name] != _NAME.findall(second):
                raise TextsError(f"texts of {name} are not in one order in both languages")
    return found


def _called(text: str) -> dict[str, str]:
    """Returns what a file imports or has, by its name, as the name that the file calls it by."""
    own = {found[0]: found[0] for found in _DICTIONARY.findall(text)}
    parts = [part for names in _IMPORTED.findall(text) for part in names.split(",")]
    pairs = [part.strip().removeprefix("type ").split(" as ") for part in parts if part.strip()]
    return own | {pair[0]: pair[-1] for pair in pairs}


def _computed(text: str, name: str) -> bool:
    """Whether a file takes a dictionary as a whole, or a text of it by a computed name."""
    called = _called(text).get(name)
    return called is not None and bool(re.search(rf"(?<![\w.]){called}\(\)(?!\.\w)", text))


def _numbered(
    text: str, name: str, called: str, keys: list[str], read: set[tuple[str, str]]
) -> str:
    def number(found: re.Match[str]) -> str:
        read.add((name, found[1]))
        return f"{called}({keys.index(found[1])})"

    return re.sub(rf"(?<![\w.]){called}\(\)\.(\w+)", number, text)


def _shorter(by_name: set[str], second: list[str]) -> Callable[[re.Match[str]], str]:
    """Puts lists in the place of names; those of the second language go to ``second``."""

    def shorter(found: re.Match[str]) -> str:
        name, *parts = found.groups()
        first, other = (f"[\n{_NAME.sub('   ', part)}  ]" for part in parts)
        named = f", {_NAME.findall(parts[0])}" if name in by_name else ""
        second.append(other)
        take = f'import {{ second }} from "./{SECOND.stem}";\n'
        return f"{take}export const {name} = dictionary({first}, second[{len(second) - 1}]{named});"

    return shorter
