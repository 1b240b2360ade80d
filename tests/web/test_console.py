"""The console's page: what it is told to browsers, and that it is fetched once."""

from __future__ import annotations

import base64
import gzip
import hashlib
import re
from collections.abc import Iterator

import pytest

from console.build import MAX_BYTES
from context_search.postgres.pool import Database
from context_search.web.app import http_app
from context_search.web.console import FILE
from context_search.web.openapi import contract, every_router
from tests.web.api import Api, LocalParts, problem
from tests.web.in_process import client_of

PAGE = gzip.decompress(FILE.read_bytes()).decode()


def policy(api: Api) -> dict[str, str]:
    text = api.http.get("/console").headers["content-security-policy"]
    return dict(part.split(" ", 1) for part in text.split("; "))


def sha256(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def test_the_page_is_served_to_everybody_as_it_was_built(api: Api) -> None:
    response = api.http.get("/console")
    assert response.status_code == 200
    assert response.text == PAGE
    assert response.headers["content-type"] == "text/html; charset=utf-8"
    assert response.headers["content-encoding"] == "gzip"
    assert response.headers["x-content-type-options"] == "nosniff"
    assert response.headers["referrer-policy"] == "no-referrer"
    assert response.headers["strict-transport-security"] == "max-age=31536000"
    assert "camera=()" in response.headers["permissions-policy"].split(", ")
    plain = api.http.get("/console", headers={"accept-encoding": "identity"})
    assert "content-encoding" not in plain.headers
    assert plain.text == PAGE


def test_who_has_the_page_is_not_sent_it_again(api: Api) -> None:
    tag = api.http.get("/console").headers["etag"]
    for known in (tag, f"W/{tag}", f'"old", {tag}'):
        again = api.http.get("/console", headers={"if-none-match": known})
        assert (again.status_code, again.content) == (304, b"")
        assert again.headers["etag"] == tag
        assert again.headers["content-security-policy"]
    assert api.http.get("/console", headers={"if-none-match": '"old"'}).status_code == 200


def test_the_policy_allows_exactly_the_script_and_the_style_of_the_file(api: Api) -> None:
    [script] = re.findall(r"<script[^>]*>(.*?)</script>", PAGE, re.DOTALL)
    [style] = re.findall(r"<style[^>]*>(.*?)</style>", PAGE, re.DOTALL)
    found = policy(api)
    assert found["default-src"] == "'none'"
    assert found["script-src"] == sha256(script)
    assert found["style-src"] == sha256(style)
    assert found["require-trusted-types-for"] == "'script'"
    assert found["trusted-types"] == "'none'"
    for nothing in ("base-uri", "form-action", "frame-ancestors"):
        assert found[nothing] == "'none'"


def test_the_page_may_reach_its_own_origin_and_the_uploads_only(api: Api) -> None:
    first, *others = policy(api)["connect-src"].split(" ")
    assert first == "'self'"
    assert len(others) == 1
    assert not re.search(r"[*]", others[0])


def test_the_page_fetches_nothing_and_is_small() -> None:
    assert not re.findall(r'(?:src|href)="(?!data:)[^"]*"', PAGE.split("<script")[0])
    assert FILE.stat().st_size <= MAX_BYTES


@pytest.fixture
def without(application_database: Database, turbopuffer_url: str) -> Iterator[Api]:
    """A client of a deployment whose console is switched off."""
    parts = LocalParts(application_database, turbopuffer_url)
    parts.settings = parts.settings.model_copy(update={"console": False})
    with client_of(http_app(every_router(), parts.use_cases, contract=contract)) as http:
        yield Api.of_new_project(http, parts)


def test_a_console_that_is_off_is_404_in_all_its_routes(without: Api) -> None:
    codes, sign_in = "/api/v1/console/codes", "/api/v1/console/sign-in"
    answers = [
        without.http.get("/console"),
        without("POST", codes),
        without.http.post(codes),  # without a key, too: nothing is there to be allowed
        without.http.post(sign_in, json={"code": "x"}),
    ]
    reported = {problem(each, 404, "NOT_FOUND")["detail"] for each in answers}
    assert reported == {"the web console is switched off in this deployment"}
