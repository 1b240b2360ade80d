"""All namespaces of one data directory."""

from __future__ import annotations

import re
import threading
from pathlib import Path

from local.turbopuffer.catalogue import Catalogue
from local.turbopuffer.errors import ApiError, namespace_missing
from local.turbopuffer.namespace import Namespace

MAX_NAME = 128
_NAME = re.compile(r"[A-Za-z0-9\-_.]+\Z")


class Namespaces:
    """Finds and opens namespaces; one object per name for the life of the process."""

    def __init__(self, directory: Path) -> None:
        self.catalogue = Catalogue(directory)
        self._open: dict[str, Namespace] = {}
        self._opening = threading.Lock()

    def existing(self, name: str) -> Namespace:
        """A namespace to read from or to delete; 404 where there is none."""
        if name not in self._open and self.catalogue.file_of(name) is None:
            raise namespace_missing(name)
        return self.for_writing(name)

    def for_writing(self, name: str) -> Namespace:
        """A namespace that the write may bring into being."""
        with self._opening:
            return self._open.setdefault(name, Namespace(name, self.catalogue))

    def close(self) -> None:
        """Close every file."""
        for namespace in self._open.values():
            namespace.close()
        self.catalogue.close()


def check_name(name: str) -> str:
    """``name`` if it is allowed, else the plain-text 400 of the URL layer."""
    if len(name) > MAX_NAME:
        reason = f"is too long, limit is currently {MAX_NAME} characters"
    elif not _NAME.match(name):
        reason = "contains invalid characters, must be [A-Za-z0-9-_.]"
    else:
        return name
    raise ApiError(400, f"Invalid URL: Namespace {reason}", plain=True)
