"""An index holds the tokens of one version of the analysis; queries must use the same."""

from __future__ import annotations

import hashlib

from context_search.core.config import ANALYSIS_VERSION
from context_search.text.analysis import tokens

_SAMPLE = """
The quick brown foxes were jumping generously over 3.14 lazy dogs' beds; a user's SKU-0042 isn't
in HTTPServer2.fooBar_baz(v1.2.3) at docs/read_me.md, john.doe@example.com, AT&T, ﬁne naïve Łódź.
搜索引擎與資料庫，2020年的iPhone15手機。ｶﾞｽを使うテスト 한국어 검색
Привет Ёлка हिन्दी भाषा مُحَمَّد ١٢٣ ไทย Ἀθῆναι
"""
_DIGESTS = {1: "c839cc3c5668c309"}


def test_tokens_of_this_version_are_those_that_indexes_hold() -> None:
    """Fails when code, data, Python or PyStemmer change tokens: then raise ANALYSIS_VERSION."""
    digest = hashlib.sha256("\n".join(tokens(_SAMPLE)).encode()).hexdigest()[:16]
    assert digest == _DIGESTS[ANALYSIS_VERSION]
