"""What triggers add up is what there is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

WRONG = """
    SELECT 'strings of generation ' || generation_id FROM (
        SELECT generation_id, nodes FROM node_tally
        UNION ALL SELECT generation_id, -1 FROM node) AS counted
    GROUP BY generation_id HAVING sum(nodes) <> 0
    UNION ALL
    SELECT 'chunks of ' || namespace FROM (
        SELECT namespace, chunks, documents FROM chunk_tally
        UNION ALL SELECT turbopuffer_namespace, -1, -window_count FROM chunks) AS counted
    GROUP BY namespace HAVING sum(chunks) <> 0 OR sum(documents) <> 0
    UNION ALL
    SELECT 'part ' || scope || ' of generation ' || generation_id FROM (
        SELECT counted_part.id, nodes, chunks
        FROM counted_part JOIN part_tally ON part_id = counted_part.id
        UNION ALL SELECT counted_part.id, -1, 0 FROM counted_part
        JOIN node ON node.generation_id = counted_part.generation_id
            AND (json_pointer = scope OR starts_with(json_pointer, scope || '/'))
        UNION ALL SELECT counted_part.id, 0, -1 FROM counted_part
        JOIN index_generation ON index_generation.id = counted_part.generation_id
        JOIN chunks ON turbopuffer_namespace = namespace
            AND (json_pointer = scope OR starts_with(json_pointer, scope || '/'))
        ) AS counted (part_id, nodes, chunks)
    JOIN counted_part ON counted_part.id = part_id WHERE is_summed
    GROUP BY counted_part.id HAVING sum(nodes) <> 0 OR sum(chunks) <> 0
"""


def wrong_tallies(run: Callable[[str], list[list[Any]]]) -> list[str]:
    """The tallies that are not what there is; ``run`` returns the rows of a statement."""
    return [str(of) for [of] in run(WRONG)]
