"""The row of an upload."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from context_search.domain.uploads import Upload


@dataclass(frozen=True, slots=True)
class UploadRow:
    upload: Upload
    saved_at: datetime
