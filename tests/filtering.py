"""Random filters and fields, and a brute-force oracle of what holds, written another way."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from decimal import Decimal

JsonObject = Mapping[str, object]

NAMES = ["a", "b", "c/d"]
VALUES: list[object] = [
    *["", "a", "ab", "b", "1", "ä", "\uffff", "😀", True, False, 0, 1, -1, 2**53, 2**53 + 1],
    *[Decimal("0.1"), Decimal("1.0"), Decimal("-0"), Decimal("1e-30"), Decimal("1e30")],
]


def random_filter(rng: random.Random, depth: int = 3) -> dict[str, object]:
    shape = rng.randrange(8) if depth else 7
    if shape < 2:
        inner = [random_filter(rng, depth - 1) for _ in range(rng.randint(1, 3))]
        return {("and", "or")[shape]: inner}
    if shape == 2:
        return {"not": random_filter(rng, depth - 1)}
    return {name: random_test(rng) for name in rng.sample(NAMES, rng.randint(1, 2))}


def random_test(rng: random.Random) -> dict[str, object]:
    strings = [value for value in VALUES if isinstance(value, str) and value]
    ordered = [value for value in VALUES if not isinstance(value, bool)]
    choices: dict[str, object] = {
        "eq": rng.choice(VALUES),
        "in": rng.sample(VALUES, rng.randint(1, 4)),
        "lt": rng.choice(ordered),
        "lte": rng.choice(ordered),
        "gt": rng.choice(ordered),
        "gte": rng.choice(ordered),
        "prefix": rng.choice(strings),
        "contains": rng.choice(VALUES),
        "exists": rng.choice([True, False]),
    }
    return {name: choices[name] for name in rng.sample(sorted(choices), rng.randint(1, 2))}


def random_fields(rng: random.Random) -> dict[str, object]:
    every: list[object] = [*VALUES, [], rng.sample(VALUES, 2), rng.sample(VALUES, 3)]
    return {name: rng.choice(every) for name in rng.sample(NAMES, rng.randint(0, 3))}


def kind_of(value: object) -> str:
    return "b" if isinstance(value, bool) else "s" if isinstance(value, str) else "n"


def oracle(wanted: JsonObject, fields: JsonObject) -> bool:
    """Every member of a filter, one after the other, by what each operator means."""
    verdicts: list[bool] = []
    for name, said in wanted.items():
        if name == "not":
            verdicts.append(not oracle(as_object(said), fields))
        elif name in ("and", "or"):
            inner = [oracle(as_object(each), fields) for each in as_list(said)]
            verdicts.append(all(inner) if name == "and" else any(inner))
        else:
            verdicts += [
                condition_holds(operator, value, name, fields)
                for operator, value in as_object(said).items()
            ]
    return False not in verdicts


def condition_holds(operator: str, operand: object, name: str, fields: JsonObject) -> bool:
    if operator == "exists":
        return (name in fields) is operand
    if name not in fields:
        return False
    value = fields[name]
    values = as_list(value) if isinstance(value, list) else [value]
    if operator == "contains":
        return isinstance(value, list) and any(order(each, operand) == 0 for each in values)
    if operator == "in":
        return any(order(each, one) == 0 for each in values for one in as_list(operand))
    if operator == "prefix":
        return any(str(each).find(str(operand)) == 0 for each in values if isinstance(each, str))
    wanted = {"eq": (0,), "lt": (-1,), "lte": (-1, 0), "gt": (1,), "gte": (1, 0)}[operator]
    return any(order(each, operand) in wanted for each in values)


def order(left: object, right: object) -> int | None:
    """-1, 0 or 1; None for values of different kinds."""
    if kind_of(left) != kind_of(right):
        return None
    if isinstance(left, str):
        one, other = [ord(c) for c in left], [ord(c) for c in str(right)]
        return (one > other) - (one < other)
    number = Decimal(str(left if not isinstance(left, bool) else int(left)))
    against = Decimal(str(right if not isinstance(right, bool) else int(right)))
    return int((number > against) - (number < against))


def as_object(value: object) -> JsonObject:
    assert isinstance(value, dict)
    return value


def as_list(value: object) -> Sequence[object]:
    assert isinstance(value, list)
    return value
