"""A fix that the rules about all-reduce share."""

from __future__ import annotations

from gpudoctor.findings import Fix

DISABLE_P2P = Fix("Disable NCCL peer-to-peer transfers until the cause is fixed", "export NCCL_P2P_DISABLE=1")
