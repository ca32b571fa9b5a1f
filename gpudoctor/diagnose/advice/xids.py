"""NVIDIA's actions for Xids, in words."""

from __future__ import annotations

ACTION_TEXTS = {
    "CHECK_MECHANICALS": "check the GPU's seating and power cables",
    "CONTACT_SUPPORT": "contact the vendor's support",
    "IGNORE": "none",
    "RESET_GPU": "reset the GPU",
    "RESTART_APP": "restart the program",
    "RESTART_BM": "reboot the machine",
    "RESTART_VM": "restart the virtual machine",
    "UPDATE_SWFW": "update the driver and the GPU's firmware",
    "WORKFLOW_NVLINK5_ERR": "follow NVIDIA's workflow for NVLink 5 errors",
    "WORKFLOW_NVLINK_ERR": "follow NVIDIA's workflow for NVLink errors",
    "WORKFLOW_XID_45": "find the error logged before it",
    "WORKFLOW_XID_48": "reset the GPU, then check its memory for remapped rows or retired pages",
    "XID_154": "follow the recovery action that the line names",
}
"""From the legend of NVIDIA's Xid catalogue: https://docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html"""


def action_text(action: str) -> str:
    """Return an action of the catalogue in words; the catalogue's own word if it is not known."""
    return ACTION_TEXTS.get(action, action)
