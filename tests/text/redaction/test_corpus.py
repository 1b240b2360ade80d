"""Texts of which parts must be hidden, and texts of which nothing may be: data beside this file.

A line is a case in JSON. ``⟦kind|…⟧`` is what must be hidden, with its kind; ``‖`` stands for
nothing, so that no file holds what looks like a real key. ``named`` cases must never fail.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from context_search.text.sensitive import Sensitive, find_sensitive
from context_search.text.sensitive.kinds import SENSITIVE_KINDS

_SECRET = re.compile(r"⟦(\w+)\|(.*?)⟧", re.DOTALL)


@dataclass(frozen=True)
class Case:
    """A text, and what of it must be hidden."""

    text: str
    secrets: tuple[Sensitive, ...]
    language: str
    is_named: bool

    @classmethod
    def of(cls, line: str) -> Case:
        row = json.loads(line)
        marked = row["text"].replace("‖", "")
        text, secrets, at = "", [], 0
        for match in _SECRET.finditer(marked):
            text += marked[at : match.start()]
            kind = next(kind for kind in SENSITIVE_KINDS if kind == match[1])
            secrets.append(Sensitive(kind, len(text), len(text) + len(match[2])))
            text += match[2]
            at = match.end()
        return cls(text + marked[at:], tuple(secrets), row["language"], row.get("named", False))

    @property
    def missed(self) -> list[str]:
        """The secrets that are not hidden whole, or as something else."""
        found = find_sensitive(self.text, SENSITIVE_KINDS)
        return [
            f"{secret.kind} in {self.text!r}"
            for secret in self.secrets
            if not any(
                part.kind == secret.kind and part.start <= secret.start and secret.end <= part.end
                for part in found
            )
        ]

    @property
    def hidden_too_much(self) -> int:
        """How many characters are hidden that belong to no secret."""
        hidden = sum(part.end - part.start for part in find_sensitive(self.text, SENSITIVE_KINDS))
        return hidden - sum(secret.end - secret.start for secret in self.secrets)


def cases(name: str) -> list[Case]:
    lines = (Path(__file__).parent / f"{name}.jsonl").read_text().splitlines()
    return [Case.of(line) for line in lines]


HIDE, STAY = cases("hide"), cases("stay")


def test_the_corpus_is_large_and_speaks_both_languages() -> None:
    assert (len(HIDE) >= 200, len(STAY) >= 150) == (True, True)
    assert len({case.text for case in HIDE + STAY}) == len(HIDE) + len(STAY)
    for corpus in (HIDE, STAY):
        assert sum(case.language == "zh" for case in corpus) >= 40
    assert {secret.kind for case in HIDE for secret in case.secrets} == set(SENSITIVE_KINDS)
    assert all(case.secrets for case in HIDE)
    assert not any(case.secrets for case in STAY)


def test_at_least_98_of_100_secrets_are_hidden_whole() -> None:
    missed = ["; ".join(case.missed) for case in HIDE if case.missed]
    assert len(missed) <= 0.02 * len(HIDE), "\n".join(missed)


def test_at_most_1_of_100_harmless_texts_is_touched() -> None:
    touched = [case.text for case in STAY if case.hidden_too_much]
    assert len(touched) <= 0.01 * len(STAY), "\n".join(touched)


def test_what_is_hidden_beside_the_secrets_is_little() -> None:
    around = sum(len(case.text) for case in HIDE) - sum(
        secret.end - secret.start for case in HIDE for secret in case.secrets
    )
    assert sum(max(0, case.hidden_too_much) for case in HIDE) <= 0.05 * around


@pytest.mark.parametrize(
    "case", [case for case in HIDE if case.is_named], ids=lambda c: c.text[:40]
)
def test_a_form_that_was_once_missed_is_hidden(case: Case) -> None:
    assert case.missed == []


@pytest.mark.parametrize(
    "case", [case for case in STAY if case.is_named], ids=lambda c: c.text[:40]
)
def test_a_form_that_was_once_hidden_by_mistake_stays(case: Case) -> None:
    assert find_sensitive(case.text, SENSITIVE_KINDS) == ()


@pytest.mark.parametrize("case", HIDE, ids=lambda c: c.text[:40])
def test_only_what_is_found_is_hidden_when_one_kind_is_wished_for(case: Case) -> None:
    for kind in {secret.kind for secret in case.secrets}:
        alone = find_sensitive(case.text, (kind,))
        assert {part.kind for part in alone} == {kind}
