"""A GPU that the installed driver does not bind."""

from __future__ import annotations

from typing import Any

import msgspec

from gpudoctor.snapshot import KernelModules, PciDevice, Snapshot
from tests.builders import ABSENT, card
from tests.diagnose.rules.driver.modules import NOT_LOADED, unloaded

GTX_1080 = card(0, device="1b80", driver=ABSENT)


def refused(device: PciDevice, version: str, **sections: Any) -> Snapshot:
    """A machine with this GPU and the libraries of a driver that is not loaded."""
    nvml = msgspec.structs.replace(NOT_LOADED, nvml_version=f"13.{version}")
    return unloaded(sections.pop("modules", KernelModules()), device, nvml=nvml, **sections)
