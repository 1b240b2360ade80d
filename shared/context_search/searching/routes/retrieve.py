"""Retrieval, passages for a language model: bodies, answers, routes."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter
from pydantic import Field

from context_search.core.callers import Internal
from context_search.core.cites import Cite
from context_search.ranking.search import QuestionLimits
from context_search.searching.routes.search import (
    CiteText,
    CollapsedAnswer,
    EmptyResultHint,
    IndexStateAnswer,
    RetrievalAnswer,
)
from context_search.searching.rules.retrieval import DropReason
from context_search.searching.rules.searched import SearchedProject, SearchedTool
from context_search.web.callers import InternalOnly, MaySearch, ProjectId, ToolId, part
from context_search.web.fields import (
    Absent,
    AnswerModel,
    CamelBody,
    Count,
    Filtered,
    KnownId,
    Listed,
    MaxTokens,
    MinScore,
    OnlyTrue,
    Question,
    Relevance,
    Score,
    Share,
    TopK,
    example,
    filter_of,
    source,
)
from context_search.web.problems import refused
from context_search.web.request_body import StrictJsonRoute

if TYPE_CHECKING:  # most searches retrieve nothing
    from context_search.searching.retrieve import Passage, Retrieval, Retrieve

router = APIRouter(route_class=StrictJsonRoute, tags=["retrieval"])


class RetrieveBody(CamelBody):
    """``POST …/retrieve``; what is left out is as the project's settings say."""

    model_config = example(query="Who counted comets?", maxTokens=600)
    query: Question
    top_k: TopK | None = None
    min_score: MinScore | None = None
    max_tokens: MaxTokens | None = None
    filter: Filtered = None

    @property
    def limits(self) -> QuestionLimits:
        """What differs from the settings. Raises FilterInvalidError."""
        return QuestionLimits(
            top_k=self.top_k,
            min_score=self.min_score,
            max_tokens=self.max_tokens,
            filter=filter_of(self.filter),
        )


class PassageChunkAnswer(AnswerModel):
    """A hit that is in a passage."""

    id: KnownId
    chunk_index: Count
    char_start: Count
    char_end: Count
    score: Score
    relevance: Relevance
    duplicates: Absent[CollapsedAnswer] = None


class ReplacementAnswer(AnswerModel):
    """One placeholder: where it stands, and what it hides of the source."""

    kind: str
    text_start: Count
    text_end: Count
    char_start: Count
    char_end: Count


class PassageAnswer(AnswerModel):
    """A passage for a prompt, and the hits that it is made of."""

    score: Score
    relevance: Relevance
    json_path: str
    table_id: KnownId
    json_pointer: str
    content_hash: str
    char_start: Count
    char_end: Count
    cite: CiteText
    text: str
    tokens: Count
    chunks: list[PassageChunkAnswer]
    redactions: Annotated[list[ReplacementAnswer], source("replacements"), Listed]
    stale: OnlyTrue = None

    @classmethod
    def of(cls, passage: Passage, *, is_redacted: bool) -> PassageAnswer:
        """Returns a passage with the scores of its best hit; ``is_redacted``: its texts are."""
        best = passage.hits[0]
        place = (best.chunk.table_id, best.chunk.json_pointer, best.chunk.revision)
        return cls.about(
            passage,
            best,
            best.chunk,
            cite=str(Cite.of(*place, passage.char_start, passage.text, passage.char_end)),
            chunks=[
                PassageChunkAnswer.about(
                    hit.chunk,
                    score=hit.score,
                    relevance=hit.relevance,
                    duplicates=CollapsedAnswer.of(hit, is_redacted=is_redacted),
                )
                for hit in passage.hits
            ],
            stale=any(hit.chunk.stale for hit in passage.hits),
        )


class DroppedAnswer(AnswerModel):
    """A hit without room; ``tokens`` is what it would have added."""

    id: KnownId
    tokens: Count
    reason: DropReason


class AccountingAnswer(AnswerModel):
    """What became of the budget."""

    limit: Annotated[KnownId, source("settings", "max_tokens")]
    used: Annotated[Count, source("used_tokens")]
    tokenizer: str
    dropped: Annotated[list[DroppedAnswer], Listed]
    below_min_score: Count


class HiddenAnswer(AnswerModel):
    """How many places of each kind are hidden."""

    enabled: bool
    counts: dict[str, Count]


class LimitsAnswer(AnswerModel):
    """The settings that this retrieval followed."""

    top_k: Annotated[KnownId, Field(serialization_alias="topK")]
    min_score: Annotated[Share, Field(serialization_alias="minScore")]
    max_tokens: Annotated[KnownId, Field(serialization_alias="maxTokens")]
    neighbours: Count


class RetrieveAnswer(AnswerModel):
    """Passages for a prompt, and the account of their budget."""

    query: str
    results: list[PassageAnswer]
    accounting: AccountingAnswer
    redaction: HiddenAnswer
    settings: LimitsAnswer
    retrieval: RetrievalAnswer
    index: IndexStateAnswer
    hint: EmptyResultHint = None

    @classmethod
    def of(cls, retrieval: Retrieval) -> RetrieveAnswer:
        """Returns what was retrieved."""
        settings, answer = retrieval.settings, retrieval.answer
        hidden = Counter(mark.kind for one in retrieval.passages for mark in one.replacements)
        return cls.about(
            retrieval,
            query=answer.query,
            results=[
                PassageAnswer.of(passage, is_redacted=settings.redaction)
                for passage in retrieval.passages
            ],
            accounting=retrieval,
            redaction=HiddenAnswer(
                enabled=settings.redaction,
                counts={kind: hidden[kind] for kind in settings.hidden_kinds},
            ),
            retrieval=RetrievalAnswer.of(answer),
            index=answer.target,
        )


@dataclass(frozen=True, slots=True)
class RetrieveUseCases:
    """What the routes of this file call."""

    from_tool: Retrieve
    from_project: Retrieve


Use = Annotated[RetrieveUseCases, part("searching.retrieve")]


@router.post("/api/v1/tools/{tool_id}/retrieve", responses=refused(429))
async def retrieve_from_tool(
    tool_id: ToolId, body: RetrieveBody, caller: MaySearch, use: Use
) -> RetrieveAnswer:
    """Returns the relevant passages of a tool's scope that fit into a budget of tokens."""
    searched = SearchedTool.by(caller, tool_id)
    found = use.from_tool.passages(searched, body.query, body.limits)
    return RetrieveAnswer.of(found)


@router.post(
    "/internal/tools/{tool_id}/retrieve", dependencies=[InternalOnly], responses=refused(429)
)
async def retrieve_from_tool_internally(
    tool_id: ToolId, body: RetrieveBody, use: Use
) -> RetrieveAnswer:
    """Retrieves with a tool, for trusted services that have checked their user themselves."""
    searched = SearchedTool.by(Internal(), tool_id)
    found = use.from_tool.passages(searched, body.query, body.limits)
    return RetrieveAnswer.of(found)


@router.post("/api/v1/projects/{project_id}/retrieve", responses=refused(409, 429))
async def retrieve_from_project(
    project_id: ProjectId, body: RetrieveBody, caller: MaySearch, use: Use
) -> RetrieveAnswer:
    """Retrieves from every string of the project, once its search index is switched on."""
    searched = SearchedProject.by(caller, project_id)
    found = use.from_project.passages(searched, body.query, body.limits)
    return RetrieveAnswer.of(found)
