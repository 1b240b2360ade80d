"""Search Tools and indexes as several features select them: columns, tables, and their values."""

from __future__ import annotations

import json
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from context_search.core.config import IndexConfig, SearchConfig
from context_search.core.model import Generation, Index, IndexCalibration, Scope, SearchTool
from context_search.postgres.visible_rows import TABLE_IS_THERE

USED_AT = "COALESCE(search_index.last_searched_at, search_index.created_at)"
INDEX_COLUMNS = f"""
    search_index.id, search_index.project_id, search_index.table_id, generation.config,
    generation.id, generation.namespace, generation.state, generation.number,
    EXISTS (SELECT FROM index_generation AS pending WHERE pending.index_id = search_index.id
            AND pending.state IN ('queued', 'building')),
    search_index.evicted_at,
    {USED_AT} < clock_timestamp() - interval '1 minute',
    search_index.evicted_by, COALESCE(search_index.filterable, '{{}}'), generation.calibration
"""
INDEX = f"""
    SELECT {INDEX_COLUMNS}
    FROM search_index JOIN index_generation AS generation ON generation.index_id = search_index.id
"""
ACTIVE = "generation.id = search_index.active_generation_id"
INDEX_OF_PROJECT = f"""
    {INDEX} WHERE {ACTIVE} AND search_index.project_id = :project AND search_index.table_id IS NULL
"""
TOOL_NAME = "COALESCE(tool.name, 'search')"
# A program that changes json_path changes nothing: the scope is what the index holds for the tool.
TOOL_COLUMNS = f"""
    tool.id, tool.project_id, {TOOL_NAME}, tool.description, context_table.name, tool.table_id,
    coverage.scope, tool.search_config, coverage.index_id, CAST(tool.created_at AS timestamptz),
    (SELECT CAST(config ->> 'threshold' AS int) FROM index_generation
     WHERE id = search_index.active_generation_id)
"""
# A program that moves a table or a tool to another project takes them apart.
TABLE_OF_TOOL = f"""
    context_table.id = tool.table_id AND context_table.project_id = tool.project_id
    AND {TABLE_IS_THERE}
"""
TOOL_TABLES = f"""
    tool
    JOIN context_table ON {TABLE_OF_TOOL}
    JOIN coverage ON coverage.tool_id = tool.id
    JOIN search_index ON search_index.id = coverage.index_id
                     AND search_index.project_id = tool.project_id
"""


def tool_of(row: Sequence[Any]) -> SearchTool:
    """Returns the tool of a row of ``TOOL_COLUMNS``."""
    tool_id, project_id, name, description, table_name, table_id, scope, config, *index = row
    index_id, created_at, threshold = index
    return SearchTool(
        id=tool_id,
        project_id=project_id,
        name=name,
        description=description,
        table_name=table_name,
        scope=Scope(table_id, scope),
        search=SearchConfig.from_stored(json.loads(config or "{}", parse_float=Decimal)),
        index_id=index_id,
        created_at=created_at,
        threshold=threshold,
    )


def index_of_row(row: Sequence[Any]) -> Index:
    """Returns the index of a row of ``INDEX_COLUMNS``."""
    index_id, project_id, table_id, config, each, namespace, state, number, *rest = row
    *of_index, names, found = rest
    calibration = None if found is None else IndexCalibration.from_json(found)
    generation = Generation(each, namespace, state, number, calibration)
    known = IndexConfig.from_json(config)
    return Index(*[index_id, project_id, table_id, known, generation, *of_index, tuple(names)])
