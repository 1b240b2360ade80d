"""Contract of ``Outbox.take``: messages for small strings that go along with another."""

from __future__ import annotations

from itertools import chain

from context_search.core.messages import SMALL_STRING, IndexNodes
from context_search.core.model import Index, Project
from context_search.integrations.ports import MessageBody
from tests.builders import english
from tests.contract.store.bench import Bench

WINDOW = 3
SMALL = english(60)


def ordered(bench: Bench, project: Project, texts: list[str]) -> tuple[Index, list[int]]:
    """An index over strings, and a message for each; the oldest comes first."""
    _, index = bench.tool(bench.table({f"{n:03}": text for n, text in enumerate(texts)}, project))
    bench.enumerate(index)
    ids = [bench.node_at(index, f"/{n:03}") for n in range(len(texts))]
    for node_id in ids:
        bench.work.outbox.add([IndexNodes((node_id,)).to_json()])
    return index, ids


def take(bench: Bench, project: Project, window: int = WINDOW) -> dict[int, MessageBody]:
    return dict(bench.work.outbox.take(project.id, window=window))


def nodes_of(message: MessageBody) -> list[int]:
    found: list[int] = message.get("node_ids") or [message["node_id"]]  # type: ignore[assignment]
    return found


def finish(bench: Bench, message_id: int) -> None:
    bench.work.outbox.finish(message_id)


def drained(bench: Bench, project: Project) -> list[list[int]]:
    """Takes and finishes until nothing waits."""
    found = []
    while taken := take(bench, project):
        for message_id, message in taken.items():
            found.append(nodes_of(message))
            finish(bench, message_id)
    return found


def test_what_waits_beyond_a_window_goes_along_with_the_oldest(bench: Bench) -> None:
    project = bench.project()
    _, ids = ordered(bench, project, [f"{SMALL} {n}" for n in range(2 * WINDOW + 1)])
    taken = list(take(bench, project).values())
    assert nodes_of(taken[0]) == [ids[0], *ids[WINDOW:]]
    assert [nodes_of(message) for message in taken[1:]] == [[each] for each in ids[1:WINDOW]]
    assert take(bench, project, 99) == {}


def test_a_few_go_one_by_one(bench: Bench) -> None:
    project = bench.project()
    _, ids = ordered(bench, project, [f"{SMALL} {n}" for n in range(2 * WINDOW)])
    assert drained(bench, project) == [[each] for each in ids]


def test_strings_that_are_not_small_go_alone(bench: Bench) -> None:
    project = bench.project()
    _, ids = ordered(bench, project, ["x" * (SMALL_STRING + 1)] * (3 * WINDOW))
    assert drained(bench, project) == [[each] for each in ids]


def test_another_projects_orders_stay_where_they_are(bench: Bench) -> None:
    one, other = bench.project(), bench.project()
    _, own = ordered(bench, one, [f"{SMALL} {n}" for n in range(20)])
    _, foreign = ordered(bench, other, [f"{SMALL} {n}" for n in range(20)])
    assert sorted(chain.from_iterable(drained(bench, one))) == sorted(own)
    assert sorted(chain.from_iterable(drained(bench, other))) == sorted(foreign)


def test_an_order_that_may_be_in_the_queue_gets_no_company(bench: Bench) -> None:
    project = bench.project()
    _, ids = ordered(bench, project, [f"{SMALL} {n}" for n in range(WINDOW)])
    sent = take(bench, project)
    _, more = ordered(bench, project, [f"{SMALL} {n}" for n in range(20)])
    bench.pass_time(61)  # whoever took them was killed, before or after the queue had them
    assert take(bench, project) == sent
    assert [nodes_of(message) for message in sent.values()] == [[each] for each in ids]
    for message_id in sent:
        finish(bench, message_id)
    assert sorted(chain.from_iterable(drained(bench, project))) == sorted(more)


def test_an_order_that_was_begun_goes_in_no_other_message(bench: Bench) -> None:
    project = bench.project()
    ordered(bench, project, [f"{SMALL} {n}" for n in range(WINDOW)])
    [first, *_] = take(bench, project)
    bench.work.outbox.note_sent([first])
    assert bench.work.outbox.begin(first) == project.id
    assert bench.work.outbox.delay(first, after_s=100, window=0) is False
    ordered(bench, project, [f"{SMALL} {n}" for n in range(20)])
    bench.pass_time(101)
    assert len(take(bench, project, 1_000)[first]) == len(IndexNodes((1,)).to_json())


def test_a_string_that_is_ordered_twice_is_named_once(bench: Bench) -> None:
    project = bench.project()
    _, ids = ordered(bench, project, [f"{SMALL} {n}" for n in range(WINDOW + 2)])
    bench.work.outbox.add([IndexNodes((ids[0], ids[-1])).to_json()])
    bench.work.outbox.add([IndexNodes((ids[1], ids[-2])).to_json()])
    assert sorted(drained(bench, project)[0]) == sorted({ids[0], ids[1], *ids[WINDOW:]})


def test_a_string_that_is_gone_goes_with_nobody(bench: Bench) -> None:
    project = bench.project()
    _, ids = ordered(bench, project, [f"{SMALL} {n}" for n in range(3 * WINDOW)])
    bench.delete_by_hand(ids[0])
    [first, second, *_] = take(bench, project).values()
    assert nodes_of(first) == [ids[0]]
    assert nodes_of(second) == [ids[1], *ids[WINDOW:]]
