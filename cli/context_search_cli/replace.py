"""``context-search replace``, ``undo`` and ``plans``: one word for another in many documents."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.text import Text

from context_search_cli.client import Response
from context_search_cli.command import Limit, Session, Timeout, Yes, command, confirmed
from context_search_cli.failures import (
    Code,
    CommandError,
    EndedError,
    ProblemError,
    UnreachableError,
    UsageError,
)
from context_search_cli.output import Output, counted, number, one_line
from context_search_cli.waiting import wait_for

app = typer.Typer()
_GOING_ON = {"previewing", "executing"}
_STATES = {"cancelled": "not executed"}
"""What a person reads for a plan that was deleted before it ran, of a dry run, say."""
_WORD = 40
_PAGE = 200
"""As many matches as an answer has at most."""
SkipChanged = Annotated[
    bool,
    typer.Option("--skip-changed", help="Leave documents out that were edited meanwhile."),
]


@command(app, "replace")
def replace(
    session: Session,
    *,
    find: Annotated[str, typer.Argument(metavar="FIND", help="The text that is sought.")],
    by: Annotated[str, typer.Argument(metavar="BY", help="What it becomes.")],
    table: Annotated[
        list[int] | None, typer.Option(min=1, help="Only in this table; repeat for more.")
    ] = None,
    under: Annotated[str, typer.Option(help="Only at this pointer and below.")] = "",
    tool: Annotated[int | None, typer.Option(min=1, help="Only in this tool's scope.")] = None,
    ignore_case: Annotated[bool, typer.Option("--ignore-case", "-i", help="A is a.")] = False,
    word: Annotated[bool, typer.Option("--word", help="Whole words only.")] = False,
    regex: Annotated[bool, typer.Option("--regex", help="FIND is an RE2 pattern.")] = False,
    leave: Annotated[
        list[int] | None, typer.Option(min=1, help="Number of a match that stays; repeat.")
    ] = None,
    skip_changed: SkipChanged = False,
    samples: Annotated[int, typer.Option(min=0, help="Matches to show.")] = 20,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would change.")] = False,
    yes: Yes = False,
    timeout: Timeout = 900,
) -> None:
    """Replace a text everywhere: shows every place first, then changes exactly these."""
    if dry_run and yes:
        raise UsageError("--dry-run or --yes, not both")
    left = sorted(set(leave or []))
    asked = {
        "find": find,
        "replace_with": by,
        "json_pointer": under,
        "case_sensitive": not ignore_case,
        "whole_word": word,
        "regex": regex,
        "samples": min(samples, _PAGE),
    }
    asked |= {"tables": table} if table else {}
    asked |= {"tool_id": tool} if tool else {}
    path = f"{session.project}/replace"
    plan = session.client.create(f"{path}/preview", asked)
    is_open = True
    try:
        plan = _previewed(session, plan, samples, timeout)
        if dry_run or not plan["matches_count"]:
            session.out.result(plan.body, lambda: _show_plan(session.out, plan.body))
            return
        _ask(session, plan, len(left), yes=yes)
        is_open = False
        body = {"plan_id": plan["plan_id"], "digest": plan["digest"], **_conflict(skip_changed)}
        body |= {"except": left} if left else {}
        done = session.client.ask(f"{path}/execute", body)
    except ProblemError as refusal:
        is_open = is_open or _is_still_open(refusal)
        raise
    finally:
        if is_open:  # what nobody will execute is not left among the project's open plans
            session.client.delete(f"{path}/{plan['plan_id']}")
    done = _executed(session, done, plan["plan_id"], timeout)
    session.out.result(done, lambda: _show_done(session.out, done.body))
    _fail_if_failed(session, done)


def _ask(session: Session, plan: Response, left: int, *, yes: bool) -> None:
    """Shows a plan, and asks whether it shall be carried out."""
    if not (session.out.as_json or session.out.quiet):
        _show_plan(session.out, plan.body)
    chosen = counted(plan["matches_count"] - left, "match")
    tables = counted(plan["tables_count"], "table")
    confirmed(session, f"Replace {chosen} in {tables}?", yes=yes)


@command(app, "undo")
def undo(
    session: Session,
    *,
    plan: Annotated[int, typer.Argument(metavar="PLAN", min=1, help="Id of a plan.")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only count.")] = False,
    skip_changed: SkipChanged = False,
    yes: Yes = False,
    timeout: Timeout = 900,
) -> None:
    """Take a replacement back. What somebody has edited since is never overwritten."""
    if dry_run and yes:
        raise UsageError("--dry-run or --yes, not both")
    path = f"{session.project}/replace/{plan}/undo"
    body = _conflict(skip_changed)
    if not yes:
        done = session.client.ask(path, body, dry_run=True)
        if not dry_run:
            confirmed(session, f"Bring {counted(done['reverted_count'], 'match')} back?", yes=yes)
    if not dry_run:
        done = session.client.create(path, body)
        done = _executed(session, done, done["plan_id"], timeout)
    session.out.result(done, lambda: _show_undone(session.out, done.body, plan))
    _fail_if_failed(session, done)


@command(app, "plans")
def plans(session: Session, *, limit: Limit = 20) -> None:
    """List replacements and undos, the newest first."""
    rows, has_more = session.client.pages(f"{session.project}/replace", "plans", limit=limit)
    columns = (
        *("plan_id", "state", "find", "replace_with", "matches_count", "replaced_count"),
        *("tables_count", "undoes", "undone_by", "executed_by", "created_at"),
    )

    def show() -> None:
        words = [{**row, **{name: _word(row, name) for name in columns[2:4]}} for row in rows]
        for row in words:
            row["state"] = _STATES.get(row["state"], row["state"])
        session.out.rows(columns, [[row[name] for name in columns] for row in words], "no plan yet")

    session.out.result({"plans": rows, "has_more": has_more}, show)


def _word(plan: dict[str, Any], name: str) -> str | None:
    """The beginning of what was looked for, or of what it became; None where it is forgotten."""
    text: str | None = plan["request"] and plan["request"][name]
    return text if text is None or len(text) <= _WORD else f"{text[: _WORD - 1]}…"


def _conflict(skip_changed: bool) -> dict[str, str]:  # noqa: FBT001 - the option as it is given
    return {"on_conflict": "skip" if skip_changed else "abort"}


def _is_still_open(refusal: ProblemError) -> bool:
    """Whether a refusal to execute says that nothing was.

    To delete a plan that was executed would take its undo away.
    """
    return refusal.status in {409, 422} and refusal.document["code"] != "PLAN_USED"


def _previewed(session: Session, plan: Response, samples: int, timeout_s: float) -> Response:
    """The plan when the preview is over, with its first matches."""
    path = f"{session.project}/replace/{plan['plan_id']}"
    if plan["state"] == "previewing":
        plan = _settled(session, path, timeout_s)
    if plan["state"] == "failed":
        error = plan["error"] or {}
        raise CommandError(f"the preview failed: {error.get('message')}", **error)
    matches, cursor = plan["matches"], plan["cursor"]
    while cursor is not None and len(matches) < samples:
        limit = min(samples - len(matches), _PAGE)
        page = session.client.get(f"{path}/matches", cursor=cursor, limit=limit)
        if not page["matches"]:
            raise UnreachableError("a page of matches is empty: is this address the API's?")
        matches += page["matches"]
        plan.body["cursor"] = cursor = page["cursor"]
    return plan


def _executed(session: Session, done: Response, plan_id: int, timeout_s: float) -> Response:
    """What became of a plan, also where a worker goes on with it."""
    if done["state"] not in _GOING_ON:
        return done
    try:
        return _settled(session, f"{session.project}/replace/{plan_id}", timeout_s)
    except KeyboardInterrupt:
        session.out.warn(f"plan {plan_id} goes on by itself: context-search plans")
        raise


def _settled(session: Session, path: str, timeout_s: float) -> Response:
    return wait_for(
        session,
        lambda: session.client.get(path),
        is_over=lambda plan: plan["state"] not in _GOING_ON,
        reported=lambda plan: f"plan {plan['plan_id']} is {plan['state']}{_far(plan.body)}",
        share=lambda plan: _share(plan.body.get("progress")),
        timeout_s=timeout_s,
    )


def _share(progress: dict[str, int] | None) -> float | None:
    return progress["tables_done"] / progress["tables"] if progress and progress["tables"] else None


def _far(plan: dict[str, Any]) -> str:
    far = plan.get("progress")
    return f", {far['tables_done']} of {far['tables']} tables" if far else ""


def _show_plan(out: Output, plan: dict[str, Any]) -> None:
    for match in plan["matches"]:
        place = f"table {match['table_id']} {one_line(match['json_pointer'])}"
        place += f"  character {number(match['char_start'])}"
        out.hanging(Text(f"{match['match']:4}  ", "bold"), Text(place, "bold"))
        for sign, text, style in (("-", match["found"], "red"), ("+", match["becomes"], "green")):
            line = Text(one_line_kept(match["before"]))
            line.append(one_line_kept(text), style=style)
            line.append(one_line_kept(match["after"]))
            out.hanging(Text(f"      {sign} "), line)
    hidden = plan["matches_count"] - len(plan["matches"])
    if hidden > 0 and plan["matches"]:
        out.note(f"and {number(hidden)} more")
    out.line(
        f"{counted(plan['matches_count'], 'match')} in {counted(plan['strings_count'], 'string')}"
        f" of {counted(plan['tables_count'], 'table')}; nothing is changed yet"
    )
    left = {name: count for name, count in plan["left_out"].items() if count}
    if left:
        out.note("left out: " + ", ".join(f"{count} {name}" for name, count in left.items()))
    if plan["warnings"]:
        out.warn(f"look twice: {', '.join(plan['warnings'])}")


def one_line_kept(text: str) -> str:
    """A text in one line, with the spaces at its ends."""
    ends = (text[:1].isspace(), text[-1:].isspace())
    return f"{' ' if ends[0] else ''}{one_line(text)}{' ' if ends[1] and text.strip() else ''}"


def _show_done(out: Output, done: dict[str, Any]) -> None:
    for table in done["tables"]:
        if table["state"] == "skipped":
            out.warn(f"table {table['table_id']} stays as it was: {table['reason']}")
    plan = done["plan_id"]
    out.made(
        plan,
        f"replaced {number(done['replaced_count'])}; take it back with: context-search undo {plan}",
    )


def _show_undone(out: Output, done: dict[str, Any], plan: int) -> None:
    for place in done.get("kept", []):
        out.warn(f"table {place['table_id']} {place['json_pointer']} stays: {place['reason']}")
    if done.get("dry_run"):
        out.line(f"{done['reverted_count']} would come back, {done['kept_count']} would stay")
        return
    reverted = done.get("reverted_count")
    reported = f", {number(reverted)} brought back" if reverted is not None else ""
    out.made(done["plan_id"], f"plan {plan} is undone{reported}, by plan {done['plan_id']}")


def _fail_if_failed(session: Session, done: Response) -> None:
    if done["state"] == "failed":
        error = done["error"] or {}
        session.out.warn(f"failed: {error.get('code')}: {error.get('message')}")
        raise EndedError(Code.FAILED)
