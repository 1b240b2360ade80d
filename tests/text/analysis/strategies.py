"""Texts that mix scripts, spellings and separators in ways that break analysers."""

from __future__ import annotations

from hypothesis import strategies as st

_INTERESTING = (
    "aAbBsSzZ019_-./@&' \n,:#+"
    "éÉßŁıİæﬁŉǅ㎏㏂½①²№℃"
    "\u0301\u0308\u0315\u0323\u0345\u00ad\u200d\ufe0f\u3099\u309a"
    "中文發发體体台臺干乾\ufa0e㍿々。，"
    "がカガｶﾊﾞﾟー한국\u1100\u1161\u11a8ㅏ"
    "йёЁжςΣΐ\u0639\u0651\u0660\u05d0\u05b0हि\u094d\u09bfไั🐡👨"
)

_EAST_ASIAN = "中文发發體体台臺干乾、。，！（）「」　“”—·テスト한국Ａｂ－ test"

texts = st.one_of(
    st.text(st.sampled_from(_EAST_ASIAN), max_size=30),
    st.text(st.sampled_from(_INTERESTING), max_size=30),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=30),
    st.from_regex(
        r"([A-Z]{0,3}[a-z]{0,4}[0-9]{0,2}[-_./']?){1,6}( [a-z]{1,8}){0,3}", fullmatch=True
    ),
)
