"""The bill of materials names everything that is deployed, with licences that were agreed to."""

from __future__ import annotations

import json
import re

import pytest

from scripts.bom import ALLOWED, READ, LicenceError, bill_of_materials, licence, main
from scripts.layer_contents import PACKED_WITH, pins, wanted


def in_layers() -> set[str]:
    """``name@version`` of every pin that is installed into a layer."""
    return {
        f"{name}@{pin.split('==')[1].split()[0]}"
        for layer in PACKED_WITH
        for name, pin in wanted(layer).items()
    }


def test_it_holds_what_the_layers_hold(capsys: pytest.CaptureFixture[str]) -> None:
    main()
    document = json.loads(capsys.readouterr().out)
    assert (document["bomFormat"], document["specVersion"]) == ("CycloneDX", "1.6")
    components = document["components"]
    assert {f"{each['name']}@{each['version']}" for each in components} == in_layers()
    assert {each["purl"] for each in components} == {f"pkg:pypi/{each}" for each in in_layers()}
    references = [each["bom-ref"] for each in components]
    assert len(set(references)) == len(references)


def test_a_pruned_distribution_is_not_in_it() -> None:
    names = {each["name"] for each in bill_of_materials()["components"]}
    pruned = set(pins("embedding")) - set(wanted("embedding")) - set(wanted("core"))
    assert pruned
    assert not names & pruned


def test_every_licence_was_agreed_to() -> None:
    for each in bill_of_materials()["components"]:
        [reported] = each["licenses"]
        words = set(re.findall(r"[\w.-]+", reported["expression"])) - {"AND", "OR"}
        assert words <= ALLOWED, each["name"]


def test_another_licence_is_refused() -> None:
    """These two are installed for tests and never deployed."""
    with pytest.raises(LicenceError, match=r"^numpy: BSD-3-Clause AND 0BSD"):
        licence("numpy")
    with pytest.raises(LicenceError, match=r"^import-linter: BSD 2-Clause License"):
        licence("import-linter")


def test_licences_that_were_read_are_of_what_is_deployed() -> None:
    assert set(READ) <= {each["name"] for each in bill_of_materials()["components"]}
