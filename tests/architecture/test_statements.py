"""How SQL is written, where the text alone says whether it is right."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture.project import parsed, python_files, relative

_LIMITED = re.compile(r"\b(LIMIT|OFFSET)\b.*\bSKIP LOCKED\b", re.DOTALL)
# What PostgreSQL computes once: a WITH query that locks, and the elements of an array. LATERAL is
# there to be read again.
_ONCE = {"AS", "MATERIALIZED", "ARRAY", "LATERAL"}


def sql_files() -> list[Path]:
    """Return the modules that hold SQL."""
    return [path for path in python_files("shared") if {"postgres", "sql"} & set(path.parts)]


def statements() -> Iterator[tuple[str, str]]:
    """(file:line, text) of every string beside SQL; what is put in later is ``?``."""
    for path in sql_files():
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.JoinedStr):
                parts = [
                    each.value if isinstance(each, ast.Constant) else "?" for each in node.values
                ]
                yield f"{relative(path)}:{node.lineno}", "".join(map(str, parts))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield f"{relative(path)}:{node.lineno}", node.value


def read_again(sql: str) -> list[str]:
    """The words before subqueries that take a limited number of free rows, more than once maybe."""
    words: list[str] = []
    texts = [""]
    found: list[str] = []
    for piece in re.split(r"([()])", re.sub(r"--.*", "", sql)):
        if piece == "(":
            words.append((texts[-1].split() or [""])[-1])
            texts.append("")
        elif piece == ")" and words:
            word, text = words.pop(), texts.pop()
            if _LIMITED.search(text) and word not in _ONCE:
                found.append(word)
        else:
            texts[-1] += piece
    return found


def test_what_takes_a_number_of_free_rows_is_computed_once() -> None:
    """Read again for a row, it passes over what it has locked and changed, and takes others."""
    again = {place for place, text in statements() if read_again(text)}
    assert again == set()


@pytest.mark.parametrize(
    "sql",
    [
        "DELETE FROM a WHERE id IN (SELECT id FROM a LIMIT :few FOR UPDATE SKIP LOCKED)",
        "DELETE FROM a WHERE (x, y) IN (\n  SELECT x, y FROM a\n"
        "  ORDER BY max(x) OFFSET :few FOR UPDATE SKIP LOCKED)",
        "UPDATE a SET b = 1 FROM (SELECT id FROM a LIMIT 1 FOR UPDATE OF a SKIP LOCKED) AS c",
    ],
)
def test_a_subquery_that_may_be_read_again_is_found(sql: str) -> None:
    assert len(read_again(sql)) == 1


@pytest.mark.parametrize(
    "sql",
    [
        "WITH c AS (SELECT id FROM a LIMIT 1 FOR UPDATE SKIP LOCKED) DELETE FROM a USING c",
        "DELETE FROM a WHERE id = ANY(ARRAY(SELECT id FROM a LIMIT 1 FOR UPDATE SKIP LOCKED))",
        "DELETE FROM a WHERE id IN (SELECT id FROM a FOR UPDATE SKIP LOCKED)",
        "SELECT id FROM a LIMIT 1 FOR UPDATE SKIP LOCKED",
    ],
)
def test_what_is_computed_once_is_let_through(sql: str) -> None:
    assert read_again(sql) == []


_BY_ID = re.compile(
    r"(?:FROM|UPDATE) (?:context_table|tool)\b[^;]*?\bWHERE (?:\w+\.)?id = :(?:table|tool)\b"
)
# What names the project itself, or is a part of a statement that does.
_NAMES_PROJECT = ("TABLE_OF_CALLER", "TOOL_OF_CALLER", "project_id = :project")


def test_what_is_looked_up_by_its_id_alone_names_the_project_of_the_transaction() -> None:
    """Of tables that may be an adopter's: they have no row-level security."""
    trees = {path: parsed(path) for path in sql_files()}
    parts = {
        id(part)
        for tree in trees.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.JoinedStr)
        for part in node.values
    }
    texts = [
        (f"{relative(path)}:{node.lineno}", ast.unparse(node))
        for path, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.JoinedStr | ast.Constant) and id(node) not in parts
    ]
    looked_up = {place: text for place, text in texts if _BY_ID.search(text.replace("\\n", " "))}
    assert len(looked_up) > 10
    assert [
        place for place, text in looked_up.items() if not any(n in text for n in _NAMES_PROJECT)
    ] == []
