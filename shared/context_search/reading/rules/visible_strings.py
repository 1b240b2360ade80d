"""What an agent sees and changes: exactly the strings that a search with its tools can return."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from context_search.core.filters import lets_through, names_of
from context_search.core.json_pointer import contains, resolve, split
from context_search.core.model import Scope, SearchTool


@dataclass(frozen=True, slots=True)
class VisibleStrings:
    """The strings that searches with some Search Tools can return, as the tools are now.

    A string is visible when it passes one tool: it lies in the tool's scope, is as long as its
    threshold, and its fields pass the tool's ``where``. ``tools`` are all tools of an agent;
    ``only`` narrows what is visible to the tool with that id.
    """

    tools: Sequence[SearchTool]
    only: int | None = None

    @property
    def scopes(self) -> tuple[Scope, ...]:
        """The scopes of the tools, each once, in order."""
        scopes = {(tool.scope.table_id, tool.scope.json_pointer) for tool in self._seeing}
        return tuple(Scope(*each) for each in sorted(scopes))

    def covers(self, table_id: int, json_pointer: str) -> bool:
        """Says whether a place is in the scope of a tool, whatever that hides there."""
        return any(
            scope.table_id == table_id and contains(scope.json_pointer, json_pointer)
            for scope in self.scopes
        )

    def near(self, table_id: int, json_pointer: str, length: int) -> list[SearchTool]:
        """Returns the tools in whose scope a string of so many characters is long enough.

        First those without a ``where``, which can return it.
        """
        found = [
            tool
            for tool in self._seeing
            if tool.scope.table_id == table_id
            and contains(tool.scope.json_pointer, json_pointer)
            and length >= tool.threshold
        ]
        return sorted(found, key=lambda tool: tool.search.where is not None)

    def in_document(self, table_id: int, document: object) -> VisibleInDocument:
        """Returns which strings of a table's document are visible; numbers are parsed exactly."""
        gates = frozenset(
            (tool.scope.json_pointer, name)
            for tool in self.tools
            if tool.scope.table_id == table_id
            for name in names_of(tool.search.where)
        )
        seeing = [tool for tool in self._seeing if tool.scope.table_id == table_id]
        return VisibleInDocument(document, seeing, gates)

    @property
    def _seeing(self) -> Sequence[SearchTool]:
        return [tool for tool in self.tools if self.only in (None, tool.id)]


@dataclass(frozen=True, slots=True)
class VisibleInDocument:
    """The visible strings of one document. ``gates`` are scopes, with a field of a ``where``."""

    document: object = field(repr=False)
    tools: Sequence[SearchTool]
    gates: frozenset[tuple[str, str]]
    _lately: dict[int, tuple[str, bool]] = field(default_factory=dict)

    def shows(self, json_pointer: str, text: str) -> bool:
        """Says whether a search can return a string of the document."""
        return self.shows_at(json_pointer, len(text))

    def shows_at(self, json_pointer: str, length: int) -> bool:
        """Says whether a search can return a string of so many characters at a place."""
        return any(
            length >= tool.threshold
            and contains(tool.scope.json_pointer, json_pointer)
            and self._passes(tool, json_pointer)
            for tool in self.tools
        )

    def may_change(self, json_pointer: str, text: str) -> bool:
        """Says whether the agent may change a string: it is visible, and no ``where`` reads it.

        Otherwise an agent could let strings through a ``where`` by changing their fields.
        """
        return self.shows(json_pointer, text) and not self._is_gate(json_pointer)

    def _passes(self, tool: SearchTool, json_pointer: str) -> bool:
        """Strings of one object have the same fields; they come one after the other."""
        if tool.search.where is None:
            return True
        around = json_pointer.rpartition("/")[0]
        last = self._lately.get(tool.id)
        if last is None or last[0] != around:
            last = around, lets_through(tool.search.where, self.document, json_pointer)
            self._lately[tool.id] = last
        return last[1]

    def _is_gate(self, json_pointer: str) -> bool:
        """Says whether a string is such a field, or an element of a list that is one."""
        around = json_pointer.rpartition("/")[0]
        if self._is_field(json_pointer):
            return True
        return self._is_field(around) and isinstance(resolve(self.document, split(around)), list)

    def _is_field(self, json_pointer: str) -> bool:
        """The object that has the field may stand around the scope, or in it."""
        for scope, name in self.gates:
            outer = json_pointer.removesuffix(f"/{name}")
            if outer != json_pointer and (contains(outer, scope) or contains(scope, outer)):
                return True
        return False
