"""Execute, undo and redo of any documents: the chosen places, every other byte, all of it back."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from context_search.core.model import Table
from context_search.integrations.ports import SystemClock
from context_search.postgres.pool import Database
from context_search.store import PostgresStore
from context_search_editing.rules.plans import Choice, Plan
from context_search_editing.rules.replacing import ReplaceRequest
from tests.editing.replacing import Desk
from tests.profile import examples

NUMBERS = ["0", "-0.0", "1.10", "1e-400", "12345678901234567890.000", "1E+300", "9" * 5_000]
WORDS = ["ab", "a", "b", "X", "林小雨", "😀", "e\u0301", '"', "\\", "\n", "$1", " ", "abab", "é"]
STRINGS = st.lists(st.sampled_from(WORDS), max_size=8).map("".join)
TEXTS = st.recursive(
    st.sampled_from([*NUMBERS, "null", "true"]) | STRINGS.map(json.dumps),
    lambda inner: (
        st.lists(inner, max_size=4).map(lambda parts: f"[{','.join(parts)}]")
        | st.dictionaries(STRINGS, inner, max_size=4).map(
            lambda parts: (
                "{" + ",".join(f"{json.dumps(k)}:{part}" for k, part in parts.items()) + "}"
            )
        )
    ),
    max_leaves=12,
)


def spliced(canonical: str, change: Callable[[str, int], str]) -> str:
    """Returns canonical JSON text with other strings; every other byte is the same.

    It reads no JSON: it looks for quotes. ``change`` is given the value of each string that is no
    key, and how many came before it.
    """
    written, at, number = [], 0, 0
    while (start := canonical.find('"', at)) >= 0:
        end = start + 1
        while canonical[end] != '"':
            end += 2 if canonical[end] == "\\" else 1
        token = canonical[start : end + 1]
        written.append(canonical[at:start])
        at = end + 1
        if canonical.startswith(":", at):
            written.append(token)
            continue
        value = json.loads(token)
        now = change(value, number)
        written.append(token if now == value else json.dumps(now, ensure_ascii=False))
        number += 1
    return "".join(written) + canonical[at:]


FINDS = ["a", "ab", "b", "X", "林小雨", "😀", "$1", "\\", '"', " "]
many = settings(
    max_examples=examples(60),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.fixture(scope="module")
def store(module_database: Database) -> PostgresStore:
    return PostgresStore(module_database)


def stored(desk: Desk, texts: list[str]) -> list[Table]:
    """Documents as Postgres takes them from anybody: numbers that we would refuse, too."""
    tables = desk.make(*texts)
    return [desk.write(table, text) for table, text in zip(tables, texts, strict=True)]


class Oracle:
    """What a naive writer makes of the chosen matches, which it counts over all documents."""

    def __init__(self, find: str, becomes: str, chosen: set[int] | None) -> None:
        self.find, self.becomes, self.chosen = find, becomes, chosen
        self.matches = 0

    def change(self, text: str, _: int) -> str:
        parts = text.split(self.find)
        out = parts[0]
        for part in parts[1:]:
            self.matches += 1
            is_chosen = self.chosen is None or self.matches in self.chosen
            out += (self.becomes if is_chosen else self.find) + part
        return out


@pytest.mark.stack
@many
@given(
    texts=st.lists(TEXTS, min_size=1, max_size=3),
    find=st.sampled_from(FINDS),
    becomes=st.sampled_from(["", "c", "林小溪", "a$1\\", '"', "\n", "ZZ"]),
    chosen=st.none() | st.sets(st.integers(1, 12), max_size=8),
    is_large=st.booleans(),
)
def test_the_chosen_places_change_and_nothing_else_and_all_comes_back(
    store: PostgresStore,
    texts: list[str],
    find: str,
    becomes: str,
    chosen: set[int] | None,
    *,
    is_large: bool,
) -> None:
    desk = Desk(store, SystemClock())
    tables = stored(desk, texts)
    before = [desk.text(table) for table in tables]
    plan = desk.preview(ReplaceRequest(find, becomes, whole_characters=False))
    known = {n for n in chosen or () if n <= plan.counts.matches} or None
    oracle = Oracle(find, becomes, known)
    expected = [spliced(text, oracle.change) for text in before]
    if find == becomes:
        expected = before
    else:
        assert plan.counts.matches == oracle.matches

    choice = Choice(only=None if known is None else frozenset(known))
    done = executed(desk, plan, choice, is_large=is_large)
    assert [desk.text(table) for table in tables] == expected
    replaced = sum(row.replaced for row in desk.rows(done))
    assert replaced == (plan.counts.matches if known is None else len(known))
    for row in desk.rows(done):
        if row.revision_before is not None:
            [table] = [each for each in tables if each.id == row.table_id]
            text = desk.version(table, row.revision_before)
            assert text == before[tables.index(table)]
            [version] = [v for v in desk.versions(table) if v.revision == row.revision_before]
            assert version.sha256 == hashlib.sha256(text.encode()).digest()

    undone = desk.undo(done)
    assert undone.kept_count == 0
    assert undone.done_count == replaced
    assert [desk.text(table) for table in tables] == before
    redone = desk.undo(undone.plan)
    assert [desk.text(table) for table in tables] == expected
    desk.undo(redone.plan)
    assert [desk.text(table) for table in tables] == before


def executed(desk: Desk, plan: Plan, choice: Choice, *, is_large: bool) -> Plan:
    """Executes a plan in the request, or by a worker."""
    if is_large:
        plan = desk.as_large(plan)
        desk.execute(plan, choice)
        assert desk.run_plan(plan) == "done"
    else:
        desk.execute(plan, choice)
    done = desk.plan(plan)
    assert done.state == "done"
    return done
