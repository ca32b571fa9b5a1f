"""Fixes for torch.compile."""

from __future__ import annotations

from gpudoctor.findings import Fix, FixKind

WITHOUT_COMPILE = Fix("Run without torch.compile", "export TORCHDYNAMO_DISABLE=1", kind=FixKind.INSTEAD)
