"""The stages that each GPU reached: what was seen of every rung."""

from __future__ import annotations

import msgspec

from gpudoctor.derive.gpus import Gpu, is_divided_by_mig
from gpudoctor.derive.lost_gpus import is_forbidden, library_alarm, off_bus_evidence, unresponsive_evidence
from gpudoctor.derive.site import Site
from gpudoctor.derive.stages import stage_name
from gpudoctor.derive.telemetry import is_training_unseen, loads_of_gpu
from gpudoctor.derive.training import is_kernel_right, is_proven, training_flaw
from gpudoctor.findings import LadderRow, ProvedTo, Rung, RungState, Step
from gpudoctor.findings.wording import count_with_noun
from gpudoctor.snapshot import (
    Cause,
    CudaContext,
    DeviceNodes,
    Kernel,
    Libcuda,
    Missing,
    Nvml,
    NvmlGpu,
    Platform,
    Smoke,
    Snapshot,
    StageState,
    Training,
    is_absent,
)

_STATE_BY_CAUSE = {
    Cause.ABSENT: RungState.FAILED,
    Cause.LOST: RungState.FAILED,
    Cause.FAILED: RungState.FAILED,
    Cause.UNLOADABLE: RungState.FAILED,
    Cause.NOT_ASKED: RungState.NOT_ASKED,
    Cause.NOT_STATED: RungState.NOT_ASKED,
}


def _unseen_step(rung: Rung, missing: Missing) -> Step:
    return Step(rung, _STATE_BY_CAUSE.get(missing.cause, RungState.NOT_SHOWN), missing.reason)


class Ladder(msgspec.Struct, frozen=True):
    """One row per GPU."""

    rows: tuple[LadderRow, ...]

    def state(self, key: str, rung: Rung) -> RungState:
        """What was seen of one rung on one GPU."""
        row = next(row for row in self.rows if row.subject.key == key)
        return next(step.state for step in row.steps if step.rung is rung)

    def proven(self, key: str, rung: Rung) -> bool:
        """Whether this GPU reached this rung or a higher one: whoever trains has a working driver."""
        row = next((row for row in self.rows if row.subject.key == key), None)
        return row is not None and any(step.state is RungState.PROVEN and step.rung >= rung for step in row.steps)

    def is_proven_anywhere(self, rung: Rung) -> bool:
        """Whether any GPU reached this rung or a higher one."""
        return any(self.proven(row.subject.key, rung) for row in self.rows)


def _slot_step(gpu: Gpu, site: Site) -> Step:
    if not site.has_pci:
        return Step(Rung.SLOT, RungState.NOT_APPLICABLE, "no PCI bus shows the GPU on this platform")
    if not isinstance(gpu.pci, Missing):
        if gpu.pci.answers is False:
            return Step(Rung.SLOT, RungState.FAILED, "its PCI configuration space reads as all ones")
        return Step(Rung.SLOT, RungState.PROVEN, f"PCI device {gpu.pci.vendor}:{gpu.pci.device}")
    return Step(Rung.SLOT, RungState.NOT_SHOWN, gpu.pci.reason)


def _kernel_driver_step(gpu: Gpu, site: Site) -> Step:
    rung = Rung.KERNEL_DRIVER
    if not site.has_pci:
        return Step(rung, RungState.NOT_APPLICABLE, "this platform has no Linux kernel driver for the GPU")
    if not isinstance(gpu.proc, Missing) or (not isinstance(gpu.nvml, Missing) and isinstance(gpu.nvml.address, str)):
        return Step(rung, RungState.PROVEN, "bound by the nvidia module")
    if isinstance(gpu.pci, Missing):
        return _unseen_step(rung, gpu.pci)
    if gpu.is_passed_through:
        return Step(rung, RungState.NOT_APPLICABLE, "bound to vfio-pci for a virtual machine")
    if isinstance(gpu.pci.driver, Missing):
        return _unseen_step(rung, gpu.pci.driver)
    state = RungState.PROVEN if gpu.pci.driver == "nvidia" else RungState.FAILED
    return Step(rung, state, f"bound by {gpu.pci.driver}")


def _device_node_step(gpu: Gpu, section: DeviceNodes | Missing, site: Site) -> Step:
    rung = Rung.DEVICE_NODE
    if not site.has_pci:
        return Step(rung, RungState.NOT_APPLICABLE, "this platform has no device file per GPU")
    if not isinstance(gpu.node, Missing):
        if gpu.node.accessible is False:
            return Step(rung, RungState.FAILED, f"no permission to open {gpu.node.path}")
        return Step(rung, RungState.PROVEN, gpu.node.path)
    if not isinstance(gpu.nvml, Missing) and isinstance(gpu.nvml.address, str):
        return Step(rung, RungState.PROVEN, "NVML opened it")
    if isinstance(gpu.minor, Missing) and not isinstance(section, Missing):
        return Step(rung, RungState.NOT_SHOWN, "its device file /dev/nvidiaN is unknown")
    return _unseen_step(rung, gpu.node)


def _nvml_step(gpu: Gpu, section: Nvml | Missing, site: Site) -> Step:
    if site.platform == Platform.JETSON and is_absent(section):
        return Step(Rung.NVML, RungState.NOT_APPLICABLE, "this platform has no NVML")
    if not isinstance(section, Missing) and not isinstance(section.init, Missing) and section.init.code:
        return Step(Rung.NVML, RungState.FAILED, f"{section.init.name}: {section.init.text}")
    if isinstance(gpu.nvml, Missing) or isinstance(gpu.nvml.address, Missing):
        return _unseen_step(Rung.NVML, gpu.nvml if isinstance(gpu.nvml, Missing) else gpu.nvml.address)  # type: ignore[arg-type]
    if _loss_reason(gpu):
        return Step(Rung.NVML, RungState.FAILED, _loss_reason(gpu))
    alarm = library_alarm(section) or ("most NVML calls about it are not permitted" if is_forbidden(gpu) else "")
    return Step(Rung.NVML, RungState.NOT_SHOWN if alarm else RungState.PROVEN, alarm or f"index {gpu.nvml.index}")


def _loss_reason(gpu: Gpu) -> str:
    """Why earlier observations of this GPU no longer hold; empty if they do."""
    return next((f"{evidence.what}: {evidence.value}" for evidence in (*off_bus_evidence(gpu), *unresponsive_evidence(gpu))), "")


def _libcuda_step(gpu: Gpu, section: Libcuda | Missing, *, mig: bool) -> Step:
    if not isinstance(gpu.cuda, Missing):
        if off_bus_evidence(gpu):
            return Step(Rung.LIBCUDA, RungState.NOT_SHOWN, "CUDA listed it, but it no longer responds")
        return Step(Rung.LIBCUDA, RungState.PROVEN, f"CUDA device {gpu.cuda.ordinal}")
    if not isinstance(gpu.cuda_unmasked, Missing):
        return Step(Rung.LIBCUDA, RungState.MASKED, "hidden by CUDA_VISIBLE_DEVICES")
    if mig:
        return Step(Rung.LIBCUDA, RungState.MASKED, "CUDA shows a process only one MIG instance, on another GPU")
    if not isinstance(section, Missing) and not isinstance(section.init, Missing) and section.init.code:
        return Step(Rung.LIBCUDA, RungState.FAILED, f"cuInit: {section.init.name} ({section.init.code})")
    return _unseen_step(Rung.LIBCUDA, gpu.cuda)


TEST_KERNEL = "gpudoctor's test kernel"


def _test_kernel_step(gpu: Gpu, section: tuple[CudaContext, ...] | Missing) -> Step:
    """The result of our own kernel."""
    if isinstance(section, Missing):
        return _unseen_step(Rung.KERNEL_RAN, section)
    context = next((context for context in section if context.address == gpu.key), None)
    if context is None:
        return Step(Rung.KERNEL_RAN, RungState.NOT_SHOWN, "CUDA does not show it")
    if context.skipped:
        return Step(Rung.KERNEL_RAN, RungState.NOT_SHOWN, context.skipped)
    if isinstance(context.kernel_right, Missing):
        return _unseen_step(Rung.KERNEL_RAN, context.kernel_right)
    if context.kernel_right:
        return Step(Rung.KERNEL_RAN, RungState.PROVEN, TEST_KERNEL)
    return Step(Rung.KERNEL_RAN, RungState.FAILED, f"{TEST_KERNEL} computed {context.wrong} of {context.elements} results wrong")


class _SmokeResults:
    """The results of smoke training on one GPU."""

    def __init__(self, smokes: tuple[Smoke, ...], gpu: Gpu, snapshot: Snapshot) -> None:
        self.smokes = smokes
        self.key = gpu.key
        self.contradicted = {load.framework: "NVML saw no activity" for load in loads_of_gpu(snapshot, gpu.key) if is_training_unseen(load)}
        self.trouble = "; ".join(
            f"{smoke.framework}: {stage_name(stage)} {stage.state}"
            for smoke in smokes
            for stage in smoke.stages
            if stage.state not in {StageState.DONE, StageState.UNSUPPORTED}
        )
        self.unsupported = "; ".join(unsupported for smoke in smokes if (unsupported := smoke.unsupported))
        self.trouble_before_devices = all(isinstance(smoke.devices, Missing) for smoke in smokes)
        self.skipped = next((left_alone.reason for smoke in smokes for left_alone in smoke.left_alone if left_alone.gpu == self.key), "")

    def step(self, rung: Rung, good: str, bad: str) -> Step:
        if good:
            return Step(rung, RungState.PROVEN, good)
        if self.skipped:
            return Step(rung, RungState.NOT_SHOWN, self.skipped)
        if bad or self.trouble:
            return Step(rung, RungState.FAILED, bad or self.trouble)
        return Step(rung, RungState.NOT_SHOWN, self.unsupported or "no framework reported it")

    def kernels(self) -> list[tuple[str, Kernel]]:
        return [(smoke.framework, kernel) for smoke in self.smokes for kernel in smoke.kernels if kernel.address == self.key]

    def trainings(self) -> list[tuple[Smoke, Training]]:
        return [(smoke, training) for smoke in self.smokes for training in smoke.trainings if training.address == self.key]

    def listing(self) -> list[str]:
        """The frameworks that list this GPU."""
        listed = [(smoke.framework, smoke.devices) for smoke in self.smokes if not isinstance(smoke.devices, Missing)]
        return [framework for framework, devices in listed if any(device.address == self.key for device in devices)]

    def has_miscomputed(self) -> bool:
        """Whether a framework's matmul on this GPU was wrong."""
        return any(not is_kernel_right(kernel) for _, kernel in self.kernels())

    def steps(self) -> tuple[Step, ...]:
        kernels, trainings, seen = self.kernels(), self.trainings(), self.listing()
        if not seen and not self.skipped and not self.trouble_before_devices:
            blind = f"not listed by {', '.join(smoke.framework for smoke in self.smokes)}"
            return (
                Step(Rung.KERNEL_RAN, RungState.NOT_SHOWN, blind),
                Step(Rung.FRAMEWORK, RungState.FAILED, blind),
                Step(Rung.TRAINED, RungState.NOT_SHOWN, blind),
            )
        trained = dict.fromkeys(smoke.framework for smoke, training in trainings if is_proven(smoke, training.device))
        flaws = dict.fromkeys((smoke.framework, flaw.flaw.value) for smoke, training in trainings if (flaw := training_flaw(training)))
        return (
            self.step(
                Rung.KERNEL_RAN,
                ", ".join(framework for framework, kernel in kernels if is_kernel_right(kernel) and framework not in self.contradicted),
                ", ".join(f"{framework}: wrong matmul result" for framework, kernel in kernels if not is_kernel_right(kernel)),
            ),
            self.step(Rung.FRAMEWORK, ", ".join(seen), ""),
            self.step(
                Rung.TRAINED,
                ", ".join(framework for framework in trained if framework not in self.contradicted),
                "; ".join(f"{framework}: {flaw}" for framework, flaw in (*flaws, *self.contradicted.items())),
            ),
        )


def _untrained_step(rung: Rung, missing: Missing) -> Step:
    """A rung that no training run showed; without a framework nothing was tried."""
    return Step(rung, RungState.NOT_ASKED, missing.reason) if missing.cause is Cause.ABSENT else _unseen_step(rung, missing)


def _steps_from_kernel(gpu: Gpu, snapshot: Snapshot, touched: Step) -> tuple[Step, ...]:
    """The rungs from kernels to training. Our own kernel or a framework's shows that kernels run, unless the other one was wrong."""
    section = snapshot.smoke
    if isinstance(section, Missing):
        untried = [_untrained_step(rung, section) for rung in (Rung.KERNEL_RAN, Rung.FRAMEWORK, Rung.TRAINED)]
        return (untried[0] if touched.state is RungState.NOT_ASKED else touched, *untried[1:])
    smokes = _SmokeResults(section, gpu, snapshot)
    first, *rest = smokes.steps()
    if touched.state is RungState.FAILED or (touched.state is RungState.PROVEN and not smokes.has_miscomputed()):
        own = first.state is RungState.PROVEN is touched.state
        first = msgspec.structs.replace(touched, detail=f"{touched.detail}, {first.detail}") if own else touched
    return (first, *rest)


def ladder_of_gpus(snapshot: Snapshot, gpus: tuple[Gpu, ...], site: Site) -> Ladder:
    """The ladder of every GPU."""
    mig = is_divided_by_mig(gpus)
    return Ladder(
        tuple(
            LadderRow(
                gpu.subject,
                gpu.nvml.index if isinstance(gpu.nvml, NvmlGpu) else None,
                gpu.name if isinstance(gpu.name, str) else "",
                (
                    _slot_step(gpu, site),
                    _kernel_driver_step(gpu, site),
                    _device_node_step(gpu, snapshot.device_nodes, site),
                    _nvml_step(gpu, snapshot.nvml, site),
                    _libcuda_step(gpu, snapshot.libcuda, mig=mig),
                    *_steps_from_kernel(gpu, snapshot, _test_kernel_step(gpu, snapshot.contexts)),
                ),
            )
            for gpu in gpus
        )
    )


def _highest_rung(row: LadderRow) -> Rung | None:
    return max((step.rung for step in row.steps if step.state is RungState.PROVEN), default=None)


def proven_scope(rows: tuple[LadderRow, ...], cpu_framework: str) -> ProvedTo:
    """The scope of the result; `cpu_framework` is the framework that trained on the CPU of a machine without a GPU."""
    if not rows:
        text = f"trained on the CPU ({cpu_framework}), no GPU" if cpu_framework else "nothing was verified"
        return ProvedTo(Rung.TRAINED if cpu_framework else None, 0, 0, text)
    highest = [rung for rung in map(_highest_rung, rows) if rung is not None]
    if not highest:
        return ProvedTo(None, 0, len(rows), f"nothing was verified on {count_with_noun(len(rows), 'GPU')}")
    top = max(highest)
    count = sum(rung == top for rung in highest)
    return ProvedTo(top, count, len(rows), f"{top.proof} {count} of {count_with_noun(len(rows), 'GPU')}")
