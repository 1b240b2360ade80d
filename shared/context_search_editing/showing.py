"""Pages of the matches of plans.

They are computed again, because plans hold no text of documents.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby

from context_search.budgets.shares import managing
from context_search.core.callers import McpKey, Principal
from context_search.core.documents import parse_fielded
from context_search.core.errors import (
    DocumentTooLargeError,
    PlanExpiredError,
    PlanNotReadyError,
    ReplaceStaleError,
)
from context_search.core.json_pointer import split
from context_search.core.pages import Page
from context_search.integrations.patterns.ports import Patterns
from context_search.integrations.ports import Clock, Deadline
from context_search.reading.rules.visible_strings import VisibleInDocument
from context_search.reading.visible import visible_strings
from context_search.store import Store
from context_search_editing.finding import find_plan
from context_search_editing.matching import REQUEST_TEXT_S, Replacer, replacer_of
from context_search_editing.rules.edits import (
    ShownEdit,
    apply_edits,
    shown_edits,
    string_at,
    string_hash,
)
from context_search_editing.rules.plans import MAX_PREVIEWED_BYTES, Plan, PlannedString
from context_search_editing.rules.replacing import Allowance
from context_search_editing.write_documents import ChangedString, stale_message

MAX_MATCHES_SHOWN = 200
PAGE_CHARS = 500_000
"""Of pointers and texts: an answer has 6 MB, and a character takes up to six bytes as JSON."""
_PAGE_S = 12.0


@dataclass(frozen=True, slots=True)
class ShownMatch:
    """A match as it is shown: its number in the plan, where it stands, what stands around it."""

    number: int
    table_id: int
    json_pointer: str
    edit: ShownEdit


@dataclass(frozen=True, slots=True)
class ShowMatches:
    """The matches of the caller's plans, with what stands around them.

    Of documents over ``document_bytes`` each string is read by itself, up to as many bytes and
    while the time lasts.
    """

    store: Store
    patterns: Patterns
    clock: Clock
    document_bytes: int = MAX_PREVIEWED_BYTES

    def page(
        self,
        principal: Principal,
        plan_id: int,
        *,
        after: int = 0,
        table_id: int | None = None,
        limit: int = MAX_MATCHES_SHOWN,
    ) -> Page[ShownMatch]:
        """Returns matches with higher numbers, at most ``limit``; ``table_id``: of one document.

        A page is shorter where texts are long, or documents take their time. Raises NotFoundError,
        PlanNotReadyError, PlanExpiredError when the texts of the plan are forgotten,
        ReplaceStaleError with the strings that are not as they were shown, and
        ManagementBackpressureError. To an agent strings are shown that its tools can return now;
        otherwise they are ``OUT_OF_REACH``. It is shown none of documents over ``document_bytes``.
        """
        with managing(self.store, principal.project_id):
            return self._page(principal, plan_id, after, table_id, limit)

    def _page(
        self, principal: Principal, plan_id: int, after: int, table_id: int | None, limit: int
    ) -> Page[ShownMatch]:
        agent = principal.mcp_id if isinstance(principal, McpKey) else None
        with self.store.for_project(principal.project_id) as work:
            plan = find_plan(work, principal, plan_id)
            if plan.state == "previewing":
                raise PlanNotReadyError("the preview is still going on", retry_after_s=1)
            if plan.request is None:
                raise PlanExpiredError("the texts of the plan are forgotten")
            strings = work.plans.strings_of_matches(
                plan.id, after=after, limit=limit + 1, table_id=table_id
            )
        last = strings[-1].last_match if strings else 0
        with replacer_of(plan.request, self.patterns, text_timeout_s=REQUEST_TEXT_S) as replacer:
            shown_strings = _with_first(strings, after, limit)
            matches = self._matches(plan, agent, shown_strings, replacer)
            shown = fitting((match for match in matches if match.number > after), limit)
        has_more = bool(shown) and shown[-1].number < last
        return Page(shown, shown[-1].number if has_more else None)

    def _matches(
        self,
        plan: Plan,
        agent: int | None,
        strings: Sequence[PlannedString],
        replacer: Replacer,
    ) -> Iterator[ShownMatch]:
        """Yields the matches of strings, as far as the time goes, of one string at least."""
        deadline = Deadline(self.clock, self.clock.monotonic() + _PAGE_S)
        for _, group in groupby(strings, key=lambda string: string.table_id):
            for of_string in self._of_table(plan, agent, list(group), replacer):
                yield from of_string
                if not deadline.left_s():
                    return

    def _of_table(
        self,
        plan: Plan,
        agent: int | None,
        strings: Sequence[PlannedString],
        replacer: Replacer,
    ) -> Iterator[Iterator[ShownMatch]]:
        table_id = strings[0].table_id
        with self.store.for_project(plan.project_id) as work:
            table = work.tables.find(table_id, project_id=plan.project_id)
            whole = work.tables.part(table_id, [], max_bytes=self.document_bytes) if table else None
            visible = None if agent is None else visible_strings(work, plan.project_id, agent)
        revision = whole.revision if whole else None
        if whole is not None and whole.text is None:
            if agent is not None:  # without the document its fields are unknown
                return
            for string in strings:  # together they may be as long as the document
                yield from _shown([string], [self._text_of(plan, string)], replacer, revision)
            return
        document = parse_fielded(whole.text) if whole and whole.text is not None else None
        texts = [string_at(document, string.json_pointer) for string in strings]
        if visible is not None:
            _check_reach(visible.in_document(table_id, document), strings, texts)
        yield from _shown(strings, texts, replacer, revision)

    def _text_of(self, plan: Plan, string: PlannedString) -> str | None:
        """Reads one string of a document; None: there is none."""
        path, most = split(string.json_pointer), self.document_bytes
        with self.store.for_project(plan.project_id) as work:
            part = work.tables.part(string.table_id, path, max_bytes=most)
        if part is None or not part.is_string:
            return None
        if part.text is None:
            raise DocumentTooLargeError(f"the string has over {most} bytes")
        return str(json.loads(part.text))


def _check_reach(
    visible: VisibleInDocument, strings: Sequence[PlannedString], texts: Sequence[str | None]
) -> None:
    for string, text in zip(strings, texts, strict=True):
        if text is not None and not visible.may_change(string.json_pointer, text):
            raise _stale([ChangedString(string.table_id, "", "OUT_OF_REACH")])


def _shown(
    strings: Sequence[PlannedString],
    texts: Sequence[str | None],
    replacer: Replacer,
    revision: int | None,
) -> Iterator[Iterator[ShownMatch]]:
    """Yields the matches of each string. Raises ReplaceStaleError with those that changed."""
    changed = [
        ChangedString(
            string.table_id, string.json_pointer, "GONE" if text is None else "CHANGED", revision
        )
        for string, text in zip(strings, texts, strict=True)
        if text is None or string_hash(text) != string.before_hash
    ]
    if changed:
        raise _stale(changed)
    for string, text in zip(strings, texts, strict=True):
        if text is not None:
            yield _of_string(string, text, replacer, revision)


def _with_first(
    strings: Sequence[PlannedString], after: int, limit: int
) -> Sequence[PlannedString]:
    """Returns as many strings as it takes for the next ``limit`` matches."""
    count = 0
    for number, string in enumerate(strings):
        if count >= limit:
            return strings[:number]
        count += string.last_match - max(after, string.first_match - 1)
    return strings


def fitting(matches: Iterable[ShownMatch], limit: int) -> list[ShownMatch]:
    """Returns what fits into an answer, one at least."""
    shown: list[ShownMatch] = []
    chars = 0
    for match in matches:
        edit = match.edit
        chars += sum(map(len, (match.json_pointer, edit.before, edit.found, edit.becomes)))
        if shown and chars > PAGE_CHARS:
            break
        shown.append(match)
        if len(shown) == limit:
            break
    return shown


def _of_string(
    string: PlannedString, text: str, replacer: Replacer, revision: int | None
) -> Iterator[ShownMatch]:
    [found] = replacer.edits_in([text], Allowance())
    if string_hash(apply_edits(text, found.edits)) != string.after_hash:
        differs = ChangedString(string.table_id, string.json_pointer, "MATCHES_DIFFER", revision)
        raise _stale([differs])
    for number, edit in enumerate(shown_edits(text, found.edits), start=string.first_match):
        yield ShownMatch(number, string.table_id, string.json_pointer, edit)


def _stale(changed: Sequence[ChangedString]) -> ReplaceStaleError:
    chars = accumulate(len(each.json_pointer) for each in changed)
    named = [
        {
            "table_id": each.table_id,
            "json_pointer": each.json_pointer,
            "reason": each.reason,
            "revision": each.revision,
        }
        for each, upto in zip(changed, chars, strict=True)
        if upto <= PAGE_CHARS
    ]
    return ReplaceStaleError(
        stale_message("replace", changed),
        members={"changed_count": len(changed), "changed": named},
    )
