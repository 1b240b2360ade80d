"""Search and fetch as connectors of chat applications call them: one argument each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from context_search.agents.list_tools import ListTools
from context_search.core.callers import Principal
from context_search.core.cites import Cite
from context_search.core.errors import NotFoundError
from context_search.core.model import Scope
from context_search.integrations.ports import Clock
from context_search.reading.hidden import hidden_kinds
from context_search.reading.passages import redacted_title
from context_search.reading.read import ReadTexts
from context_search.reading.rules.texts import SeenText, WantedText
from context_search.reading.rules.tiles import window_around, windows_beside
from context_search.reading.search_all import SearchAll
from context_search.searching.titles import titles_at
from context_search.store import Store

RESULTS = 10
"""Maximum number of results of a search, which has no argument for it."""
_MAX_TOKENS = 10_000


@dataclass(frozen=True, slots=True)
class ConnectorResult:
    """A passage by its cite. ``url`` is empty where there is none."""

    id: str
    title: str
    url: str


@dataclass(frozen=True, slots=True)
class FetchedText(ConnectorResult):
    """A whole string, or of a longer one the window around what the cite is of."""

    text: str
    metadata: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Connector:
    """The use cases of a connector."""

    store: Store
    tools: ListTools
    search_all: SearchAll
    texts: ReadTexts
    clock: Clock

    def search(self, principal: Principal, query: str) -> Sequence[ConnectorResult]:
        """Returns the best passages of all collections. Raises as ``SearchAll.passages`` does."""
        found = self.search_all.passages(principal, [query], None, RESULTS, _MAX_TOKENS)
        return [
            ConnectorResult(str(each.cite), each.title or each.json_pointer, each.url or "")
            for each in found.passages
        ]

    def fetch(self, principal: Principal, cite: Cite) -> FetchedText:
        """Returns the string that a cite is of, or the window around it.

        Raises NotFoundError for what is gone, or was never there for the caller.
        """
        cited = self._read(principal, WantedText(cite, before=0, after=0))
        start, end = window_around(*cited.cited, cited.length)
        before, after = max(0, cited.cited[0] - start), max(0, end - cited.cited[1])
        seen = self._read(principal, WantedText(cite, before=before, after=after, max_bytes=None))
        title = self._title(principal, seen) or seen.json_pointer
        return FetchedText(str(cite), title, cited.url or "", seen.text or "", _metadata(seen))

    def _read(self, principal: Principal, wanted: WantedText) -> SeenText:
        seen = self.texts.read(principal, wanted)
        if seen.text is None:
            raise NotFoundError("the text of this id is gone; search finds what there is now")
        return seen

    def _title(self, principal: Principal, seen: SeenText) -> str:
        """Returns what a string is called, as results of a search call it."""
        tool = self.tools.find(principal, seen.collection) if seen.collection else None
        scope = tool.scope if tool else Scope(seen.table_id)
        is_filtered = tool is not None and tool.search.where is not None
        pointer, project_id = seen.json_pointer, principal.project_id
        titles = titles_at(
            self.store, self.clock, project_id, scope, [pointer], is_filtered=is_filtered
        )
        with self.store.for_project(project_id) as work:
            kinds = hidden_kinds(work, principal)
        return redacted_title(titles[pointer], kinds)


def _metadata(seen: SeenText) -> dict[str, str]:
    """Returns where a text stands, and cites of what stands before and behind it."""
    metadata = {
        "table_id": str(seen.table_id),
        "pointer": seen.json_pointer,
        "status": seen.status,
        "revision": str(seen.revision),
    }
    beside = windows_beside(seen.start, seen.end, seen.length)
    for name, window in zip(("previous", "next"), beside, strict=True):
        if window is not None:
            start, end = window
            place = seen.table_id, seen.json_pointer, seen.revision
            metadata[name] = str(Cite.of(*place, start, None, end))
    return metadata
