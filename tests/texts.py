"""Texts and the documents that they make, for the console and the command line alike."""

from __future__ import annotations

from typing import Any

ENGLISH = (
    "Preface.\n\nCHAPTER I. Down the hole\nCHAPTER II\n\nCHAPTER I. Down the hole\n\n"
    "Alice was tired.\nChapter 2 of this book is short, but what it tells of the rabbit goes on"
    " and on, and nobody takes it for a heading of anything.\n\nCHAPTER II\n\n  The pool.\n\n"
)
CHINESE = (
    "书名：风起\n\n\u3000第一章 初遇 \n\u3000\u3000林小雨站在门口。\n\n第2章：离别\n\n"
    "第三章里他说的话，她没有听见。\n第十二回\u3000甄士隐梦幻识通灵，贾雨村风尘怀闺秀\n完。\n"
    "第九十九章没有空格的标题\n𠮷🐡\n"
)
MARKDOWN = (
    "# Book\n\n## One ##\ntext\n\n```sh\n# no heading\n```\n\n### Under one\nmore\n"
    "## Two\n#nor this\n\nlast\n"
)
TEXTS: list[tuple[str, str, dict[str, Any]]] = [
    ("notes.txt", "", {"title": "notes", "text": ""}),
    ("a.b.TXT", "one\ntwo\n", {"title": "a.b", "text": "one\ntwo\n"}),
    ("one.md", "# Only\nx", {"title": "one", "chapters": [{"title": "Only", "text": "x"}]}),
    (
        "spaces.md",  # a pattern would take minutes
        f"# a{' ' * 9_000}b\nx{' ' * 90_000}y" + "\n" * 90_000,
        {
            "title": "spaces",
            "chapters": [{"title": f"a{' ' * 9_000}b", "text": f"x{' ' * 90_000}y"}],
        },
    ),
    ("marks.md", "# a ## \t\nx", {"title": "marks", "chapters": [{"title": "a", "text": "x"}]}),
    ("c#.md", "# c#\nx", {"title": "c#", "chapters": [{"title": "c#", "text": "x"}]}),
    ("empty.md", "# Only\n\n", {"title": "empty", "text": "# Only\n\n"}),
    (
        "alice.txt",
        ENGLISH,
        {
            "title": "alice",
            "chapters": [
                {"title": "alice", "text": "Preface.\n\nCHAPTER I. Down the hole\nCHAPTER II"},
                {
                    "title": "CHAPTER I. Down the hole",
                    "text": ENGLISH.split("\n")[7] + "\n" + ENGLISH.split("\n")[8],
                },
                {"title": "CHAPTER II", "text": "  The pool."},
            ],
        },
    ),
    (
        "风起.txt",
        CHINESE,
        {
            "title": "风起",
            "chapters": [
                {"title": "风起", "text": "书名：风起"},
                {"title": "第一章 初遇", "text": "\u3000\u3000林小雨站在门口。"},
                {"title": "第2章：离别", "text": "第三章里他说的话，她没有听见。"},
                {"title": "第十二回\u3000甄士隐梦幻识通灵，贾雨村风尘怀闺秀", "text": "完。"},
                {"title": "第九十九章没有空格的标题", "text": "𠮷🐡"},
            ],
        },
    ),
    (
        "guide.md",
        MARKDOWN,
        {
            "title": "guide",
            "chapters": [
                {"title": "guide", "text": "# Book"},
                {"title": "One", "text": "text\n\n```sh\n# no heading\n```\n\n### Under one\nmore"},
                {"title": "Two", "text": "#nor this\n\nlast"},
            ],
        },
    ),
]
"""Name of the file, its text, what it makes."""
