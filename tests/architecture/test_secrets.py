"""No secret is in a file of this project: the forms that keys have, looked for in every file."""

from __future__ import annotations

import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

from tests.architecture.project import ROOT, relative

FORMS = {
    "a key of ours": r"\bcs_[A-Za-z0-9_-]{43}(?![A-Za-z0-9_-])",
    "a turbopuffer key": r"\btpuf_[A-Za-z0-9]{20,}",
    "a provider's key": r"\bsk-[A-Za-z0-9_-]{20,}",
    "an AWS key id": r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b",
    "a GitHub token": r"\b(?:gh[pousr]_[A-Za-z0-9]{36}|github_pat_[A-Za-z0-9_]{40,})",
    "a private key": r"-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----",
    "a JSON web token": r"\beyJ[A-Za-z0-9_-]{15,}\.eyJ[A-Za-z0-9_-]{15,}\.[A-Za-z0-9_-]{10,}",
    "a password in an address": r"://[\w.-]+:(?!password@|secret@|canary)[^@\s/{}$<>…\"']{8,}@[\w.-]+",
}
# File → why what looks like a secret there is none.
ALLOWED = {
    "tests/text/test_redaction.py": "made up: redaction has to see them",
    "tests/text/test_sensitive.py": "made up: redaction has to see them",
}
TEXT = {".py", ".md", ".toml", ".yaml", ".yml", ".json", ".jsonl", ".txt", ".in", ".sh", ".sql"}
TEXT |= {".cfg", ""}


@cache
def tracked() -> list[Path]:
    """The files that git knows; without git, as in an archive, all that are text."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"],  # noqa: S607 - whichever git there is
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    names = listed.stdout.split("\0") if listed.returncode == 0 else []
    paths = [ROOT / name for name in names if name] or list(ROOT.rglob("*"))
    hidden = {
        *(".venv", ".venv-build", ".venv-clients", ".venv-deploy", ".venv-essays", ".venv-eval"),
        *(".venv-llama", ".venv-templates"),
        *(".git", ".local", ".build", ".aws-sam", "node_modules"),
    }
    return [p for p in paths if p.is_file() and p.suffix in TEXT and not hidden & set(p.parts)]


def found_in(text: str) -> dict[str, str]:
    """What looks like a secret → the form that it has."""
    return {match[0]: name for name, form in FORMS.items() for match in re.finditer(form, text)}


@pytest.mark.slow
def test_no_file_holds_a_secret() -> None:
    assert len(tracked()) > 100
    found = {
        f"{relative(path)}: {name}"
        for path in tracked()
        if relative(path) not in ALLOWED
        for name in found_in(path.read_text(errors="replace")).values()
    }
    assert found == set()


@pytest.mark.parametrize(
    "parts",
    [
        ("cs_", "A1b2" * 10 + "xyz"),
        ("tpuf_", "a1B2c3D4" * 3),
        ("sk-", "proj-" + "a1B2" * 8),
        ("AKIA", "ABCDEFGHIJKLMNOP"),
        ("ghp_", "a" * 36),
        ("-----BEGIN RSA ", "PRIVATE KEY-----"),
        ("eyJ" + "a" * 20, ".eyJ" + "b" * 20 + "." + "c" * 20),
        ("postgresql://app:", "hunter2hunter2@db.example.org"),
    ],
    ids=lambda parts: parts[0].strip("-"),
)
def test_a_secret_would_be_seen(parts: tuple[str, str]) -> None:
    assert found_in(f"x = '{''.join(parts)}'\n")
