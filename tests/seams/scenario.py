"""Scenarios for our libnvidia-ml.so.1 and libcuda.so.1: the machine's GPUs and how each call behaves.

`calls` maps "FUNCTION", "FUNCTION.GPU", "*.GPU" or "*" to an act: "return CODE", "sleep MS", "hang", "stuck" (state D), "crash", "after N ...", "ok"
or, for one function of a library alone, "spoil WAY", which overwrites its answers (see spoiled.c);
words combine from left to right ("sleep 300 return 10"). FUNCTION has no _vN suffix; nvmlInit covers every way to initialise.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar, TypeAlias

from tests.seams.build import HERE, shared_library
from tests.seams.details import A100
from tests.seams.spoiled import WAYS, spoiled_library

MIB = 1 << 20
MOST_GPUS = 72  # as in nvml.c and cuda.c
ACT = re.compile(rf"((after|sleep) \d+ )*(return \d+|sleep \d+|hang|stuck|crash|leave|ok|spoil ({'|'.join(WAYS)}))")
Processes: TypeAlias = Sequence[tuple[int, int | None]]
MachineView: TypeAlias = Mapping[str, int | str]


@dataclass(frozen=True, kw_only=True)
class Mig:
    """One MIG instance of a card."""

    uuid: str
    name: str = "NVIDIA A100-SXM4-80GB MIG 1g.10gb"
    memory_total: int = 9728 * MIB
    gpu_instance: int = 7
    compute_instance: int = 0

    def lines(self, prefix: str) -> Iterator[str]:
        for key, value in vars(self).items():
            yield f"{prefix}{key}={value}"


@dataclass(frozen=True, kw_only=True)
class NvmlGpu:
    """One card; the defaults are a healthy, idle A100. None means that the card lacks it (NVML_ERROR_NOT_SUPPORTED).

    Memory is in bytes, power in milliwatts, temperature in degrees Celsius, clocks in MHz; a process is (pid, bytes | None for not known).
    `address`, `uuid` and `minor` follow from the index where they are None. Two values of clocks and links are now and at most; `nvlinks` has a
    letter a link (1 up, 0 down); `pcie_replays` "5+" grows by one a look. `details` and, over them, `facts` are further lines of the scenario, by the
    names in nvml.c; one that is empty is left out.
    `loaded` is the same card while the process runs whose number stands in the file that the variable FAKE_LOAD names; in its processes that one is 0.
    """

    name: str | None = "NVIDIA A100-SXM4-80GB"
    uuid: str | None = None
    address: str | None = None
    minor: int | None = None
    pci_device_id: int = 0x20B210DE
    pci_subsystem_id: int = 0x147F10DE
    compute_capability: tuple[int, int] | None = (8, 0)
    memory_total: int | None = 81920 * MIB
    memory_used: int = 0
    memory_reserved: int = 616 * MIB
    mig: tuple[int, int] | None = (0, 0)
    mig_instances: Sequence[Mig] = ()
    ecc: tuple[int, int] | None = (1, 1)
    ecc_corrected: int | None = 0
    ecc_uncorrected: int | None = 0
    remapped: tuple[int, int, int, int] | None = (0, 0, 0, 0)
    compute_mode: int | None = 0
    persistence: int | None = 1
    pcie_gen: tuple[int, int] | None = (4, 4)
    pcie_width: tuple[int, int] | None = (16, 16)
    clocks_event_reasons: int | None = 1
    temperature: int | None = 33
    power_usage: int | None = 61_000
    power_limit: int | None = 400_000
    power_limit_default: int | None = 400_000
    power_limits: tuple[int, int] | None = (100_000, 400_000)
    temperature_slowdown: int | None = 89
    temperature_shutdown: int | None = 92
    pstate: int | None = 0
    clock_sm: tuple[int, int] | None = (210, 1410)
    clock_memory: tuple[int, int] | None = (1593, 1593)
    sram: tuple[int, int] | None = (0, 0)
    retired_pages: tuple[int, int, int] | None = None
    pcie_replays: int | str | None = 0
    recovery_action: int | None = 0
    inforom_checksum: int | None = 0x5F3759DF
    virtualization: int | None = 0
    nvlinks: str | None = "1" * 12
    fabric: tuple[int, int] | None = (0, 0)
    utilization: tuple[int, int] | None = (0, 0)
    compute_processes: Processes | None = ()
    graphics_processes: Processes | None = ()
    multiprocessors: int = 108
    details: MachineView = field(default_factory=lambda: A100)
    facts: MachineView = field(default_factory=dict)
    loaded: NvmlGpu | None = None

    #: one field that fills several lines of the scenario
    SPREAD: ClassVar[Mapping[str, Sequence[str]]] = {
        "compute_capability": ("cc_major", "cc_minor"),
        "mig": ("mig_current", "mig_pending"),
        "ecc": ("ecc_current", "ecc_pending"),
        "remapped": ("remapped_corrected", "remapped_uncorrected", "remapped_pending", "remapped_failed"),
        "pcie_gen": ("pcie_gen", "pcie_gen_max"),
        "pcie_width": ("pcie_width", "pcie_width_max"),
        "power_limits": ("power_limit_min", "power_limit_max"),
        "clock_sm": ("clock_sm", "clock_max_sm"),
        "clock_memory": ("clock_memory", "clock_max_memory"),
        "sram": ("sram_uncorrected", "sram_threshold"),
        "retired_pages": ("retired_single", "retired_double", "retired_pages_pending"),
        "fabric": ("fabric_state", "fabric_status"),
        "utilization": ("utilization_gpu", "utilization_memory"),
        "ecc_corrected": ("ecc_corrected", "ecc_corrected_total"),
        "ecc_uncorrected": ("ecc_uncorrected", "ecc_uncorrected_total"),
    }

    def at(self, index: int) -> NvmlGpu:
        """This card in the slot of that index, with what follows from it filled in."""
        return replace(
            self,
            address=self.address or f"{index // 32:08X}:{0x07 + 8 * (index % 32):02X}:00.0",
            uuid=self.uuid or f"GPU-{0xA1000000 + index:08x}-1c2d-3e4f-5a6b-{0x700000000000 + index:012x}",
            minor=index if self.minor is None else self.minor,
        )

    def _of_link(self) -> dict[str, int]:
        """A card's own generation is its maximum in its slot, unless a fact says otherwise."""
        return {"pcie_gen_own": self.pcie_gen[1]} if self.pcie_gen else {}

    def lines(self, prefix: str) -> Iterator[str]:
        for key, value in vars(self).items():
            if value is None or key in {"details", "facts", "mig_instances", "loaded"}:
                continue
            if key.endswith("_processes"):
                words = (f"{pid}:{'?' if used is None else used}" for pid, used in value)
                yield f"{prefix}{key}={' '.join(words)}"
                continue
            names = self.SPREAD.get(key, (key,))
            values = value if isinstance(value, tuple) else (value,) * len(names)
            yield from (f"{prefix}{name}={part}" for name, part in zip(names, values, strict=True))
        yield f"{prefix}mig_most={7 if self.mig is not None else 0}"
        for number, instance in enumerate(self.mig_instances):
            yield from instance.lines(f"{prefix}mig.{number}.")
        yield from (f"{prefix}{key}={value}" for key, value in {**self._of_link(), **self.details, **self.facts}.items() if value != "")
        if self.loaded:
            here = replace(self.loaded, address=self.address, uuid=self.uuid, minor=self.minor)
            yield from here.lines(f"loaded.{prefix}")


def _cards(gpus: int | Sequence[NvmlGpu]) -> tuple[NvmlGpu, ...]:
    return tuple(card.at(index) for index, card in enumerate([NvmlGpu()] * gpus if isinstance(gpus, int) else gpus))


@dataclass(frozen=True, kw_only=True)
class _Library:
    gpus: int | Sequence[NvmlGpu] = 1
    cuda: str = "12.4"
    calls: Mapping[str, str] = field(default_factory=dict)
    without: tuple[str, ...] = ()

    SOURCE: ClassVar[str]
    SONAME: ClassVar[str]
    VARIABLE: ClassVar[str]

    def __post_init__(self) -> None:
        if len(self.cards) > MOST_GPUS:
            msg = f"at most {MOST_GPUS} GPUs"
            raise ValueError(msg)
        source = "".join(path.read_text() for path in HERE.glob(f"{Path(self.SOURCE).stem}*.[ch]"))
        for call, act in self.calls.items():
            function = call.partition(".")[0]
            if function != "*" and not re.search(rf"\b{function}(_v\d)?\b", source):
                msg = f"{self.SOURCE} has no function {function}"
                raise ValueError(msg)
            if not ACT.fullmatch(act):
                msg = f"{call}: {act!r} is no act"
                raise ValueError(msg)

    @property
    def cards(self) -> tuple[NvmlGpu, ...]:
        """The cards with their addresses, UUIDs and minors."""
        return _cards(self.gpus)

    def lines(self) -> Iterator[str]:
        major, _, minor = self.cuda.partition(".")
        yield f"cuda_version={int(major or 0) * 1000 + int(minor or 0) * 10}"
        yield f"gpus={len(self.cards)}"
        yield from (f"call.{call}={act}" for call, act in self.calls.items())
        for index, card in enumerate(self.cards):
            yield from card.lines(f"gpu.{index}.")

    def install(self, directory: Path) -> dict[str, str]:
        """Put the library and its scenario into `directory`; returns the variables a child needs. Raises SeamUnavailable without gcc or nvml.h."""
        directory.mkdir(parents=True, exist_ok=True)
        scenario = directory / f"{self.VARIABLE.lower()}.scenario"
        scenario.write_text("".join(f"{line}\n" for line in self.lines()))
        library = directory / self.SONAME
        library.unlink(missing_ok=True)
        spoiled = {f"{call}={act.removeprefix('spoil ')}" for call, act in self.calls.items() if act.startswith("spoil ")}
        library.symlink_to((spoiled_library if spoiled else shared_library)(self.SOURCE, self.SONAME, self.without))
        variables = {"LD_LIBRARY_PATH": str(directory), self.VARIABLE: str(scenario)}
        return variables | ({"FAKE_SPOILED": spoiled.pop()} if spoiled else {})


@dataclass(frozen=True, kw_only=True)
class Nvml(_Library):
    """Our libnvidia-ml.so.1; `cuda` is the CUDA version that the driver supports ("" for no libcuda), `processes` their names by pid.

    `facts` are further lines of the scenario about the whole system: confidential, confidential_ready, ancestor, p2p.
    """

    driver: str = "550.163.01"
    processes: Mapping[int, str] = field(default_factory=dict)
    facts: MachineView = field(default_factory=dict)
    instead: Mapping[str, str] = field(default_factory=dict)
    """Whole lines of the scenario, before all others of their names."""

    SOURCE: ClassVar[str] = "nvml.c"
    SONAME: ClassVar[str] = "libnvidia-ml.so.1"
    VARIABLE: ClassVar[str] = "FAKE_NVML"

    def lines(self) -> Iterator[str]:
        yield from (f"{name}={text}" for name, text in self.instead.items())
        yield f"driver_version={self.driver}"
        yield f"nvml_version={self.cuda.partition('.')[0] or 12}.{self.driver}"
        yield from (f"process.{pid}={name}" for pid, name in self.processes.items())
        yield from (f"{key}={value}" for key, value in self.facts.items())
        yield from super().lines()


@dataclass(frozen=True, kw_only=True)
class Cuda(_Library):
    """Our libcuda.so.1; `gpus` may be those of an Nvml, and honours CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER.

    It creates contexts and runs gpudoctor's own kernel; a card with wrong_element in its facts computes that element wrong.
    """

    SOURCE: ClassVar[str] = "cuda.c"
    SONAME: ClassVar[str] = "libcuda.so.1"
    VARIABLE: ClassVar[str] = "FAKE_CUDA"

    def lines(self) -> Iterator[str]:
        yield from super().lines()
        for index, card in enumerate(self.cards):
            domain, bus, slot = (int(part, 16) for part in str(card.address).partition(".")[0].split(":"))
            major, minor = card.compute_capability or (0, 0)
            # CUdevice_attribute in cuda.h: threads a block, warp, multiprocessors, compute mode, ECC, PCI bus, slot and domain, compute capability
            attributes = {1: 1024, 10: 32, 16: card.multiprocessors, 20: card.compute_mode or 0, 32: (card.ecc or (0,))[0]}
            attributes |= {
                36: (card.clock_memory or (0, 0))[1] * 1000,
                37: 5120,
                41: 1,
            }  # memory clock in kHz, bus width, unified addressing
            for number, value in {**attributes, 33: bus, 34: slot, 50: domain, 75: major, 76: minor}.items():
                yield f"gpu.{index}.attribute.{number}={value}"


def environ_with(*libraries: _Library, directory: Path, base: Mapping[str, str] | None = None) -> dict[str, str]:
    """A whole environment (`base`, otherwise this process's) in which a child loads these libraries first."""
    environment = dict(os.environ if base is None else base)
    before = environment.get("LD_LIBRARY_PATH")
    for library in libraries:
        environment |= library.install(directory)
    environment["LD_LIBRARY_PATH"] = f"{directory}:{before}" if before else str(directory)
    return environment
