"""Puts the parts together: the only package that knows every class.

Everything is made on first use and kept for the life of the process, so a function pays only for
what it needs: ``cleanup`` never embeds, ``create_tool`` never talks to turbopuffer.
"""

from __future__ import annotations

from context_search.composition.parts import Parts, parts

__all__ = ["Parts", "parts"]
