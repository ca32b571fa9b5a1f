"""The Python versions that have wheels of what an assumed environment states."""

from __future__ import annotations

import msgspec

from gpudoctor import versions
from gpudoctor.derive import wheel_platform
from gpudoctor.derive.cuda import STUB_ACCELERATOR
from gpudoctor.derive.packages import Stack, source_of
from gpudoctor.derive.specifiers import are_contradictory, clauses, satisfies
from gpudoctor.findings.wording import joined_words
from gpudoctor.matrix import FrameworkRelease
from gpudoctor.matrix.citations import citation
from gpudoctor.matrix.rows import PythonSpan
from gpudoctor.snapshot import Distribution


def python_numbers(python: str) -> tuple[int, ...]:
    """Return the version of a Python for sorting; () if it is none."""
    found = versions.parse_version(python)
    return found[:2] if found else ()


def ordered_pythons(pythons: frozenset[str] | tuple[str, ...]) -> list[str]:
    """Return Python versions from old to new, without the free-threaded ones."""
    return sorted((python for python in pythons if not python.endswith("t")), key=python_numbers)


def python_range(pythons: frozenset[str] | tuple[str, ...] | list[str]) -> str:
    """Return Python versions for a person: "3.9 to 3.12"."""
    found = ordered_pythons(tuple(pythons)) or list(pythons)
    return found[0] if len(found) == 1 else f"{found[0]} to {found[-1]}"


class WheelPythons(msgspec.Struct, frozen=True):
    """The Python versions for which a package has wheels, in the release or within the bounds that were stated."""

    package: str
    pythons: frozenset[str]
    source: str


def stated_wheels(stack: Stack) -> tuple[WheelPythons, ...]:
    """Return the wheels of what was stated, and of the releases that this pins.

    Of what an installer may choose in another release nothing is said, nor of a package without a table of its wheels.
    """
    exact = {demand.requirement.name for demand in stack.demands if stack.stated(demand.by) and not demand.by.chosen}
    settled = (
        distribution
        for distribution in stack.distributions.values()
        if distribution.requirement or (distribution.name in exact and not distribution.chosen)
    )
    bounds = ((name, bound.requirement.specifier) for name, bound in stack.bounds.items())
    found = (
        *(_wheel_pythons(distribution, stack) for distribution in settled),
        *(_wheel_pythons_in_spans(f"{name}{text}", name, text, stack) for name, text in bounds),
        *(_wheel_pythons_in_spans(need.text, need.name, need.specifier, stack) for need in compiled_needs(stack)),
    )
    return tuple(one for one in found if one.pythons)


def common_pythons(stack: Stack) -> frozenset[str] | None:
    """Return the Python versions with wheels of all these packages, within those that the files allow; None for any."""
    found = [wheel.pythons for wheel in stated_wheels(stack)]
    found += [frozenset(stack.allowed.versions)] if found and stack.allowed is not None else []
    return frozenset.intersection(*found) if found else None


class CompiledNeed(msgspec.Struct, frozen=True):
    """What stated releases require together of a compiled package that an installer would choose."""

    name: str
    specifier: str
    by: tuple[str, ...]

    @property
    def text(self) -> str:
        """For a person: "tokenizers<0.11,>=0.10.1 (required by transformers 4.8.0)"."""
        return f"{self.name}{self.specifier} (required by {joined_words(self.by)})"


def compiled_needs(stack: Stack) -> tuple[CompiledNeed, ...]:
    """Return what stated releases require of compiled packages that no other table lists; the table of their wheels is of Linux on x86_64.

    () beside a contradiction, which leaves no release to look for.
    """
    if stack.platform != wheel_platform.LINUX_X86_64 or stack.violations or stack.requirement_clashes:
        return ()
    stated = {distribution.name: distribution for distribution in stack.distributions.values() if distribution.requirement}
    wanted: dict[str, dict[str, str]] = {}
    for distribution in stated.values():
        row = None if distribution.chosen else stack.row(distribution)
        for need in stack.required(row, distribution.extras) if row is not None else ():
            if need.specifier and need.name not in {*stated, *stack.bounds} and stack.matrix.pythons(need.name):
                wanted.setdefault(need.name, {})[distribution.label] = need.specifier
    return tuple(CompiledNeed(name, ",".join(by.values()), tuple(by)) for name, by in wanted.items())


def lacks_wheel(row: FrameworkRelease | None, stack: Stack) -> bool:
    """Return whether a planned release has no wheel for the stated Python."""
    return row is not None and row.accelerator != STUB_ACCELERATOR and not wheel_platform.has_wheel(row, stack.python)


def has_release_in_span(span: PythonSpan, specifier: str) -> bool:
    """Return whether a specifier allows one of the releases with wheels for a Python."""
    early = are_contradictory((specifier, f">={span.first}")) or _is_before_release(specifier, str(span.first))
    return not early and not is_after_span(specifier, span)


def is_after_span(specifier: str, span: PythonSpan) -> bool:
    """Return whether a specifier allows only releases after the last one with wheels for a Python."""
    return span.last is not None and are_contradictory((specifier, f"<={span.last}"))


def _is_before_release(specifier: str, first: str) -> bool:
    """Return whether a specifier allows only releases before the first one, as <2 does where 2.1 is the first."""
    return any(operator in {"<", "<="} and satisfies(first, f"{operator}{text}") is False for operator, text in clauses(specifier) or ())


def _wheel_pythons(distribution: Distribution, stack: Stack) -> WheelPythons:
    row = stack.row(distribution)
    if row is None:
        return _wheel_pythons_in_spans(distribution.label, distribution.name, f"=={distribution.version.partition('+')[0]}", stack)
    return WheelPythons(
        distribution.label, frozenset(ordered_pythons(row.pythons) if row.accelerator != STUB_ACCELERATOR else ()), source_of(row)
    )


def _wheel_pythons_in_spans(label: str, name: str, specifier: str, stack: Stack) -> WheelPythons:
    spans = {python: span for python, span in stack.matrix.pythons(name).items() if has_release_in_span(span, specifier)}
    return WheelPythons(
        label, frozenset(ordered_pythons(tuple(spans))), ", ".join(dict.fromkeys(citation(span.source) for span in spans.values()))
    )
