"""What a smoke training reported from inside its framework: stages, numbers, places. Times are in seconds."""

from __future__ import annotations

import msgspec

from gpudoctor.snapshot.values import NOT_ASKED, Missing, Observed, OpenEnum, Real


class StageKind(OpenEnum):
    """What a smoke training does in a stage."""

    START = "start"  # before the first stage
    BETWEEN = "between stages"
    IMPORT = "import"
    DEVICES = "devices"
    PROCESSES = "processes"  # one for each device, where the framework wants that for an all-reduce
    KERNEL = "kernel"
    TRAINING = "training"
    AGREEMENT = "agreement"
    SPEED = "speed"
    COPIES = "copies"
    MEMORY = "memory"
    PRODUCTS = "products"
    COMPILED_STEP = "compiled step"
    ALL_REDUCE = "all-reduce"  # connects the devices and sums; those before it are of the framework alone


class StageState(OpenEnum):
    """How a stage ended."""

    DONE = "done"
    FAILED = "failed"  # the framework raised
    CRASHED = "crashed"  # the process died in it
    HUNG = "hung"  # no progress until the deadline
    STOPPED = "stopped"  # the user, or the whole check's deadline, ended it
    UNSUPPORTED = "unsupported"  # gpudoctor cannot train with this release, which is no fault of the machine
    DEFECT = "defect"  # a script of ours broke, which says nothing about the framework


class Stage(Observed, frozen=True):
    """One stage of a smoke training."""

    kind: StageKind = msgspec.field(name="name")
    """Written as `name`, which readers of version 1.2 require."""
    state: StageState
    seconds: float | Missing = NOT_ASKED
    error: str | Missing = NOT_ASKED
    """The framework's words, or the signal that ended the process."""
    network: str = ""
    """dense or convolutional; empty where the stage is of no network."""
    device: str = ""
    """GPU:0, CPU:0; empty where the stage is of no device."""


class SmokeDevice(Observed, frozen=True):
    """One device that the framework lists for computing."""

    name: str
    """In the framework's words: GPU:0, CPU:0."""
    kind: str
    """gpu or cpu."""
    model: str | Missing = NOT_ASKED
    compute_capability: str | Missing = NOT_ASKED
    address: str | Missing = NOT_ASKED
    """The GPU's PCI address, by CUDA ordinal."""


class Kernel(Observed, frozen=True):
    """The first product computed on a device, checked against float64."""

    device: str
    ran_on: str
    """Where the framework says that the result lies."""
    error: Real
    """The largest relative difference."""
    tolerance: float
    address: str | Missing = NOT_ASKED


class Agreement(Observed, frozen=True):
    """The first steps of the training against the same steps on the CPU."""

    steps: int
    loss_difference: Real
    weight_difference: Real
    loss_tolerance: float
    weight_tolerance: float


class Training(Observed, frozen=True):
    """One network's training on one device."""

    device: str
    """Asked for: GPU:0, CPU:0."""
    placed_on: tuple[str, ...]
    """Every device on which the framework says that variables, gradients and outputs were."""
    steps: int
    losses: tuple[Real, ...]
    accuracy: Real
    """On images not trained on; 0 to 1."""
    expected_accuracy: float
    """What this data gives when the arithmetic is right."""
    seconds: Real
    samples_per_second: Real
    address: str | Missing = NOT_ASKED
    agreement: Agreement | Missing = NOT_ASKED
    network: str = "dense"
    """dense or convolutional."""


class Speed(Observed, frozen=True):
    """How fast a network trains on a GPU and, in the same process, on the CPU, from data that lie there; images a second."""

    device: str
    network: str
    batch: int
    """Images in a step."""
    samples_per_second: Real
    cpu_samples_per_second: Real
    address: str | Missing = NOT_ASKED


class Copy(Observed, frozen=True):
    """A copy between the machine's memory and a device's."""

    device: str
    direction: str
    """to the device or from it."""
    pinned: bool
    """From or to pages that cannot be moved."""
    size: int
    """Bytes."""
    bytes_per_second: Real
    address: str | Missing = NOT_ASKED


class MemoryRate(Observed, frozen=True):
    """How fast a device reads and writes its own memory, by doubling an array."""

    device: str
    size: int
    """Bytes read and written."""
    bytes_per_second: Real
    address: str | Missing = NOT_ASKED


class Product(Observed, frozen=True):
    """A product of two square matrices on a device, by the framework."""

    device: str
    precision: str
    """fp32, tf32, bf16 or fp16."""
    size: int
    """Rows."""
    flops: Real
    """Operations a second: 2 size^3 for one product."""
    error: Real
    """The largest |row - exact row| / |exact row| of some rows."""
    tolerance: float
    address: str | Missing = NOT_ASKED


class CompiledStep(Observed, frozen=True):
    """A step of the dense network compiled by the framework's compiler, in seconds."""

    device: str
    compiler: str
    """XLA or torch.compile."""
    seconds: Real
    """Compiling and the first step."""
    step_seconds: Real
    loss_difference: Real
    """From the same step uncompiled."""
    loss_tolerance: float
    address: str | Missing = NOT_ASKED


class Sum(Observed, frozen=True):
    """Arrays of known content summed over several devices at once, whose right sum has no rounding error."""

    size: int
    """Bytes of the array on each device."""
    repetitions: int
    seconds: Real
    """One all-reduce, the mean."""
    bus_bytes_per_second: Real
    """2 (n - 1) / n size / seconds over n devices, as nccl-tests counts it."""
    error: Real
    """The largest absolute difference on any device in any repetition; 0 is right."""
    wrong: tuple[str, ...] = ()
    """The devices whose sums differ."""


class AllReduce(Observed, frozen=True):
    """One run of all-reduces over several devices, in a process of its own."""

    devices: tuple[str, ...]
    p2p: bool
    """Whether NCCL was free to let GPUs reach each other's memory; False: NCCL_P2P_DISABLE=1."""
    stages: tuple[Stage, ...] = ()
    """Up to the all-reduce."""
    sums: tuple[Sum, ...] = ()
    """A small one and one large enough for the links."""
    output: str | Missing = NOT_ASKED
    """The tail of what it wrote, kept as evidence where it did not end well."""


class MemoryKills(Observed, frozen=True):
    """How many processes the kernel killed, out of memory, while something ran."""

    count: int
    where: str
    """The file that the kernel counts them in."""
    of_machine: bool = False
    """Whether it counts those of the whole machine, not of this program's control group only."""


class LeftAlone(Observed, frozen=True):
    """A GPU that was not trained on."""

    gpu: str
    """Its PCI address, or what stands for one."""
    reason: str


class Smoke(Observed, frozen=True):
    """One framework's smoke training."""

    framework: str
    version: str | Missing = NOT_ASKED
    stages: tuple[Stage, ...] = ()
    devices: tuple[SmokeDevice, ...] | Missing = NOT_ASKED
    kernels: tuple[Kernel, ...] = ()
    networks: tuple[str, ...] = ("dense",)
    """What was to be trained on each device."""
    trainings: tuple[Training, ...] = ()
    speeds: tuple[Speed, ...] = ()
    copies: tuple[Copy, ...] = ()
    """This and what follows is measured at level full only."""
    memory: tuple[MemoryRate, ...] = ()
    products: tuple[Product, ...] = ()
    compiled: tuple[CompiledStep, ...] = ()
    all_reduces: tuple[AllReduce, ...] | Missing = NOT_ASKED
    """Over all devices that trained; a second one, without P2P, is the control of a first that was not right."""
    mapped: tuple[str, ...] | Missing = NOT_ASKED
    """The files of CUDA's libraries in its process at the end, links resolved, by /proc/self/maps."""
    left_alone: tuple[LeftAlone, ...] = ()
    output: str | Missing = NOT_ASKED
    """The tail of what the process wrote, kept as evidence where it did not end well."""
    memory_kills: MemoryKills | Missing = NOT_ASKED
    """While it ran; seen where it ended badly by itself."""

    @property
    def unsupported(self) -> str:
        """Why gpudoctor cannot train with this release or its Python; empty where it can."""
        return next((str(stage.error) for stage in self.stages if stage.state is StageState.UNSUPPORTED), "")
