"""A document of 20 MB comes in through S3, by curl, and is searched."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.builders import english, planted, until
from tests.e2e.running import Tenant

pytestmark = [pytest.mark.stack, pytest.mark.slow]

CURL = shutil.which("curl")
SENTENCE = "The ferryman of the salt lake paints lanterns for the heron parade."


def large(megabytes: int) -> dict[str, Any]:
    """Many short strings beside two long ones."""
    rows = [{"id": number, "note": "x" * 9_900} for number in range(megabytes * 100)]
    return {
        "rows": rows,
        "long": [english(30_000, 3), planted(english(20_000, 4), SENTENCE, 9_000)],
    }


def curl(*arguments: str) -> int:
    """The status of a request of another program."""
    done = subprocess.run(  # noqa: S603 - our own arguments
        [CURL or "", "-sS", "-o", "/dev/null", "-w", "%{http_code}", "--noproxy", "*", *arguments],
        capture_output=True,
        text=True,
        check=True,
    )
    return int(done.stdout)


@pytest.mark.skipif(CURL is None, reason="there is no curl")
def test_a_large_document_is_uploaded_with_curl_imported_and_searched(
    tenant: Tenant, tmp_path: Path
) -> None:
    table_id = tenant.table({})
    tool = tenant.tool(table_id)
    file = tmp_path / "document.json"
    document = large(20)
    file.write_text(json.dumps(document))
    size = file.stat().st_size
    assert size > 19_000_000

    said = {"format": "json", "size": size}
    made = tenant("POST", f"/api/v1/tables/{table_id}/uploads", json=said)
    assert made.status_code == 201, made.text
    upload = made.json()
    headers = [f"-H{name}: {value}" for name, value in upload["headers"].items()]
    assert curl("-T", str(file), *headers, upload["url"]) == 200
    path = f"/api/v1/tables/{table_id}/uploads/{upload['upload_id']}"
    assert tenant("POST", f"{path}/complete").status_code == 202

    def imported() -> dict[str, Any] | None:
        reported: dict[str, Any] = tenant("GET", path).json()
        assert reported["status"] in ("importing", "done"), reported
        return reported if reported["status"] == "done" else None

    reported = until(imported, 120)
    assert (reported["bytes"], reported["revision"]) == (size, 2)

    def indexed() -> bool:
        state = tenant.state(tool)
        return (state["status"], state["nodes_count"]) == ("ready", 2)

    until(indexed, 120, every_s=0.2)
    [hit, *_] = tenant.search(tool, "Who paints lanterns for the heron parade?")["results"]
    chunk = hit["chunk"]
    assert SENTENCE in document["long"][1][chunk["char_start"] : chunk["char_end"]]
    assert hit["json_path"] == "/long/1"
