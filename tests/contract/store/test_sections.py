"""Whatever is done to a large document: what changed is compared, and the nodes are its own."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from context_search.core.config import IndexConfig
from context_search.core.documents import content_hash, parse_stored, string_nodes
from context_search.core.ids import pointer_sha256
from context_search.core.model import Index, SearchTool, Table
from context_search.indexing.comparing import (
    Document,
    Limits,
    enumerate_index,
    give_up,
    locked_revision,
    preload,
)
from tests.builders import present
from tests.contract.store.bench import Bench
from tests.profile import examples
from tests.steps import table_of

ROWS = 400
Edit = Callable[["Desk", Random], None]


def text(seed: object, count: int = 1) -> str:
    """So many times 43 characters that nothing compresses."""
    digests = (sha256(f"{seed} {number}".encode()).digest() for number in range(count))
    return "".join(base64.b64encode(digest).decode()[:43] for digest in digests)


def document() -> dict[str, Any]:
    """Of about 100,000 characters, in all the ways that documents are cut."""
    return {
        "rows": [text(number) for number in range(ROWS)],
        "names": {f"n/a~{number}-x": {"title": text(number, 2)} for number in range(200)},
        "deep": {"er": [[{"x": text(number, 4)} for number in range(80)], 1.50, None, "short"]},
        "long": text("long", 500),
        "uneven": [text("a"), [text(number) for number in range(200)], text("b"), {}, []],
        "": {"": text("no name")},
    }


@dataclass
class Desk:
    """A large document with a tool, and what may happen to both."""

    bench: Bench
    table: Table
    index: Index
    document: dict[str, Any] = field(default_factory=document)
    tools: list[SearchTool] = field(default_factory=list)

    @classmethod
    def of(cls, bench: Bench) -> Desk:
        table = bench.table(document())
        tool, index = bench.tool(table)
        return cls(bench, table, index, tools=[tool])

    def ahead(self) -> Document:
        return present(preload(self.bench.store, self.index.id))

    def save(self) -> None:
        self.bench.change(self.table, self.document)

    def compare(self, ahead: Document | None = None) -> list[int]:
        with self.bench.store.for_all("test") as work:
            assert work.tables.lock(self.table.id) is not None
            return enumerate_index(work, self.index, self.table.id, Limits(), ahead)

    def compared_count(self) -> int:
        """How many strings are parsed and hashed for the next comparison."""
        sections = present(self.ahead().sections)
        return max(len(desired.strings) for desired in sections.values())

    def _each(self) -> list[tuple[list[str], Index]]:
        scopes = self.bench.work.comparisons.scopes(self.index.id)
        return [(scopes, each) for each in self.bench.work.indexes.live(self.index.id)]

    def check(self) -> None:
        """Every generation has the strings of the document, and no others."""
        value = parse_stored(self.bench.work.tables.read(self.table.id)[1])
        for scopes, each in self._each():
            wanted = {
                pointer_sha256(node.json_pointer): content_hash(node.text)
                for scope in scopes
                for node in string_nodes(value, scope=scope, threshold=each.config.threshold)
            }
            known = self.bench.work.nodes.known(each.generation.id, self.table.id)
            assert {node.pointer_sha256: node.content_hash for node in known} == wanted
            self._check_short(value, scopes, each)

    def _check_short(self, value: object, scopes: list[str], generation: Index) -> None:
        """How many strings are too short is known of each scope."""
        counted = {
            scope: self.bench.work.node_counts.state(generation, scope, silent_s=60).not_searched
            for scope in scopes
        }
        assert counted == {
            scope: sum(
                len(node.text) < generation.config.threshold
                for node in string_nodes(value, scope=scope, threshold=1)
            )
            for scope in scopes
        }


# ---- What somebody does to the document.


def rows_of(desk: Desk) -> list[Any]:
    rows = desk.document.get("rows")
    if not isinstance(rows, list):
        rows = desk.document["rows"] = []
    return rows


def replace_row(desk: Desk, random: Random) -> None:
    rows = rows_of(desk)
    if rows:
        rows[random.randrange(len(rows))] = text(random.random())


def change_rows(desk: Desk, random: Random) -> None:
    """Inserts, removes, cuts off, or grows one into many strings."""
    rows = rows_of(desk)
    place, gone = random.randrange(len(rows) + 1), random.choice([0, 1, 1, ROWS])
    grown = {str(number): text(random.random()) for number in range(random.choice([2, 300]))}
    rows[place : place + gone] = random.choice([[], [text(random.random())], [grown]])


def swap_rows(desk: Desk, random: Random) -> None:
    rows = rows_of(desk)
    if len(rows) > 1:
        one, other = random.sample(range(len(rows)), 2)
        rows[one], rows[other] = rows[other], rows[one]


def rename(desk: Desk, random: Random) -> None:
    names = desk.document.get("names")
    if isinstance(names, dict) and names:
        names[f"new {random.random()}"] = names.pop(random.choice(list(names)))


def change_name(desk: Desk, random: Random) -> None:
    names = desk.document.get("names")
    if isinstance(names, dict) and names:
        name = random.choice(list(names))
        names[name] = random.choice([text(random.random()), {"title": "short"}, [], 1, None])


def move_names(desk: Desk, random: Random) -> None:
    if "names" in desk.document:
        desk.document[random.choice(["names", "rows", "deep"])] = desk.document.pop("names")


def change_deep(desk: Desk, random: Random) -> None:
    desk.document["deep"] = random.choice(
        [text("flat"), {"er": [[{"x": text(number)} for number in range(random.randrange(300))]]}]
    )


def start_again(desk: Desk, random: Random) -> None:
    desk.document = random.choice([document(), {"rows": [text(random.random())]}])


def change_number(desk: Desk, random: Random) -> None:
    desk.document["number"] = random.randrange(9)


# ---- What happens to the index.


def narrow(desk: Desk, random: Random) -> None:
    """Another tool, or the one of the root goes: strings outside of the others go with it."""
    if len(desk.tools) > 1:
        gone = desk.tools.pop(random.randrange(len(desk.tools)))
        desk.bench.work.comparisons.uncover(gone.id)
    else:
        scope = random.choice(["/rows", "/rows/7", "/names", "/deep/er/0", "/nowhere"])
        desk.tools.append(desk.bench.tool(desk.table, scope)[0])


def delete_node(desk: Desk, random: Random) -> None:
    known = desk.bench.work.nodes.known(desk.index.generation.id, desk.table.id)
    if known:
        desk.bench.delete_by_hand(random.choice(known).id)


def rebuild(desk: Desk, random: Random) -> None:
    config = IndexConfig("in-memory/words", 16, threshold=60, chunk_size=120, chunk_overlap=10)
    if len(desk.bench.work.indexes.live(desk.index.id)) == 1:
        desk.bench.work.indexes.start_rebuild(desk.index, config, at_once=9)


def compare_whole(desk: Desk, random: Random) -> None:
    """As if the document were small."""
    desk.save()
    revision, stored = desk.bench.work.tables.read(desk.table.id)
    scopes = desk.bench.work.comparisons.scopes(desk.index.id)
    desk.compare(Document.whole(revision, stored, scopes, with_fields=False))


def refuse(desk: Desk, random: Random) -> None:
    """The document is as it was, and another generation cannot have it."""
    seen = present(locked_revision(desk.bench.store, desk.index.id, desk.table.id))
    error = {"code": "DOCUMENT_TOO_LARGE", "message": "too large", "retryable": False}
    give_up(desk.bench.store, desk.index.id, seen, error)


def read_too_early(desk: Desk, random: Random) -> None:
    """Somebody has read the document, and others are faster."""
    desk.save()
    early = desk.ahead()
    random.choice([replace_row, rename, delete_node, narrow, rebuild])(desk, random)
    if random.random() < 0.7:
        desk.save()
        desk.compare()
    desk.compare(early)
    desk.check()


EDITS: Sequence[Edit] = [
    *(replace_row, *[change_rows] * 4, swap_rows, rename, change_name),
    *(move_names, change_deep, start_again, start_again, change_number),
    *(narrow, delete_node, rebuild, compare_whole, refuse, read_too_early),
]


@settings(
    max_examples=examples(40),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    runs=st.lists(st.lists(st.sampled_from(EDITS), min_size=1, max_size=3), max_size=6),
    seed=st.integers(0, 2**32),
)
def test_after_any_edits_the_nodes_are_those_of_the_document(
    bench: Bench, runs: list[list[Edit]], seed: int
) -> None:
    desk, random = Desk.of(bench), Random(seed)
    desk.compare(desk.ahead())
    desk.check()
    for edits in runs:
        for edit in edits:
            edit(desk, random)
        desk.save()
        desk.compare(desk.ahead() if random.random() < 0.7 else None)
        desk.check()


@pytest.mark.parametrize("edit", [replace_row, rename, change_number, swap_rows])
def test_a_small_edit_has_a_small_part_of_the_strings_compared(bench: Bench, edit: Edit) -> None:
    desk = Desk.of(bench)
    every = desk.compared_count()
    desk.compare()
    assert desk.compared_count() == 0
    edit(desk, Random(1))
    desk.save()
    assert desk.compared_count() < every / 3


@pytest.mark.parametrize(
    "edits",
    [[replace_row, compare_whole], [delete_node], [refuse, replace_row]],
    ids=["compared without sections", "nodes are gone", "it was refused"],
)
def test_the_whole_document_is_compared_anew(bench: Bench, edits: list[Edit]) -> None:
    desk = Desk.of(bench)
    every = desk.compared_count()
    desk.compare()
    for number, edit in enumerate(edits):
        edit(desk, Random(number))
    desk.save()
    assert desk.compared_count() == every
    desk.compare(desk.ahead())
    desk.check()


def test_each_section_says_where_its_strings_are(bench: Bench) -> None:
    desk = Desk.of(bench)
    changes = present(bench.work.comparisons.changed_sections(desk.index, desk.table.id, [""]))
    assert changes.basis is None
    assert len({section.digest for section in changes.new}) == len(changes.new) > 5
    assert max(len(section.text) for section in changes.new) < 30_000
    assert table_of(desk.index) == desk.table.id
    assert json.loads(changes.new[0].text)


def test_a_small_document_is_read_as_it_is(bench: Bench) -> None:
    table, large = bench.table({"a": text("small")}), bench.table(document())
    found = present(bench.work.comparisons.small_document(table.id))
    assert parse_stored(found[1]) == {"a": text("small")}
    assert bench.work.comparisons.small_document(large.id) is None
