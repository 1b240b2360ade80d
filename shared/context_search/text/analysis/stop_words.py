"""Words that are not searched for.

English ones that carry no meaning of their own are not indexed either. They are the stop-word list
of the Snowball project, complete and unchanged, contractions included
(https://snowballstem.org/algorithms/english/stop.txt, BSD 3-clause, Copyright 2001 Martin
Porter, 2002 Richard Boulton). It leaves out "us", "will", "can", "may" and "must" on purpose.
"""

from __future__ import annotations

import re

STOP_WORDS = frozenset(
    """
    i me my myself we our ours ourselves you your yours yourself yourselves he him his himself
    she her hers herself it its itself they them their theirs themselves
    what which who whom this that these those
    am is are was were be been being have has had having do does did doing
    would should could ought
    i'm you're he's she's it's we're they're i've you've we've they've
    i'd you'd he'd she'd we'd they'd i'll you'll he'll she'll we'll they'll
    isn't aren't wasn't weren't hasn't haven't hadn't doesn't don't didn't
    won't wouldn't shan't shouldn't can't cannot couldn't mustn't
    let's that's who's what's here's there's when's where's why's how's
    a an the and but if or because as until while
    of at by for with about against between into through during before after above below
    to from up down in out on off over under again further then once here there when where why how
    all any both each few more most other some such no nor not only own same so than too very
    """.split()  # noqa: SIM905 - a list literal would be five times as long
)


# ---- Chinese words that make a sentence a question; not searched for.
# English ones are stop words. Chinese text is indexed whole, so these are taken out of the question
# only: an answer has no 什么, and a passage that asks the same has no answer. They are the closed
# class of the grammars (Li, Thompson: Mandarin Chinese, 1981, chapter 18), without 几 and 何 on
# their own, which are parts of many names and terms (几何). docs/quality.md has what that gains.

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
