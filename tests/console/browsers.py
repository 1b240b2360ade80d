"""Browsers that are installed here, or get installed."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, sync_playwright

from local.options import ROOT

_FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)


def browser_at(name: str) -> str:
    """Where ``chromium`` or ``firefox-esr`` is, installed if need be.

    Raises CalledProcessError, whose ``stderr`` says why it is not there.
    """
    command = [str(ROOT / "scripts/browser.sh"), name]
    done = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603 - ours
    return done.stdout.strip()


@contextmanager
def chromium() -> Iterator[Browser]:
    """A Chromium without a window, until the context ends."""
    with sync_playwright() as playwright:
        path = browser_at("chromium")
        browser = playwright.chromium.launch(executable_path=path, args=list(_FLAGS))
        yield browser
        browser.close()
