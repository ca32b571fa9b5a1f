"""How device files and modules of a loaded driver come back in a container."""

from __future__ import annotations

from gpudoctor.findings import Fix

RESTART_CONTAINER = Fix("Create the files on the host (`sudo nvidia-modprobe -c 0 -u`), then restart the container with its GPUs.")
