"""Contract of ``Keys``."""

from __future__ import annotations

from context_search.domain.access import (
    ALL_PERMISSIONS,
    MCP_PERMISSIONS,
    ApiKey,
    KeyOwner,
    McpChanges,
    McpKey,
    NewApiKey,
    Principal,
    ProjectKey,
)
from tests.contract.store.bench import Bench

EVERY_S = 60.0


def add(bench: Bench, owner: KeyOwner, key_hash: bytes, **more: object) -> ApiKey:
    with bench.store.for_all("test") as work:
        new = NewApiKey("ci", "cs_abc", key_hash, **more)  # type: ignore[arg-type]
        return work.keys.add(owner, new)


def principal_of(bench: Bench, key_hash: bytes) -> Principal | None:
    with bench.store.for_all("test") as work:
        return work.keys.caller_of(key_hash, noted_every_s=EVERY_S)


def listed(bench: Bench, owner: KeyOwner) -> list[ApiKey]:
    with bench.store.for_all("test") as work:
        return work.keys.page(owner, after=0, limit=99)


def mcp_owner(bench: Bench) -> KeyOwner:
    project = bench.project()
    with bench.store.for_all("test") as work:
        return KeyOwner(project.id, work.mcp_instances.add(project.id, "agents").id)


def test_a_key_belongs_to_the_project_that_it_was_stored_for(bench: Bench) -> None:
    one, other = KeyOwner(bench.project().id), KeyOwner(bench.project().id)
    first = add(bench, one, b"one")
    second = add(bench, other, b"other", permissions=frozenset({"search"}))
    assert principal_of(bench, b"one") == ProjectKey(one.project_id, key_id=first.id)
    assert principal_of(bench, b"other") == ProjectKey(
        other.project_id, permissions=frozenset({"search"}), key_id=second.id
    )
    assert principal_of(bench, b"neither") is None


def test_a_key_is_listed_as_it_was_added(bench: Bench) -> None:
    owner = KeyOwner(bench.project().id)
    key = add(bench, owner, b"k", lifetime_s=90.0)
    assert (key.name, key.prefix, key.permissions) == ("ci", "cs_abc", ALL_PERMISSIONS)
    assert (key.lifetime_s, key.last_used_at, key.revoked_at) == (90.0, None, None)
    assert listed(bench, owner) == [key]
    assert add(bench, owner, b"l").expires_at is None


def test_pages_of_keys_hold_one_owners_by_id(bench: Bench) -> None:
    mcp = mcp_owner(bench)
    project = KeyOwner(mcp.project_id)
    keys = [add(bench, project, bytes([number])) for number in range(4)]
    of_mcp = add(bench, mcp, b"m")
    add(bench, KeyOwner(bench.project().id), b"s")
    with bench.store.for_all("test") as work:
        assert work.keys.page(project, after=keys[0].id, limit=2) == keys[1:3]
        assert work.keys.page(project, after=keys[3].id, limit=2) == []
        assert work.keys.page(mcp, after=0, limit=9) == [of_mcp]


def test_a_revoked_key_is_nobodys(bench: Bench) -> None:
    owner = KeyOwner(bench.project().id)
    key = add(bench, owner, b"k")
    with bench.store.for_all("test") as work:
        work.keys.revoke(key.id)
        assert work.keys.find_live(owner, key.id) is None
    assert principal_of(bench, b"k") is None
    assert listed(bench, owner)[0].revoked_at is not None


def test_a_key_expires_when_its_lifetime_is_over(bench: Bench) -> None:
    owner = KeyOwner(bench.project().id)
    key = add(bench, owner, b"k", lifetime_s=90.0)
    bench.pass_time(80)
    assert principal_of(bench, b"k") is not None
    bench.pass_time(20)
    assert principal_of(bench, b"k") is None
    with bench.store.for_all("test") as work:
        assert work.keys.find_live(owner, key.id) is None


def test_a_key_that_was_replaced_goes_on_for_a_while_and_never_longer_than_it_would(
    bench: Bench,
) -> None:
    owner = KeyOwner(bench.project().id)
    forever, short = add(bench, owner, b"f"), add(bench, owner, b"s", lifetime_s=10)
    with bench.store.for_all("test") as work:
        work.keys.expire_within(forever.id, 60)
        work.keys.expire_within(short.id, 60)
    assert principal_of(bench, b"f") is not None
    bench.pass_time(30)
    assert principal_of(bench, b"f") is not None
    assert principal_of(bench, b"s") is None
    bench.pass_time(31)
    assert principal_of(bench, b"f") is None


def test_an_owner_finds_its_own_keys_only(bench: Bench) -> None:
    mcp = mcp_owner(bench)
    project = KeyOwner(mcp.project_id)
    key, of_mcp = add(bench, project, b"p"), add(bench, mcp, b"m")
    stranger = KeyOwner(bench.project().id)
    with bench.store.for_all("test") as work:
        assert work.keys.find_live(project, key.id) == key
        assert work.keys.find_live(mcp, of_mcp.id) == of_mcp
        for owner, key_id in ((stranger, key.id), (project, of_mcp.id), (mcp, key.id)):
            assert work.keys.find_live(owner, key_id) is None


def test_the_key_of_an_instance_counts_while_the_instance_is_enabled(bench: Bench) -> None:
    owner = mcp_owner(bench)
    assert owner.mcp_id is not None
    add(bench, owner, b"m", permissions=MCP_PERMISSIONS)
    expected = McpKey(owner.project_id, owner.mcp_id)
    for status, principal in ((True, expected), (False, None), (True, expected)):
        with bench.store.for_all("test") as work:
            work.mcp_instances.change(owner.mcp_id, McpChanges(status=status))
        assert principal_of(bench, b"m") == principal


def test_that_a_key_is_in_use_is_noted_at_most_once_a_minute(bench: Bench) -> None:
    owner = KeyOwner(bench.project().id)
    add(bench, owner, b"k")
    add(bench, owner, b"unused")
    ages = []
    for pause in (0, 40, 40, 10):
        bench.pass_time(pause)
        principal_of(bench, b"k")
        key, unused = listed(bench, owner)
        assert key.last_used_at is not None
        assert unused.last_used_at is None
        # Whether the clock goes on or what is stored gets older: the distance says when it was.
        ages.append(round((key.last_used_at - key.created_at).total_seconds(), -1))
    assert ages == [0, 0, 80, 80]


def test_a_key_ends_after_its_lifetime_or_when_it_has_to(bench: Bench) -> None:
    owner = KeyOwner(bench.project().id)
    end = add(bench, owner, b"a", lifetime_s=90.0).expires_at
    assert add(bench, owner, b"b", ends_by=end).expires_at == end
    ended = add(bench, owner, b"c", ends_by=end, lifetime_s=900.0)
    assert ended.expires_at == end
    assert add(bench, owner, b"d", ends_by=end, lifetime_s=5.0).lifetime_s == 5.0
    assert principal_of(bench, b"c") == ProjectKey(
        owner.project_id, expires_at=end, key_id=ended.id
    )


def test_keys_of_the_console_are_forgotten_some_time_after_their_end(bench: Bench) -> None:
    owner = KeyOwner(bench.project().id)
    others = add(bench, owner, b"o", lifetime_s=10.0)
    ended = add(bench, owner, b"e", lifetime_s=10.0, kind="console")
    revoked = add(bench, owner, b"r", lifetime_s=900.0, kind="console")
    living = add(bench, owner, b"l", lifetime_s=900.0, kind="console")
    with bench.store.for_all("test") as work:
        assert work.keys.page(owner, after=0, limit=9, kind="console") == [ended, revoked, living]
        assert work.keys.page(owner, after=0, limit=9, kind="standard") == [others]
        work.keys.revoke(revoked.id)
    bench.pass_time(60)
    with bench.store.for_all("test") as work:
        assert work.keys.forget_console(older_than_s=70, limit=9) == 0
        assert work.keys.forget_console(older_than_s=40, limit=1) == 1
        assert work.keys.forget_console(older_than_s=40, limit=9) == 1
    assert [key.id for key in listed(bench, owner)] == [others.id, living.id]
