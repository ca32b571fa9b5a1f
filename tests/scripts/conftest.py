"""The scripts are no package: their folder is put on the path, as it is when one of them runs."""

from __future__ import annotations

import sys
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"

sys.path.insert(0, str(SCRIPTS))
