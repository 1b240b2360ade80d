"""CloudFormation's YAML as plain Python values.

Short forms become long ones (``!Ref x`` is ``{"Ref": "x"}``) and references to parameters become
the parameters' defaults. Other intrinsic functions stay as they are written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import yaml

if TYPE_CHECKING:
    from pathlib import Path

Node = dict[str, Any]


class _Loader(yaml.SafeLoader):
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


def load(path: Path) -> Node:
    """Read a template. Raises ``yaml.YAMLError`` for what is not YAML."""
    document = yaml.load(path.read_text(encoding="utf-8"), Loader=_Loader)  # noqa: S506  (a SafeLoader)
    defaults = {
        name: parameter["Default"]
        for name, parameter in document.get("Parameters", {}).items()
        if "Default" in parameter
    }
    resolved: Node = _with_defaults(document, defaults)
    return resolved


def _with_defaults(node: Any, defaults: Node) -> Any:
    """The same tree with every ``Ref`` to a parameter replaced by the parameter's default."""
    if isinstance(node, list):
        return [_with_defaults(item, defaults) for item in node]
    if not isinstance(node, dict):
        return node
    if len(node) == 1 and isinstance(node.get("Ref"), str) and node["Ref"] in defaults:
        return defaults[node["Ref"]]
    return {key: _with_defaults(value, defaults) for key, value in node.items()}
