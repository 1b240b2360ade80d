"""Every code there is: of a degraded answer, of an empty one, of a refusal; in both languages."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import get_args

import pytest
from playwright.sync_api import Route, expect

from context_search.core.errors import ContextSearchError
from context_search.ranking.search import Degradation, EmptyHint, Hint
from tests.console.conftest import LANGUAGES, Watched

HINTS = [*(hint for hint in get_args(Hint) if isinstance(hint, str)), *get_args(EmptyHint)]
CHINESE = re.compile("[\u4e00-\u9fff]")


def kinds(
    base: type[ContextSearchError] = ContextSearchError,
) -> Iterator[type[ContextSearchError]]:
    yield base
    for kind in base.__subclasses__():
        yield from kinds(kind)


PROBLEMS = sorted({(kind.status, kind.code, kind.retryable) for kind in kinds()})
BY_STATUS = {each[0]: each for each in PROBLEMS}.values()


def ask_again(watched: Watched) -> None:
    with watched.page.expect_response("**/search/explain"):
        watched.page.get_by_role("search").locator("button.primary").click()


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_code_of_a_degraded_answer_has_a_sentence(signed_in: Watched, language: str) -> None:
    reported = list(get_args(Degradation))

    def degrade(route: Route) -> None:
        answer = route.fetch().json()
        answer["retrieval"]["degraded"] = reported
        route.fulfill(json=answer)

    signed_in.set(language, "light")
    signed_in.page.route("**/search/explain", degrade)
    signed_in.open("/search?q=comets")
    rows = signed_in.page.locator(".bar.warn li")
    expect(rows).to_have_count(len(reported))
    for code, said in zip(reported, rows.all_inner_texts(), strict=True):
        sentence = said.removeprefix(code).strip()
        assert said.startswith(code)
        assert len(sentence) > 5
        assert bool(CHINESE.search(sentence)) == (language == "zh"), code
    assert signed_in.axe() == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_hint_of_an_empty_answer_has_a_sentence(signed_in: Watched, language: str) -> None:
    hint = ""

    signed_in.set(language, "light")
    with signed_in.page.expect_response("**/search/explain") as reported:
        signed_in.open("/search?q=comets")
    answer = reported.value.json()
    signed_in.page.route(
        "**/search/explain",
        lambda route: route.fulfill(json=answer | {"results": [], "hint": hint}),
    )
    for hint in HINTS:
        ask_again(signed_in)
        box = signed_in.page.locator(".empty").filter(has=signed_in.page.get_by_text(hint))
        sentence = box.locator("p").inner_text()
        assert sentence != hint
        assert bool(CHINESE.search(sentence)) == (language == "zh"), hint


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_problem_says_what_it_is(signed_in: Watched, language: str) -> None:
    """401 ends the session and is not among them: see ``check_signing_in``."""
    answer: dict[str, object] = {}
    signed_in.set(language, "light")
    signed_in.page.route(
        "**/search/explain",
        lambda route: route.fulfill(
            status=int(str(answer["status"])),
            body=json.dumps(answer),
            content_type="application/problem+json",
        ),
    )
    shown = [each for each in PROBLEMS if each[0] != 401]
    assert len(shown) > 40
    if language == "zh":  # headings differ by the status, and some of conflicts
        shown = [each for each in shown if each in BY_STATUS or each[0] in (409, 412)]
    for at, (status, code, retryable) in enumerate(shown):
        answer = {"status": status, "code": code, "detail": "no", "retryable": retryable}
        answer["requestId"] = f"r-{at}"
        if at == 0:
            signed_in.open("/search?q=comets")
        else:
            ask_again(signed_in)
        if code == "PROJECT_INDEX_OFF":
            continue  # it has a view of its own
        box = signed_in.page.locator(".bar.bad").filter(has_text=f"r-{at}")
        expect(box.locator("code").first).to_have_text(code)
        heading = box.locator("strong").inner_text()
        assert bool(CHINESE.search(heading)) == (language == "zh"), code
        assert box.get_by_role("button").count() == 1 + retryable  # copy the request's id
    assert not signed_in.errors


def test_a_gateways_own_refusal_is_a_problem_too(signed_in: Watched) -> None:
    signed_in.page.route(
        "**/search/explain",
        lambda route: route.fulfill(
            status=504, json={"message": "Endpoint request timed out"}, headers={}
        ),
    )
    signed_in.open("/search?q=comets")
    box = signed_in.page.locator(".bar.bad")
    expect(box).to_contain_text("HTTP_504")
    expect(box).to_contain_text("Endpoint request timed out")


def test_nobody_answers(signed_in: Watched) -> None:
    signed_in.page.route("**/search/explain", lambda route: route.abort())
    signed_in.open("/search?q=comets")
    expect(signed_in.page.locator(".bar.bad")).to_contain_text("OFFLINE")
