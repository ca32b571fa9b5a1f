"""GD712: persistence-mode-off."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import MachineView
from gpudoctor.derive.unknown import not_applicable, offered
from gpudoctor.derive.views.gpu import is_server_product
from gpudoctor.diagnose.advice.needs import ROOT
from gpudoctor.diagnose.rule import rule
from gpudoctor.findings import Evidence, Fix, Problem, Rung, Severity
from gpudoctor.findings.actions import Action, Domain

_ON_HOST = Fix("Run nvidia-persistenced on the host.", action=Action.CONTACT_ADMINISTRATOR)
_START_DAEMON = Fix("Run the persistence daemon", "sudo systemctl enable --now nvidia-persistenced", (ROOT,))


@rule("GD712", severity=Severity.NOTE, breaks=Rung.TRAINED, domain=Domain.DRIVER, since="0.1", predicts=False)
def persistence_mode_off(machine: MachineView) -> Iterator[Problem]:
    """Persistence mode is off on server GPUs."""
    if not machine.site.has_pci:
        not_applicable("this platform's driver has no persistence mode")
    gpus = [gpu for gpu in machine.nvml_gpus if is_server_product(gpu.name)]
    if not gpus:
        not_applicable("there are no server GPUs")
    off = ", ".join(str(gpu.index) for gpu in gpus if gpu.persistence is False)
    if off:
        yield Problem(
            message=f"Persistence mode is off on {'GPUs' if ',' in off else 'GPU'} {off}, so the first program waits while the driver initialises the GPU.",
            evidence=(Evidence("persistence mode", f"off on GPU {off}", "nvmlDeviceGetPersistenceMode"),),
            fixes=(_ON_HOST if machine.site.container else _START_DAEMON,),
        )
    for gpu in gpus:
        offered(gpu.persistence, Rung.NVML)
