"""The tools that agents replace with, over MCP."""

from __future__ import annotations

from context_search.agents.list_tools import ListTools
from context_search.composition.editing import Editing
from context_search.searching.retrieve import RedactHits
from context_search_editing.agents.confirmations import Confirmations
from context_search_editing.agents.replacing import ReplaceUseCases


class AgentEditing(Editing):
    """The use cases of editing, and the tools over them."""

    def replace_tools(self) -> ReplaceUseCases:
        """Returns the tools, with the secret of confirmations as it is now."""
        # One secret for two purposes, as for the subjects of tokens.
        key = f"confirmation {self.parts.fresh_settings.query_hash_key}"
        return ReplaceUseCases(
            preview=self.preview,
            matches=self.matches,
            execute=self.execute,
            undo=self.undo,
            confirmations=Confirmations(key, self.parts.clock),
            tools=ListTools(self.parts.store),
            redaction=RedactHits(self.parts.store),
        )
