"""Throughput of the keyword analysis on one core: MB of UTF-8 per CPU second, best of five.

English is the prose of Python's own manual, code its standard library, Chinese a shuffle of the
sentences below (runs of Han are never remembered, so repeating them is no help).
"""

from __future__ import annotations

import json
import platform
import random
import time
from pathlib import Path
from pydoc_data.topics import topics

from context_search.text.analysis import match_spans, tokens

_SENTENCES = """
一份很长的文档要先切成小块，再写入索引，查询时才能准确地找到原文的位置。
臺北市立圖書館於1952年成立，目前有44間分館，藏書超過八百萬冊。
搜索引擎通常同时使用关键词和向量两种方法，然后把两边的结果合并排序。
他在2023年用Python 3.11重写了整个服务，延迟从420ms降到了95ms。
天氣預報說明天下午有雷陣雨，請記得帶傘；週末則是晴到多雲。
这种药物每日两次，每次一片，饭后服用，连续七天为一个疗程。
合同自双方签字盖章之日起生效，有效期三年，到期前三十日可书面续签。
“知之为知之，不知为不知，是知也。”——《论语·为政》
"""
_CHUNK = 1_000
_RUNS = 5


def chinese(characters: int) -> str:
    """Sentences in any order."""
    sentences = random.Random(0).choices(_SENTENCES.split("\n")[1:-1], k=characters // 35)
    return "".join(sentences)[:characters]


def code(characters: int) -> str:
    """Modules of the standard library."""
    files = sorted(Path(json.__file__).parents[1].glob("*.py"))
    text = "".join(file.read_text(encoding="utf-8", errors="ignore") for file in files[:40])
    return text[:characters]


def _seconds(chunks: list[str], query: str | None) -> float:
    started = time.process_time()
    for chunk in chunks:
        if query is None:
            tokens(chunk)
        else:
            match_spans(chunk, query)
    return time.process_time() - started


def main() -> None:
    """Print one line per kind of text: indexing and highlighting speed."""
    print(f"keyword analysis, chunks of {_CHUNK:,} characters; {machine()}")
    kinds = {
        "English": ("\n".join(topics.values())[:400_000], "assignment of several targets"),
        "Chinese": (chinese(200_000), "图书馆的藏书"),
        "code": (code(400_000), "getLogger handler_name"),
    }
    for kind, (text, query) in kinds.items():
        chunks = [text[start : start + _CHUNK] for start in range(0, len(text), _CHUNK)]
        size = len(text.encode()) / 1e6
        index = size / min(_seconds(chunks, None) for _ in range(_RUNS))
        highlight = size / min(_seconds(chunks, query) for _ in range(_RUNS))
        print(f"  {kind:8} tokens {index:6.1f} MB/s   match_spans {highlight:6.1f} MB/s")


def machine() -> str:
    """What the figures were measured on."""
    cpu_list = Path("/proc/cpuinfo")
    lines = cpu_list.read_text(encoding="utf-8").splitlines() if cpu_list.exists() else []
    model = next((line.partition(": ")[2] for line in lines if "model name" in line), "")
    return (
        f"{model or platform.processor()} {platform.machine()}, Python {platform.python_version()}"
    )


if __name__ == "__main__":
    main()
