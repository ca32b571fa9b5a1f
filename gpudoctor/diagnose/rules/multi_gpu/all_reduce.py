"""What the rules about all-reduce share."""

from __future__ import annotations

from gpudoctor.findings import Fix

DISABLE_P2P = Fix("Disable NCCL's peer-to-peer transfers until they work", "export NCCL_P2P_DISABLE=1")
