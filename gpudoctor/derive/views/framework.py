"""What a rule about one framework sees."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpudoctor.derive.code import EffectiveCode, Meetings
from gpudoctor.derive.components import Component
from gpudoctor.derive.cuda import EffectiveCuda
from gpudoctor.derive.unknown import applicable, known, not_applicable
from gpudoctor.derive.views.view import View
from gpudoctor.findings import Rung, Subject, SubjectKind
from gpudoctor.frameworks import FrameworkSpec, spec_of
from gpudoctor.matrix import Fault, FrameworkRelease
from gpudoctor.snapshot import NOT_ASKED, Distribution, Fact, Framework, Missing, Smoke

if TYPE_CHECKING:
    from gpudoctor.derive.views.environment import EnvironmentView
    from gpudoctor.derive.views.machine import MachineView


class FrameworkView(View):
    """One installed framework, with its environment and the machine."""

    observed: Framework
    machine: MachineView

    def __init__(self, machine: MachineView, observed: Framework) -> None:
        self.__dict__.update(machine=machine, observed=observed)

    @property
    def name(self) -> str:
        """The framework's name: tensorflow, torch, jax, ..."""
        return self.observed.name

    @property
    def spec(self) -> FrameworkSpec:
        """The framework's traits; those of none where the catalogue lacks it."""
        return spec_of(self.name)

    @property
    def label(self) -> str:
        """The framework with its release: "torch 2.8.0"."""
        version = self.observed.version
        return f"{self.name} {version.value}" if isinstance(version, Fact) else self.name

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
        """The installed release and where it was read; ends the rule where it is not known."""
        return known(self.observed.version)

    @property
    def cuda_or_missing(self) -> EffectiveCuda | Missing:
        """The CUDA of its build; absent for a build without."""
        return self.machine.effective_cuda(self.observed)

    @property
    def cuda(self) -> EffectiveCuda:
        """The CUDA of its build; the rule does not apply to a build without, and ends where the CUDA is not known."""
        return applicable(self.cuda_or_missing)

    @property
    def code_or_missing(self) -> EffectiveCode | Missing:
        """The GPU code of its build; absent for a build without CUDA."""
        return self.machine.effective_code(self.observed)

    @property
    def code(self) -> EffectiveCode:
        """The GPU code of its build; the rule does not apply to a build without CUDA."""
        return applicable(self.code_or_missing)

    @property
    def meetings_or_missing(self) -> Meetings | Missing:
        """How its code fits each GPU its programs may use."""
        return self.machine.meetings(self.observed)

    @property
    def meetings(self) -> Meetings:
        """How its code fits each GPU its programs may use; the rule does not apply without CUDA or without such a GPU."""
        found = applicable(self.meetings_or_missing)
        if not found:
            not_applicable("there is no GPU that its programs may use")
        return found

    def component_or_missing(self, name: str) -> Component | Missing:
        """One of CUDA's libraries as this framework would load it; absent for a build without CUDA."""
        return self.machine.component(name, self.observed)

    def component(self, name: str) -> Component:
        """One of CUDA's libraries as this framework would load it; ends the rule where that is not known."""
        return known(self.component_or_missing(name))

    @property
    def published(self) -> tuple[FrameworkRelease, ...]:
        """What the matrix knows of this release."""
        return self.machine.published(self.observed)

    @property
    def faults(self) -> tuple[Fault, ...]:
        """What is known not to work in this release."""
        return self.machine.faults(self.observed)

    @property
    def smoke_or_missing(self) -> Smoke | Missing:
        """Its smoke training."""
        trained = self.machine.observed.smoke
        if isinstance(trained, Missing):
            return trained
        return next((smoke for smoke in trained if smoke.framework == self.name), NOT_ASKED)

    @property
    def smoke(self) -> Smoke:
        """Its smoke training; ends the rule where it did not run."""
        return known(self.smoke_or_missing, Rung.FRAMEWORK)

    @property
    def others_can_train(self) -> bool:
        """Whether another framework here fits driver and GPU."""
        return self.machine.another_can_train(self.name)

    @property
    def required_by(self) -> Distribution | None:
        """The distribution that requires this framework, which nobody named to an installer; None where somebody did."""
        return self.machine.asked_for_by(self.observed)

    @property
    def trains_on_gpu(self) -> bool:
        """Whether it was shown to train on some GPU."""
        return self.machine.trains(self.name)
