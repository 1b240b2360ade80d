"""Keyword search in Postgres: the tokens of chunks, and one search among them.

What is in the GIN index for a chunk, and what a question asks of it: every lexeme begins with the
index's id, so that words of one index are looked up without reading those of others. ``7:word`` is
a word of index 7, ``7/key`` a pointer that the chunk lies below, ``7#5`` its table.
array_to_tsvector and quoted operands keep them as they are; Postgres parses nothing.

A search counts the words, takes candidates by the rarest and scores these.
docs/decisions/0014-postgres-keywords.md has the reasons and the measurements. A word that every
tenth chunk has takes GIN longer to list than all the rest of a search, and only its share counts:
a sample says which words those are (docs/decisions/0072-common-words-from-a-sample.md).
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from context_search.core.errors import KeywordTimeoutError
from context_search.core.ids import ancestor_keys, scope_key
from context_search.core.model import Generation, Index, Reach
from context_search.indexing.rules.chunks import ChunkTokens
from context_search.integrations.ports import Ranked
from context_search.postgres.errors import PostgresUnavailableError
from context_search.postgres.pool import Transaction, bulk
from context_search.postgres.session import Statement
from context_search.postgres.visible_strings import MAY_MATCH, filter_parameters, in_scope
from context_search.ranking.bm25 import K1, B, idf, term_weight
from context_search.text.analysis import tokens
from context_search.text.analysis.normalization import normalize
from context_search.text.analysis.terms import is_unspaced
from context_search.text.keywords import keys, keys_of

MOST_WORDS = 32
"""Maximum number of words of a question that are looked up. Single characters of Han, kana and
Hangul come last.
"""
MOST_MATCHES = 20_000
"""Maximum number of matches of single words that one search reads. The rarest words come first."""
COUNTED_MATCHES = 3_000
"""Number of matches up to which a word is counted. Beyond it, the number is estimated."""


CERTAIN_HITS = 48
"""Number of chunks of a sample that have a word, from which on it says how many of all have it."""


@dataclass(frozen=True, slots=True)
class Size:
    """Size of an index: chunks, mean tokens of a chunk, chunks on a page.

    ``having`` says of words how many of ``sampled`` of the chunks have each.
    """

    chunks: int
    mean_length: float
    chunks_per_page: float = 1.0
    sampled: int = 0
    having: Mapping[str, int] = field(default_factory=dict)

    def estimated(self, word: str) -> int | None:
        """Returns how many chunks have a common word; of others the sample says nothing: None."""
        hits = self.having.get(word, 0)
        if hits < CERTAIN_HITS:
            return None
        matching = hits * self.chunks // self.sampled
        return matching if matching >= COUNTED_MATCHES else None


@dataclass(frozen=True, slots=True)
class Term:
    """A word of the question, what it asks of the index, and how many chunks have its keys."""

    word: str
    query: str
    matching: int


@dataclass(frozen=True, slots=True)
class Counted:
    """How many chunks have the keys of a word on the first pages."""

    matching: int
    pages: int

    def estimated(self, size: Size) -> int:
        """Returns how many chunks have the word's keys in all.

        Counting ends early for common words; matches come page by page.
        """
        if self.matching < COUNTED_MATCHES:
            return self.matching
        share = self.matching / (self.pages * size.chunks_per_page)
        return max(self.matching, int(min(1.0, share) * size.chunks))


@dataclass(frozen=True, slots=True)
class Candidate:
    """A live chunk that has the keys of ``words``; ``score`` counts each of them once."""

    doc_id: str
    score: float
    words: frozenset[str]
    length: int
    text: str


def selective(words: Collection[str]) -> list[str]:
    """Returns the distinct words to look up; of a long question some are left out."""
    distinct = dict.fromkeys(words)
    return sorted(distinct, key=lambda word: len(word) == 1 and is_unspaced(word))[:MOST_WORDS]


def is_common(pair: str, known: Mapping[str, int]) -> bool:
    """Says whether each key of a pair is a word that many chunks have: it need not be counted."""
    return all(known.get(key, 0) >= COUNTED_MATCHES for key in keys_of(pair))


def bound(pair: str, known: Mapping[str, int]) -> int:
    """Returns how many chunks have the keys of a pair at most."""
    return min(known[key] for key in keys_of(pair))


def affordable(terms: Sequence[Term]) -> list[Term]:
    """Returns the rarest words, at least one, with at most MOST_MATCHES matches together."""
    rarest = sorted(terms, key=lambda term: (term.matching, -len(term.word), term.word))
    matches = 0
    for number, term in enumerate(rarest):
        matches += term.matching
        if number and matches > MOST_MATCHES:
            return rarest[:number]
    return rarest


def rescored(
    found: Sequence[Candidate], terms: Sequence[Term], words: Mapping[str, float], size: Size
) -> list[Ranked]:
    """Returns the candidates with their BM25, those without any of the words left out.

    ``words`` says what each of them counts.
    """
    counts = {one.doc_id: _counts(one, terms) for one in found}
    having = Counter(word for count in counts.values() for word in count)
    worths = {
        term.word: words[term.word] * idf(_matching(term, having[term.word]), size.chunks)
        for term in terms
    }
    return [
        Ranked(one.doc_id, _score(counts[one.doc_id], worths, one.length, size.mean_length))
        for one in found
        if counts[one.doc_id]
    ]


def _counts(candidate: Candidate, terms: Sequence[Term]) -> dict[str, int]:
    """How often each word is in a chunk; what only its key shows is there once."""
    in_text = _frequencies(candidate.text, [term.word for term in terms])
    counts = {
        term.word: in_text[term.word] or int(_is_key(term.word) and term.word in candidate.words)
        for term in terms
    }
    return {word: count for word, count in counts.items() if count}


def _frequencies(text: str, words: Sequence[str]) -> Mapping[str, int]:
    """How often words are among the tokens of a text."""
    if all(is_unspaced(word) and len(set(word)) == len(word) for word in words):
        normalized = normalize(text)  # what they are is what one sees: five times as fast
        return {word: normalized.count(word) for word in words}
    return Counter(tokens(text))


def _matching(term: Term, having: int) -> int:
    """Returns how many chunks have a word.

    For a pair of characters, its share among the best candidates, as its keys overcount.
    """
    return term.matching if _is_key(term.word) else having


def _is_key(word: str) -> bool:
    return len(keys_of(word)) == 1


def _score(
    counts: Mapping[str, int], worths: Mapping[str, float], length: int, mean_length: float
) -> float:
    return sum(
        worths[word] * term_weight(count, length, mean_length) for word, count in counts.items()
    )


SAMPLED = 2_000
"""Number of chunks in the sample of an index with more than COUNTED_MATCHES, about."""
MEASURED = 1_000
"""Number of chunks from which the mean length is computed: of the sample if it has so many."""
MOST_PAGES = 1_024
"""Maximum number of pages that are read for it. Where other indexes lie between, it is smaller."""

_PAGE_OF_ROW = "CAST((CAST(CAST(ctid AS text) AS point))[0] AS bigint)"
# Whole pages, evenly spread from the first of the generation to its last. OFFSET fences the
# subquery: pulled up, it would read the whole table for each page.
_STATISTICS = f"""
    WITH place AS MATERIALIZED (
        SELECT (SELECT CAST(COALESCE(sum(chunks), 0) AS bigint) FROM chunk_tally
                WHERE namespace = :namespace) AS chunks,
               (SELECT {_PAGE_OF_ROW} FROM chunk_words WHERE generation_id >= :generation
                ORDER BY generation_id LIMIT 1) AS first_page,
               (SELECT {_PAGE_OF_ROW} + 1 FROM chunk_words WHERE generation_id <= :generation
                ORDER BY generation_id DESC LIMIT 1) AS end_page),
    looked_at AS (
        SELECT first_page + (end_page - first_page) * number / pages AS page
        FROM (SELECT *, LEAST({MOST_PAGES}, end_page - first_page,
                              (end_page - first_page) * {SAMPLED} / chunks) AS pages
              FROM place WHERE chunks > {COUNTED_MATCHES}) AS place,
             generate_series(0, pages - 1) AS number),
    word AS MATERIALIZED (
        SELECT number, CAST(query AS tsquery) AS query
        FROM unnest(CAST(:queries AS text[])) WITH ORDINALITY AS word (query, number)),
    looked_for AS (
        SELECT number, count(*) AS sampled, count(*) FILTER (WHERE words @@ query) AS having_it,
               CAST(avg(token_count) AS float8) AS mean_length
        FROM looked_at CROSS JOIN LATERAL (
            SELECT token_count, words FROM chunk_words
            WHERE ctid >= CAST(format('(%s,0)', page) AS tid)
              AND ctid < CAST(format('(%s,0)', page + 1) AS tid)
              AND generation_id = :generation OFFSET 0) AS chunk LEFT JOIN word ON true
        GROUP BY number)
    SELECT chunks,
           COALESCE(
               (SELECT max(mean_length) FROM looked_for WHERE sampled >= {MEASURED}),
               (SELECT CAST(avg(token_count) AS float8) FROM (
                    SELECT token_count FROM chunk_words WHERE generation_id = :generation
                    LIMIT {MEASURED}) AS measured),
               1),
           (SELECT CAST(GREATEST(1, reltuples / GREATEST(1, relpages)) AS float8)
            FROM pg_class WHERE oid = CAST('chunk_words' AS regclass)),
           (SELECT max(sampled) FROM looked_for),
           ARRAY(SELECT having_it FROM looked_for ORDER BY number)
    FROM place
"""


def statistics_statement(generation: Generation, queries: Sequence[str]) -> Statement:
    """Returns the statement for a row of ``size_of``; each query is for chunks with one word."""
    return _STATISTICS, {
        "namespace": generation.namespace,
        "generation": generation.id,
        "queries": list(queries),
    }


def size_of(row: Sequence[Any], words: Sequence[str]) -> Size:
    """Returns the size of an index, and how many chunks of the sample have each of the words."""
    chunks, mean_length, chunks_per_page, sampled, having = row
    # Of a question without such words nothing is counted; without a sample nothing at all.
    known = dict(zip(words, having, strict=False))
    return Size(chunks, mean_length, chunks_per_page, sampled or 0, known)


def lexemes(index_id: int, table_id: int, json_pointer: str, words: Iterable[str]) -> list[str]:
    """Returns the lexemes of a chunk, without positions.

    A token has at most 254 bytes and a chunk 8,000 characters, so the limits of tsvector (2,046
    bytes a lexeme, 1 MB in all) are far away.
    """
    return [
        *(f"{index_id}:{key}" for key in keys(words)),
        *(f"{index_id}/{key}" for key in ancestor_keys(json_pointer)),
        f"{index_id}#{table_id}",
    ]


def word_query(index_id: int, word: str) -> str:
    """Returns the tsquery for the chunks that may have a word."""
    return " & ".join(_quoted(f"{index_id}:{key}") for key in keys_of(word))


def narrowed(query: str, index_id: int, reach: Reach) -> str:
    """Returns a tsquery that is limited to a reach."""
    parts = [f"({query})"]
    if reach.json_pointer:
        parts.append(_quoted(f"{index_id}/{scope_key(reach.json_pointer)}"))
    if reach.table_ids:
        parts.append(_any_of([f"{index_id}#{table_id}" for table_id in reach.table_ids]))
    return " & ".join(parts)


def _any_of(names: Sequence[str]) -> str:
    return f"({' | '.join(map(_quoted, names))})"


def _quoted(lexeme: str) -> str:
    escaped = lexeme.replace("\\", "\\\\").replace("'", "''")
    return f"'{escaped}'"


RESCORED = 150
"""Number of candidates whose text is read, to count words and see which are neighbours."""

# Not by the index on generation_id, which the planner may like better: only GIN is bounded.
_OF_GENERATION = "generation_id + 0 = :generation"
_LIVE = f"""
    SELECT turbopuffer_doc_id, chunk_text FROM node JOIN chunks ON chunks.id = scored.chunk_id
    LEFT JOIN comparison ON comparison.generation_id = node.generation_id
                        AND comparison.table_id = node.table_id
    WHERE active_set_id = scored.set_id AND node.generation_id = :generation
      AND {in_scope("chunks.json_pointer")}
      AND (CAST(:tables AS bigint[]) IS NULL OR chunks.table_id = ANY(CAST(:tables AS bigint[])))
      AND {MAY_MATCH}
    LIMIT 1
"""


# A table that was never analysed looks small: all of it would be read, and unpacked. In a large one
# the planner would compile a statement for longer than it takes. Without rows: neither is NULL.
_PLANNING = """
    SELECT WHERE concat(set_config('enable_seqscan', 'off', true),
                        set_config('jit', 'off', true)) IS NULL
"""


@dataclass(frozen=True, slots=True)
class KeywordSearch:
    """Searches an index until ``deadline`` of the monotonic clock."""

    tx: Transaction
    index: Index
    deadline: float

    def best(self, reach: Reach, words: Mapping[str, float], limit: int) -> list[Ranked]:
        """Returns what ``Keywords.best`` does. Behind the first candidates a word counts once."""
        self.tx.queue(_PLANNING)
        wanted = selective(words)
        size = self._size([word for word in wanted if len(keys_of(word)) == 1])
        terms = self._terms(wanted, size)
        if not terms:
            return []
        found = self._candidates(reach, affordable(terms), words, size, max(limit, RESCORED))
        ranked = rescored(found[:RESCORED], terms, words, size)
        ranked += [Ranked(one.doc_id, one.score) for one in found[RESCORED:]]
        return sorted(ranked, key=lambda one: (-one.score, one.doc_id))[:limit]

    def _size(self, words: Sequence[str]) -> Size:
        queries = [word_query(self.index.id, word) for word in words]
        sql, parameters = statistics_statement(self.index.generation, queries)
        [row] = self._run(sql, **parameters)
        return size_of(row, words)

    def _terms(self, wanted: Sequence[str], size: Size) -> list[Term]:
        """Returns the words whose keys some chunk has; only what is not common is counted."""
        known = {word: matching for word in wanted if (matching := size.estimated(word))}
        single = [word for word in wanted if len(keys_of(word)) == 1]
        known |= self._counted([word for word in single if word not in known], size)
        pairs = [word for word in wanted if len(keys_of(word)) > 1]
        known |= {word: bound(word, known) for word in pairs if is_common(word, known)}
        known |= self._counted([word for word in pairs if word not in known], size)
        return [
            Term(word, word_query(self.index.id, word), known[word])
            for word in wanted
            if word in known
        ]

    def _counted(self, words: Sequence[str], size: Size) -> dict[str, int]:
        if not words:
            return {}
        rows = self._run(
            f"""
            SELECT word, matching, first_row, last_row
            FROM unnest(CAST(:words AS text[]), CAST(:queries AS text[])) AS term (word, query)
            CROSS JOIN LATERAL (
                SELECT count(*) AS matching, CAST(min(row) AS text) AS first_row,
                       CAST(max(row) AS text) AS last_row
                FROM (SELECT ctid AS row FROM chunk_words
                      WHERE words @@ CAST(query AS tsquery) AND {_OF_GENERATION}
                      LIMIT :counted) AS chunk) AS counted
            WHERE matching > 0
            """,
            words=list(words),
            queries=[word_query(self.index.id, word) for word in words],
            generation=self.index.generation.id,
            counted=COUNTED_MATCHES,
        )
        return {
            word: Counted(matching, _page(last) - _page(first) + 1).estimated(size)
            for word, matching, first, last in rows
        }

    def _candidates(
        self,
        reach: Reach,
        terms: Sequence[Term],
        words: Mapping[str, float],
        size: Size,
        limit: int,
    ) -> list[Candidate]:
        rows = self._run(
            f"""
            WITH having_it AS (
                SELECT chunk_id, set_id, token_count, number, worth
                FROM unnest(CAST(:queries AS text[]), CAST(:worths AS float8[]))
                    WITH ORDINALITY AS term (query, worth, number)
                CROSS JOIN LATERAL (
                    SELECT chunk_id, set_id, token_count FROM chunk_words
                    WHERE words @@ CAST(query AS tsquery) AND {_OF_GENERATION}
                    LIMIT :most) AS chunk),
            scored AS (
                SELECT chunk_id, set_id, token_count,
                       bit_or(CAST(1 AS bigint) << CAST(number AS int)) AS numbers,
                       sum(worth / (CAST(:base AS float8) + CAST(:slope AS float8) * token_count))
                           AS score
                FROM having_it GROUP BY chunk_id, set_id, token_count)
            SELECT turbopuffer_doc_id, score, numbers, token_count, chunk_text
            FROM (SELECT * FROM scored ORDER BY score DESC, chunk_id) AS scored
            CROSS JOIN LATERAL ({_LIVE}) AS live
            ORDER BY score DESC, chunk_id LIMIT :limit
            """,
            queries=[narrowed(term.query, self.index.id, reach) for term in terms],
            worths=[
                words[term.word] * idf(term.matching, size.chunks) * (K1 + 1) for term in terms
            ],
            base=1 + K1 * (1 - B),
            slope=K1 * B / (size.mean_length or 1.0),
            most=MOST_MATCHES,
            generation=self.index.generation.id,
            scope=reach.json_pointer,
            tables=None if reach.table_ids is None else list(reach.table_ids),
            limit=limit,
            **filter_parameters(reach.filter),
        )
        return [
            Candidate(doc_id, score, _of_bits(numbers, terms), length, text)
            for doc_id, score, numbers, length, text in rows
        ]

    def _run(self, sql: str, **parameters: object) -> list[list[Any]]:
        left_ms = int((self.deadline - time.monotonic()) * 1000)
        if left_ms <= 0:
            raise KeywordTimeoutError("no time is left for the keyword search")
        self.tx.queue(f"SET LOCAL statement_timeout = {left_ms:d}")
        return self.tx.run(sql, **parameters)


def _of_bits(numbers: int, terms: Sequence[Term]) -> frozenset[str]:
    """Returns the words whose bits are set; they are counted from 1."""
    return frozenset(term.word for n, term in enumerate(terms, 1) if numbers >> n & 1)


def _page(row: str) -> int:
    """Returns the page of the table that a row is in; ``(page,number)`` is its place."""
    return int(row[1:].partition(",")[0])


_CANCELLED = "57014"


@dataclass(frozen=True, slots=True)
class Keywords:
    """Keyword search in Postgres: for lean storage, and while turbopuffer is down."""

    tx: Transaction

    def put(self, chunks: Sequence[ChunkTokens]) -> None:
        """Keeps the tokens of chunks; of those that have some already, or are gone, nothing."""
        places = self.tx.run(
            """
            SELECT chunks.id, chunks.table_id, chunks.json_pointer, set_id, generation_id, index_id
            FROM chunks JOIN chunk_set ON chunk_set.id = set_id JOIN node ON node.id = node_id
            JOIN index_generation ON index_generation.id = generation_id
            WHERE chunks.id = ANY(CAST(:ids AS bigint[])) AND index_id IS NOT NULL
            ORDER BY chunks.id FOR KEY SHARE OF chunks  -- that none moves to another set meanwhile
            """,
            ids=[chunk.chunk_id for chunk in chunks],
        )
        tokens_of = {chunk.chunk_id: chunk.tokens for chunk in chunks}
        bulk(
            self.tx,
            """
            INSERT INTO chunk_words (chunk_id, set_id, generation_id, token_count, words)
            SELECT i, s, g, n, array_to_tsvector(ARRAY(SELECT jsonb_array_elements_text(w)))
            FROM jsonb_to_recordset(CAST(:rows AS jsonb)) AS row (
                i bigint, s bigint, g bigint, n int, w jsonb)
            ON CONFLICT DO NOTHING
            """,
            (_row(place, tokens_of[place[0]]) for place in places),
        )

    def best(
        self,
        index: Index,
        reach: Reach,
        words: Mapping[str, float],
        limit: int,
        *,
        timeout_s: float,
    ) -> list[Ranked]:
        """Returns up to ``limit`` chunks that have any of ``words``, by BM25, ties by id.

        A word's BM25 is multiplied by its value, what it counts.

        Only active chunks of the index's generation within ``reach``; its filter holds for the
        fields that are stored, or that nobody has stored yet. A statement that takes
        longer than ``timeout_s`` raises KeywordTimeoutError and ends the transaction; the limit
        is that of the transaction from then on, so it should do nothing else.
        """
        try:
            search = KeywordSearch(self.tx, index, time.monotonic() + timeout_s)
            return search.best(reach, words, limit)
        except PostgresUnavailableError as error:
            if error.sqlstate != _CANCELLED:
                raise
            raise KeywordTimeoutError("the keyword search took too long") from None


def _row(place: Sequence[Any], words: Sequence[str]) -> dict[str, object]:
    chunk_id, table_id, json_pointer, set_id, generation_id, index_id = place
    return {
        "i": chunk_id,
        "s": set_id,
        "g": generation_id,
        "n": len(words),
        "w": lexemes(index_id, table_id, json_pointer, words),
    }
