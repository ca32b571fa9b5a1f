"""The base of the views: frozen, with sections and fields that end a rule if they are missing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

from gpudoctor.derive.rule_endings import require_known, require_offered
from gpudoctor.findings import Rung
from gpudoctor.snapshot import Snapshot

if TYPE_CHECKING:
    from gpudoctor.derive.views.machine import MachineView

T = TypeVar("T")


class View:
    """Everything derived about one subject of a rule. Values are computed on first use; none can be set."""

    observed: Any
    """The subject as the probes saw it; each part may be Missing. For rules that handle absence themselves."""

    def __setattr__(self, name: str, value: object) -> None:
        """Refuse to change a view."""
        raise AttributeError(f"{type(self).__name__}.{name} cannot be set: views are frozen.")


class SubjectView(View):
    """Something on a machine."""

    machine: MachineView

    def __init__(self, machine: MachineView, observed: Any) -> None:
        self.__dict__.update(machine=machine, observed=observed)


class PartView(SubjectView):
    """A part of what was observed of the machine itself."""

    observed: Snapshot

    def __init__(self, machine: MachineView) -> None:
        super().__init__(machine, machine.observed)


class Section(Generic[T]):
    """An attribute of the observed subject with the same name; reading it ends the rule if it is missing."""

    def __init__(self, rung: Rung | None = None) -> None:
        self.rung = rung
        self.name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, view: View, owner: type) -> T:
        value: T = require_known(getattr(view.observed, self.name), self.rung)
        return value


class Field(Section[T]):
    """A field of a section with the same name; reading it ends the rule if it is missing.

    A field that this GPU or driver does not offer makes the rule not applicable.
    """

    def __init__(self, section: str, rung: Rung | None = None) -> None:
        super().__init__(rung)
        self.section = section

    def __get__(self, view: View, owner: type) -> T:
        value: T = require_offered(getattr(getattr(view, self.section), self.name), self.rung)
        return value
