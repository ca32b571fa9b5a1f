"""What a rule about one framework sees."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from gpudoctor import versions
from gpudoctor.derive.add_ons import InstalledAddOn, installed_add_ons
from gpudoctor.derive.cuda import EffectiveCuda, effective_cuda, is_driver_new_enough, published_rows
from gpudoctor.derive.cuda_libraries import CudaComponent, component_with_code, cuda_component
from gpudoctor.derive.gpu_code import EffectiveCode, Fit, GpuFit, GpuFits, effective_code, gpu_fits
from gpudoctor.derive.other_copies import OtherCopy, copy_instead_of
from gpudoctor.derive.packages import DEBIAN_PACKAGES_FOLDER
from gpudoctor.derive.rule_endings import not_applicable, not_stated, require_applicable, require_known
from gpudoctor.derive.views.framework_files import FrameworkFiles
from gpudoctor.derive.views.view import Section
from gpudoctor.findings import Rung, Subject, SubjectKind
from gpudoctor.frameworks import stack_of
from gpudoctor.matrix import Fault, FrameworkRelease
from gpudoctor.snapshot import (
    NOT_ASKED,
    Distribution,
    Fact,
    LibraryUse,
    Missing,
    Platform,
    Smoke,
    is_absent,
)

if TYPE_CHECKING:
    from gpudoctor.derive.views.environment import EnvironmentView


_DEBIAN_SYSTEMS = {"debian", "ubuntu"}


class FrameworkView(FrameworkFiles):
    """One installed framework, with its environment and the machine."""

    architectures = Section[tuple[str, ...]]()

    @property
    def label(self) -> str:
        """The framework with its version: "torch 2.8.0+cu126"; only its name if the version is unknown."""
        return self.observed.label

    @property
    def release(self) -> str:
        """Its version without the local part, "2.8.0"; empty if unknown."""
        return self.observed.release

    @property
    def subject(self) -> Subject:
        """What a finding about this framework is about."""
        return Subject(SubjectKind.FRAMEWORK, self.name)

    @property
    def environment(self) -> EnvironmentView:
        """The environment it is installed in."""
        return self.machine.environment

    @property
    def version(self) -> Fact:
        """The installed version and its source; ends the rule if unknown."""
        return require_known(self.observed.version)

    def has_reached(self, bound: str) -> bool:
        """Whether its release is at or after the one from which a bound of the matrix holds ("adapts-ptx")."""
        since = self.machine.matrix.bound(self.name, bound)
        version = versions.parse_version(self.release)
        return version is not None and since is not None and version >= since

    def is_before(self, bound: str) -> bool:
        """Whether its release is before the one from which a bound of the matrix holds."""
        since = self.machine.matrix.bound(self.name, bound)
        version = versions.parse_version(self.release)
        return version is not None and since is not None and version < since

    def is_bounded(self, bound: str) -> bool:
        """Whether the matrix has this bound for the framework."""
        return self.machine.matrix.bound(self.name, bound) is not None

    @cached_property
    def cuda_or_missing(self) -> EffectiveCuda | Missing:
        """The CUDA of its build; absent for a build without."""
        seen = self.machine.observed
        return effective_cuda(self.observed, seen.python, self.machine.matrix, seen.host, seen.packages)

    @property
    def cuda(self) -> EffectiveCuda:
        """The CUDA of its build; the rule does not apply to a build without, and ends if it is unknown."""
        return require_applicable(self.cuda_or_missing)

    @cached_property
    def code_or_missing(self) -> EffectiveCode | Missing:
        """The GPU code of its build; absent for a build without CUDA."""
        cuda = self.cuda_or_missing
        if is_absent(cuda):
            return cuda
        row = next((row for row in self.published if row.sass is not None), None)
        compilers = () if isinstance(cuda, Missing) else self.machine.matrix.cudas(cuda.version)
        return effective_code(self.observed, self.machine.observed.libraries, row, compilers)

    @property
    def code(self) -> EffectiveCode:
        """The GPU code of its build; the rule does not apply to a build without CUDA."""
        return require_applicable(self.code_or_missing)

    @cached_property
    def gpu_fits_or_missing(self) -> GpuFits | Missing:
        """How its code fits each GPU its programs may use."""
        code = self.code_or_missing
        return code if isinstance(code, Missing) else gpu_fits(code, self.machine.hardware, self.machine.matrix, self.faults)

    @property
    def gpu_fits(self) -> GpuFits:
        """How its code fits each GPU its programs may use; the rule does not apply without CUDA or without such a GPU."""
        found = require_applicable(self.gpu_fits_or_missing)
        if not found:
            not_applicable("its programs may use no GPU")
        return found

    @property
    def known_gpu_fits(self) -> GpuFits:
        """The same; ends the rule if a GPU's fit is unknown."""
        found = self.gpu_fits
        for meeting in found.lacking(Fit.UNKNOWN):
            capability = require_known(meeting.capability_or_missing, Rung.NVML)
            not_stated(f"no source states whether {self.label} has kernels for {meeting.gpu.label} (compute capability {capability})")
        return found

    def gpus_with(self, fit: Fit) -> tuple[GpuFit, ...]:
        """The GPUs with this fit; if there are none, ends the rule unless every GPU's fit is known."""
        return self.gpu_fits.lacking(fit) or self.known_gpu_fits.lacking(fit)

    def component_or_missing(self, name: str) -> CudaComponent | Missing:
        """A CUDA library as this framework would load it; absent for a build without CUDA."""
        cuda = self.cuda_or_missing
        if isinstance(cuda, Missing):
            return cuda
        stack = self.environment.stack_or_missing
        return cuda_component(name, self.observed, cuda, self.machine.observed, stack=stack, rows=self.published)

    def component(self, name: str) -> CudaComponent:
        """A CUDA library as this framework would load it; the rule does not apply to a build without CUDA."""
        return require_applicable(self.component_or_missing(name))

    @property
    def cudnn(self) -> CudaComponent:
        """The cuDNN that it would load; the rule does not apply to a build without CUDA or a machine without a GPU."""
        self.machine.need_gpu()
        return self.component("cudnn")

    @property
    def cudnn_code(self) -> EffectiveCode:
        """The GPU code in the cuDNN that it would load; ends the rule if unknown."""
        return require_known(component_with_code(self.cudnn, self.cuda, self.machine.observed, self.machine.matrix).code)

    @property
    def xla_assembler(self) -> LibraryUse:
        """How XLA looks for ptxas; the rule does not apply to a framework without XLA, nor to one that contains an assembler."""
        found = self.xla_file("ptxas")
        return not_applicable("this release contains its own assembler") if self.has_reached("carries-assembler") else found

    def other_copy(self, use: LibraryUse, instead: str) -> OtherCopy | None:
        """The copy that `use` would load in place of `instead`; None if it would load none."""
        return copy_instead_of(self, use, instead)

    @property
    def add_ons(self) -> tuple[InstalledAddOn, ...]:
        """Its compiled add-ons; the rule does not apply without any, without CUDA or without a GPU."""
        _ = self.all_libraries_used  # add-ons are only examined with their framework
        return installed_add_ons(self.name, self.machine.libraries.extensions) or not_applicable(
            f"no compiled add-on of {self.name} is installed"
        )

    @property
    def compiled_parts(self) -> list[Distribution]:
        """The installed distributions with its compiled code; ends the rule if the packages are unknown."""
        own, names = self.observed.distribution, self.spec.compiled
        return [part for part in self.environment.stack.distributions.values() if part.name in names or part.name == own]

    @property
    def triton(self) -> Distribution:
        """The Triton that torch.compile uses; the rule does not apply to a framework or machine without."""
        if not self.spec.triton or self.observed.cuda_build is False or self.observed.rocm_build is True:
            not_applicable("only PyTorch's CUDA builds compile with Triton")
        stack = self.environment.stack
        if stack.supposed or "triton" not in stack.distributions:
            not_applicable("Triton is not installed")
        self.machine.need_gpu()
        return stack.distributions["triton"]

    @cached_property
    def published(self) -> tuple[FrameworkRelease, ...]:
        """The matrix's rows for this release."""
        seen = self.machine.observed
        return published_rows(self.observed, seen.python, self.machine.matrix, seen.host, seen.packages)

    @property
    def faults(self) -> tuple[Fault, ...]:
        """Known defects of this release, and of the libraries of its CUDA."""
        version, cuda = self.observed.version, self.cuda_or_missing
        number, built = version.value if isinstance(version, Fact) else "", None if isinstance(cuda, Missing) else cuda.version
        return self.machine.matrix.faults(self.observed.distribution or self.name, number, built)

    @property
    def smoke_or_missing(self) -> Smoke | Missing:
        """Its smoke training."""
        trained = self.machine.observed.smoke
        if isinstance(trained, Missing):
            return trained
        return next((smoke for smoke in trained if smoke.framework == self.name), NOT_ASKED)

    @property
    def smoke(self) -> Smoke:
        """Its smoke training; ends the rule if it did not run."""
        return require_known(self.smoke_or_missing, Rung.FRAMEWORK)

    @property
    def fits(self) -> bool:
        """Whether driver and GPUs are known to run its build."""
        driver, cuda, met = self.machine.driver_or_missing, self.cuda_or_missing, self.gpu_fits_or_missing
        if isinstance(cuda, Missing) or isinstance(driver, Missing):
            return False
        runs = isinstance(met, Missing) or not met.is_unfit_everywhere
        return runs and is_driver_new_enough(driver, cuda, self.machine.site) is True

    @property
    def distribution(self) -> Distribution | None:
        """Its own distribution; None if the packages are unknown or do not list it."""
        stack = self.environment.stack_or_missing
        return None if isinstance(stack, Missing) else stack.distributions.get(self.observed.distribution)

    @property
    def debian_package(self) -> str:
        """The package of Debian or Ubuntu that contains it, "python3-torch-cuda"; empty if none does."""
        location, debian = self.observed.location, _DEBIAN_SYSTEMS.intersection(self.machine.site.distribution)
        if not debian or not self.spec.debian or not isinstance(location, str) or not location.startswith(DEBIAN_PACKAGES_FOLDER):
            return ""
        return f"{self.spec.debian}-cuda" if self.observed.cuda_build is True else self.spec.debian

    @property
    def directml(self) -> str:
        """The package for Microsoft's DirectML; empty if there is none."""
        stack = self.environment.stack_or_missing
        installed = () if isinstance(stack, Missing) else stack.distributions
        return next((name for name in self.spec.directml if name in installed), "")

    @property
    def is_using_directml(self) -> bool:
        """Whether it uses the GPU through DirectML, which needs a build without CUDA and exists on Windows and in WSL only."""
        return self.machine.site.platform != Platform.LINUX and bool(self.directml)

    @property
    def required_by(self) -> Distribution | None:
        """The distribution that requires this framework, if the user did not ask for it; otherwise None."""
        stack, own = self.environment.stack_or_missing, self.distribution
        if own is None or isinstance(stack, Missing) or own.requested is not False or self.name in self.machine.policy.frameworks:
            return None
        requiring = (demand.by for demand in stack.demands if demand.requirement.name == own.name)
        return next((by for by in requiring if by.name != own.name and stack_of(by.name) not in {None, self.name}), None)

    @property
    def trains_on_gpu(self) -> bool:
        """Whether it trained on some GPU."""
        return self.machine.trains(self.name)
