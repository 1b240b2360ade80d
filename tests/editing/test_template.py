"""What a match of a pattern becomes."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_search.core.errors import ReplacementInvalidError
from context_search_editing.rules.template import Template

PATTERN = re.compile(r"(?P<first>\w)(\d)?(?P<rest>\w*)(x)(x)(x)(x)(x)(x)(x)(x)(x)")
TEXT = "é1bcxxxxxxxxx!"


def expanded(replace_with: str, text: str = TEXT) -> str:
    template = Template.read(replace_with, groups=PATTERN.groups, names=PATTERN.groupindex)
    match = PATTERN.search(text)
    assert match
    spans = tuple(place for group in (0, *template.groups) for place in match.span(group))
    result = template.expand(text, spans)
    assert template.length(spans) == len(result)
    return result


@pytest.mark.parametrize(
    ("replace_with", "becomes"),
    [
        ("", ""),
        ("plain", "plain"),
        ("$0", "é1bcxxxxxxxxx"),
        ("<$1-$2>", "<é-1>"),
        ("$2$1$2", "1é1"),
        ("${first}${rest}", "ébc"),
        ("${12}", "x"),
        ("${1}1", "é1"),
        ("$1Call", "éCall"),
        ("$$1", "$1"),
        ("$$$1", "$é"),
        ("$$$$", "$$"),
        ("\\1\\n\\$1", "\\1\\n\\é"),
        ("{$1}", "{é}"),
        ("价格 $1元", "价格 é元"),
    ],
)
def test_groups_stand_in_a_template(replace_with: str, becomes: str) -> None:
    assert expanded(replace_with) == becomes


def test_a_group_that_took_no_part_is_empty() -> None:
    assert expanded("[$2]", "ébcxxxxxxxxx") == "[]"


@pytest.mark.parametrize(
    ("replace_with", "position"),
    [
        ("$", 0),
        ("costs 5$", 7),
        ("$11", 0),
        ("$1 and $12", 7),
        ("$01", 0),
        ("${01}", 0),
        ("${13}", 0),
        ("${99999999999999999999}", 0),
        ("${none}", 0),
        ("${}", 0),
        ("${first", 0),
        ("$first", 0),
        ("$&", 0),
        ("$`", 0),
        ("$<first>", 0),
        ("$$$", 2),
        ("$１", 0),
        ("${１}", 0),
        ("$²", 0),
        ("${$1}", 0),
    ],
)
def test_a_dollar_without_one_meaning_is_refused(replace_with: str, position: int) -> None:
    with pytest.raises(ReplacementInvalidError, match=f"position {position} ") as refused:
        expanded(replace_with)
    assert "first" not in str(refused.value)


def test_a_digit_is_a_group_only_where_there_is_one() -> None:
    with pytest.raises(ReplacementInvalidError):
        Template.read("$1", groups=0, names={})
    assert Template.read("$0", groups=0, names={}).groups == ()


def test_a_template_asks_for_the_groups_that_it_names() -> None:
    template = Template.read("$3$0${first}$3", groups=12, names=PATTERN.groupindex)
    assert template.groups == (1, 3)


@given(st.text(alphabet="$a1{}\\é", max_size=12))
def test_any_text_is_itself_when_its_dollars_are_doubled(text: str) -> None:
    template = Template.read(text.replace("$", "$$"), groups=1, names={"a": 1})
    assert template.expand("xyz", (0, 1)) == text


@given(st.text(alphabet="$a1{}0", max_size=8))
def test_a_template_is_read_or_refused_with_the_place_of_a_dollar(text: str) -> None:
    try:
        template = Template.read(text, groups=1, names={"a": 1})
    except ReplacementInvalidError as refused:
        position = re.search(r"position (\d+)", str(refused))
        assert position
        assert text[int(position[1])] == "$"
    else:
        spans = (0, 2, 1, 2)[: 2 + 2 * len(template.groups)]
        assert len(template.expand("uv", spans)) == template.length(spans)
