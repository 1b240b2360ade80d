"""A dozen topics: a question and its answer in English and in Chinese, sharing few words."""

from __future__ import annotations

_COLUMNS = ("en_query", "en", "zh_query", "zh")

TOPICS = (
    (
        "How do I keep bread fresh for longer?",
        "Store a loaf in a paper bag at room temperature; the refrigerator makes it stale faster.",
        "面包怎样才能放得更久？",
        "面包应装在纸袋里常温保存，放进冰箱反而更快变硬。",
    ),
    (
        "Why did the train arrive late?",
        "The express was delayed by forty minutes because snow blocked the railway track.",
        "火车为什么晚点？",
        "由于积雪堵住了铁轨，特快列车延误了四十分钟。",
    ),
    (
        "medicine against a headache",
        "Take one painkiller tablet with water when your head hurts, at most three a day.",
        "头疼吃什么药",
        "头痛时用水送服一片止痛药，每天最多三片。",
    ),
    (
        "Who won the football match?",
        "The home team scored twice in the second half and beat the champions.",
        "足球比赛谁赢了？",
        "主队在下半场连进两球，击败了卫冕冠军。",
    ),
    (
        "How is the weather tomorrow?",
        "Heavy rain and strong wind are expected from the morning, clearing up at night.",
        "明天天气怎么样？",
        "预计明早开始有大雨和大风，夜间转晴。",
    ),
    (
        "How can I save money for retirement?",
        "Put a tenth of your salary into a pension fund every month and leave it there.",
        "怎样为退休存钱？",
        "每月把工资的十分之一存入养老基金，不要取出。",
    ),
    (
        "teaching children to read",
        "Pupils learn letters first, then syllables, and enjoy short stories after a year.",
        "教孩子识字阅读",
        "学生先学字母，再学音节，一年后就能读短篇故事。",
    ),
    (
        "Which animals live in the desert?",
        "Camels, lizards and scorpions survive in the hot sand with hardly any water.",
        "沙漠里有什么动物？",
        "骆驼、蜥蜴和蝎子能在几乎没有水的炎热沙地里生存。",
    ),
    (
        "My computer does not start",
        "If the laptop stays dark, check the power supply and replace the battery.",
        "电脑开不了机",
        "笔记本黑屏时，请检查电源并更换电池。",
    ),
    (
        "rules for renting a flat",
        "The tenant pays a deposit of two months and gives notice three months before moving out.",
        "租房的规定",
        "租客需交两个月押金，搬走前三个月通知房东。",
    ),
    (
        "How was the emperor's palace built?",
        "Thousands of workers raised the walls of the imperial residence from marble and cedar.",
        "皇帝的宫殿是怎么建成的？",
        "成千上万的工匠用大理石和雪松木筑起了皇宫的高墙。",
    ),
    (
        "What does a violin cost?",
        "A good instrument for an orchestra player is sold for about ten thousand euros.",
        "一把小提琴多少钱？",
        "一件适合乐团演奏者的好乐器售价约一万欧元。",
    ),
)


def column(name: str) -> list[str]:
    """All questions or passages of one language, in the order of the topics."""
    return [topic[_COLUMNS.index(name)] for topic in TOPICS]
