"""The other engine: a stock Firefox signs in, asks, and marks the same characters."""

from __future__ import annotations

import asyncio
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.console.browsers import browser_at
from tests.console.documents import PLACES
from tests.console.firefox import Firefox, firefox
from tests.e2e.running import Tenant

QUESTION, (POINTER, _) = next(iter(PLACES.items()))
_MARKED = """(() => {
  const pieces = [...document.querySelectorAll('.text .hit')];
  return [Number(pieces[0].dataset.start), Number(pieces.at(-1).dataset.end),
          pieces.map(piece => piece.textContent).join('')];
})()"""
_INJECT = """(() => {
  try { document.body.insertAdjacentHTML('beforeend', '<b>no</b>'); return 'let in'; }
  catch (error) { return error.name; }
})()"""


@pytest.fixture(scope="module")
def path() -> str:
    """Where Firefox is. A machine that cannot have one skips the test and says so; CI does not."""
    try:
        return browser_at("firefox-esr")
    except subprocess.CalledProcessError as error:
        if os.environ.get("CI"):  # noqa: TID251 - what .ci/run says
            pytest.fail(error.stderr)
        pytest.skip(error.stderr.strip())


def test_a_hit_is_marked_exactly_and_nothing_is_refused(
    path: str, tenant: Tenant, tmp_path: Path
) -> None:
    with ThreadPoolExecutor(1) as beside:  # Playwright's loop runs in this thread
        beside.submit(asyncio.run, _smoke(path, tenant, tmp_path)).result()


async def _smoke(path: str, tenant: Tenant, profile: Path) -> None:
    async with firefox(path, profile) as browser:
        await browser.watch()
        await browser.open(f"{tenant.stack.base_url}/console#/search")
        await _sign_in(browser, tenant.key)
        await browser.until("document.querySelector('[name=question]')")
        await browser.value("document.querySelector('[name=question]').focus()")
        await browser.press(*QUESTION, "Enter")
        await browser.until("document.querySelector('.text .hit')")
        pointer = "document.querySelector('.hitcard.picked .place code').textContent"
        assert await browser.value(pointer) == POINTER
        assert tuple(await browser.value(_MARKED)) == expected(tenant)
        assert browser.reported == []
        own = (f"{tenant.stack.base_url}/", "data:")
        assert [url for url in browser.requests if not url.startswith(own)] == []
        assert [url for url in browser.requests if tenant.key in url] == []
        # The watch sees a refusal, and Trusted Types hold here, too.
        assert await browser.value(_INJECT) == "TypeError"
        await browser.until("true")
        assert any("require-trusted-types-for" in reported for reported in browser.reported)


async def _sign_in(browser: Firefox, key: str) -> None:
    await browser.until("document.querySelector('[name=key]')")
    await browser.value("document.querySelector('[name=key]').focus()")
    await browser.press(*key, "Enter")
    await browser.until("document.querySelector('header nav')")


def expected(tenant: Tenant) -> tuple[int, int, str]:
    """Where the first hit begins and ends, in code points, and its text."""
    [tool] = tenant("GET", "/api/v1/tools").json()["tools"]
    found = tenant.search({"tool_id": tool["id"]}, QUESTION)
    chunk = found["results"][0]["chunk"]
    return chunk["char_start"], chunk["char_end"], chunk["chunk_text"]
