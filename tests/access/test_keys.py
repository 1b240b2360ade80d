"""Contract of ``Keys``."""

from __future__ import annotations

from datetime import datetime

import pytest

from context_search.core.callers import (
    ALL_PERMISSIONS,
    MAX_OPEN_CODES,
    ApiKey,
    KeyOwner,
    NewApiKey,
    Principal,
    ProjectKey,
    Token,
)
from context_search.core.errors import UnauthenticatedError
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


def test_what_the_keys_of_an_actor_made_is_revoked_with_him(bench: Bench) -> None:
    owner, stranger = KeyOwner(bench.project().id), KeyOwner(bench.project().id)
    first = add(bench, owner, b"1" * 32, actor="token:a")
    child = add(bench, owner, b"2" * 32, made_by=first.id)
    add(bench, owner, b"3" * 32, made_by=child.id)
    add(bench, owner, b"4" * 32)
    add(bench, stranger, b"5" * 32, actor="token:a")
    with bench.store.for_all("test") as work:
        assert work.keys.revoke_actor(owner.project_id, "token:a") == 3
    assert [key.revoked_at is None for key in listed(bench, owner)] == [False] * 3 + [True]
    assert [key.revoked_at is None for key in listed(bench, stranger)] == [True]


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


def code(bench: Bench, maker: Principal, code_hash: bytes) -> datetime:
    with bench.store.for_project(maker.project_id) as work:
        return work.keys.add_code(maker, code_hash, lifetime_s=90.0)


def used(bench: Bench, code_hash: bytes) -> ProjectKey | Token | None:
    with bench.store.for_all("test") as work:
        return work.keys.use_code(code_hash)


def test_a_code_that_has_ended_opens_nothing_and_goes_with_the_next(bench: Bench) -> None:
    maker = Token(bench.project().id, ALL_PERMISSIONS)
    code(bench, maker, b"old")
    bench.pass_time(60)
    code(bench, maker, b"new")
    bench.pass_time(60)
    assert used(bench, b"old") is None
    code(bench, maker, b"third")
    code(bench, maker, b"old")  # there is room for it again: the row is gone
    assert [used(bench, b"old"), used(bench, b"new")] == [maker] * 2


def test_a_code_opens_nothing_without_its_makers_key(bench: Bench) -> None:
    owner = KeyOwner(bench.project().id)
    revoked = add(bench, owner, b"r")
    ended = add(bench, owner, b"e", lifetime_s=10.0)
    code(bench, ProjectKey(owner.project_id, key_id=revoked.id), b"of revoked")
    code(bench, ProjectKey(owner.project_id, key_id=ended.id), b"of ended")
    with bench.store.for_all("test") as work:
        work.keys.revoke(revoked.id)
    bench.pass_time(20)
    assert [used(bench, b"of revoked"), used(bench, b"of ended")] == [None, None]


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
        assert work.keys.delete_expired_console(older_than_s=70, limit=9) == 0
        assert work.keys.delete_expired_console(older_than_s=40, limit=1) == 1
        assert work.keys.delete_expired_console(older_than_s=40, limit=9) == 1
    assert [key.id for key in listed(bench, owner)] == [others.id, living.id]


class Family:
    """Keys of a project and of its instance by name, each made with another."""

    def __init__(self, bench: Bench) -> None:
        self.bench, self.of_mcp = bench, mcp_owner(bench)
        self.of_project = KeyOwner(self.of_mcp.project_id)
        self.keys: dict[str, ApiKey] = {}

    def add(self, name: str, made_by: str | None = None, *, mcp: bool = False) -> None:
        maker = self.keys[made_by].id if made_by else None
        owner = self.of_mcp if mcp else self.of_project
        self.keys[name] = add(self.bench, owner, name.encode(), made_by=maker)

    def revoke(self, name: str, asked_by: str | None = None) -> None:
        with self.bench.store.for_all("test") as work:
            asking = self.keys[asked_by].id if asked_by else None
            work.keys.revoke(self.keys[name].id, asked_by=asking)

    def good(self) -> set[str]:
        """The names of those that open something."""
        return {name for name in self.keys if principal_of(self.bench, name.encode())}


def test_a_revoked_key_takes_along_what_was_made_with_it_and_with_that(bench: Bench) -> None:
    family = Family(bench)
    family.add("first")
    for name, maker in (("leaked", "first"), ("child", "leaked"), ("grandchild", "child")):
        family.add(name, maker)
    family.add("agents", "child", mcp=True)
    family.add("sibling", "first")
    assert family.keys["agents"].made_by == family.keys["child"].id
    family.revoke("leaked")
    assert family.good() == {"first", "sibling"}


def test_what_an_ended_key_made_is_revoked_with_it(bench: Bench) -> None:
    family = Family(bench)
    family.add("leaked")
    family.add("middle", "leaked")
    family.add("left", "middle")
    with bench.store.for_all("test") as work:
        work.keys.expire_within(family.keys["leaked"].id, 0.0)
        work.keys.expire_within(family.keys["middle"].id, 0.0)
    assert family.good() == {"left"}
    family.revoke("leaked")
    assert family.good() == set()


def test_the_branch_of_the_key_that_asks_stays(bench: Bench) -> None:
    family = Family(bench)
    family.add("old")
    family.add("successor", "old")
    for name in ("session", "theirs"):
        family.add(name, "successor")
    family.add("others", "old")
    family.revoke("old", asked_by="session")
    assert family.good() == {"successor", "session", "theirs"}
    family.revoke("successor", asked_by="successor")
    assert family.good() == set()


def test_a_key_that_is_good_no_more_makes_none(bench: Bench) -> None:
    family = Family(bench)
    family.add("first")
    family.revoke("first")
    with pytest.raises(UnauthenticatedError):
        family.add("late", "first")
    family.add("other")
    with bench.store.for_all("test") as work:
        work.keys.expire_within(family.keys["other"].id, 0.0)
    with pytest.raises(UnauthenticatedError):
        family.add("late", "other")


def test_a_key_has_so_many_open_codes_and_the_oldest_goes(bench: Bench) -> None:
    project_id = bench.project().id
    key = add(bench, KeyOwner(project_id), b"k")
    maker, other = ProjectKey(project_id, key_id=key.id), Token(project_id, ALL_PERMISSIONS)
    code(bench, other, b"of another maker")
    for number in range(MAX_OPEN_CODES + 2):
        code(bench, maker, bytes([number]))
    opened = [used(bench, bytes([number])) is not None for number in range(MAX_OPEN_CODES + 2)]
    assert opened == [False] * 2 + [True] * MAX_OPEN_CODES
    assert used(bench, b"of another maker") is not None
