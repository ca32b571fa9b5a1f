"""What only the target interpreter knows: where its finders locate the frameworks, the loader's variables, the libraries it opened."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

import msgspec

from gpudoctor.children.channel import Heard
from gpudoctor.children.events import PYTHON, InsideReport
from gpudoctor.process import ChildOutcome
from gpudoctor.snapshot import Distribution, Framework, printable_text


class TargetFacts(msgspec.Struct, frozen=True):
    """Strings are as os.fsdecode gives them."""

    executable: str = ""
    """The snapshot's copy is escaped."""
    imports: Mapping[str, tuple[str, ...]] = {}
    """By framework: the file that an import would run first ("" if none), then the folders of the package."""
    variables: Mapping[str, str] | None = None
    """LD_LIBRARY_PATH and others that determine which libraries are found; None if they could not be read."""
    environ: Mapping[str, str] | None = None
    """Those of READ_LATE that programs have; None if unknown."""
    started: tuple[str, ...] = ()
    """The files of what sitecustomize and .pth files imported, in order."""
    shadowing: Mapping[str, str] = {}
    """The files that an import finds in place of modules of the standard library, by module."""
    lacking: tuple[str, ...] = ()
    """The modules of the standard library that an import does not find."""
    mapped: tuple[str, ...] = ()
    """The CUDA libraries that were open once Python had started."""

    def archive_of_package(self, name: str) -> str:
        """The zip file or egg from which an import takes the package `name`; empty if it comes from a folder."""
        place = next(iter(self.imports.get(name, ())), "")
        while place and not os.path.lexists(place):
            place = os.path.dirname(place)
        return place if os.path.isfile(place) and place != next(iter(self.imports.get(name, ())), "") else ""

    def folder(self, name: str) -> str:
        """The folder from which an import takes the package `name`; empty if the finders know none, or a module."""
        found = self.imports.get(name, ())
        places = [os.path.dirname(found[0])] if found and os.path.basename(found[0]).startswith("__init__.") else list(found[1:])
        return next((os.path.dirname(place) for place in places if os.path.basename(place) == name), "")


def target_facts(outcome: ChildOutcome) -> TargetFacts:
    """From the answer of python_probe.py; empty if it has none, as after an interpreter that ended early."""
    said = Heard(outcome, PYTHON, "").first(InsideReport)
    if said is None:
        return TargetFacts()
    return TargetFacts(
        executable=_decoded_text(said.executable_hex),
        imports={name: tuple(map(_decoded_text, found)) for name, found in said.imports.items()},
        variables=_decoded_values(said.variables),
        environ=_decoded_values(said.environ),
        started=tuple(map(_decoded_text, said.started)),
        shadowing=_decoded_values(said.shadowing) or {},
        lacking=said.lacking,
        mapped=tuple(map(_decoded_text, said.mapped)),
    )


def _decoded_values(found: Mapping[str, str] | None) -> dict[str, str] | None:
    return None if found is None else {name: _decoded_text(value) for name, value in found.items()}


def _decoded_text(digits: str) -> str:
    return os.fsdecode(bytes.fromhex(digits))


def framework_folder(framework: Framework, path: Iterable[str], seen: TargetFacts, distribution: Distribution | None = None) -> str:
    """The folder of a framework's package, or where its metadata says that it was; the snapshot's copy has undecodable bytes escaped."""
    places = (f"{folder}/{framework.name}" for folder in (seen.folder(framework.name), *path) if folder)
    was = f"{distribution.where}/{framework.name}" if distribution else ""
    known = framework.location if isinstance(framework.location, str) else was
    return next((place for place in places if printable_text(place) == known), known)
