"""Checks each `--require` against what was observed: met, not met, or unknown."""

from __future__ import annotations

import enum
from collections.abc import Callable

import msgspec

from gpudoctor.conditions import FEATURES, Condition, is_condition_met, parse_condition, run_of_condition
from gpudoctor.derive import Gpu, MachineView
from gpudoctor.findings import Rung, RungState
from gpudoctor.findings.wording import count_with_noun
from gpudoctor.snapshot import Cause, CudaDevice, Fact, KernelDriver, Missing, NvmlGpu

_LOST_STATES = {RungState.FAILED, RungState.MASKED}


class Fulfilment(enum.Enum):
    """Whether a requirement is met."""

    MET = "met"
    UNFIT = "present, but not as required"
    LACKING = "missing or unusable"
    UNKNOWN = "not checked"


class CheckedCondition(msgspec.Struct, frozen=True, kw_only=True):
    """A requirement and whether it is met."""

    requirement: Condition
    answer: Fulfilment
    seen: str
    """What is there instead, as the end of a sentence; for UNKNOWN the reason."""
    where: str = ""
    missing: Missing | None = None
    """For UNKNOWN."""
    rung: Rung | None = None
    """The stage that would have shown it."""


def checked_conditions(machine: MachineView, rung: Rung | None) -> tuple[CheckedCondition, ...]:
    """Return every requirement of the policy, checked; `rung` is the stage that makes a GPU usable, None for libcuda."""
    return tuple(_check_condition(parse_condition(text), machine, rung or Rung.LIBCUDA) for text in machine.policy.require)


def _check_condition(requirement: Condition, machine: MachineView, rung: Rung) -> CheckedCondition:
    if requirement.subject == "driver":
        return _check_driver(requirement, machine)
    if requirement.subject == "gpus":
        return _check_gpu_count(requirement, machine, rung)
    if requirement.subject == "memory":
        return _check_every_gpu(
            requirement, machine, _total_memory, lambda value: f"{int(value) / (1 << 30):.1f} GiB ({int(value) / 10**9:.1f} GB) of memory"
        )
    if requirement.subject == "fit":
        return _check_run(requirement, machine)
    if requirement.subject == "cc" or requirement.subject in FEATURES:
        return _check_every_gpu(requirement, machine, _compute_capability, lambda value: f"compute capability {value}")
    return _check_framework(requirement, machine)


def _check_run(requirement: Condition, machine: MachineView) -> CheckedCondition:
    """Compare the free memory of every GPU with what a run needs, and the compute capability with what its precision needs."""
    run = run_of_condition(requirement)
    needed = f"of {run.bytes / (1 << 30):.1f} GiB needed"
    room = _check_every_gpu(requirement, machine, _free_memory, lambda value: f"{int(value) / (1 << 30):.1f} GiB free {needed}")
    if room.answer is not Fulfilment.MET or run.asked.numbers.capability == (0, 0):
        return room
    oldest = Condition(requirement.text, "cc", ">={}.{}".format(*run.asked.numbers.capability))
    return _check_every_gpu(
        oldest, machine, _compute_capability, lambda value: f"compute capability {value}, too old for {run.asked.precision.upper()}"
    )


def _unknown_condition(requirement: Condition, missing: Missing, rung: Rung | None) -> CheckedCondition:
    return CheckedCondition(requirement=requirement, answer=Fulfilment.UNKNOWN, seen=missing.reason, missing=missing, rung=rung)


def _lacking_condition(requirement: Condition, seen: str, where: str) -> CheckedCondition:
    return CheckedCondition(requirement=requirement, answer=Fulfilment.LACKING, seen=seen, where=where)


def _compared_condition(requirement: Condition, value: str, seen: str, where: str) -> CheckedCondition:
    fit = is_condition_met(requirement, value)
    if fit is None:
        return _unknown_condition(requirement, Missing(Cause.FAILED, f"{seen}, which is not a comparable version"), None)
    return CheckedCondition(requirement=requirement, answer=Fulfilment.MET if fit else Fulfilment.UNFIT, seen=seen, where=where)


def _check_driver(requirement: Condition, machine: MachineView) -> CheckedCondition:
    driver = machine.driver_or_missing
    if not isinstance(driver, Missing):
        return _compared_condition(requirement, str(driver.version), f"the driver is {driver.version}", driver.where)
    kernel = machine.observed.kernel_driver
    own = kernel.version if isinstance(kernel, KernelDriver) else kernel
    missing = own if isinstance(own, Missing) else driver
    if missing.cause is Cause.ABSENT:
        return _lacking_condition(requirement, "no NVIDIA driver is loaded", missing.reason)
    return _unknown_condition(requirement, missing, Rung.KERNEL_DRIVER)


def _check_without_gpu(requirement: Condition, machine: MachineView) -> CheckedCondition:
    """Return that no GPU can be used, or that it is unknown because a source that could show one was unreadable."""
    if machine.hardware:
        return _lacking_condition(requirement, "no GPU can be used", "stages per GPU")
    first = (machine.observed.pci,) if machine.site.has_pci else ()
    for section in (*first, machine.observed.libcuda, machine.observed.nvml):
        if isinstance(section, Missing) and section.cause is not Cause.ABSENT:
            return _unknown_condition(requirement, section, Rung.SLOT)
    return _lacking_condition(requirement, "there is no GPU", "PCI bus, NVML, libcuda")


def _check_gpu_count(requirement: Condition, machine: MachineView, rung: Rung) -> CheckedCondition:
    """Compare the number of usable GPUs; the undecided ones may count or not."""
    wanted = [gpu for gpu in machine.hardware if not gpu.is_passed_through]
    if not wanted:
        none = _check_without_gpu(requirement, machine)
        met = none.answer is Fulfilment.LACKING and is_condition_met(requirement, "0") is True
        return msgspec.structs.replace(none, answer=Fulfilment.MET) if met else none
    usable = sum(machine.ladder.proven(gpu.key, rung) for gpu in wanted)
    undecided = list(filter(None, (_undecided_reason(gpu, machine, rung) for gpu in wanted)))
    answers = {is_condition_met(requirement, str(number)) for number in range(usable, usable + len(undecided) + 1)}
    seen = f"{rung.proof} {usable} of {count_with_noun(len(wanted), 'GPU')}"
    if len(answers) > 1:
        return _unknown_condition(requirement, Missing(Cause.FAILED, f"{seen}; {len(undecided)} not checked ({undecided[0]})"), rung)
    if answers == {True}:
        return CheckedCondition(requirement=requirement, answer=Fulfilment.MET, seen=seen, where="stages per GPU")
    more_would_do = any(is_condition_met(requirement, str(number)) for number in range(usable + 1, len(wanted) + 1))
    answer = Fulfilment.LACKING if more_would_do else Fulfilment.UNFIT
    return CheckedCondition(requirement=requirement, answer=answer, seen=seen, where="stages per GPU")


def _undecided_reason(gpu: Gpu, machine: MachineView, rung: Rung) -> str:
    """Return why it is undecided whether this GPU is usable; empty if it is decided."""
    row = next(row for row in machine.ladder.rows if row.subject.key == gpu.key)
    highest = max((step.rung for step in row.steps if step.state is RungState.PROVEN), default=None)
    above = [step for step in row.steps if step.rung <= rung and (highest is None or step.rung > highest)]
    if not above or any(step.state in _LOST_STATES for step in above):
        return ""
    return above[-1].detail or str(above[-1].state.value)


def _check_every_gpu(
    requirement: Condition, machine: MachineView, read: Callable[[Gpu], str | Missing], show: Callable[[str], str]
) -> CheckedCondition:
    """Compare a property of every GPU that is not hidden; the first misfit decides."""
    gpus = [
        gpu for gpu in machine.hardware if not gpu.is_passed_through and machine.ladder.state(gpu.key, Rung.LIBCUDA) is not RungState.MASKED
    ]
    if not gpus:
        return _check_without_gpu(requirement, machine)
    values = [(gpu, read(gpu)) for gpu in gpus]
    known = [
        _compared_condition(requirement, value, f"{gpu.label} has {show(value)}", "NVML, libcuda")
        for gpu, value in values
        if isinstance(value, str)
    ]
    for answer in (Fulfilment.UNFIT, Fulfilment.UNKNOWN):
        for condition in known:
            if condition.answer is answer:
                return condition
    unseen = next((value for _, value in values if isinstance(value, Missing)), None)
    return known[0] if unseen is None else _unknown_condition(requirement, unseen, Rung.NVML)


def _total_memory(gpu: Gpu) -> str | Missing:
    """Return the memory in bytes: with MIG what CUDA gives a program, else what NVML reports for the card."""
    card = gpu.nvml.memory_total if isinstance(gpu.nvml, NvmlGpu) else gpu.nvml
    given = gpu.cuda.memory_total if isinstance(gpu.cuda, CudaDevice) else gpu.cuda
    split = isinstance(gpu.nvml, NvmlGpu) and gpu.nvml.mig_enabled is True
    value = given if split or not isinstance(card, int) else card
    return str(value) if isinstance(value, int) else value


def _free_memory(gpu: Gpu) -> str | Missing:
    free = gpu.nvml.memory_free if isinstance(gpu.nvml, NvmlGpu) else gpu.nvml
    return str(free) if isinstance(free, int) else free


def _compute_capability(gpu: Gpu) -> str | Missing:
    cuda = gpu.cuda.compute_capability if isinstance(gpu.cuda, CudaDevice) else gpu.cuda
    if isinstance(cuda, str):
        return cuda
    return gpu.nvml.compute_capability if isinstance(gpu.nvml, NvmlGpu) else gpu.nvml


def _check_framework(requirement: Condition, machine: MachineView) -> CheckedCondition:
    found = machine.observed.frameworks
    if isinstance(found, Missing):
        return _unknown_condition(requirement, found, None)
    framework = next((other for other in found if other.name == requirement.subject), None)
    if framework is None:
        return _lacking_condition(requirement, f"{requirement.subject} is not installed", "the folders on sys.path")
    if not requirement.specifier:
        return CheckedCondition(
            requirement=requirement, answer=Fulfilment.MET, seen=f"{framework.distribution or framework.name} is installed"
        )
    if not isinstance(framework.version, Fact):
        return _unknown_condition(requirement, framework.version, None)
    name = framework.distribution or framework.name
    return _compared_condition(
        requirement, framework.version.value, f"{name} {framework.version.value} is installed", framework.version.where
    )
