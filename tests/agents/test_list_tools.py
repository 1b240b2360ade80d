"""What agents call tools by, and what is looked at for those that may filter."""

from __future__ import annotations

import re
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace

from hypothesis import given, settings
from hypothesis import strategies as st

from context_search.agents.list_tools import ListTools
from context_search.catalog.tools import NewSearchTool
from context_search.core.config import SearchConfig
from context_search.core.errors import DatabaseUnavailableError
from context_search.core.model import Scope, SearchTool
from context_search.integrations.ports import Deadline
from context_search.searching.rules.searched import SeenFields
from context_search.store import Store, UnitOfWork
from tests.profile import examples
from tests.system import System

VALID = re.compile(r"[A-Za-z0-9_-]{1,64}")  # what the models behind MCP clients take
NAMES = st.sampled_from(
    ["faq", "faq_1", "faq_2", "FAQ", "知识库", "库存 2026", "_", "-", "..", "a" * 128]
)
TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=128)


def named(system: System, *names: str) -> list[int]:
    """The ids of tools by these names over one table."""
    table = system.table({})
    return [
        system.create_tool(
            NewSearchTool(1, name, None, Scope(table.id, ""), system.config, SearchConfig())
        ).tool.id
        for name in names
    ]


def shown(system: System) -> dict[int, str]:
    page, _ = ListTools(system.store).page(system.principal)
    return {each.tool.id: each.name for each in page}


@settings(max_examples=examples(60))
@given(st.lists(NAMES | TEXT, min_size=1, max_size=8))
def test_every_tool_has_one_valid_name_that_leads_to_it(names: list[str]) -> None:
    system = System()
    ids = named(system, *names)
    found = shown(system)
    assert list(found) == ids
    assert len({name.lower() for name in found.values()}) == len(ids)
    for tool_id, name in found.items():
        assert VALID.fullmatch(name), name
        tool = ListTools(system.store).find(system.principal, name)
        assert tool is not None
        assert tool.id == tool_id


@settings(max_examples=examples(40))
@given(st.lists(NAMES | TEXT, min_size=2, max_size=6), st.data())
def test_a_name_stays_when_younger_tools_come_and_go(names: list[str], data: st.DataObject) -> None:
    system = System()
    before = named(system, *names)
    known = shown(system)
    younger = named(system, *names)
    assert {tool_id: shown(system)[tool_id] for tool_id in before} == known
    system.delete_tool(system.principal, data.draw(st.sampled_from(younger)))
    assert {tool_id: shown(system)[tool_id] for tool_id in before} == known


def test_what_is_readable_of_a_name_stays_readable() -> None:
    system = System()
    ids = named(system, "知识库 FAQ (v2)", "产品 price list 2026", "帮助")
    assert list(shown(system).values()) == [
        f"ZhiShiKu_FAQ_v2_{ids[0]}",
        f"ChanPin_price_list_2026_{ids[1]}",
        f"BangZhu_{ids[2]}",
    ]


def test_names_are_those_that_models_take_and_differ_in_more_than_case() -> None:
    system = System()
    ids = named(system, "faq", "FAQ", "price.list", "a-B_c", "x" * 65, "Replace_Undo", "replace")
    assert list(shown(system).values()) == [
        *("faq", f"FAQ_{ids[1]}", f"price_list_{ids[2]}", "a-B_c", f"{'x' * 40}_{ids[4]}"),
        *(f"Replace_Undo_{ids[5]}", "replace"),  # replace_undo is a tool of ours
    ]
    find = ListTools(system.store).find
    assert [find(system.principal, name) for name in ("FAQ", "Faq", "price.list", "A-B_C")] == [
        None
    ] * 4


FILTERED = SearchConfig(filterable=("status",))
TOOLS = [
    SearchTool(number, 1, "t", None, None, Scope(1), search, 1, None, 10_000)
    for number, search in enumerate(
        [FILTERED] * 2 + [replace(FILTERED, agents_may_filter=True)] * 2, 1
    )
]


@dataclass
class BusyStore:
    """A store that cannot serve, and counts who asks."""

    inner: Store
    asked: list[int] = field(default_factory=list)

    def for_project(
        self, project_id: int, deadline: Deadline | None = None
    ) -> AbstractContextManager[UnitOfWork]:
        del deadline
        self.asked.append(project_id)
        raise DatabaseUnavailableError("busy")

    def for_all(
        self, reason: str, deadline: Deadline | None = None
    ) -> AbstractContextManager[UnitOfWork]:
        return self.inner.for_all(reason, deadline)


def test_nothing_is_read_for_tools_that_do_not_opt_in() -> None:
    store = BusyStore(System().store)
    assert ListTools(store).seen_fields(TOOLS[:2]) == {}
    assert store.asked == []


def test_a_busy_database_is_asked_once_and_the_tools_have_no_values() -> None:
    store = BusyStore(System().store)
    assert ListTools(store).seen_fields(TOOLS) == {3: SeenFields(), 4: SeenFields()}
    assert store.asked == [1]
