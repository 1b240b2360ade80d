"""Execute, undo and redo of any documents: the chosen places, every other byte, all of it back."""

from __future__ import annotations

import hashlib

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
from tests.editing.trees import TEXTS, WORDS, spliced
from tests.profile import examples

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


@pytest.mark.stack
@many
@given(
    words=st.lists(st.sampled_from([*WORDS, "The garden of the harbour. "]), max_size=30),
    cut=st.tuples(st.integers(0, 60), st.integers(0, 8), st.sampled_from(["", "mine", "ab"])),
    is_inserted=st.booleans(),
)
def test_no_word_that_somebody_wrote_meanwhile_is_lost(
    store: PostgresStore, words: list[str], cut: tuple[int, int, str], *, is_inserted: bool
) -> None:
    """Whatever an undo does, the text without what the plan found and made is the same."""
    desk = Desk(store, SystemClock())
    text = "".join(words)
    [table] = desk.make([text, "other ab"])
    done = executed(desk, desk.preview(ReplaceRequest("ab", "Q")), Choice(), is_large=False)
    after = text.replace("ab", "Q")
    at, length, mine = cut
    edited = after[:at] + mine + after[at + length :]
    desk.put(table, ["new", edited, "mine"] if is_inserted else [edited, "mine"])
    undone = desk.undo(done, "skip")
    now = desk.text(table)
    others = spliced(now, lambda value, _: value.replace("ab", "Q"))
    written = ["new", edited, "mine"] if is_inserted else [edited, "mine"]
    [again] = desk.make([value.replace("ab", "Q") for value in written])
    assert others == desk.text(again)
    assert undone.done_count + undone.kept_count == done.counts.matches
