"""docs/glossary.md has every public class of rules and ports, each name once."""

from __future__ import annotations

from collections import Counter

from scripts.glossary import PAGE, public_classes, with_classes


def test_the_table_has_the_classes_that_there_are() -> None:
    page = PAGE.read_text("utf-8")
    assert page == with_classes(page), "python -m scripts.glossary"


def test_a_class_says_what_it_is() -> None:
    assert [name for name, _, said in public_classes() if not said] == []


def test_one_name_is_one_thing() -> None:
    names = Counter(name for name, _, _ in public_classes())
    assert {name for name, count in names.items() if count > 1} == set()
