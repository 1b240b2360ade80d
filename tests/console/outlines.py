"""What a screen reader is told of each view: landmarks, headings, controls, by role and name.

In Playwright's form of the accessibility tree; what a view has beyond this, between these, may be.
"""

from __future__ import annotations

from tests.console.check_every_page import QUESTION

FRAME = """
- link "Skip to the content"
- banner:
  - link "context-search"
  - button "Go to a table, tool, page; ask Ctrl K"
  - button "中文"
  - 'button "Theme: system"'
  - button "Shortcuts"
  - button "Sign out"
  - navigation "Pages":
    - link "Overview"
    - link "Search"
    - link "Evaluate"
    - link "Documents"
    - link "Indexes"
    - link "Replace"
    - link "Agents"
    - link "Keys"
    - link "Health"
- main
"""

SIGN_IN = """
- main:
  - heading "Sign in" [level=1]
  - textbox "Project key"
  - button "Sign in"
"""

# Address (TABLE and TOOL are those of the tenant) → what is there first, and what is told.
VIEWS: dict[str, tuple[str, str]] = {
    "/overview": ("table.overview", """
- heading "Overview" [level=1]
- searchbox "Filter tables and tools"
- button "Make a Search Tool…"
- button "Choose a file"
- table:
  - rowgroup:
    - row:
      - columnheader "Table, Search Tool"
      - columnheader "Index"
  - rowgroup:
    - row:
      - rowheader "Library":
        - link "Library"
    - row:
      - cell:
        - link "search_novel"
      - cell:
        - link "ready"
- heading "Search over the whole project" [level=2]
- button "Switch on"
"""),
    f"/search?q={QUESTION}": (".text .hit", """
- heading "Search" [level=1]
- search:
  - textbox "Question"
  - button "Ask"
  - combobox "Search in"
  - group "Search":
    - button "Hits" [pressed]
    - button "Retrieve"
  - combobox "Strategy"
  - combobox "Hits"
  - slider /Least relevance/
  - button "Copy as curl"
- status: /10 hits of \\d+ candidates/
- list:
  - listitem:
    - button "Letters /books/0/text" [pressed]
    - button /why/
- region "Where it is in the text":
  - heading "Letters" [level=2]
  - link "Open in Documents o"
  - checkbox "chunks" [checked]
  - checkbox "invisible"
  - form "Find in text":
    - searchbox "Find in text"
  - region "Text of the document":
    - group /chunk 1 begins at character 1/
    - group /chunk 2 begins at character \\d+, overlap with 1/
  - button "Copy citation"
  - button "Copy passage"
"""),
    "/evaluate": ("table, .empty", """
- heading "Evaluate" [level=1]
- combobox "A"
- combobox "B"
- combobox "Strategy"
- combobox "Fusion"
- search:
  - textbox "Question"
  - button "Ask both"
"""),
    "/documents": ("tbody tr", """
- heading "Documents" [level=1]
- searchbox "Filter by name"
- button "New table from a file"
- table:
  - rowgroup:
    - row:
      - columnheader "Table"
      - columnheader "Index"
      - columnheader "Tools"
      - columnheader "Revision"
  - rowgroup:
    - row:
      - cell:
        - link "Library"
"""),
    "/documents/TABLE?p=/odd/price": ("[role=treeitem][aria-selected=true]", """
- heading "Library" [level=1]
- button "Upload new content"
- button "Versions"
- region "Outline":
  - combobox "Show"
  - searchbox "Filter by key in /odd"
  - tree "Outline":
    - treeitem /odd/ [expanded] [level=1]
    - treeitem /price/ [level=2] [selected]
- region "Value as JSON":
  - navigation "Outline":
    - link "root"
    - link "odd"
    - link "price"
    - button "Copy pointer"
  - button "Edit"
"""),
    "/indexes": ("tbody tr", """
- heading "Indexes" [level=1]
- searchbox "Filter indexes"
- button "Make a Search Tool…"
- table:
  - rowgroup:
    - row:
      - columnheader "Table / Search Tool"
      - columnheader "State"
  - rowgroup:
    - row:
      - cell:
        - link "Library / search_novel"
"""),
    "/indexes/TOOL": ("dl.facts", """
- heading "Indexes / Library / search_novel" [level=1]:
  - link "Indexes"
- button "Rebuild…"
- button "Empty…"
- button "Delete the tool…"
- heading "Strings" [level=2]
- combobox "State"
- searchbox "Filter by pointer"
- region "Strings":
  - table:
    - rowgroup:
      - row:
        - columnheader "String"
        - columnheader "State"
        - columnheader "Who mends it"
"""),
    "/replace": ("form", """
- heading "Replace" [level=1]
- textbox "Find"
- textbox "Replace by"
- button "Preview"
- checkbox "match case" [checked]
- checkbox "whole word"
- checkbox "regex"
- combobox "In"
- textbox "under"
- group: History
"""),
    "/agents": ("table, .empty", """
- heading "Agents" [level=1]
- button "Make an MCP instance…"
"""),
    "/cite": (".empty", """
- heading "Citation" [level=1]
"""),
    "/keys": ("tbody tr", """
- heading "Keys" [level=1]
- checkbox "with sessions of the console"
- button "Make a key…"
- table:
  - rowgroup:
    - row:
      - columnheader "Name"
      - columnheader "May"
      - columnheader "Ends"
  - rowgroup:
    - row:
      - cell:
        - button "Rotate…"
        - button "Revoke…"
"""),
    "/health": ("dl.facts", """
- heading "Health" [level=1]
- term: API
- definition
- heading "Errors" [level=2]
"""),
    "/states": (".bone", """
- heading "States" [level=1]
- heading "loading" [level=2]
- status
- heading "degraded" [level=2]
- alert
"""),
}  # fmt: skip
