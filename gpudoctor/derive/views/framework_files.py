"""What rules about a framework see of its files: the CUDA libraries that they request, and those that do not load."""

from __future__ import annotations

from gpudoctor.derive.gpu_code import xray_of_framework
from gpudoctor.derive.libraries import DRIVER_COMPONENT, damaged_libraries, missing_libraries
from gpudoctor.derive.rule_endings import NO_GPU, not_applicable, require_known
from gpudoctor.derive.views.view import SubjectView
from gpudoctor.frameworks import FrameworkSpec, spec_of
from gpudoctor.snapshot import (
    Asking,
    Damage,
    Framework,
    FrameworkLibraries,
    LibraryUse,
    Missing,
    RefusedVariable,
    UnfitModule,
    UnresolvedSymbol,
)


class FrameworkFiles(SubjectView):
    """The X-ray of one framework's files."""

    observed: Framework

    @property
    def name(self) -> str:
        """The framework's name: tensorflow, torch, jax, ..."""
        return self.observed.name

    @property
    def spec(self) -> FrameworkSpec:
        """The framework's traits; the defaults if the catalogue lacks it."""
        return spec_of(self.name)

    @property
    def xray(self) -> FrameworkLibraries:
        """The X-ray of its files; the rule does not apply if it found no CUDA build."""
        found = xray_of_framework(self.observed, self.machine.libraries)
        return not_applicable(f"the X-ray found no CUDA build of {self.name}") if found is None else found

    @property
    def all_libraries_used(self) -> tuple[LibraryUse, ...]:
        """Every CUDA library that it requests, including the driver's; the rule does not apply without CUDA or a GPU."""
        self.machine.need_gpu()
        return self._requested

    @property
    def _requested(self) -> tuple[LibraryUse, ...]:
        if self.observed.cuda_build is False:
            not_applicable(f"{self.observed.distribution or self.name} is built without CUDA")
        uses = require_known(self.xray.uses)
        if not uses:
            require_known(self.xray.code)  # files that could not be read request nothing
        return uses

    @property
    def libraries_used(self) -> tuple[LibraryUse, ...]:
        """The same without the driver's own library."""
        return tuple(use for use in self.all_libraries_used if use.component != DRIVER_COMPONENT)

    @property
    def missing_libraries(self) -> tuple[LibraryUse, ...]:
        """The libraries that it needs and that the loader would not find."""
        return missing_libraries(self._libraries_needed)

    @property
    def damaged_libraries(self) -> tuple[tuple[LibraryUse, Damage], ...]:
        """The libraries that it needs and whose file exists but cannot be loaded, each with its damage."""
        return damaged_libraries(self._libraries_needed)

    @property
    def _libraries_needed(self) -> tuple[LibraryUse, ...]:
        """Those that it uses on this machine: without a GPU, what its own files link, which its import fails without; a plugin only logs that."""
        if self.machine.gpus:
            return self.libraries_used
        if self.spec.plugin:
            not_applicable(NO_GPU)
        linked = (use for use in self._requested if use.asking is Asking.LINKED and use.component != DRIVER_COMPONENT)
        return tuple(linked) or not_applicable(NO_GPU)

    @property
    def broken_files(self) -> tuple[Damage, ...]:
        """Its own files, or those they link, that cannot be loaded; if there are none, ends the rule unless it was examined."""
        seen = self.xray
        if not seen.broken and self.observed.cuda_build is not False and not require_known(seen.uses):
            require_known(seen.code)  # files that could not be read are not known to be broken
        return seen.broken

    @property
    def unresolved(self) -> tuple[UnresolvedSymbol, ...]:
        """The functions that its libraries are known to lack."""
        return self._examined.unresolved if self._examined else ()

    @property
    def absent_module(self) -> Damage | None:
        """The module of a required package that is not installed, if its import is known to ask for it."""
        return next(iter(self._examined.absent_modules), None) if self._examined else None

    @property
    def absent_modules(self) -> tuple[Damage, ...]:
        """The same, and the packages that are not installed and that others require which it requires."""
        return self._examined.absent_modules if self._examined else ()

    @property
    def shadowed_modules(self) -> tuple[Damage, ...]:
        """The modules of the standard library that its import asks for and that other files shadow."""
        return self._examined.shadowed_modules if self._examined else ()

    @property
    def refused_variables(self) -> tuple[RefusedVariable, ...]:
        """The environment variables whose value its import refuses."""
        return self.xray.refused_variables

    @property
    def unfit_module(self) -> UnfitModule | None:
        """The module of a required package at which its import fails, although it is there."""
        return next(iter(self._examined.unfit_modules), None) if self._examined else None

    @property
    def _examined(self) -> FrameworkLibraries | None:
        seen = self.machine.observed.libraries
        return None if isinstance(seen, Missing) else xray_of_framework(self.observed, seen)

    def xla_file(self, part: str) -> LibraryUse:
        """How XLA looks for "libdevice" or "ptxas"; the rule does not apply to a framework without XLA."""
        found = next((use for use in self.libraries_used if use.component == part), None)
        return not_applicable(f"the X-ray found no XLA in {self.name}") if found is None else found
