"""What a rule about the machine sees, and what the other views use."""

from __future__ import annotations

from functools import cached_property

from gpudoctor.derive.add_on_wheels import extended_framework
from gpudoctor.derive.all_reduce import AllReduceResult, all_reduce_result, is_across_gpus
from gpudoctor.derive.driver import Driver, loaded_driver
from gpudoctor.derive.fabric import fabric_of, nvswitch_count
from gpudoctor.derive.gpus import Gpu, gpus_of_snapshot
from gpudoctor.derive.ladder import Ladder, ladder_of_gpus
from gpudoctor.derive.packages import Stack, stack_of
from gpudoctor.derive.rule_endings import NO_GPU, NO_PCI_BUS, not_applicable, require_applicable, require_known
from gpudoctor.derive.site import Site, site_of_snapshot
from gpudoctor.derive.toolkits import build_toolkit
from gpudoctor.derive.training import is_proven
from gpudoctor.derive.views.container import ContainerView
from gpudoctor.derive.views.driver_calls import DriverCallsView
from gpudoctor.derive.views.environment import EnvironmentView
from gpudoctor.derive.views.fabric import FabricView
from gpudoctor.derive.views.framework import FrameworkView
from gpudoctor.derive.views.gpu import GpuView
from gpudoctor.derive.views.kernel import KernelView
from gpudoctor.derive.views.view import Section
from gpudoctor.derive.visibility import Visibility, visibility_of_gpus
from gpudoctor.findings import MACHINE, Policy, Rung
from gpudoctor.matrix import Matrix
from gpudoctor.snapshot import (
    SUPPOSED,
    Allocation,
    AllReduce,
    Amd,
    Compiler,
    Container,
    ContainerTools,
    CudaFiles,
    Details,
    DeviceNodes,
    FabricParts,
    Framework,
    Host,
    KernelDriver,
    KernelLog,
    KernelModules,
    Libcuda,
    Libraries,
    Limits,
    Missing,
    Pci,
    PciDevice,
    Platform,
    Preload,
    Smoke,
    Snapshot,
    SystemPackages,
    TextLog,
    Toolkit,
    Variables,
    Wsl,
    is_absent,
)


class Hardware(tuple[Gpu, ...]):
    """Every GPU that any layer shows and that is this machine's (or this container's)."""

    __slots__ = ()


class MachineView(DriverCallsView):
    """A snapshot, the matrix and the user's options, with everything derived from them; each value is computed on first use."""

    observed: Snapshot
    matrix: Matrix
    policy: Policy
    subject = MACHINE

    host = Section[Host]()
    details = Section[Details]()
    system_packages = Section[SystemPackages]()
    preloads = Section[tuple[Preload, ...]]()
    container = Section[Container]()
    container_tools = Section[ContainerTools]()
    limits = Section[Limits]()
    allocation = Section[Allocation]()
    wsl = Section[Wsl]()
    variables = Section[Variables]()
    pci = Section[Pci](Rung.SLOT)
    kernel_driver = Section[KernelDriver](Rung.KERNEL_DRIVER)
    kernel_modules = Section[KernelModules]()
    kernel_log = Section[KernelLog](Rung.KERNEL_DRIVER)
    device_nodes = Section[DeviceNodes](Rung.DEVICE_NODE)
    fabric_parts = Section[FabricParts]()
    cuda_files = Section[CudaFiles]()
    toolkits = Section[tuple[Toolkit, ...]]()
    compilers = Section[tuple[Compiler, ...]]()
    smoke = Section[tuple[Smoke, ...]](Rung.FRAMEWORK)

    def __init__(self, observed: Snapshot, matrix: Matrix, policy: Policy) -> None:
        self.__dict__.update(observed=observed, matrix=matrix, policy=policy)

    @cached_property
    def gpus(self) -> tuple[GpuView, ...]:
        """Every GPU that any layer shows and that is this machine's (or this container's), by address."""
        return tuple(GpuView(self, gpu) for gpu in self.hardware)

    @cached_property
    def environment(self) -> EnvironmentView:
        """The examined Python environment."""
        return EnvironmentView(self)

    @cached_property
    def frameworks(self) -> tuple[FrameworkView, ...]:
        """The installed frameworks; empty if unknown."""
        return tuple(FrameworkView(self, framework) for framework in self.observed_frameworks)

    @property
    def inside_container(self) -> ContainerView:
        """The container that gpudoctor runs in; the rule does not apply outside one."""
        return ContainerView(self) if self.site.container else not_applicable("not in a container")

    @property
    def container_engines(self) -> ContainerTools:
        """The host's container tools; the rule does not apply in a container, or without an engine."""
        return (
            not_applicable("containers are configured on the host; run gpudoctor there")
            if self.site.container
            else require_applicable(self.observed.container_tools)
        )

    @property
    def wsl2(self) -> Wsl:
        """The Windows driver as WSL 2 shows it; the rule does not apply elsewhere."""
        return require_applicable(self.observed.wsl) if self.site.platform in {Platform.WSL2, "unknown"} else not_applicable("not WSL 2")

    @property
    def fabric(self) -> FabricView:
        """The NVLink fabric; the rule does not apply if no GPU is attached to one."""
        if not self.site.has_pci:
            not_applicable("GPUs of this platform have no NVLink fabric")
        if not self.nvswitches and not any(map(fabric_of, self.hardware)):
            not_applicable("no NVSwitch is on the PCI bus, and NVML reports no GPU attached to a fabric")
        return FabricView(self)

    @cached_property
    def kernel(self) -> KernelView:
        """The kernel: GPU drivers, their modules and the kernel log."""
        return KernelView(self)

    @cached_property
    def nvswitches(self) -> int:
        """How many NVSwitches are on the PCI bus."""
        return nvswitch_count(self.observed.pci)

    @property
    def gpu_all_reduces(self) -> tuple[tuple[str, tuple[AllReduce, ...]], ...]:
        """By framework, the all-reduce runs across GPUs: with P2P and, if that failed, without."""
        return tuple(
            (smoke.framework, runs) for smoke in self.smokes if isinstance(runs := smoke.all_reduces, tuple) and is_across_gpus(runs)
        )

    @property
    def has_all_reduced(self) -> bool:
        """Whether an all-reduce succeeded."""
        runs = (run for smoke in self.smokes if isinstance(smoke.all_reduces, tuple) for run in smoke.all_reduces)
        return any(all_reduce_result(run) is AllReduceResult.RIGHT for run in runs)

    def need_gpu(self) -> None:
        """End the rule where there is no GPU: it does not apply."""
        if not self.gpus:
            not_applicable(NO_GPU)

    @property
    def libcuda_for_gpus(self) -> Libcuda | Missing:
        """libcuda, or why it was not loaded; the rule does not apply without a GPU to use it."""
        return self.observed.libcuda if self.hardware or not self.site.has_pci else not_applicable(NO_GPU)

    def framework(self, name: str) -> FrameworkView | None:
        """An installed framework by name; None if it is not installed, or if unknown."""
        return next((framework for framework in self.frameworks if framework.name == name), None)

    @property
    def driver(self) -> Driver:
        """The loaded driver; ends the rule if there is none, or does not apply if there is no GPU either."""
        found = self.driver_or_missing
        if is_absent(found) and not self.hardware:
            not_applicable("there is neither a GPU nor a driver")
        return require_known(found, Rung.KERNEL_DRIVER)

    @property
    def visibility(self) -> Visibility:
        """The effect of CUDA_VISIBLE_DEVICES; the rule does not apply if it is not set, or CUDA shows no GPU without it either."""
        found = self.visibility_or_missing
        if found is None:
            not_applicable("CUDA_VISIBLE_DEVICES is not set")
        visibility = require_known(found, Rung.LIBCUDA)
        return visibility if visibility.total else not_applicable("CUDA shows no GPU without the variable either")

    @property
    def amd(self) -> tuple[Amd, ...]:
        """The GPUs of ROCm's kernel driver; the rule does not apply without any."""
        return require_applicable(self.observed.amd, Rung.KERNEL_DRIVER)

    @property
    def pci_devices(self) -> tuple[PciDevice, ...]:
        """The GPUs, display devices and accelerators on the PCI bus; the rule does not apply to a platform whose GPUs are not on one."""
        devices = self.pci.devices
        return devices if self.site.has_pci else not_applicable(NO_PCI_BUS)

    @property
    def usable_gpus(self) -> tuple[GpuView, ...]:
        """The GPUs that programs may use; the rule does not apply without one."""
        return tuple(gpu for gpu in self.gpus if gpu.usable) or not_applicable("programs may use no GPU" if self.gpus else NO_GPU)

    @property
    def known_frameworks(self) -> tuple[FrameworkView, ...]:
        """The installed frameworks; ends the rule if unknown."""
        return self.frameworks if require_known(self.observed.frameworks) else ()

    @property
    def smokes(self) -> tuple[Smoke, ...]:
        """The smoke training of each framework; empty if there was none."""
        return () if isinstance(self.observed.smoke, Missing) else self.observed.smoke

    @property
    def libraries(self) -> Libraries:
        """The X-ray; the rule does not apply if there was nothing to examine."""
        return require_applicable(self.observed.libraries)

    @property
    def known_toolkits(self) -> tuple[Toolkit, ...]:
        """The CUDA toolkits on the system; empty if unknown."""
        return () if isinstance(self.observed.toolkits, Missing) else self.observed.toolkits

    @property
    def build_toolkit(self) -> Toolkit:
        """The toolkit with nvcc that a build would use; the rule does not apply without one, or without a GPU to build for."""
        self.need_gpu()
        found = build_toolkit(self.toolkits)
        if found is None or not isinstance(found.nvcc, str):
            not_applicable("no nvcc was found for builds")
        return found

    def variable(self, name: str) -> str:
        """The value of an environment variable; empty if not set or unknown."""
        variables = self.observed.variables
        return "" if isinstance(variables, Missing) else variables.values.get(name, "")

    @property
    def log(self) -> TextLog:
        """The signs of a fault in a pasted text; empty if no text was read."""
        return TextLog(()) if isinstance(self.observed.text_log, Missing) else self.observed.text_log

    @property
    def supposed(self) -> bool:
        """Whether the machine was described by the user instead of examined."""
        return self.observed.origin == SUPPOSED

    @cached_property
    def site(self) -> Site:
        """Platform, container and scheduler."""
        return site_of_snapshot(self.observed)

    @cached_property
    def hardware(self) -> Hardware:
        """The GPUs, by address."""
        return Hardware(gpus_of_snapshot(self.observed, self.site))

    @cached_property
    def driver_or_missing(self) -> Driver | Missing:
        """The loaded driver; absent if none is."""
        return loaded_driver(self.observed, self.matrix)

    @cached_property
    def visibility_or_missing(self) -> Visibility | Missing | None:
        """The effect of CUDA_VISIBLE_DEVICES; None if it is not set."""
        return visibility_of_gpus(self.observed)

    @cached_property
    def ladder(self) -> Ladder:
        """What was seen of every rung, for every GPU."""
        return ladder_of_gpus(self.observed, self.hardware, self.site)

    @property
    def observed_frameworks(self) -> tuple[Framework, ...]:
        """The installed frameworks; empty if unknown."""
        return () if isinstance(self.observed.frameworks, Missing) else self.observed.frameworks

    @cached_property
    def stack_or_missing(self) -> Stack | Missing:
        """The distributions of the environment and what they require of one another."""
        packages = self.observed.packages
        return packages if isinstance(packages, Missing) else Stack(self.observed, packages, self.matrix)

    def another_can_train(self, name: str, failing: frozenset[str] = frozenset()) -> bool:
        """Whether another framework than `name`, and none of the `failing`, fits driver and GPU, which lets the environment still train.

        In an assumed environment none replaces another that the user asked for; only a package may want it, as MediaPipe wants JAX.
        What computes for a framework that fails, as vLLM does for PyTorch, fails with it.
        """
        failing = failing | {name}
        others = (
            other
            for other in self.frameworks
            if other.name not in failing and not failing.intersection(map(extended_framework, other.published))
        )
        return not self._is_requested(name) and any(other.fits for other in others if not self.supposed or self._is_requested(other.name))

    def _is_requested(self, framework: str) -> bool:
        """Whether a package of this framework was stated in an assumed environment."""
        stack = self.stack_or_missing
        if not self.supposed or isinstance(stack, Missing):
            return self.supposed
        own = {other.distribution for other in self.observed_frameworks if other.name == framework}
        parts = (
            distribution
            for distribution in stack.distributions.values()
            if distribution.name in own or stack_of(distribution.name) == framework
        )
        return any(map(stack.stated, parts))

    @cached_property
    def cpu_framework(self) -> str:
        """The framework that trained on the CPU; empty if none did."""
        return next((smoke.framework for smoke in self.smokes if _has_trained(smoke, "CPU")), "")

    def trains(self, framework: str, *, on_cpu: bool = False) -> bool:
        """Whether this framework trained on some GPU or, with `on_cpu`, on the CPU."""
        kinds = ("GPU", "CPU") if on_cpu else ("GPU",)
        return any(_has_trained(smoke, kind) for smoke in self.smokes for kind in kinds if smoke.framework == framework)


def _has_trained(smoke: Smoke, kind: str) -> bool:
    """Whether a framework trained on some device of a kind."""
    return any(run.device.upper().startswith(kind) and is_proven(smoke, run.device) for run in smoke.trainings)
