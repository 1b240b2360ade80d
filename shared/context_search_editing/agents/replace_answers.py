"""What agents give and get when they replace: arguments, results, and what to do next."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field

from context_search.web.fields import Absent, AnswerModel, Body, Count, KnownId, Time
from context_search_editing.executing import ExecutedPlan
from context_search_editing.previewing import ShownPlan
from context_search_editing.routes.executing import KeptAnswer
from context_search_editing.routes.replacing import (
    LeftOutAnswer,
    MatchAnswer,
    answer_of,
    plan_fields,
    table_fields,
)
from context_search_editing.rules.plans import (
    PlannedTableState,
    PlanState,
    SkipReason,
    Warning,  # noqa: A004 - the word of the API
)
from context_search_editing.rules.replacing import (
    MAX_FIND_CHARS,
    MAX_REPLACE_WITH_CHARS,
    ReplaceRequest,
)
from context_search_editing.showing import ShownMatch

PlanId = Annotated[
    int, Field(ge=1, le=2**63 - 1, description="The plan_id that replace_preview gave.")
]


class PreviewArguments(Body):
    """Arguments of ``replace_preview``."""

    find: Annotated[
        str,
        Field(
            min_length=1,
            max_length=MAX_FIND_CHARS,
            description="The text to look for, exactly as it stands in the documents.",
        ),
    ]
    replace_with: Annotated[
        str,
        Field(
            max_length=MAX_REPLACE_WITH_CHARS,
            description="The text to put in its place. An empty string deletes what is found.",
        ),
    ]
    case_sensitive: Annotated[
        bool, Field(description="Whether capital and small letters differ.")
    ] = True
    whole_word: Annotated[
        bool, Field(description="Whether a match must not begin or end inside of a word.")
    ] = False
    regex: Annotated[
        bool,
        Field(
            description="Whether find is a regular expression (RE2 syntax). Groups are then $1, "
            "${2} or ${name} in replace_with, and $$ is a dollar sign. Without it $ means itself."
        ),
    ] = False
    search_tool: Annotated[
        str,
        Field(
            max_length=64,
            description="The name of one of the search tools listed here: look only where it "
            "searches. Left out: wherever any of them searches.",
        ),
    ] = ""
    plan_id: Annotated[
        int,
        Field(
            le=2**63 - 1,
            description="Only to ask for a preview that was still going on (state previewing): "
            "its plan_id, with the same find and replace_with.",
        ),
    ] = 0

    @property
    def request(self) -> ReplaceRequest:
        """What is asked for."""
        return ReplaceRequest(
            find=self.find,
            replace_with=self.replace_with,
            case_sensitive=self.case_sensitive,
            whole_word=self.whole_word,
            regex=self.regex,
        )


class ExecuteArguments(Body):
    """Arguments of ``replace_execute``."""

    plan_id: PlanId
    digest: Annotated[
        str,
        Field(
            pattern="^[0-9a-f]{32}$",
            description="The digest that replace_preview gave with that plan_id, unchanged.",
        ),
    ]


class UndoArguments(Body):
    """Arguments of ``replace_undo``."""

    plan_id: Annotated[
        int,
        Field(
            ge=1,
            le=2**63 - 1,
            description="The plan_id of what is to be taken back: of an executed replacement, or "
            "of an undo, to do it again.",
        ),
    ]


class PreviewedTable(AnswerModel):
    """A document that would change."""

    table_id: KnownId
    name: str
    matches_count: Count


NextStep = Annotated[str, Field(description="What to do now, in words.")]


class PreviewResult(AnswerModel):
    """Result of ``replace_preview``."""

    plan_id: KnownId
    state: Annotated[
        PlanState,
        Field(
            description="ready: complete. previewing: ask again with the plan_id. cancelled: there "
            "is nothing to carry out."
        ),
    ]
    digest: Absent[str] = None
    next: NextStep
    expires_at: Time
    tables_count: Annotated[Count, Field(description="How many documents would change.")]
    strings_count: Count
    matches_count: Annotated[Count, Field(description="How many places would change.")]
    left_out: LeftOutAnswer
    warnings: list[Warning]
    tables: Annotated[list[PreviewedTable], Field(description="The first of these documents.")]
    matches: Annotated[
        list[MatchAnswer],
        Field(description="The first of these places; texts in them may be cut at their ends."),
    ]

    @classmethod
    def of(cls, shown: ShownPlan, matches: Sequence[ShownMatch], next_step: str) -> PreviewResult:
        """Returns what is shown of a plan."""
        return answer_of(
            cls,
            plan_fields(shown.plan),
            next=next_step,
            tables=[
                answer_of(PreviewedTable, table_fields(row), name=shown.names.get(row.table_id, ""))
                for row in shown.tables.rows
            ],
            matches=[MatchAnswer.of(match) for match in matches],
        )


class WrittenTable(AnswerModel):
    """A document, and what became of it."""

    table_id: KnownId
    state: PlannedTableState
    reason: Absent[SkipReason] = None
    changed_count: Count


Refusal = Literal["declined", "cancelled"]


class WrittenResult(AnswerModel):
    """What results of ``replace_execute`` and ``replace_undo`` share."""

    plan_id: KnownId
    state: Annotated[
        PlanState,
        Field(
            description="done: all of it. partial: some was left alone. executing: still going on. "
            "ready: nothing was changed, because the user did not agree."
        ),
    ]
    user: Annotated[
        Absent[Refusal], Field(description="The user was asked, and did not agree.")
    ] = None
    next: NextStep
    undo_until: Absent[Time] = None
    tables: Annotated[list[WrittenTable], Field(description="The documents.")]


class ExecuteResult(WrittenResult):
    """Result of ``replace_execute``."""

    replaced_count: Annotated[Count, Field(description="How many places were changed.")]
    replayed: Annotated[bool, Field(description="Whether an earlier call has done it.")] = False

    @classmethod
    def of(cls, done: ExecutedPlan, next_step: str) -> ExecuteResult:
        """Returns what became of a plan."""
        return answer_of(
            cls,
            plan_fields(done.plan),
            next=next_step,
            tables=[answer_of(WrittenTable, table_fields(table)) for table in done.tables],
            replaced_count=done.done_count,
            replayed=done.replayed,
        )


class UndoResult(WrittenResult):
    """Result of ``replace_undo``: a plan of its own, whose undo does it again."""

    undoes: Annotated[KnownId, Field(description="The plan that was taken back.")]
    reverted_count: Annotated[Count, Field(description="How many places are as they were before.")]
    kept_count: Annotated[
        Count, Field(description="How many places were edited since, and left alone.")
    ]
    kept: Annotated[list[KeptAnswer], Field(description="The first of these places.")]

    @classmethod
    def of(cls, plan_id: int, done: ExecutedPlan, next_step: str) -> UndoResult:
        """Returns what became of a plan that takes another one back."""
        return answer_of(
            cls,
            plan_fields(done.plan),
            next=next_step,
            tables=[answer_of(WrittenTable, table_fields(table)) for table in done.tables],
            undoes=plan_id,
            reverted_count=done.done_count,
            kept_count=done.kept_count,
            kept=[KeptAnswer.of(place) for place in done.kept],
        )
