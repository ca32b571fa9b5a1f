"""The fix for device files and modules of a loaded driver that a container lacks."""

from __future__ import annotations

from gpudoctor.findings import Action, Fix

RESTART_CONTAINER = Fix(
    "Create the device files on the host (`sudo nvidia-smi; sudo nvidia-modprobe -u -c 0`), then restart the container with its GPUs.",
    action=Action.CONTACT_ADMINISTRATOR,
)
