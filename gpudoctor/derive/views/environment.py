"""What a rule about the Python environment sees."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpudoctor.derive.packages import Stack
from gpudoctor.derive.rule_endings import require_known
from gpudoctor.derive.views.view import Field, PartView, Section
from gpudoctor.findings import ENVIRONMENT
from gpudoctor.snapshot import Missing, Packages, Python, ScriptFolder, Variables

if TYPE_CHECKING:
    from gpudoctor.derive.views.framework import FrameworkView


class EnvironmentView(PartView):
    """The examined Python environment, with the machine it is on."""

    subject = ENVIRONMENT

    python = Section[Python]()
    packages = Section[Packages]()
    script_folder = Section[ScriptFolder]()
    variables = Section[Variables]()

    libc = Field[str]("python")

    @property
    def set_variables(self) -> dict[str, str]:
        """The environment variables that are set and not empty; none if unknown."""
        variables = self.observed.variables
        return {} if isinstance(variables, Missing) else {name: value for name, value in variables.values.items() if value}

    @property
    def stack_or_missing(self) -> Stack | Missing:
        """The distributions and what they require of one another."""
        return self.machine.stack_or_missing

    @property
    def stack(self) -> Stack:
        """The distributions and what they require of one another; ends the rule if unknown."""
        return require_known(self.stack_or_missing)

    @property
    def versions(self) -> dict[str, str]:
        """The version of every installed distribution, also of those that do not matter to a GPU; empty if unknown."""
        packages = self.observed.packages
        if isinstance(packages, Missing):
            return {}
        others = () if isinstance(packages.others, Missing) else packages.others
        pairs = (other.partition("==") for other in reversed(others))
        relevant = {package.name: package.version for package in reversed(packages.distributions)}
        return {name: version for name, _, version in pairs} | relevant

    @property
    def keeps_other_requirements(self) -> bool:
        """Whether what metadata requires is not what the environment needs: conda's packages have other dependencies, and so have Debian's."""
        python = self.observed.python
        prefix = "" if isinstance(python, Missing) else python.prefix
        return isinstance(python, Missing) or python.kind == "conda" or prefix == "/usr"

    @property
    def frameworks(self) -> tuple[FrameworkView, ...]:
        """The frameworks installed here; empty if unknown."""
        return self.machine.frameworks

    def framework_from(self, distribution: str) -> FrameworkView | None:
        """The framework that this distribution installed."""
        return next((framework for framework in self.frameworks if framework.observed.distribution == distribution), None)
