"""Chinese words that make a sentence a question; not searched for.

English ones are stop words. Chinese text is indexed whole, so these are taken out of the question
only: an answer has no 什么, and a passage that asks the same has no answer. They are the closed
class of the grammars (Li, Thompson: Mandarin Chinese, 1981, chapter 18), without 几 and 何 on
their own, which are parts of many names and terms (几何). docs/quality.md has what that gains.
"""

from __future__ import annotations

import re

# After normalization, so in simplified characters. 哪吒 (there 哪咤) is a name; 吗 and 呢 are
# particles at the end of a clause only, as 吗啡 and 呢绒 are things.
_QUESTION_WORD = re.compile(
    r"为什么|什么(?:时候|样)?|怎么样?|怎样|如何|为何|何[时地人处种年]|多少|谁|哪[些个里儿]?(?!咤)"
    r"|是否|请问|[吗呢](?=\W|\Z)"
)


def without_question_words(normalized: str) -> str:
    """Returns a normalized question with a space for each of its question words.

    >>> without_question_words("请问闸门什么时候打开")
    ' 闸门 打开'
    """
    return _QUESTION_WORD.sub(" ", normalized)
