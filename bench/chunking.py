"""The chunker beside semantic-text-splitter: speed, mean length, chunks changed by an edit.

Speeds are million characters per CPU second, best of several rounds in which the two take turns;
"new chunks" counts those to embed again after a paragraph was put at the top or in the middle.
"""

from __future__ import annotations

import platform
import re
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from pydoc_data.topics import topics
from random import Random

from semantic_text_splitter import TextSplitter

from context_search.text.chunking import chunk_spans

_ROUNDS = 15
_LENGTH = 500_000
_SENTENCES = [
    "林远走进废弃的仓库，灯光一闪一闪。",
    "“你确定要进去吗？”她小声问道。",
    "雨水顺着屋檐滴落，在地上汇成小小的水洼。",
    "十年前的那场大火，至今没有人愿意再提起。",
    "他停下脚步，听见远处传来低沉的轰鸣！",
    "信封里只有一张泛黄的照片和半枚铜钥匙。",
    "城市的另一端，老周正在整理档案；他一夜未眠。",
    "风停了。",
    "没有人知道那天夜里究竟发生了什么……",
    "他们沿着铁轨走了很久，直到天边泛起鱼肚白。",
    "数据表明，这一趋势在过去三年里持续增强，而问题并不在于技术本身。",
    "请在提交之前检查所有的参数和配置文件，系统会在后台重新建立索引。",
    "春天来得比往年更早，桃花一夜之间开满了山坡。",
    "母亲把晒干的萝卜收进坛子里，又压上一块青石，然后坐在门槛上等他回来。",
]
_HOSTILE = {
    "one letter": "x",
    "Chinese without marks": "字",
    "line feeds and an x": "\n" * 99 + "x",
    "words": "ab ",
    "flags": "🇩🇪",
    "zalgo of 80": "a" + "\u0300" * 79,
    "CRLF lines": "some text\r\n",
    "families": "👩\u200d👩\u200d👧\u200d👦",
    "Hangul jamo": "\u1112\u1161\u11ab",
    "full stops": ".",
    "Chinese full stops": "。",
}


def _chinese(paragraph_end: str) -> str:
    random = Random(0)
    names = ["林远", "老周", "小雨", "母亲", "队长", "陈先生"]
    paragraphs: list[str] = []
    while sum(map(len, paragraphs)) < _LENGTH:
        sentences = (random.choice(names) + "说：" * random.randrange(2) for _ in range(8))
        paragraphs.append("".join(s + random.choice(_SENTENCES) for s in sentences) + paragraph_end)
    return "".join(paragraphs)


def _inputs() -> dict[str, tuple[str, str]]:
    """Name → a text, and a paragraph to put into it."""
    manual = "\n\n".join(topics.values())
    paragraphs = (re.sub(r"\s+", " ", paragraph) for paragraph in manual.split("\n\n"))
    english = "This paragraph was not here before. It has two sentences.\n\n"
    chinese = "这个段落以前没有。它有两句话。"
    return {
        "English, manual": (manual, english),
        "English, unwrapped": ("\n\n".join(paragraphs), english),
        "English, one line": (re.sub(r"\s+", " ", manual), english.strip() + " "),
        "Chinese, paragraphs": (_chinese("\n\n"), chinese + "\n\n"),
        "Chinese, lines": (_chinese("\n"), chinese + "\n"),
        "Chinese, one line": (_chinese(""), chinese),
    }


def _best_seconds(*contenders: Callable[[], object]) -> list[float]:
    best = [float("inf")] * len(contenders)
    for _ in range(_ROUNDS):
        for i, contender in enumerate(contenders):
            started = time.process_time()
            contender()
            best[i] = min(best[i], time.process_time() - started)
    return best


def _chunks(text: str) -> Counter[str]:
    return Counter(text[span.start : span.end] for span in chunk_spans(text))


def _report(name: str, text: str, paragraph: str) -> None:
    splitter = TextSplitter(1_000, overlap=100)
    ours, theirs = _best_seconds(lambda: chunk_spans(text), lambda: splitter.chunks(text))
    speeds = [len(text) / seconds / 1e6 for seconds in (ours, theirs)]
    chunks, their_chunks = _chunks(text), splitter.chunks(text)
    mean, their_mean = (
        sum(map(len, of)) / len(of) for of in (list(chunks.elements()), their_chunks)
    )
    middle = len(text) // 2
    top_edit = (_chunks(paragraph + text) - chunks).total()
    middle_edit = (_chunks(text[:middle] + paragraph + text[middle:]) - chunks).total()
    print(
        f"{name:22} {speeds[0]:8.0f} {speeds[1]:8.0f} {theirs / ours:8.2f}"
        f" {mean:8.0f} {their_mean:8.0f} {top_edit:6} {middle_edit:6}"
    )


def main() -> None:
    """Print the tables."""
    print(f"chunks of 1,000 with an overlap of 100; {_machine()}\n")
    print(f"{'':22} {'Mchars/s':>17} {'':8} {'mean length':>17} {'new chunks':>13}")
    print(f"{'':22} {'ours':>8} {'theirs':>8} {'ratio':>8}", end="")
    print(f" {'ours':>8} {'theirs':>8} {'top':>6} {'middle':>6}")
    for name, (text, paragraph) in _inputs().items():
        _report(name, text, paragraph)
    print("\nhostile, a million characters of: Mchars/s")
    for name, unit in _HOSTILE.items():
        text = unit * (1_000_000 // len(unit))
        [seconds] = _best_seconds(lambda text=text: chunk_spans(text))  # type: ignore[misc]
        print(f"{name:22} {len(text) / seconds / 1e6:8.0f}")


def _machine() -> str:
    cpu_list = Path("/proc/cpuinfo")
    lines = cpu_list.read_text(encoding="utf-8").splitlines() if cpu_list.exists() else []
    model = next((line.partition(": ")[2] for line in lines if "model name" in line), "")
    return f"{model or platform.processor()}, Python {platform.python_version()}"


if __name__ == "__main__":
    main()
