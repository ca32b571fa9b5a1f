"""The base of the views: frozen, with sections and fields that end a rule if they are missing."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from gpudoctor.derive.unknown import known, offered
from gpudoctor.findings import Rung

T = TypeVar("T")


class View:
    """Everything derived about one subject of a rule. Values are computed on first use; none can be set."""

    observed: Any
    """The subject as the probes saw it; each part may be Missing. For rules that handle absence themselves."""

    def __setattr__(self, name: str, value: object) -> None:
        """Refuse to change a view."""
        raise AttributeError(f"{type(self).__name__}.{name} cannot be set: views are frozen.")


class Section(Generic[T]):
    """An attribute of the observed subject with the same name; reading it ends the rule if it is missing."""

    def __init__(self, rung: Rung | None = None) -> None:
        self.rung = rung
        self.name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, view: View, owner: type) -> T:
        value: T = known(getattr(view.observed, self.name), self.rung)
        return value


class Field(Generic[T]):
    """A field of a section with the same name; reading it ends the rule if it is missing.

    A field that this GPU or driver does not offer makes the rule not applicable.
    """

    def __init__(self, section: str, rung: Rung | None = None) -> None:
        self.section = section
        self.rung = rung
        self.name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, view: View, owner: type) -> T:
        value: T = offered(getattr(getattr(view, self.section), self.name), self.rung)
        return value
