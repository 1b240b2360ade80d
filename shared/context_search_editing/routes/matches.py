"""The matches of a plan: answers, route."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from context_search.web.callers import ReplaceOwner, part
from context_search.web.fields import AnswerModel, Cursor, NextCursor, OfTable, next_cursor
from context_search.web.problems import refused
from context_search.web.query_parameters import Decimal
from context_search.web.request_body import StrictJsonRoute
from context_search_editing.routes.replacing import MatchAnswer, PlanId
from context_search_editing.showing import MAX_MATCHES_SHOWN, ShowMatches

router = APIRouter(
    prefix="/api/v1/projects/{project_id}/replace/{plan_id}/matches",
    route_class=StrictJsonRoute,
    tags=["search and replace"],
)

Use = Annotated[ShowMatches, part("editing.matches")]
Limit = Annotated[int, Query(ge=1, le=MAX_MATCHES_SHOWN), Decimal]


class MatchesAnswer(AnswerModel):
    """A page of matches, in their order."""

    matches: list[MatchAnswer]
    cursor: NextCursor | None


@router.get("", responses=refused(409, 413, 429))
async def list_matches(
    plan_id: PlanId,
    caller: ReplaceOwner,
    use: Use,
    cursor: Cursor = 0,
    table_id: OfTable = None,
    limit: Limit = MAX_MATCHES_SHOWN,
) -> MatchesAnswer:
    """Returns matches of a plan with what stands around them, of one table or of all."""
    page = use.page(caller, plan_id, after=cursor, table_id=table_id, limit=limit)
    matches = [MatchAnswer.of(match) for match in page.rows]
    return MatchesAnswer(matches=matches, cursor=next_cursor(page.next_after))
