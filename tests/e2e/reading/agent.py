"""An agent without a model: it searches, and where it may, it reads on and looks words up.

It does what a careful reader does with what came back, the same for every question, and stops when
it has read the answer or has made six calls. Texts of one string that touch are read as one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mcp import Client
from mcp_types import TextContent

from tests.e2e.reading.questions import Question

MOST_CALLS = 6
AROUND = 2_000
"""Characters that are read on each side of a passage."""
BORDER = 300
"""Characters of a passage's end that are searched for, to find what follows it."""
Hit = dict[str, Any]


@dataclass
class Notes:
    """The texts that an agent has read, by the string that they come from."""

    pieces: dict[str, dict[int, str]] = field(default_factory=dict)
    calls: int = 0
    result_bytes: int = 0

    def add(self, pointer: str, start: int, text: str) -> None:
        """Keeps a piece of a string; of two that begin at one place the longer."""
        known = self.pieces.setdefault(pointer, {})
        known[start] = max(known.get(start, ""), text, key=len)

    def add_match(self, match: Hit) -> None:
        """Keeps what stands around exact words."""
        text = match["before"] + match["match"] + match["after"]
        self.add(match["pointer"], match["start"] - len(match["before"]), text)

    def texts(self) -> Iterator[str]:
        """Everything that was read, pieces that touch or overlap as one."""
        for pieces in self.pieces.values():
            joined, end = "", -1
            for start, text in sorted(pieces.items()):
                if start > end:
                    yield joined
                    joined, end = text, start + len(text)
                elif start + len(text) > end:
                    joined, end = joined + text[end - start :], start + len(text)
            yield joined

    def hold(self, parts: tuple[str, ...]) -> bool:
        """Whether each of the parts was read whole."""
        texts = list(self.texts())
        return all(any(part in text for text in texts) for part in parts)


class _DoneError(Exception):
    """The answer was read, or no call is left."""


@dataclass
class Agent:
    """Answers one question with the tools of a connection."""

    client: Client
    question: Question
    tools: frozenset[str]
    """Names of those that it uses; without ``read`` and ``find_text`` it only searches again."""
    notes: Notes = field(default_factory=Notes)
    best_passage: str = ""

    async def answer(self) -> None:
        """Reads until the answer was among it, or until no call was left."""
        try:
            hits = await self._search(self.question.text)
            await (self._read_on(hits) if "read" in self.tools else self._search_on())
        except _DoneError:
            pass

    @property
    def found(self) -> bool:
        """Whether the answer was read whole."""
        return self.notes.hold(self.question.answer)

    async def _read_on(self, hits: Sequence[Hit]) -> None:
        """Looks up exact words, then reads around the best passages and on from there."""
        if words := self._look_up():
            asked = {"text": words, "collection": self.question.collection}
            matches = (await self._call("find_text", asked))["matches"]
            for match in matches:
                self.notes.add_match(match)
            self._stop_if_done()
            for match in reversed(matches):
                await self._read(match["cite"], around=AROUND)
        for hit in hits:
            read = await self._read(hit["cite"], around=AROUND)
            for way in ("next", "previous"):
                if read.get(way):
                    await self._read(read[way], around=0)

    async def _search_on(self) -> None:
        """Asks for more passages, for exact words, and for what borders on the best passage."""
        await self._search(self.question.text, top_k=20)
        if words := self._look_up():
            await self._search(words, top_k=20)
        await self._search(self.best_passage[-BORDER:])
        await self._search(self.best_passage[:BORDER])
        await self._search(f"{self.question.text} {self.best_passage[-BORDER:]}", top_k=20)

    def _look_up(self) -> str | None:
        """Exact words to look up, if the reader has seen them."""
        words = self.question.look_up
        known = words is not None and (words in self.question.text or self.notes.hold((words,)))
        return words if known else None

    async def _search(self, query: str, top_k: int = 5) -> Sequence[Hit]:
        """Returns passages, by the one ``search`` if there is one, else by the collection's own."""
        arguments = {"query": query, "top_k": top_k}
        if "search" in self.tools:
            more = {"collection": self.question.collection}
            hits: list[Hit] = (await self._call("search", arguments | more))["passages"]
        else:
            found = await self._call(self.question.collection, arguments)
            hits = [_passage(hit) for hit in found["results"]]
        for hit in hits:
            self.notes.add(hit["place"]["pointer"], hit["place"]["start"], hit["text"])
        self.best_passage = self.best_passage or hits[0]["text"]
        self._stop_if_done()
        return hits

    async def _read(self, cite: str, around: int) -> Hit:
        arguments = {"cite": cite, "before": around, "after": around}
        read = await self._call("read", arguments)
        self.notes.add(read["place"]["pointer"], read["place"]["start"], read["text"])
        self._stop_if_done()
        return read

    async def _call(self, name: str, arguments: Mapping[str, object]) -> Hit:
        """Returns a result; counts the text that a model would read of it."""
        result = await self.client.call_tool(name, dict(arguments))
        [content] = result.content
        assert isinstance(content, TextContent)
        assert result.is_error is False, content.text
        self.notes.calls += 1
        self.notes.result_bytes += len(content.text.encode())
        answer: Hit = json.loads(content.text)
        return answer

    def _stop_if_done(self) -> None:
        if self.found or self.notes.calls == MOST_CALLS:
            raise _DoneError


def _passage(hit: Hit) -> Hit:
    """Returns a hit of a Search Tool as ``search`` shows it."""
    chunk = hit["chunk"]
    place = {"pointer": chunk["json_pointer"], "start": chunk["char_start"]}
    return {"cite": hit["cite"], "text": chunk["chunk_text"], "place": place}
