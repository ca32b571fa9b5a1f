"""The scripts are no package: their folder is put on the path, as it is when one of them runs."""

from __future__ import annotations

import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"

sys.path.insert(0, str(SCRIPTS))

from refresh_index import IndexFile  # noqa: E402 -- found by the line above


class OneWheel:
    """An index whose every wheel is the archive that `opened` gives."""

    def __init__(self, opened: Callable[[], zipfile.ZipFile], **files: list[IndexFile]) -> None:
        self._opened, self._files = opened, files

    def files(self, project: str) -> list[IndexFile]:
        return self._files.get(project.replace("-", "_"), [])

    def wheel(self, url: str, least: int = 1) -> zipfile.ZipFile:
        assert url
        assert least
        return self._opened()
