"""CloudFormation's YAML as plain Python values.

Short forms become long ones (``!Ref x`` is ``{"Ref": "x"}``) and references to parameters become
the values that are given for them, or their defaults. Other intrinsic functions stay as they are
written.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

Node = dict[str, Any]


class _Loader(yaml.CSafeLoader):
    """YAML plus CloudFormation's short forms: ``!Ref x`` becomes ``{"Ref": "x"}``."""


def _short_form(loader: _Loader, suffix: str, node: yaml.Node) -> Node:
    value: Any
    if isinstance(node, yaml.ScalarNode):
        value = loader.construct_scalar(node)
    elif isinstance(node, yaml.SequenceNode):
        value = loader.construct_sequence(node, deep=True)
    else:
        value = loader.construct_mapping(node, deep=True)  # type: ignore[arg-type]
    if suffix == "GetAtt" and isinstance(value, str):
        value = value.split(".")
    return {suffix if suffix in {"Ref", "Condition"} else f"Fn::{suffix}": value}


_Loader.add_multi_constructor("!", _short_form)


def read(path: Path) -> Node:
    """Read a template as it is written. Raises ``yaml.YAMLError`` for what is not YAML."""
    document: Node = yaml.load(path.read_text(encoding="utf-8"), Loader=_Loader)  # noqa: S506  (a SafeLoader)
    return document


def load(path: Path, parameters: Mapping[str, str] | None = None) -> Node:
    """Read a template and put parameters into it: those given, and defaults for the others.

    Raises ``yaml.YAMLError`` for what is not YAML.
    """
    document = read(path)
    defaults = {
        name: parameter["Default"]
        for name, parameter in document.get("Parameters", {}).items()
        if "Default" in parameter
    }
    resolved: Node = with_references(document, {**defaults, **(parameters or {})})
    return resolved


def with_references(node: Any, values: Mapping[str, Any]) -> Any:
    """The same tree with every ``Ref`` to a name of ``values`` replaced by its value."""
    if isinstance(node, list):
        return [with_references(item, values) for item in node]
    if not isinstance(node, dict):
        return node
    if len(node) == 1 and isinstance(node.get("Ref"), str) and node["Ref"] in values:
        return values[node["Ref"]]
    return {key: with_references(value, values) for key, value in node.items()}
