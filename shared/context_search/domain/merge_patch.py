"""RFC 7396 JSON Merge Patch."""

from __future__ import annotations


def merge_patch(target: object, patch: object) -> object:
    """Returns ``target`` with ``patch`` applied; null removes a member.

    >>> merge_patch({"a": 1, "b": {"c": 2}}, {"a": None, "b": {"d": 3}})
    {'b': {'c': 2, 'd': 3}}
    """
    if not isinstance(patch, dict):
        return patch
    merged = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = merge_patch(merged.get(key), value)
    return merged
