"""Documents for the browser checks: wide characters before everything, and hostile ones."""

from __future__ import annotations

from typing import Any

from tests.builders import chinese, english, planted

COMETS = "The lighthouse keeper counted nine comets over the bay before breakfast."
VIOLIN = "The violin maker varnished his last instrument with honey and walnut oil."
WHALE = "船长在冰山旁边听见鲸鱼唱了整整一夜的歌。"
PLACES = {
    "Who counted comets at the lighthouse?": ("/books/0/text", COMETS),
    "What did the violin maker use as varnish?": ("/books/1/text", VIOLIN),
    "谁听见鲸鱼唱歌？": ("/书/a~1b~0", WHALE),
}
ARTICLE = {"articles": [{"title": "Melons", "content": english(12_000, 3)}]}
"""One string that is indexed, in 16 chunks."""
HOSTILE = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>javascript:alert(1)'
BIDI = "abc\u202edrow\u202c \u200bzero\u200bwidth"


HOSTILE_TEXT = f"{HOSTILE} {BIDI}"


def novel(seed: int = 7) -> dict[str, Any]:
    """Some 120,000 characters in four long strings; 🐡 and 𠮷 stand before what is asked for."""
    return {
        "books": [
            {
                "title": "Letters",
                "text": "🐡🐡 " + planted(english(30_000, seed), f"🐡 {COMETS}", 7_000),
            },
            {"title": "Crafts", "text": planted(english(40_000, seed + 1), VIOLIN, 30_000)},
        ],
        "书": {"a/b~": "𠮷𠮷" + planted(chinese(30_000, seed), f"𠮷{WHALE}", 21_000)},
        "odd": {"": "an empty key", "big": 9223372036854775807, "price": 1.10, "~": {"/": "deep"}},
        "hostile": planted(english(12_000, seed + 2), HOSTILE_TEXT, 3_000),
    }
