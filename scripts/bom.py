"""Prints the bill of materials of what is deployed, as CycloneDX 1.6 (JSON).

    .venv/bin/python -m scripts.bom                 (make bom writes .build/bom.json)

What the two layers with third-party code hold, as ``scripts.package`` installs it, with purls and
licences. Ends with 1 when a licence is not among those that were agreed to. The same locks give
the same bytes.
"""

from __future__ import annotations

import json
import re
import sys
from importlib.metadata import metadata
from typing import Any

from scripts.layer_contents import PACKED_WITH, wanted

# May be deployed and handed on with this project's own licence; of these only MPL-2.0 asks for
# anything: changes to its own files are published.
ALLOWED = frozenset(
    {
        "Apache-2.0",
        "BSD-2-Clause",
        "BSD-3-Clause",
        "CNRI-Python",
        "ISC",
        "MIT",
        "MIT-0",
        "MPL-2.0",
        "PSF-2.0",
    }
)
# Read from the licence files of those whose metadata have no SPDX expression.
READ = {
    "aiosignal": "Apache-2.0",
    "anyascii": "ISC",
    "distro": "Apache-2.0",
    "fastuuid": "BSD-3-Clause",
    "google-re2": "BSD-3-Clause",
    "jinja2": "BSD-3-Clause",
    "mangum": "MIT",
    "pg8000": "BSD-3-Clause",
    "pystemmer": "MIT AND BSD-3-Clause",
    "python-dateutil": "Apache-2.0 OR BSD-3-Clause",
    "tiktoken": "MIT",
}


class LicenceError(Exception):
    """A distribution's licence is unknown, or was not agreed to."""


def licence(name: str) -> str:
    """The SPDX expression of an installed distribution. Raises LicenceError."""
    reported = metadata(name).json
    expression = READ.get(name) or str(
        reported.get("license_expression") or reported.get("license") or ""
    )
    names = set(re.findall(r"[^\s()]+", expression)) - {"AND", "OR"}
    if not names or names - ALLOWED:
        raise LicenceError(f"{name}: {expression[:80] or 'no licence told'}")
    return expression


def components() -> list[dict[str, Any]]:
    """Every distribution of the layers, by name. Raises LicenceError with all that are refused."""
    found, refused = [], []
    for layer in PACKED_WITH:
        for name, pin in wanted(layer).items():
            version = pin.split("==")[1].split()[0]
            purl = f"pkg:pypi/{name}@{version}"
            try:
                expression = licence(name)
            except LicenceError as error:
                refused.append(str(error))
                continue
            found.append(
                {
                    "type": "library",
                    "bom-ref": purl,
                    "name": name,
                    "version": version,
                    "purl": purl,
                    "licenses": [{"expression": expression}],
                    "properties": [{"name": "context-search:layer", "value": layer}],
                }
            )
    if refused:
        raise LicenceError("\n".join(refused))
    return sorted(found, key=lambda component: str(component["name"]))


def bill_of_materials() -> dict[str, Any]:
    """The document; without a date and a number, so that equal contents are equal bytes."""
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": "context-search",
                "name": "context-search",
            }
        },
        "components": components(),
    }


def main() -> None:
    """Prints the document, or what is refused and ends with 1."""
    try:
        print(json.dumps(bill_of_materials(), indent=1))
    except LicenceError as error:
        sys.exit(f"bom: {error}")


if __name__ == "__main__":
    main()
