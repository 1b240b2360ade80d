"""The outbox, from a message's cause to its end, also under transactions that overlap."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import chain

import pytest

from context_search.core.messages import (
    LONG_STRING,
    SMALL_STRING,
    CompareIndex,
    ImportUpload,
    IndexNodes,
    message_from_json,
)
from context_search.core.model import Index, Project, Table
from context_search.integrations.ports import MessageBody
from context_search.store import UnitOfWork
from tests.builders import english
from tests.contract.store.bench import OTHER, TEXT, Bench, PostgresBench, only_postgres

WINDOW = 3


def comparisons(bench: Bench, project: Project, count: int) -> list[MessageBody]:
    """Adds messages to compare so many indexes of a project; the oldest comes first."""
    messages: list[MessageBody] = []
    for _ in range(count):
        table, index = bench.served({}, project)
        messages.append(CompareIndex(index.id, table.id).to_json())
        add(bench, messages[-1])
    return messages


def add(bench: Bench, *messages: MessageBody) -> list[int]:
    return bench.work.outbox.add(messages)


def take(bench: Bench, project: Project, window: int = WINDOW) -> dict[int, MessageBody]:
    return {
        message_id: dict(body)
        for message_id, body in bench.work.outbox.take(project.id, window=window)
    }


def send(bench: Bench, project: Project, window: int = WINDOW) -> dict[int, MessageBody]:
    taken = take(bench, project, window)
    bench.work.outbox.note_sent(list(taken))
    return taken


def begin(bench: Bench, message_id: int) -> int | None:
    return bench.work.outbox.begin(message_id)


def finish(bench: Bench, message_id: int) -> None:
    bench.work.outbox.finish(message_id)


def rest(bench: Bench, message_id: int, after_s: float, window: int = WINDOW) -> bool:
    return bench.work.outbox.delay(message_id, after_s=after_s, window=window)


def reopen(bench: Bench, silent_s: float) -> int:
    return bench.work.outbox.reopen(bench.work.outbox.silent(silent_s=silent_s), silent_s=silent_s)


def waiting(bench: Bench) -> list[int]:
    return sorted(bench.work.outbox.waiting(limit=99))


def test_an_order_is_of_the_project_of_what_it_names(bench: Bench) -> None:
    project = bench.project()
    table, index = bench.served({"a": TEXT}, project)
    [node_id] = bench.enumerate(index)
    own: list[MessageBody] = [
        CompareIndex(index.id).to_json(),
        CompareIndex(index.id, table.id).to_json(),
        IndexNodes((node_id,)).to_json(),
        {"kind": "nodes", "node_ids": [node_id]},
    ]
    for message in own:
        assert add(bench, message) == [project.id]
    foreign = bench.node()[1]
    assert add(bench, IndexNodes((foreign,)).to_json(), IndexNodes((node_id,)).to_json()) != [
        project.id
    ]
    assert list(take(bench, project, 9).values()) == own
    assert add(bench) == []


def test_comparisons_leave_before_strings_that_have_waited_longer(bench: Bench) -> None:
    project = bench.project()
    _, index = bench.served({"a": TEXT, "b": OTHER}, project)
    strings = [IndexNodes((node_id,)).to_json() for node_id in sorted(bench.enumerate(index))]
    add(bench, *strings)
    compared = comparisons(bench, project, 2)
    assert list(take(bench, project).values()) == [strings[0], *compared]
    assert list(take(bench, project, 9).values()) == [strings[1]]


@pytest.mark.parametrize(
    "message",
    [
        CompareIndex(10**9).to_json(),
        IndexNodes((10**9,)).to_json(),
        ImportUpload(10**9).to_json(),
        {"kind": "nodes", "node_ids": [10**9]},
        {"kind": "of a later release"},
    ],
)
def test_an_order_for_what_is_gone_is_nobodys_and_leaves_like_others(
    bench: Bench, message: MessageBody
) -> None:
    assert add(bench, message) == [0]
    assert list(take(bench, Project(0, "")).values()) == [message]


def test_equal_orders_that_nobody_has_begun_are_one(bench: Bench) -> None:
    project = bench.project()
    [first, second] = comparisons(bench, project, 2)
    for _ in range(20):
        assert add(bench, first, second, first) == [project.id]
    assert list(take(bench, project, 9).values()) == [first, second]
    add(bench, first)
    assert take(bench, project, 9) == {}


def test_many_writes_make_one_order_for_each_index_and_table(bench: Bench) -> None:
    project = bench.project()
    table, other = bench.table({"a": TEXT}, project), bench.table({}, project)
    _, index = bench.tool(table)
    whole = bench.project_index(project.id)
    for number in range(10):
        bench.change(table, {"a": number})
        bench.change(other, {"a": number})
    assert sorted(take(bench, project, 99).values(), key=str) == sorted(
        (
            CompareIndex(index.id, table.id).to_json(),
            CompareIndex(whole.id, table.id).to_json(),
            CompareIndex(whole.id, other.id).to_json(),
        ),
        key=str,
    )


def test_what_is_added_to_an_order_that_was_begun_is_a_new_one(bench: Bench) -> None:
    project = bench.project()
    [message] = comparisons(bench, project, 1)
    [message_id] = send(bench, project)
    assert begin(bench, message_id) == project.id
    add(bench, message)
    add(bench, message)
    [second] = send(bench, project)
    assert second != message_id
    finish(bench, message_id)
    assert begin(bench, message_id) is None
    assert begin(bench, second) == project.id


def test_a_project_has_a_window_of_orders_in_the_queue_and_no_more(bench: Bench) -> None:
    one, other = bench.project(), bench.project()
    messages = comparisons(bench, one, 5)
    [lone] = comparisons(bench, other, 1)
    sent = send(bench, one)
    assert list(sent.values()) == messages[:WINDOW]
    assert send(bench, one) == {}
    assert list(send(bench, other).values()) == [lone]
    first, second, third = sent
    begin(bench, first)
    assert send(bench, one) == {}
    finish(bench, first)
    assert list(send(bench, one).values()) == messages[3:4]
    finish(bench, second)
    finish(bench, third)
    assert list(send(bench, one).values()) == messages[4:]


def test_a_project_has_a_quarter_of_the_window_for_very_long_strings(bench: Bench) -> None:
    project = bench.project()
    long = "harbour " * (LONG_STRING // 8)
    _, index = bench.tool(bench.table({"a": long, "b": f"{long}b", "c": TEXT}, project))
    bench.enumerate(index)
    messages = [
        IndexNodes((bench.node_at(index, pointer),)).to_json() for pointer in ("/a", "/b", "/c")
    ]
    for message in messages:
        add(bench, message)
    sent = send(bench, project)
    assert list(sent.values()) == [messages[0], messages[2]]  # what is short is not kept waiting
    assert send(bench, project) == {}
    for message_id in sent:
        finish(bench, message_id)
    assert list(send(bench, project, 8).values()) == messages[1:2]
    add(bench, messages[0])
    assert list(send(bench, project, 8).values()) == messages[:1]


def test_an_order_that_is_being_sent_has_its_place_for_a_minute(bench: Bench) -> None:
    project = bench.project()
    messages = comparisons(bench, project, 4)
    taken = take(bench, project)
    assert waiting(bench) == [project.id]
    assert take(bench, project) == {}
    bench.pass_time(50)
    assert take(bench, project) == {}
    bench.pass_time(11)
    assert take(bench, project) == taken
    assert list(taken.values()) == messages[:WINDOW]


def test_projects_with_waiting_orders_are_told(bench: Bench) -> None:
    one, other = bench.project(), bench.project()
    comparisons(bench, one, 4)
    comparisons(bench, other, 1)
    assert waiting(bench) == sorted((one.id, other.id))
    assert len(bench.work.outbox.waiting(limit=1)) == 1
    send(bench, other)
    assert waiting(bench) == [one.id]
    send(bench, one)
    assert waiting(bench) == [one.id]
    send(bench, one, 4)
    assert waiting(bench) == []


def test_an_order_that_rests_leaves_its_place_and_takes_it_again_when_due(bench: Bench) -> None:
    project = bench.project()
    messages = comparisons(bench, project, 6)
    first, *_ = send(bench, project)
    begin(bench, first)
    assert rest(bench, first, 100)
    assert list(send(bench, project).values()) == messages[3:4]
    bench.pass_time(101)
    assert send(bench, project, WINDOW + 1) == {}
    assert begin(bench, first) == project.id


def test_no_more_rest_in_the_queue_than_have_a_place_in_it(bench: Bench) -> None:
    project = bench.project()
    comparisons(bench, project, 5)
    messages = list(send(bench, project, 5))
    for message_id in messages:
        begin(bench, message_id)
    assert [rest(bench, message_id, 100) for message_id in messages] == [True] * 3 + [False] * 2
    assert waiting(bench) == []
    bench.pass_time(101)
    assert waiting(bench) == [project.id]
    assert list(send(bench, project, 9)) == messages[3:]


def test_a_resting_order_is_given_up_for_an_equal_one(bench: Bench) -> None:
    project = bench.project()
    [message] = comparisons(bench, project, 1)
    [first] = send(bench, project)
    begin(bench, first)
    rest(bench, first, 1_000)
    add(bench, message)  # it rests: what is new need not wait so long
    [second] = send(bench, project)
    begin(bench, second)
    assert rest(bench, second, 100)
    assert begin(bench, first) is None
    begin(bench, second)
    add(bench, message)
    assert not rest(bench, second, 100)
    assert begin(bench, second) is None
    [third] = send(bench, project)
    assert begin(bench, third) == project.id


def test_an_order_is_sent_again_when_it_was_silent_for_long(bench: Bench) -> None:
    project = bench.project()
    messages = comparisons(bench, project, 3)
    waits, begun, rests = send(bench, project)
    begin(bench, begun)
    begin(bench, rests)
    rest(bench, rests, 300)
    bench.pass_time(290)
    assert reopen(bench, 300) == 0
    bench.pass_time(11)
    assert reopen(bench, 300) == 2
    assert list(send(bench, project)) == [waits, begun]
    bench.pass_time(301)
    assert reopen(bench, 300) == 3
    assert send(bench, project) == {waits: messages[0], rests: messages[2]}
    bench.pass_time(301)  # it was lost for the second time
    assert send(bench, project) == {begun: messages[1]}


def lost_again(bench: Bench, project: Project, message_id: int) -> None:
    """A worker begins a message, and nothing is heard of it."""
    assert list(send(bench, project)) == [message_id]
    begin(bench, message_id)
    bench.pass_time(301)
    assert reopen(bench, 300) == 1


def test_an_order_that_is_lost_again_and_again_waits_longer_each_time(bench: Bench) -> None:
    project = bench.project()
    [message] = comparisons(bench, project, 1)
    [message_id] = take(bench, project)
    bench.pass_time(61)
    lost_again(bench, project, message_id)
    for minutes in (5, 10, 20, 40, 80, 160, 320, 640, 1280, 1440, 1440):
        lost_again(bench, project, message_id)
        bench.pass_time(minutes * 60 - 10)
        assert (waiting(bench), send(bench, project), reopen(bench, 300)) == ([], {}, 0)
        bench.pass_time(11)
    lost_again(bench, project, message_id)
    add(bench, message)  # what is written now does not wait with it
    [(fresh, body)] = send(bench, project).items()
    assert (fresh != message_id, body) == (True, message)


def test_an_order_that_no_worker_ever_had_does_not_wait_longer(bench: Bench) -> None:
    project = bench.project()
    [message] = comparisons(bench, project, 1)
    for _ in range(5):
        assert list(send(bench, project).values()) == [message]
        bench.pass_time(301)
        assert reopen(bench, 300) == 1


def test_an_order_that_waits_long_takes_no_place_and_comes_back_when_restored(bench: Bench) -> None:
    project = bench.project()
    [first] = comparisons(bench, project, 1)
    [message_id] = take(bench, project)
    bench.pass_time(61)
    for _ in range(2):
        lost_again(bench, project, message_id)
    [second] = comparisons(bench, project, 1)
    sent = send(bench, project, 1)
    assert list(sent.values()) == [second]
    for each in sent:
        finish(bench, each)
    for _ in range(2):  # after which it is lost for the first time again
        assert bench.work.outbox.restore([message_id]) == [project.id]
        assert waiting(bench) == [project.id]
    lost_again(bench, project, message_id)
    assert send(bench, project) == {message_id: first}


def test_a_worker_that_still_gets_the_message_begins_an_order_that_waits_long(bench: Bench) -> None:
    project = bench.project()
    comparisons(bench, project, 1)
    [message_id] = take(bench, project)
    bench.pass_time(61)
    for _ in range(2):
        lost_again(bench, project, message_id)
    assert begin(bench, message_id) == project.id
    finish(bench, message_id)
    bench.pass_time(3_600)
    assert waiting(bench) == []


def test_orders_whose_messages_died_wait_again(bench: Bench) -> None:
    project = bench.project()
    comparisons(bench, project, 2)
    died, done = send(bench, project)
    begin(bench, died)
    finish(bench, done)
    assert bench.work.outbox.restore([died, done, 10**9]) == [project.id]
    assert bench.work.outbox.restore([]) == []
    assert list(send(bench, project)) == [died]


def test_who_carries_an_order_out_withdraws_it_unless_it_was_begun(bench: Bench) -> None:
    project = bench.project()
    one, other = comparisons(bench, project, 2)
    first, second = send(bench, project)
    begin(bench, first)
    for body in (one, other, other):
        message = message_from_json(body)
        assert message is not None
        bench.work.outbox.withdraw(message)
    assert begin(bench, first) == project.id
    assert begin(bench, second) is None


def test_neighbours_are_told_while_their_orders_wait_for_a_worker(bench: Bench) -> None:
    project, other = bench.project(), bench.project()
    table = bench.table({"a": TEXT, "b": OTHER}, project)

    def has_neighbours() -> bool:
        return bench.work.outbox.has_neighbours(table.id)

    comparisons(bench, project, 2)
    add(bench, CompareIndex(10**9).to_json())
    assert not has_neighbours()
    comparisons(bench, other, 1)
    assert has_neighbours()
    [message_id] = send(bench, other)
    assert has_neighbours()
    begin(bench, message_id)
    assert not has_neighbours()


@only_postgres
@pytest.mark.parametrize("way", ["hashjoin", "mergejoin", "nestloop"])
def test_a_window_holds_whichever_way_the_planner_joins(bench: PostgresBench, way: str) -> None:
    """Read again for every row, the oldest messages would be others each time."""
    project = bench.project()
    bench.sql("ANALYZE outbox")  # so that few rows are expected
    comparisons(bench, project, 6)
    others = {"hashjoin", "mergejoin", "nestloop", "material", "indexscan", "bitmapscan"} - {way}
    with bench.tx() as tx:
        for each in others:
            tx.run(f"SET LOCAL enable_{each} = off")
        assert len(UnitOfWork(tx).outbox.take(project.id, window=2)) == 2


CHANGE = "UPDATE context_table SET data = '1' WHERE id = :id"


def one_message(bench: PostgresBench) -> tuple[Table, int]:
    """A table whose document is a number; the message to compare it is taken."""
    table, index = bench.served(0)
    add(bench, CompareIndex(index.id, table.id).to_json())
    [message_id] = take(bench, Project(table.project_id, ""))
    return table, message_id


def begin_and_read(bench: Bench, table: Table, message_id: int) -> str:
    """What a worker does: it begins a message, and then reads the document."""
    assert begin(bench, message_id) == table.project_id
    return bench.work.tables.read(table.id)[1]


@only_postgres
def test_a_program_with_an_order_of_its_own_never_deadlocks(bench: PostgresBench) -> None:
    """It holds the message of its second table, and asks for that of the first."""
    (first, one), (second, other) = one_message(bench), one_message(bench)

    def note() -> None:  # both: the second is left alone, nobody waits
        with bench.store.for_all("test") as work:
            work.outbox.note_sent([one, other])
            work.outbox.restore([one, other])

    with ThreadPoolExecutor(1) as pool, bench.tx() as program:
        program.run(CHANGE, id=second.id)
        pool.submit(note).result()
        program.run(CHANGE, id=first.id)
    assert bench.count("outbox") == 2


@only_postgres
def test_who_begins_an_order_sees_what_was_added_to_it(bench: PostgresBench) -> None:
    """A writer that has not committed counts on the message that is there."""
    table, message_id = one_message(bench)
    with bench.tx() as writer:
        writer.run(CHANGE, id=table.id)
        seen = bench.begun(begin_and_read, bench, table, message_id)
        assert not seen.done()
    assert seen.result() == "1"
    assert bench.count("outbox") == 1


@only_postgres
def test_what_is_written_after_the_begin_is_a_new_order(bench: PostgresBench) -> None:
    table, message_id = one_message(bench)
    with ThreadPoolExecutor(1) as pool, bench.tx() as writer:
        writer.run("SELECT 1")
        assert pool.submit(begin_and_read, bench, table, message_id).result() == "0"
        writer.run(CHANGE, id=table.id)
    assert bench.count("outbox") == 2


@only_postgres
def test_a_sender_passes_by_what_is_not_committed_and_nothing_is_lost(bench: PostgresBench) -> None:
    table, _ = one_message(bench)
    project = Project(table.project_id, "")
    bench.pass_time(61)
    with ThreadPoolExecutor(1) as pool, bench.tx() as writer:
        writer.run(CHANGE, id=table.id)
        assert pool.submit(take, bench, project).result() == {}
    assert len(take(bench, project)) == 1


@only_postgres
def test_senders_of_one_project_do_not_overfill_its_window(bench: PostgresBench) -> None:
    project = bench.project()
    comparisons(bench, project, 12)
    with ThreadPoolExecutor(6) as pool:
        taken = list(pool.map(lambda _: take(bench, project, 5), range(6)))
    assert sum(map(len, taken)) == 5


@only_postgres
def test_many_who_order_the_same_at_once_order_it_once(bench: PostgresBench) -> None:
    _, index = bench.tool(bench.table(0))
    with ThreadPoolExecutor(6) as pool:
        message = CompareIndex(index.id).to_json()
        owners = list(pool.map(lambda _: add(bench, message), range(30)))
    assert owners == [[index.project_id]] * 30
    assert bench.count("outbox") == 1


SLACK_S = 30


def ordered(bench: Bench, project: Project, count: int = 1) -> None:
    """Adds messages to compare so many indexes."""
    for _ in range(count):
        table, index = bench.served({}, project)
        bench.work.outbox.add([CompareIndex(index.id, table.id).to_json()])


def taken(bench: Bench, project: Project, window: int = 1) -> list[int]:
    """A sender takes messages, and dies."""
    return [message_id for message_id, _ in bench.work.outbox.take(project.id, window=window)]


def sent(bench: Bench, project: Project, window: int = 1) -> list[int]:
    messages = taken(bench, project, window)
    bench.work.outbox.note_sent(messages)
    return messages


def age(bench: Bench) -> int:
    """The gauge, to half a minute below."""
    return int(bench.work.health.readings().outbox_age_s // SLACK_S * SLACK_S)


def test_an_order_that_is_in_the_queue_or_in_no_book_has_no_age(bench: Bench) -> None:
    project = bench.project()
    assert age(bench) == 0
    ordered(bench, project)
    [message_id] = sent(bench, project)
    bench.pass_time(900)
    assert age(bench) == 0
    bench.work.outbox.begin(message_id)
    assert age(bench) == 0


def test_a_sender_that_dies_leaves_the_age_from_the_first_attempt_on(bench: Bench) -> None:
    project = bench.project()
    ordered(bench, project)
    for minutes in range(1, 9):
        assert len(taken(bench, project)) == 1
        bench.pass_time(60 + 0.1)
        assert age(bench) == 60 * minutes
    assert len(sent(bench, project)) == 1
    assert age(bench) == 0


def test_an_order_that_nobody_takes_ages_from_its_beginning(bench: Bench) -> None:
    ordered(bench, bench.project())
    bench.pass_time(900)
    assert age(bench) == 900


def test_an_order_that_waits_for_a_place_has_no_age(bench: Bench) -> None:
    project = bench.project()
    ordered(bench, project, 3)
    bench.pass_time(900)
    first, *_ = sent(bench, project)
    bench.pass_time(900)
    assert age(bench) == 0
    bench.work.outbox.finish(first)
    assert len(taken(bench, project)) == 1
    bench.pass_time(90)
    assert age(bench) == 90


def test_an_order_that_rests_ages_from_when_it_is_due(bench: Bench) -> None:
    project = bench.project()
    ordered(bench, project)
    [message_id] = sent(bench, project)
    bench.pass_time(900)
    bench.work.outbox.begin(message_id)
    assert not bench.work.outbox.delay(message_id, after_s=600, window=0)
    bench.pass_time(590)
    assert age(bench) == 0
    bench.pass_time(160)
    assert age(bench) == 150


def test_an_order_that_was_lost_ages_from_when_that_was_noticed(bench: Bench) -> None:
    project = bench.project()
    ordered(bench, project, 2)
    sent(bench, project)
    bench.pass_time(900)
    assert bench.work.outbox.reopen(bench.work.outbox.silent(silent_s=300), silent_s=300) == 1
    assert age(bench) == 0
    bench.pass_time(150)
    assert age(bench) == 150
    again = sent(bench, project)
    bench.pass_time(150)
    assert bench.work.outbox.restore(again) == [project.id]
    assert age(bench) == 0


SMALL_TEXT = english(60)


def strings_ordered(bench: Bench, project: Project, texts: list[str]) -> tuple[Index, list[int]]:
    """An index over strings, and a message for each; the oldest comes first."""
    _, index = bench.tool(bench.table({f"{n:03}": text for n, text in enumerate(texts)}, project))
    bench.enumerate(index)
    ids = [bench.node_at(index, f"/{n:03}") for n in range(len(texts))]
    for node_id in ids:
        bench.work.outbox.add([IndexNodes((node_id,)).to_json()])
    return index, ids


def nodes_of(message: MessageBody) -> list[int]:
    found: list[int] = message.get("node_ids") or [message["node_id"]]  # type: ignore[assignment]
    return found


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
    _, ids = strings_ordered(bench, project, [f"{SMALL_TEXT} {n}" for n in range(2 * WINDOW + 1)])
    taken = list(take(bench, project).values())
    assert nodes_of(taken[0]) == [ids[0], *ids[WINDOW:]]
    assert [nodes_of(message) for message in taken[1:]] == [[each] for each in ids[1:WINDOW]]
    assert take(bench, project, 99) == {}


def test_a_few_go_one_by_one(bench: Bench) -> None:
    project = bench.project()
    _, ids = strings_ordered(bench, project, [f"{SMALL_TEXT} {n}" for n in range(2 * WINDOW)])
    assert drained(bench, project) == [[each] for each in ids]


def test_strings_that_are_not_small_go_alone(bench: Bench) -> None:
    project = bench.project()
    _, ids = strings_ordered(bench, project, ["x" * (SMALL_STRING + 1)] * (3 * WINDOW))
    assert drained(bench, project) == [[each] for each in ids]


def test_another_projects_orders_stay_where_they_are(bench: Bench) -> None:
    one, other = bench.project(), bench.project()
    _, own = strings_ordered(bench, one, [f"{SMALL_TEXT} {n}" for n in range(20)])
    _, foreign = strings_ordered(bench, other, [f"{SMALL_TEXT} {n}" for n in range(20)])
    assert sorted(chain.from_iterable(drained(bench, one))) == sorted(own)
    assert sorted(chain.from_iterable(drained(bench, other))) == sorted(foreign)


def test_an_order_that_may_be_in_the_queue_gets_no_company(bench: Bench) -> None:
    project = bench.project()
    _, ids = strings_ordered(bench, project, [f"{SMALL_TEXT} {n}" for n in range(WINDOW)])
    sent = take(bench, project)
    _, more = strings_ordered(bench, project, [f"{SMALL_TEXT} {n}" for n in range(20)])
    bench.pass_time(61)  # whoever took them was killed, before or after the queue had them
    assert take(bench, project) == sent
    assert [nodes_of(message) for message in sent.values()] == [[each] for each in ids]
    for message_id in sent:
        finish(bench, message_id)
    assert sorted(chain.from_iterable(drained(bench, project))) == sorted(more)


def test_an_order_that_was_begun_goes_in_no_other_message(bench: Bench) -> None:
    project = bench.project()
    strings_ordered(bench, project, [f"{SMALL_TEXT} {n}" for n in range(WINDOW)])
    [first, *_] = take(bench, project)
    bench.work.outbox.note_sent([first])
    assert bench.work.outbox.begin(first) == project.id
    assert bench.work.outbox.delay(first, after_s=100, window=0) is False
    strings_ordered(bench, project, [f"{SMALL_TEXT} {n}" for n in range(20)])
    bench.pass_time(101)
    assert len(take(bench, project, 1_000)[first]) == len(IndexNodes((1,)).to_json())


def test_a_string_that_is_ordered_twice_is_named_once(bench: Bench) -> None:
    project = bench.project()
    _, ids = strings_ordered(bench, project, [f"{SMALL_TEXT} {n}" for n in range(WINDOW + 2)])
    bench.work.outbox.add([IndexNodes((ids[0], ids[-1])).to_json()])
    bench.work.outbox.add([IndexNodes((ids[1], ids[-2])).to_json()])
    assert sorted(drained(bench, project)[0]) == sorted({ids[0], ids[1], *ids[WINDOW:]})


def test_a_string_that_is_gone_goes_with_nobody(bench: Bench) -> None:
    project = bench.project()
    _, ids = strings_ordered(bench, project, [f"{SMALL_TEXT} {n}" for n in range(3 * WINDOW)])
    bench.delete_by_hand(ids[0])
    [first, second, *_] = take(bench, project).values()
    assert nodes_of(first) == [ids[0]]
    assert nodes_of(second) == [ids[1], *ids[WINDOW:]]
