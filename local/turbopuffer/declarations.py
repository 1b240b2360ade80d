"""What a request's ``schema`` says, over what the namespace already has.

An object keeps the options it does not name; the shorthand (``"title": "string"``) resets the
search options and keeps ``filterable``, as the live service does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pydantic import BaseModel, ConfigDict

from local.turbopuffer.attribute_types import AttributeType, Kind, parse_type
from local.turbopuffer.errors import invalid, unsupported
from local.turbopuffer.full_text import full_text
from local.turbopuffer.schema import ID, Attribute, Schema

_ID_KINDS = {"string": Kind.STRING, "uint": Kind.UINT, "uuid": Kind.UUID}


class _AnnConfig(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")

    distance_metric: str | None = None


class _AttributeConfig(BaseModel):
    model_config = ConfigDict(strict=True, extra="allow")

    type: str
    filterable: bool | None = None
    glob: bool | None = None
    full_text_search: bool | dict[str, Any] | None = None
    ann: bool | _AnnConfig | None = None


def declared_attributes(
    declared: Mapping[str, Any], current: Schema | None, distance_metric: str | None
) -> dict[str, Attribute]:
    """The attributes that ``declared`` adds or changes (``id`` aside)."""
    known = current.attributes if current else {}
    return {
        name: _attribute(name, declaration, known.get(name), distance_metric)
        for name, declaration in declared.items()
        if name != ID
    }


def declared_id_kind(declared: Mapping[str, Any]) -> Kind | None:
    """The type of ``id`` if the schema names it."""
    if ID not in declared:
        return None
    declaration = declared[ID]
    name = declaration.get("type") if isinstance(declaration, dict) else declaration
    if name not in _ID_KINDS:
        raise invalid(f"id is of type {', '.join(_ID_KINDS)}, not {name!r}")
    return _ID_KINDS[name]


def _attribute(
    name: str, declaration: Any, current: Attribute | None, distance_metric: str | None
) -> Attribute:
    if isinstance(declaration, str):
        declared_type = parse_type(declaration)
        if declared_type.kind is Kind.VECTOR:
            raise invalid(f"vector attribute {name!r} must be declared with ann")
        return Attribute(declared_type, current.filterable if current else True)
    config = _AttributeConfig.model_validate(declaration)
    for option, value in (config.model_extra or {}).items():
        if value not in (None, False):
            raise unsupported(f"schema option {option!r}")
    declared_type = parse_type(config.type)
    if declared_type.kind is Kind.VECTOR:
        return _vector(name, declared_type, config, distance_metric)
    if config.ann:
        raise invalid(f"attribute {name!r}: ann needs a vector type")
    return _scalar(name, declared_type, config, current)


def _vector(
    name: str, declared_type: AttributeType, config: _AttributeConfig, distance_metric: str | None
) -> Attribute:
    if not config.ann:
        raise invalid(f"vector attribute {name!r} must be declared with ann")
    if config.filterable or config.glob or config.full_text_search:
        raise invalid(f"vector attribute {name!r} cannot be filterable or searched as text")
    metric = config.ann.distance_metric if isinstance(config.ann, _AnnConfig) else None
    if metric is not None and distance_metric is not None and metric != distance_metric:
        raise invalid(f"attribute {name!r}: the metric differs from distance_metric")
    return Attribute(declared_type, filterable=False)


def _scalar(
    name: str, declared_type: AttributeType, config: _AttributeConfig, current: Attribute | None
) -> Attribute:
    base = current or Attribute(declared_type)
    text = base.full_text
    search = config.full_text_search
    if search is not None:
        options = search if isinstance(search, dict) else {}
        text = None if search is False else full_text(name, declared_type, options, text)
    glob = base.glob if config.glob is None else config.glob
    if glob and declared_type.kind is not Kind.STRING:
        raise invalid(f"attribute {name!r}: glob needs string or []string")
    # An index of either kind turns filterable off, unless it is asked for.
    turned_off = bool(config.glob or search)
    filterable = not turned_off and base.filterable
    if config.filterable is not None:
        filterable = config.filterable
    return replace(base, type=declared_type, filterable=filterable, glob=glob, full_text=text)
