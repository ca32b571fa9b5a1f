"""The rules about a GPU, by name, for gpudoctor.diagnose.rules: to ask each rule what it is about would load it."""

from __future__ import annotations

from pathlib import Path

from gpudoctor.diagnose.rules import RULES
from gpudoctor.findings import SubjectKind


def generated(root: Path) -> dict[Path, str]:
    """Return the text of the list."""
    rows = "".join(f'        "{rule.body.__name__}",\n' for rule in RULES if rule.about is SubjectKind.GPU)
    lines = (
        '"""The modules of the rules about a GPU; written by scripts/generate."""',
        "",
        "from __future__ import annotations",
        "",
        f"OF_GPUS = frozenset(\n    (\n{rows}    )\n)",
        "",
    )
    return {root / "gpudoctor/diagnose/rules/of_gpus.py": "\n".join(lines)}
