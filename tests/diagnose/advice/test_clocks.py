"""What is advised about the clocks of a GPU, over all that rules said in their tests and on recorded machines."""

from __future__ import annotations

from tests.diagnose.rules import said
from tests.machines import golden


def test_clocks_are_reset_only_where_they_are_set_or_may_be() -> None:
    told = "\n".join((*golden.kept().values(), said.file_of("training").read_text()))
    for finding in told.split("\nGD"):
        message = next((line for line in finding.splitlines() if line.startswith("  message: ")), "")
        if "  fix: Reset application clocks" in finding:
            assert "application clocks" in message
