"""GD804: nccl-p2p-acs-iommu."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from gpudoctor.derive import GpuView, MachineView
from gpudoctor.derive.all_reduce import Result, detail, result
from gpudoctor.derive.unknown import CouldNotTell, known, not_applicable
from gpudoctor.diagnose.advice.needs import REBOOT, ROOT
from gpudoctor.diagnose.rule import Explains, rule
from gpudoctor.diagnose.rules.multi_gpu.all_reduce import DISABLE_P2P
from gpudoctor.findings import Confidence, Evidence, Fix, FixKind, Level, Problem, Rung, Severity
from gpudoctor.findings.actions import Domain
from gpudoctor.snapshot import AllReduce, Cause, CudaDevice, Missing, NvmlGpu

_GRUB = (
    "sudo sed -i 's/^GRUB_CMDLINE_LINUX=\"/&iommu=pt /' /etc/default/grub"
    " && { sudo update-grub || sudo grub2-mkconfig -o /boot/grub2/grub.cfg; } && sudo reboot"
)
_PASS_THROUGH = Fix("If this machine hosts no virtual machines, boot with iommu=pt", _GRUB, (ROOT, REBOOT))
_ACS = Fix(
    "See whether PCIe access control is on (ACSCtl with SrcValid+); the firmware setup turns it off",
    "sudo lspci -vvv | grep -i acsctl",
    (ROOT,),
    kind=FixKind.CHECK,
)
_TRY_WITHOUT = Fix(
    "Find out whether NCCL's peer-to-peer transfers are at fault", "NCCL_P2P_DISABLE=1 python TRAINING.py", kind=FixKind.CHECK
)


@rule(
    "GD804",
    severity=Severity.WARNING,
    breaks=Rung.TRAINED,
    domain=Domain.DRIVER,
    since="0.1",
    predicts=False,
    seen_at=Level.FULL,
    explains=(Explains(("all-reduce-failed",), "All-reduce sends data from GPU to GPU."),),
)
def nccl_p2p_acs_iommu(machine: MachineView) -> Iterator[Problem]:
    """IOMMU or PCIe access control (ACS) breaks transfers between GPUs."""
    runs = machine.gpu_all_reduces
    for framework, (first, *controls) in runs:
        if any(result(control) is Result.RIGHT for control in controls):
            yield _proven(framework, first, machine)
            return
    undecided = next((reason for framework, tried in runs if (reason := _undecided(framework, *tried))), None)
    gpus = [gpu for gpu in machine.gpus if not gpu.nvlinks_up] if undecided else _peers_over_pcie(machine)
    translated = {label: domain for label, domain in _iommu_domains(gpus).items() if domain.startswith("DMA")}
    if translated:
        worked = any(first.p2p and result(first) is Result.RIGHT for _, (first, *_) in runs)
        yield Problem(
            message=f"{len(translated)} GPUs reach each other's memory only over PCIe, and the IOMMU translates their transfers.",
            confidence=Confidence.POSSIBLE,
            severity=Severity.NOTE if worked else None,
            evidence=_iommu_evidence(translated),
            fixes=(_TRY_WITHOUT, _PASS_THROUGH, _ACS),
        )
    if undecided:
        raise CouldNotTell(undecided, None)
    for gpu in gpus:
        _know_iommu(gpu)


def _proven(framework: str, run: AllReduce, machine: MachineView) -> Problem:
    """Right without P2P and not with it: certain where the IOMMU is seen to translate; where NVLinks are up they may be at fault."""
    gpus = [gpu for gpu in machine.gpus if isinstance(gpu.observed.cuda, CudaDevice) and f"GPU:{gpu.cuda.ordinal}" in run.devices]
    domains = _iommu_domains(gpus)
    translated = any(domain.startswith("DMA") for domain in domains.values())
    confidence = Confidence.CERTAIN if translated else Confidence.LIKELY
    devices = ", ".join(run.devices)
    return Problem(
        message=f"{framework}: all-reduce across {devices} {result(run).value}; with NCCL_P2P_DISABLE=1 it was right.",
        title="GPUs receive wrong data from each other's memory",
        confidence=Confidence.POSSIBLE if all(gpu.nvlinks_up for gpu in gpus) else confidence,
        evidence=(
            Evidence("with P2P", f"{result(run).value}: {detail(run)}", framework),
            Evidence("with NCCL_P2P_DISABLE=1", Result.RIGHT.value, framework),
            *_iommu_evidence(domains),
        ),
        fixes=(DISABLE_P2P, msgspec.structs.replace(_PASS_THROUGH, kind=FixKind.INSTEAD), _ACS),
    )


def _undecided(framework: str, first: AllReduce, *controls: AllReduce) -> Missing | None:
    """Why it is not known whether the all-reduce would be right without P2P; None where that is known, or nothing went wrong."""
    if not first.p2p or result(first) in {Result.RIGHT, Result.UNKNOWN} or any(result(run) is not Result.UNKNOWN for run in controls):
        return None
    why = detail(controls[0]) if controls else "it was not run"
    return Missing(Cause.FAILED, f"{framework}: its all-reduce {result(first).value}, and the control without P2P did not complete: {why}")


def _iommu_domains(gpus: list[GpuView]) -> dict[str, str]:
    """How the IOMMU treats the transfers of each GPU, where that is known."""
    domains = ((gpu.label, gpu.pci.iommu) for gpu in gpus if not isinstance(gpu.observed.pci, Missing))
    return {label: domain for label, domain in domains if isinstance(domain, str)}


def _iommu_evidence(domains: dict[str, str]) -> tuple[Evidence, ...]:
    return tuple(Evidence(label, domain, "iommu_group/type in /sys/bus/pci/devices") for label, domain in domains.items())


def _peers_over_pcie(machine: MachineView) -> list[GpuView]:
    """The GPUs that reach each other's memory over PCIe alone; the rule does not apply to fewer than two."""
    pairs = known(machine.nvml.pairs, Rung.NVML)
    indices = {index for pair in pairs if pair.p2p == "ok" for index in (pair.one, pair.other)}
    gpus = [gpu for gpu in machine.gpus if isinstance(gpu.observed.nvml, NvmlGpu) and gpu.nvml.index in indices and not gpu.nvlinks_up]
    return gpus if len(gpus) > 1 else not_applicable("no two GPUs exchange data over PCIe")


def _know_iommu(gpu: GpuView) -> None:
    """End the rule where it is not known how the IOMMU treats this GPU's transfers; that there is no IOMMU is knowledge."""
    domain = gpu.pci.iommu
    if not isinstance(domain, Missing) or domain.cause is not Cause.ABSENT:
        known(domain, Rung.SLOT)
