from gpudoctor.derive import CouldNotTell, GpuView, MachineView, not_applicable, require_known
from gpudoctor.derive.all_reduce import AllReduceResult, all_reduce_result, result_detail
from gpudoctor.diagnose.advice.system import DISABLE_P2P, distribution_command
from gpudoctor.diagnose.rule import explains, rule
from gpudoctor.findings import REBOOT, ROOT, Confidence, Domain, Evidence, Fix, FixKind, Impact, Level, Problem, Problems, Rung, Severity
from gpudoctor.findings.wording import joined_words
from gpudoctor.snapshot import AllReduce, Cause, CudaDevice, Missing, NvmlGpu, is_absent

_EDIT_GRUB = "sudo sed -i 's/^GRUB_CMDLINE_LINUX=\"/&iommu=pt /' /etc/default/grub"
_RUN_GRUBBY = "sudo grubby --update-kernel=ALL --args=iommu=pt && sudo reboot"
_SET_PASS_THROUGH = {
    "debian": f"{_EDIT_GRUB} && sudo update-grub && sudo reboot",
    "ubuntu": f"{_EDIT_GRUB} && sudo update-grub && sudo reboot",
    "rhel": _RUN_GRUBBY,
    "fedora": _RUN_GRUBBY,
    "arch": f"{_EDIT_GRUB} && sudo grub-mkconfig -o /boot/grub/grub.cfg && sudo reboot",
}
"""By distribution: RHEL and Fedora keep the command line in boot loader entries, which grub2-mkconfig leaves alone."""
_CHECK_ACS = Fix(
    "Look for PCIe ACS (ACSCtl with SrcValid+), and turn it off in the BIOS", "sudo lspci -vvv | grep -i acsctl", kind=FixKind.CHECK
)
_TRY_WITHOUT_P2P = Fix("Test training without NCCL peer-to-peer transfers", "NCCL_P2P_DISABLE=1 python TRAINING.py", kind=FixKind.CHECK)


@rule(
    "GD804", severity=Severity.WARNING, breaks=Rung.TRAINED, impact=Impact.PARTLY, domain=Domain.DRIVER, predicts=False, seen_at=Level.FULL
)
@explains(("all-reduce-failed",), "All-reduce sends data from GPU to GPU.")
def nccl_p2p_acs_iommu(machine: MachineView) -> Problems:
    """IOMMU or PCIe ACS breaks peer-to-peer transfers between GPUs."""
    runs = machine.gpu_all_reduces
    for framework, (first, *controls) in runs:
        if any(all_reduce_result(control) is AllReduceResult.RIGHT for control in controls):
            yield _peer_transfer_problem(framework, first, machine)
            return
    undecided = next((reason for framework, tried in runs if (reason := _undecided_reason(framework, *tried))), None)
    gpus = [gpu for gpu in machine.gpus if not gpu.nvlinks_up] if undecided else _peers_over_pcie(machine)
    translated = {label: domain for label, domain in _iommu_domains(gpus).items() if domain.startswith("DMA")}
    if translated:
        worked = any(first.p2p and all_reduce_result(first) is AllReduceResult.RIGHT for _, (first, *_) in runs)
        yield Problem(
            message=f"{len(translated)} GPUs use peer-to-peer over PCIe while the IOMMU translates addresses; NCCL may hang, fail or be slow.",
            confidence=Confidence.POSSIBLE,
            severity=Severity.NOTE if worked else None,
            evidence=_iommu_evidence(translated),
            fixes=(_TRY_WITHOUT_P2P, _boot_with_pass_through(machine), _CHECK_ACS),
        )
    if undecided:
        raise CouldNotTell(undecided, None)
    for gpu in gpus:
        _require_iommu_domain(gpu)


def _peer_transfer_problem(framework: str, run: AllReduce, machine: MachineView) -> Problem:
    """Return the problem of an all-reduce that is right only without P2P: certain if the IOMMU translates, possible if NVLinks are up."""
    gpus = [gpu for gpu in machine.gpus if isinstance(gpu.observed.cuda, CudaDevice) and f"GPU:{gpu.cuda.ordinal}" in run.devices]
    domains = _iommu_domains(gpus)
    translated = any(domain.startswith("DMA") for domain in domains.values())
    confidence = Confidence.CERTAIN if translated else Confidence.LIKELY
    devices = joined_words(run.devices)
    return Problem(
        message=f"{framework}: all-reduce across {devices} {all_reduce_result(run).value}; with NCCL_P2P_DISABLE=1 it {AllReduceResult.RIGHT.value}.",
        title="Peer-to-peer transfers between GPUs are broken",
        confidence=Confidence.POSSIBLE if all(gpu.nvlinks_up for gpu in gpus) else confidence,
        evidence=(
            Evidence("with P2P", f"{all_reduce_result(run).value}: {result_detail(run)}", framework),
            Evidence("with NCCL_P2P_DISABLE=1", AllReduceResult.RIGHT.value, framework),
            *_iommu_evidence(domains),
        ),
        fixes=(DISABLE_P2P, _boot_with_pass_through(machine, FixKind.INSTEAD), _CHECK_ACS),
    )


def _boot_with_pass_through(machine: MachineView, kind: FixKind = FixKind.FIX) -> Fix:
    command = distribution_command(machine.site, _SET_PASS_THROUGH)
    return Fix("Boot with iommu=pt, if this machine hosts no virtual machines", command, (ROOT, REBOOT), kind=kind)


def _undecided_reason(framework: str, first: AllReduce, *controls: AllReduce) -> Missing | None:
    """Return why it is unknown whether the all-reduce is right without P2P; None if it is known or nothing failed."""
    if (
        not first.p2p
        or all_reduce_result(first) in {AllReduceResult.RIGHT, AllReduceResult.UNKNOWN}
        or any(all_reduce_result(run) is not AllReduceResult.UNKNOWN for run in controls)
    ):
        return None
    why = result_detail(controls[0]) if controls else "it was not run"
    return Missing(
        Cause.FAILED, f"{framework}: all-reduce {all_reduce_result(first).value}, and the control without P2P did not complete: {why}"
    )


def _iommu_domains(gpus: list[GpuView]) -> dict[str, str]:
    """Return the IOMMU domain type of each GPU, where it is known."""
    domains = ((gpu.label, gpu.pci.iommu) for gpu in gpus if not isinstance(gpu.observed.pci, Missing))
    return {label: domain for label, domain in domains if isinstance(domain, str)}


def _iommu_evidence(domains: dict[str, str]) -> tuple[Evidence, ...]:
    return tuple(Evidence(label, domain, "iommu_group/type in /sys/bus/pci/devices") for label, domain in domains.items())


def _peers_over_pcie(machine: MachineView) -> list[GpuView]:
    """Return the GPUs with peer access over PCIe only; the rule does not apply to fewer than two."""
    pairs = require_known(machine.nvml.pairs, Rung.NVML)
    indices = {index for pair in pairs if pair.p2p == "ok" for index in (pair.one, pair.other)}
    gpus = [gpu for gpu in machine.gpus if isinstance(gpu.observed.nvml, NvmlGpu) and gpu.nvml.index in indices and not gpu.nvlinks_up]
    return gpus if len(gpus) > 1 else not_applicable("no two GPUs exchange data over PCIe")


def _require_iommu_domain(gpu: GpuView) -> None:
    """End the rule if the IOMMU domain of this GPU is unknown; no IOMMU at all is known."""
    domain = gpu.pci.iommu
    if not is_absent(domain):
        require_known(domain, Rung.SLOT)
