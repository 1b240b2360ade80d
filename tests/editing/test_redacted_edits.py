"""Matches of a replacement with placeholders in them."""

from __future__ import annotations

from context_search.text.sensitive.kinds import SENSITIVE_KINDS
from context_search_editing.rules.edits import Edit, ShownEdit, shown_edits
from context_search_editing.rules.redacted_edits import redacted

MAIL = "mary.keeper@lighthouse.example"
TOKEN = "ghp_" + "aB3dE5gH7jK9" * 3


def shown(text: str, found: str, becomes: str = "x") -> ShownEdit:
    """An edit as it would be shown to others."""
    start = text.index(found)
    [edit] = shown_edits(text, [Edit(start, found, becomes)])
    return edit


def parts(edit: ShownEdit) -> tuple[str, str, str, str]:
    return edit.before, edit.found, edit.becomes, edit.after


def test_what_is_not_sensitive_stays_and_so_does_every_place() -> None:
    edit = shown("The harbour froze in the winter.", "harbour", "port")
    assert redacted(edit, SENSITIVE_KINDS) == edit


def test_an_address_around_a_match_is_hidden() -> None:
    edit = redacted(shown(f"{MAIL}, the harbour.", "harbour"), SENSITIVE_KINDS)
    assert parts(edit) == ("[redacted:email], the ", "harbour", "x", ".")


def test_a_match_within_an_address_is_hidden_with_both_of_its_ends() -> None:
    mark = "[redacted:email]"
    edit = redacted(shown(f"Ask {MAIL} now.", "keeper@light", "fisher@light"), SENSITIVE_KINDS)
    assert parts(edit) == (f"Ask {mark}", mark, mark, f"{mark} now.")


def test_the_end_of_a_key_that_is_cut_off_is_hidden() -> None:
    text = f"The token is {TOKEN * 2} and the harbour froze over in the cold winter."
    plain = shown(text, "harbour")
    assert "aB3dE5gH7jK9" in plain.before
    assert "ghp_" not in plain.before
    assert "aB3dE5gH7jK9" not in redacted(plain, SENSITIVE_KINDS).before


def test_a_long_match_that_is_cut_off_shows_no_part_of_a_key() -> None:
    text = f"{'word ' * 37}{TOKEN * 2}{' word' * 30}"
    found = text[5:-10]
    plain = shown(text, found)
    assert plain.found_chars > len(plain.found)
    assert "ghp_" in plain.found
    assert "ghp_" not in redacted(plain, SENSITIVE_KINDS).found


def test_only_the_kinds_that_are_named_are_hidden() -> None:
    edit = shown(f"Ask {MAIL} with {TOKEN} for it.", "with")
    assert "keeper" in redacted(edit, ("key",)).before
    assert redacted(edit, ()) == edit
