"""What rules about a GPU see of NVML: its answers, and its samples while the GPU trained."""

from __future__ import annotations

from typing import TypeVar

from gpudoctor.derive.gpus import Gpu
from gpudoctor.derive.lost_gpus import gpu_alarms
from gpudoctor.derive.rule_endings import CouldNotTell, not_applicable, require_known
from gpudoctor.derive.slowdowns import HeldTime, Slowdown, held_time, sampled_slowdown
from gpudoctor.derive.telemetry import held_samples, loads_of_gpu
from gpudoctor.derive.views.view import Field, SubjectView
from gpudoctor.findings import Rung
from gpudoctor.snapshot import (
    ApplicationClocks,
    Bar1,
    Fabric,
    GpuLoad,
    GpuProcess,
    Licence,
    MigInstance,
    Missing,
    NvLink,
    NvmlGpu,
    RemappedRows,
    RetiredPages,
    SpareRows,
    StageKind,
    StageLoad,
    Status,
)

T = TypeVar("T")


class _Answer(Field[T]):
    """A field of NVML's answers about a GPU."""

    def __init__(self) -> None:
        super().__init__("nvml", Rung.NVML)


class NvmlGpuView(SubjectView):
    """NVML's answers about one GPU."""

    observed: Gpu

    application_clocks = _Answer[ApplicationClocks]()
    bar1 = _Answer[Bar1]()
    clocks_event_reasons = _Answer[int]()
    compute_mode = _Answer[str]()
    compute_processes = _Answer[tuple[GpuProcess, ...]]()
    ecc_enabled = _Answer[bool]()
    ecc_pending = _Answer[bool]()
    ecc_uncorrected = _Answer[int]()
    fabric = _Answer[Fabric]()
    licences = _Answer[tuple[Licence, ...]]()
    link_width = _Answer[int]()
    link_width_max = _Answer[int]()
    memory_free = _Answer[int]()
    memory_total = _Answer[int]()
    memory_used = _Answer[int]()
    mig_enabled = _Answer[bool]()
    mig_instances = _Answer[tuple[MigInstance, ...]]()
    mig_pending = _Answer[bool]()
    nvlinks = _Answer[tuple[NvLink, ...]]()
    power_limit = _Answer[int]()
    power_limit_default = _Answer[int]()
    recovery_action = _Answer[str]()
    remapped_rows = _Answer[RemappedRows]()
    retired_pages = _Answer[RetiredPages]()
    spare_rows = _Answer[SpareRows]()
    virtualization = _Answer[str]()

    @property
    def nvml(self) -> NvmlGpu:
        """NVML's answers about this GPU. Ends the rule if there are none, or if a virtual machine has the GPU."""
        if self.observed.is_passed_through:
            not_applicable("bound to vfio-pci for a virtual machine")
        return require_known(self.observed.nvml, Rung.NVML)

    @property
    def is_opened(self) -> bool:
        """Whether NVML opened this GPU."""
        return isinstance(self.observed.nvml, NvmlGpu) and isinstance(self.observed.nvml.address, str)

    @property
    def vgpu_licences(self) -> tuple[Licence, ...]:
        """The licences of a virtual GPU; the rule does not apply to other GPUs."""
        if self.virtualization != "vgpu":
            not_applicable("not a virtual GPU")
        return self.licences

    @property
    def loads(self) -> tuple[GpuLoad, ...]:
        """NVML's samples during each framework's smoke training on this GPU; empty if there are none."""
        return loads_of_gpu(self.machine.observed, self.observed.key)

    @property
    def stages_under_load(self) -> tuple[StageLoad, ...]:
        """The stages of all these training runs."""
        return tuple(stage for load in self.loads for stage in load.stages)

    def stage_samples(self, framework: str, stage: StageKind, network: str = "") -> StageLoad | None:
        """NVML's samples during one stage of one framework; None if there are none."""
        stages = (sampled for load in self.loads if load.framework == framework for sampled in load.stages)
        return next((sampled for sampled in stages if (sampled.stage, sampled.network) == (stage, network)), None)

    def slowdown(self, wanted: int, unless: int = 0) -> Slowdown | None:
        """The slowdown for one of the `wanted` reasons and none of `unless`, during training or when NVML was first queried.

        Ends the rule if neither is known.
        """
        held = held_samples(self.stages_under_load)
        found = sampled_slowdown(held, wanted, unless)
        if found is not None or (held and isinstance(self.nvml.clocks_event_reasons, Missing)):
            return found
        reasons = self.clocks_event_reasons
        return Slowdown(reasons) if reasons & wanted and not reasons & unless else None

    def held_time(self, *counters: str) -> HeldTime:
        """The longest time in one of these counters of HeldBack; zero if NVML has none of them."""
        return held_time(self.observed.nvml, counters)

    @property
    def hottest_under_load(self) -> int | None:
        """The highest temperature during its training runs, in °C; None if not sampled."""
        return max((stage.temperature for stage in self.stages_under_load if isinstance(stage.temperature, int)), default=None)

    def nvml_error(self, code: int) -> Status | None:
        """NVML's answer `code` to any call about this GPU or, if NVML did not start, to its first call."""
        nvml = self.machine.nvml
        if isinstance(nvml.init, Status) and nvml.init.code == code:
            return nvml.init
        if isinstance(self.nvml.alarms, Missing):
            raise CouldNotTell(self.nvml.alarms, Rung.NVML)
        return next((status for status in gpu_alarms(self.observed) if status.code == code), None)

    @property
    def nvlinks_up(self) -> int:
        """How many of its NVLinks NVML reports as active."""
        return sum(link.active is True for link in self.listed_nvlinks)

    @property
    def listed_nvlinks(self) -> tuple[NvLink, ...]:
        """Its NVLinks; none if NVML did not list them."""
        nvml = self.observed.nvml
        return nvml.nvlinks if isinstance(nvml, NvmlGpu) and isinstance(nvml.nvlinks, tuple) else ()
