"""``context-search search`` and ``retrieve``: questions."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.text import Text

from context_search_cli.command import Session, command, filled, json_object
from context_search_cli.failures import Code, CommandError, UsageError
from context_search_cli.output import Output, counted, number, one_line, visible
from context_search_cli.ranking import Draft, Strategy, draft_of
from context_search_cli.status import NOT_SEARCHED

app = typer.Typer()
_NAMED = 8
"""Tools that a refusal names."""
SHOWN = 500
"""Characters of a passage that a terminal shows, unless all is asked for."""
_HINTS = {
    "no_match": "nothing matches: try other words",
    "low_scores_hidden": "all hits are under the least score: --low-scores shows them",
    "index_incomplete": "the index is not complete yet: context-search status",
    "index_evicted": "the index is being built again: ask again in a while",
    "scope_missing": "the document has nothing at the tool's path",
    "no_long_strings": "no string is as long as the tool's threshold",
    "nothing_indexed": "what is there is blank, or over the limits",
}
Question = Annotated[
    str, typer.Argument(callback=filled, help="A question, keywords or an exact phrase.")
]
Tool = Annotated[int | None, typer.Option("--tool", min=1, help="Ask this Search Tool.")]
Project = Annotated[bool, typer.Option("--project", help="Ask all tables of the project.")]
Filter = Annotated[
    str | None, typer.Option("--filter", metavar="JSON", help="Only where its fields say so.")
]
Full = Annotated[bool, typer.Option("--full", help="Whole passages in a terminal, too.")]


@command(app, "search")
def search(
    session: Session,
    *,
    question: Question,
    tool: Tool = None,
    project: Project = False,
    top_k: Annotated[int | None, typer.Option(min=1, max=50, help="Hits at most.")] = None,
    strategy: Annotated[Strategy | None, typer.Option(help="With --project.")] = None,
    filter_: Filter = None,
    low_scores: Annotated[
        bool, typer.Option("--low-scores", help="With --project: also what scores low.")
    ] = False,
    explain: Annotated[bool, typer.Option("--explain", help="Say why.")] = False,
    draft: Draft = None,
    full: Full = False,
) -> None:
    """Ask a Search Tool, or all tables of the project."""
    config = draft_of(draft)
    if config and (project or not explain):
        raise UsageError("--draft goes with --explain, of a tool")
    tool = _target(session, tool, project=project)
    body: dict[str, Any] = {"query": question} | _filter(filter_)
    body |= {"config": config} if config else {}
    if tool is None:
        body |= {"strategy": strategy} if strategy else {}
        body |= {"include_low_score": True} if low_scores else {}
        path = f"{session.project}/search"
    else:
        if strategy or low_scores:
            raise UsageError("--strategy and --low-scores go with --project; a tool has its own")
        body |= {"top_k": top_k} if top_k else {}
        body |= {} if explain else {"highlights": True}
        path = f"/api/v1/tools/{tool}/search"
    found = session.client.ask(f"{path}/explain" if explain else path, body)

    def show() -> None:
        results = found["results"][: top_k or None]
        for place, hit in enumerate(results, start=1):
            _show_hit(session.out, place, hit, full=full)
        _show_rest(session.out, found.body, shown=len(results))
        if explain:
            _show_explanation(session.out, found["explain"])

    session.out.result(found, show)
    _warn(session.out, found.body)


@command(app, "retrieve")
def retrieve(
    session: Session,
    *,
    question: Question,
    tool: Tool = None,
    project: Project = False,
    max_tokens: Annotated[int | None, typer.Option(min=1, help="Of all texts together.")] = None,
    top_k: Annotated[int | None, typer.Option(min=1, max=50, help="Hits at most.")] = None,
    min_score: Annotated[float | None, typer.Option(min=0, max=1, help="Least relevance.")] = None,
    filter_: Filter = None,
) -> None:
    """Get passages for a prompt: joined, redacted, within a budget of tokens."""
    tool = _target(session, tool, project=project)
    options = {"maxTokens": max_tokens, "topK": top_k, "minScore": min_score}
    body: dict[str, Any] = {"query": question} | _filter(filter_)
    body |= {name: value for name, value in options.items() if value is not None}
    path = session.project if tool is None else f"/api/v1/tools/{tool}"
    found = session.client.ask(f"{path}/retrieve", body)

    def show() -> None:
        for passage in found["results"]:
            session.out.line(f"[{_place(passage)}]", style="dim")
            session.out.line(passage["text"])
            session.out.line()

    session.out.result(found, show)
    account = found["accounting"]
    dropped = account["dropped"]
    session.out.note(
        f"{account['used']} of {account['limit']} tokens, {len(dropped)} hits without"
        f" room, {account['below_min_score']} under the least relevance"
    )
    if dropped and not found["results"]:
        session.out.note(f"the first hit needs --max-tokens {dropped[0]['tokens']}")
    _warn(session.out, found.body)


def _target(session: Session, tool: int | None, *, project: bool) -> int | None:
    """The tool to ask, None for the project: without an option the only tool that there is."""
    if tool is not None and project:
        raise UsageError("--tool or --project, not both")
    if tool is not None or project:
        return tool
    tools = session.client.get("/api/v1/tools")["tools"]
    if len(tools) == 1:
        return int(tools[0]["id"])
    if not tools:
        raise CommandError(
            "there is no Search Tool yet: context-search tools create TABLE",
            Code.NOT_FOUND,
            code="NO_TOOL",
        )
    named = ", ".join(f"{each['id']} ({each['name']})" for each in tools[:_NAMED])
    more = ", …" if len(tools) > _NAMED else ""
    raise UsageError(
        f"which one? --tool ID of {named}{more} (all: context-search tools list), or --project"
        " where project search is on"
    )


def _filter(text: str | None) -> dict[str, Any]:
    return {} if text is None else {"filter": json_object("--filter", text)}


def _place(hit: dict[str, Any]) -> str:
    """Where a hit is: table, pointer, characters."""
    chunk = hit.get("chunk", hit)
    ends = f"characters {number(chunk['char_start'])} to {number(chunk['char_end'])}"
    return f"table {chunk['table_id']} {one_line(chunk['json_pointer']) or '(all)'} {ends}"


def _show_hit(out: Output, place: int, hit: dict[str, Any], *, full: bool) -> None:
    title = f"  {one_line(hit['title'])}" if "title" in hit else ""
    stale = "  changed since" if hit.get("stale") else ""
    relevance = Text(f"relevance {hit['relevance']:.3f}{title}{stale}", style="bold")
    out.hanging(Text(f"{place:2}  ", style="bold"), relevance)
    margin = Text("    ")
    out.hanging(margin, Text(_place(hit), style="dim"))
    text, spans = _passage(hit)
    is_cut = out.is_terminal and not full and len(text) > SHOWN
    start = _start(spans, len(text)) if is_cut else 0
    end = start + SHOWN if is_cut else len(text)
    shown = Text("…" if start else "")
    shown.append_text(_marked(text, spans, start, min(end, len(text))))
    shown.rstrip()
    shown.append("…" if end < len(text) else "")
    out.hanging(margin, shown)
    if duplicates := hit.get("duplicates"):
        out.hanging(margin, Text(f"and {duplicates['total']} near-duplicates", style="dim"))
    out.line()


def _passage(hit: dict[str, Any]) -> tuple[str, list[dict[str, int]]]:
    """The text to show and what of it matches: code points, as Python counts, too."""
    return hit.get("snippet") or hit["chunk"]["chunk_text"], hit.get("highlights") or []


def _start(spans: list[dict[str, int]], length: int) -> int:
    """Where a cut passage begins: a little before its first match."""
    first = spans[0]["start"] if spans else 0
    return max(0, min(first - 80, length - SHOWN))


def _marked(text: str, spans: list[dict[str, int]], start: int, end: int) -> Text:
    marked = Text()
    at = start
    for span in spans:
        one, two = max(span["start"], at), min(span["end"], end)
        if one < two:
            marked.append(visible(text[at:one]))
            marked.append(visible(text[one:two]), style="bold yellow")
            at = two
    return marked.append(visible(text[at:end]))


def _show_rest(out: Output, answer: dict[str, Any], *, shown: int) -> None:
    if not answer["results"]:
        hint = answer.get("hint", "no_match")
        out.note(f"no hit: {_HINTS.get(hint, hint)}")
        return
    reported = counted(shown, "hit")
    if counts := answer.get("counts"):
        reported += f" of {counts['ranked']}, {counts['hidden']} hidden for their low score"
    out.note(reported)


def _show_explanation(out: Output, explanation: dict[str, Any]) -> None:
    fusion = explanation["fusion"]
    weights = ", ".join(f"{name} {value:g}" for name, value in fusion["weights"].items())
    times = explanation["milliseconds"]
    out.fields(
        {
            "words": " ".join(explanation["query_tokens"]),
            "ranking": "a draft, kept nowhere" if explanation.get("is_draft") else None,
            "fusion": f"{fusion['kind']}: {weights} (from {fusion['weights_from']})",
            "milliseconds": ", ".join(f"{name} {value:g}" for name, value in times.items()),
            "errors": " ".join(explanation["errors"]) or None,
        }
    )
    rows = [
        [
            each["rank"],
            each["shown"],
            f"{each['relevance']:.3f}",
            f"{each['score']:.4f}",
            " ".join(f"{name} {part:.3f}" for name, part in each.get("parts", {}).items()),
            f"{each['json_pointer']} {each['chunk_index']}",
        ]
        for each in explanation["candidates"][: None if not out.is_terminal else 20]
    ]
    out.rows(("rank", "shown", "relevance", "score", "parts", "place"), rows, "no candidate")


def _warn(out: Output, answer: dict[str, Any]) -> None:
    """Says why an answer is not what was asked for; the codes are docs/api.md's."""
    if degraded := answer["retrieval"]["degraded"]:
        mode = answer["retrieval"]["mode_used"]
        out.warn(f"degraded: {', '.join(degraded)} (answered by {mode})")
    if short := answer["index"].get("not_searched"):
        out.note(f"{counted(short, 'string')} of the tool's scope not searched: {NOT_SEARCHED}")
