"""What smoke training reported from inside its framework: stages, numbers, places. Times are in seconds."""

from __future__ import annotations

import msgspec

from gpudoctor.snapshot.values import NOT_ASKED, Missing, Observed, OpenEnum, Real

LAST_OUTPUT = "; its last output: "
"""What stands between how a process ended and the last line that it wrote, in a stage's error."""


class StageKind(OpenEnum):
    """A stage of smoke training."""

    START = "start"  # before the first stage
    BETWEEN = "between stages"
    IMPORT = "import"
    DEVICES = "devices"
    PROCESSES = "processes"  # one for each device, if the framework needs that for all-reduce
    KERNEL = "kernel"
    TRAINING = "training"
    AGREEMENT = "agreement"
    SPEED = "speed"
    COPIES = "copies"
    MEMORY = "memory"
    PRODUCTS = "products"
    COMPILED_STEP = "compiled step"
    ALL_REDUCE = "all-reduce"  # connects the devices and runs; earlier stages involve the framework alone


class StageState(OpenEnum):
    """How a stage ended."""

    DONE = "done"
    FAILED = "failed"  # the framework raised
    CRASHED = "crashed"  # the process died in it
    HUNG = "hung"  # no progress until the deadline
    STOPPED = "stopped"  # the user, or the whole check's deadline, ended it
    UNSUPPORTED = "unsupported"  # gpudoctor cannot train with this release; the machine may be fine
    DEFECT = "defect"  # our own script broke, which says nothing about the framework


class Stage(Observed, frozen=True):
    """One stage of a smoke training."""

    kind: StageKind = msgspec.field(name="name")
    """Written as `name`, which readers of version 1.2 require."""
    state: StageState
    seconds: float | Missing = NOT_ASKED
    error: str | Missing = NOT_ASKED
    """The framework's message, or the signal that ended the process."""
    network: str = ""
    """dense or convolutional; empty if the stage has no network."""
    device: str = ""
    """GPU:0, CPU:0; empty if the stage has no device."""


class SmokeDevice(Observed, frozen=True):
    """A compute device listed by the framework."""

    name: str
    """The framework's name for it: GPU:0, CPU:0."""
    kind: str
    """gpu or cpu."""
    model: str | Missing = NOT_ASKED
    compute_capability: str | Missing = NOT_ASKED
    address: str | Missing = NOT_ASKED
    """The GPU's PCI address, by CUDA ordinal."""


class Kernel(Observed, frozen=True):
    """The first matmul on a device, checked against float64."""

    device: str
    ran_on: str
    """Where the framework says the result is."""
    error: Real
    """The largest relative difference."""
    tolerance: float
    address: str | Missing = NOT_ASKED


class Agreement(Observed, frozen=True):
    """The first training steps compared with the same steps on the CPU."""

    steps: int
    loss_difference: Real
    weight_difference: Real
    loss_tolerance: float
    weight_tolerance: float


class Training(Observed, frozen=True):
    """The training of one network on one device."""

    device: str
    """The requested device: GPU:0, CPU:0."""
    placed_on: tuple[str, ...]
    """Every device on which the framework placed variables, gradients and outputs."""
    steps: int
    losses: tuple[Real, ...]
    accuracy: Real
    """On held-out images; 0 to 1."""
    expected_accuracy: float
    """The expected value if the arithmetic is right."""
    seconds: Real
    samples_per_second: Real
    address: str | Missing = NOT_ASKED
    agreement: Agreement | Missing = NOT_ASKED
    network: str = "dense"
    """dense or convolutional."""


class Speed(Observed, frozen=True):
    """How fast a network trains on a GPU and, in the same process, on the CPU, from data already there; images a second."""

    device: str
    network: str
    batch: int
    """Images in a step."""
    samples_per_second: Real
    cpu_samples_per_second: Real
    address: str | Missing = NOT_ASKED


class Copy(Observed, frozen=True):
    """A copy between host memory and a device's."""

    device: str
    direction: str
    """to: from host memory to the device; from: the reverse."""
    pinned: bool
    """Pinned host memory."""
    size: int
    """Bytes."""
    bytes_per_second: Real
    address: str | Missing = NOT_ASKED


class MemoryRate(Observed, frozen=True):
    """How fast a device reads and writes its own memory, measured by doubling an array."""

    device: str
    size: int
    """Bytes read and written."""
    bytes_per_second: Real
    address: str | Missing = NOT_ASKED


class Product(Observed, frozen=True):
    """A matmul of two square matrices on a device, by the framework."""

    device: str
    precision: str
    """fp32, tf32, bf16 or fp16."""
    size: int
    """Rows."""
    flops: Real
    """Operations a second: 2 size^3 for each matmul."""
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
    """Compilation and the first step."""
    step_seconds: Real
    loss_difference: Real
    """From the same step uncompiled."""
    loss_tolerance: float
    address: str | Missing = NOT_ASKED


class Sum(Observed, frozen=True):
    """An all-reduce of arrays with known content over several devices, whose exact sum has no rounding error."""

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
    """The devices with wrong sums."""


class AllReduce(Observed, frozen=True):
    """One run of all-reduces over several devices, in its own process."""

    devices: tuple[str, ...]
    p2p: bool
    """Whether NCCL could use P2P between GPUs; False: NCCL_P2P_DISABLE=1."""
    stages: tuple[Stage, ...] = ()
    """Up to the all-reduce."""
    sums: tuple[Sum, ...] = ()
    """A small one, and one large enough for the links."""
    output: str | Missing = NOT_ASKED
    """The tail of its output, kept as evidence if it failed."""


class MemoryKills(Observed, frozen=True):
    """How many processes the kernel killed for lack of memory during a run."""

    count: int
    where: str
    """The kernel's file with the counter."""
    of_machine: bool = False
    """Whether it counts the whole machine, not just this program's control group."""


class LeftAlone(Observed, frozen=True):
    """A GPU that was not used for training."""

    gpu: str
    """Its PCI address, or a substitute."""
    reason: str


class Smoke(Observed, frozen=True):
    """The smoke training of one framework."""

    framework: str
    version: str | Missing = NOT_ASKED
    stages: tuple[Stage, ...] = ()
    devices: tuple[SmokeDevice, ...] | Missing = NOT_ASKED
    kernels: tuple[Kernel, ...] = ()
    networks: tuple[str, ...] = ("dense",)
    """The networks to train on each device."""
    trainings: tuple[Training, ...] = ()
    speeds: tuple[Speed, ...] = ()
    copies: tuple[Copy, ...] = ()
    """This and what follows is only measured at level full."""
    memory: tuple[MemoryRate, ...] = ()
    products: tuple[Product, ...] = ()
    compiled: tuple[CompiledStep, ...] = ()
    all_reduces: tuple[AllReduce, ...] | Missing = NOT_ASKED
    """Over all devices that trained; a second run, without P2P, is the control for a first that failed."""
    mapped: tuple[str, ...] | Missing = NOT_ASKED
    """The CUDA library files in its process at the end, links resolved, from /proc/self/maps."""
    left_alone: tuple[LeftAlone, ...] = ()
    output: str | Missing = NOT_ASKED
    """The tail of the process's output, kept as evidence if it failed."""
    memory_kills: MemoryKills | Missing = NOT_ASKED
    """During the run; read if it ended badly by itself."""

    @property
    def unsupported(self) -> str:
        """Why gpudoctor cannot train with this release or its Python; empty if it can."""
        return next((str(stage.error) for stage in self.stages if stage.state is StageState.UNSUPPORTED), "")
