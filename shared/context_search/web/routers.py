"""The routers of features: each is the ``router`` of a module of a feature's ``routes``."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType

from fastapi import APIRouter


def routers_of(features: Iterable[ModuleType]) -> list[APIRouter]:
    """Returns the routers of all files in the ``routes`` of features."""
    packages = [import_module(f"{feature.__name__}.routes") for feature in features]
    modules = [
        import_module(found.name)
        for package in packages
        for found in iter_modules(package.__path__, f"{package.__name__}.")
    ]
    routers = [getattr(module, "router", None) for module in modules]
    return [router for router in routers if isinstance(router, APIRouter)]
