"""Finding a question's words in a text is the same as reading all tokens of the text."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from context_search.text.analysis import Occurrence, TermFinder, query_tokens, tokens
from context_search.text.analysis.matches import beginning
from context_search.text.analysis.terms import is_plain_word, name_spans, token_of

from .strategies import texts


@st.composite
def text_and_question(draw: st.DrawFn) -> tuple[str, str]:
    """A text, and as its question a part of it or something else."""
    text = draw(texts)
    start, end = sorted(draw(st.tuples(*[st.integers(0, len(text))] * 2)))
    return text, draw(st.one_of(st.just(text[start:end]), texts))


def from_the_first(found: Sequence[Occurrence]) -> list[Occurrence]:
    """Occurrences by their distance from the first one, which is all that a position says."""
    return [(at - found[0][0], token) for at, token in found]


@given(text_and_question())
def test_what_is_found_are_the_tokens_that_are_words_of_the_question(pair: tuple[str, str]) -> None:
    text, question = pair
    words = query_tokens(question)
    seen = [(at, token) for at, token in enumerate(tokens(text)) if token in words]
    assert from_the_first(TermFinder(words).find(text)) == from_the_first(seen)
    assert TermFinder(words).words_in(text) == {token for _, token in seen}


@given(texts)
def test_a_long_question_is_found_as_well(text: str) -> None:
    words = [*query_tokens(text), *(f"q{number}" for number in range(100))]
    seen = [(at, token) for at, token in enumerate(tokens(text)) if token in words]
    assert from_the_first(TermFinder(words).find(text)) == from_the_first(seen)
    assert TermFinder(words).words_in(text) == {token for _, token in seen}


@given(st.lists(texts, max_size=5), texts, st.integers(0, 100))
def test_words_of_many_texts_are_those_of_each(
    several: list[str], question: str, others: int
) -> None:
    words = [*query_tokens(question), *(f"q{number}" for number in range(others))]
    found = TermFinder(words).words_in_each([*several, question])
    assert found == [frozenset(tokens(text)).intersection(words) for text in [*several, question]]


def test_a_question_of_stop_words_is_found_nowhere() -> None:
    assert TermFinder(query_tokens("what is it")).find("what it is") == []


@given(st.text("abzABZs09é'", min_size=1, max_size=8))
def test_a_plain_word_has_no_names_but_itself(piece: str) -> None:
    if is_plain_word(piece):
        assert list(name_spans(piece)) in ([], [(0, len(piece))])


# Everything that the Snowball stemmer for English replaces, and its exceptions.
ENDINGS = """
    s es ed ing edly ingly ly y ies ied ying ee eed eedly us ss sses at ated ating bl bled iz ized
    ational tional enci anci abli entli izer ization ation ator alism aliti alli fulness ousli
    ousness iveness iviti biliti bli ogi fulli lessli li icate iciti ical ful ness ative al ance
    ence er ic able ible ant ement ment ent ism ate iti ous ive ize ion sion tion ability ivity
    ality ably ogist logy ously iveness e l ll pp tt nn
"""
EXCEPTIONS = """
    skis skies dying lying tying idly gently ugly early only singly sky news howe atlas cosmos bias
    andes inning outing canning herring earring proceed exceed succeed
"""


@given(
    st.one_of(
        st.sampled_from(EXCEPTIONS.split()),
        st.builds(
            lambda start, endings: start + "".join(endings),
            st.text("abdegilnotuy", min_size=1, max_size=6),
            st.lists(st.sampled_from(ENDINGS.split()), max_size=3),
        ),
    )
)
def test_a_word_begins_as_its_stem_does(word: str) -> None:
    assert word.startswith(beginning(token_of(word)))
