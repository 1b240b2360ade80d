"""Edits as they are shown to callers who may not see keys and personal data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from context_search.text.redaction import excerpt_of
from context_search.text.sensitive.kinds import SensitiveKind
from context_search.text.sensitive.spans import ReadText
from context_search_editing.rules.edits import SURROUNDING_CHARS, ShownEdit


def redacted(edit: ShownEdit, kinds: Sequence[SensitiveKind]) -> ShownEdit:
    """Returns an edit with placeholders for what is of these kinds; its places stay.

    Where its texts are cut off, a secret may go on: all up to the next gap is hidden, too.
    """
    before, found, after = _around(edit, edit.found, edit.found_chars, kinds)
    _, becomes, _ = _around(edit, edit.becomes, edit.becomes_chars, kinds)
    return replace(edit, before=before, found=found, becomes=becomes, after=after)


def _around(
    edit: ShownEdit, middle: str, middle_chars: int, kinds: Sequence[SensitiveKind]
) -> tuple[str, str, str]:
    is_first, is_last = edit.start == len(edit.before), len(edit.after) < SURROUNDING_CHARS
    if len(middle) == middle_chars:
        before, shown, after = _hidden(
            (edit.before, middle, edit.after), kinds, is_first=is_first, is_last=is_last
        )
    else:
        before, shown = _hidden((edit.before, middle), kinds, is_first=is_first, is_last=False)
        [after] = _hidden((edit.after,), kinds, is_first=False, is_last=is_last)
    return before, shown, after


def _hidden(
    texts: Sequence[str], kinds: Sequence[SensitiveKind], *, is_first: bool, is_last: bool
) -> list[str]:
    whole = "".join(texts)
    read = ReadText(
        whole, 0, len(whole), is_first=is_first, is_last=is_last, has_keys="key" in kinds
    )
    excerpt, shown, at = excerpt_of(read, 0, kinds), list[str](), 0
    for text in texts:
        shown.append(excerpt.show(at, at + len(text)).text)
        at += len(text)
    return shown
