"""Asks OSV which pinned packages have known advisories.

    .venv/bin/python -m scripts.audit                                         (make audit)

Every lock is asked about: the layers, the environments of tests and tools, the console. Prints a
line for each package with advisories, and ends with 1 then; with 2 when OSV does not answer. Not
part of ``make check``: what OSV knows changes without a commit.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import quote

from scripts.layer_contents import ROOT, read_pins
from scripts.smoke import Deployment, SmokeError

OSV = "https://api.osv.dev"
_A_QUESTION = 1000
"""How many packages OSV takes at once."""


def pinned() -> Mapping[str, list[str]]:
    """The purl of every pinned package, with the locks that it is in."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for lock in [*ROOT.glob("layers/*/requirements.txt"), *ROOT.glob("requirements/*.txt")]:
        for name, pin in read_pins(lock).items():
            version = pin.split("==")[1].split()[0]
            found[f"pkg:pypi/{name}@{version}"].append(str(lock.relative_to(ROOT)))
    for purl in _of_npm(ROOT / "console/package-lock.json"):
        found[purl].append("console/package-lock.json")
    return dict(sorted(found.items()))


def _of_npm(lock: Path) -> Iterator[str]:
    packages = json.loads(lock.read_text(encoding="utf-8"))["packages"]
    for path, package in packages.items():
        if name := path.rpartition("node_modules/")[2]:
            yield f"pkg:npm/{quote(name)}@{package['version']}"


def advisories(url: str, purls: list[str]) -> dict[str, list[str]]:
    """The ids of advisories, of packages that have some. Raises SmokeError without an answer."""
    osv, found = Deployment(url), {}
    for start in range(0, len(purls), _A_QUESTION):
        asked = purls[start : start + _A_QUESTION]
        queries = [{"package": {"purl": purl}} for purl in asked]
        results = osv.ask("POST", "/v1/querybatch", {}, {"queries": queries})["results"]
        for purl, result in zip(asked, results, strict=True):
            if known := result.get("vulns"):
                found[purl] = [str(each["id"]) for each in known]
    return found


def main(url: str = OSV) -> int:
    """Returns 0 when OSV knows of none, 1 when it does, 2 when it does not answer."""
    locks = pinned()
    try:
        found = advisories(url, list(locks))
    except SmokeError as error:
        print(f"audit: {error}", file=sys.stderr)
        return 2
    for purl, ids in found.items():
        print(f"{purl}: {', '.join(ids)} ({', '.join(locks[purl])})")
    print(f"{len(locks)} packages, {len(found)} with advisories")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
