"""GD804: nccl-p2p-acs-iommu."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from gpudoctor.derive import Gpu, Hardware
from gpudoctor.derive.all_reduce import Result, detail, result
from gpudoctor.diagnose.advice.needs import REBOOT, ROOT
from gpudoctor.diagnose.gpu_facts import links_up
from gpudoctor.diagnose.rule import Explains, need, not_applicable, rule
from gpudoctor.diagnose.rules.multi_gpu.all_reduce import _WITHOUT
from gpudoctor.findings import Confidence, Evidence, Fix, FixKind, Level, Problem, Rung, Severity
from gpudoctor.snapshot import AllReduce, Cause, CudaDevice, Missing, Nvml, NvmlGpu, Snapshot

_GRUB = (
    "sudo sed -i 's/^GRUB_CMDLINE_LINUX=\"/&iommu=pt /' /etc/default/grub"
    " && { sudo update-grub || sudo grub2-mkconfig -o /boot/grub2/grub.cfg; } && sudo reboot"
)


_UNTRANSLATED = Fix("On a machine without guests, boot with iommu=pt", _GRUB, (ROOT, REBOOT))


_ACS = Fix(
    "See whether PCIe's access control is on (ACSCtl with SrcValid+); the firmware setup switches it off",
    "sudo lspci -vvv | grep -i acsctl",
    (ROOT,),
    kind=FixKind.CHECK,
)


@rule(
    "GD804",
    severity=Severity.WARNING,
    breaks=Rung.TRAINED,
    since="0.1",
    predicts=False,
    seen_at=Level.FULL,
    explains=(Explains(("all-reduce-failed",), ""),),
)
def nccl_p2p_acs_iommu(hardware: Hardware, nvml: Nvml | Missing, snapshot: Snapshot) -> Iterator[Problem]:
    """GPUs exchange data over PCIe while the IOMMU translates their transfers.

    ## Why it matters
    With the IOMMU translating, or PCIe's access control (ACS) on, what one GPU sends to another goes by way of the CPU. NCCL then is slow, hangs, or
    gets wrong data, although the driver says that the GPUs can reach each other. GPUs joined by NVLink do not use that way.

    At level full this is tried: sums over all GPUs that are right only with NCCL_P2P_DISABLE=1 show it, and right ones make it a note.

    ## What to do
    On a machine that hosts no guests, boot with `iommu=pt` or switch the IOMMU (VT-d, AMD-Vi) and ACS off in the firmware. Until then
    NCCL_P2P_DISABLE=1 keeps NCCL off that way.

    ## References
    - https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html
    """
    runs = _runs(snapshot)
    shown = next(((framework, tried[0]) for framework, tried in runs if any(result(run) is Result.RIGHT for run in tried[1:])), None)
    if shown:
        yield _shown(*shown, hardware)
        return
    undecided = next(filter(None, (_undecided(framework, tried) for framework, tried in runs)), None)
    direct = [gpu for gpu in hardware if not links_up(gpu)] if undecided else _direct(hardware, need(nvml, Rung.NVML))
    translated = {label: kind for label, kind in _kinds(direct).items() if kind.startswith("DMA")}
    if translated:
        worked = any(tried[0].p2p and result(tried[0]) is Result.RIGHT for _, tried in runs)
        yield Problem(
            message=f"{len(translated)} GPUs can reach each other's memory over PCIe only, and the IOMMU translates what they send.",
            confidence=Confidence.POSSIBLE,
            severity=Severity.NOTE if worked else None,
            evidence=_as_evidence(translated),
            fixes=(
                Fix("See whether NCCL's direct transfers are at fault", "NCCL_P2P_DISABLE=1 python TRAINING.py", kind=FixKind.CHECK),
                _UNTRANSLATED,
                _ACS,
            ),
        )
    need(undecided)
    for gpu in direct:
        _iommu(gpu)


def _runs(snapshot: Snapshot) -> list[tuple[str, tuple[AllReduce, ...]]]:
    """By framework, what was summed over GPUs: with P2P and, where that was not right, without."""
    smokes = () if isinstance(snapshot.smoke, Missing) else snapshot.smoke
    runs = [(smoke.framework, smoke.all_reduces) for smoke in smokes if isinstance(smoke.all_reduces, tuple) and smoke.all_reduces]
    return [(framework, tried) for framework, tried in runs if tried[0].devices[0].startswith("GPU")]


def _shown(framework: str, run: AllReduce, hardware: Hardware) -> Problem:
    """Right without P2P and not right with it: certain where the IOMMU is seen to translate; where NVLinks are up the fault may be theirs."""
    gpus = [gpu for gpu in hardware if isinstance(gpu.cuda, CudaDevice) and f"GPU:{gpu.cuda.ordinal}" in run.devices]
    linked = all(links_up(gpu) for gpu in gpus)
    kinds = _kinds(gpus)
    translated = any(kind.startswith("DMA") for kind in kinds.values())
    apart = Confidence.CERTAIN if translated else Confidence.LIKELY
    return Problem(
        message=f"{framework}: an all-reduce over {', '.join(run.devices)} {result(run).value}, and with NCCL_P2P_DISABLE=1 it was right.",
        title="GPUs do not get right data from each other's memory",
        confidence=Confidence.POSSIBLE if linked else apart,
        evidence=(
            Evidence("with P2P", f"{result(run).value}: {detail(run)}", framework),
            Evidence("with NCCL_P2P_DISABLE=1", Result.RIGHT.value, framework),
            *_as_evidence(kinds),
        ),
        fixes=(_WITHOUT, msgspec.structs.replace(_UNTRANSLATED, kind=FixKind.INSTEAD), _ACS),
    )


def _undecided(framework: str, tried: tuple[AllReduce, ...]) -> Missing | None:
    """Why it is not known whether it would have been right without P2P; None where that is known, or nothing went wrong."""
    first, *controls = tried
    if not first.p2p or result(first) in {Result.RIGHT, Result.UNKNOWN} or any(result(run) is not Result.UNKNOWN for run in controls):
        return None
    why = detail(controls[0]) if controls else "it was not run"
    return Missing(Cause.FAILED, f"{framework}: its all-reduce {result(first).value}, and the control without P2P tells nothing: {why}")


def _kinds(gpus: list[Gpu]) -> dict[str, str]:
    """How the IOMMU treats the transfers of each GPU of which that is known."""
    known = ((gpu.label, gpu.pci.iommu) for gpu in gpus if not isinstance(gpu.pci, Missing))
    return {label: kind for label, kind in known if isinstance(kind, str)}


def _as_evidence(kinds: dict[str, str]) -> tuple[Evidence, ...]:
    return tuple(Evidence(label, kind, "iommu_group/type in /sys/bus/pci/devices") for label, kind in kinds.items())


def _direct(hardware: Hardware, nvml: Nvml) -> list[Gpu]:
    """The GPUs that reach each other's memory over PCIe alone, if there are two; else it ends the rule."""
    pairs = [pair for pair in need(nvml.pairs, Rung.NVML) if pair.p2p == "ok"]
    among = {index for pair in pairs for index in (pair.one, pair.other)}
    gpus = [gpu for gpu in hardware if isinstance(gpu.nvml, NvmlGpu) and gpu.nvml.index in among and not links_up(gpu)]
    return gpus if len(gpus) > 1 else not_applicable("no two GPUs exchange data over PCIe")


def _iommu(gpu: Gpu) -> None:
    """End the rule where it is not known how the IOMMU treats its transfers; that none is at work is knowledge."""
    kind = need(gpu.pci, Rung.SLOT).iommu
    if not isinstance(kind, Missing) or kind.cause is not Cause.ABSENT:
        need(kind, Rung.SLOT)
