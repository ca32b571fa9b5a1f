"""Constraints on packages that a framework requires, with which a set of releases works better."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from gpudoctor import versions
from gpudoctor.derive.cudnn_code import cudnn_code
from gpudoctor.derive.gpu_code import Fit, runs
from gpudoctor.derive.specifiers import Requirement
from gpudoctor.findings import Finding, Severity
from gpudoctor.matrix import Matrix
from gpudoctor.plan.candidates import Candidate
from gpudoctor.plan.checker import Conclusion
from gpudoctor.plan.machine import Machine
from gpudoctor.snapshot import Nvml
from gpudoctor.versions import Version

_TRIES = 3
NUMPY_1 = "numpy<2"
_NUMPY = "numpy2-abi-mismatch"
_OF_OPEN_BOUNDS = (_NUMPY, "protobuf-mismatch", "package-requirement-conflict")
"""Rules that warn of what an installer chooses and a release does not exclude."""


class Constraint(msgspec.Struct, frozen=True):
    """A requirement that the user did not state, and why it is needed."""

    requirement: str
    reason: str


def remedies(conclusion: Conclusion, chosen: tuple[Candidate, ...], machine: Machine, matrix: Matrix) -> Iterator[tuple[Constraint, ...]]:
    """Yield constraints that answer what was found, the newest release first."""
    if conclusion.named("cudnn-drops-gpu"):
        yield from _older_cudnn(chosen, machine, matrix)
    if bounds := tuple(_bounds(conclusion, chosen)):
        yield bounds


def _bounds(conclusion: Conclusion, chosen: tuple[Candidate, ...]) -> Iterator[Constraint]:
    """Yield the bounds on packages that are too new for an old release and that its metadata allows."""
    if conclusion.named(_NUMPY):
        yield Constraint(NUMPY_1, f"{chosen[0].label} was compiled for NumPy 1")
    for text in left_open(conclusion.findings):
        if text != NUMPY_1:
            yield Constraint(text, f"{chosen[0].label} needs it and does not state it")


def further(constraints: tuple[Constraint, ...], then: Conclusion, chosen: tuple[Candidate, ...]) -> Iterator[Constraint]:
    """Yield the bounds that constraints make necessary: NumPy 1 for a jaxlib that was added."""
    known = {constraint.requirement for constraint in constraints}
    yield from (constraint for constraint in _bounds(then, chosen) if constraint.requirement not in known)


def left_open(findings: Iterable[Finding]) -> list[str]:
    """Return the bounds that would keep an installer from what a release does not run with and does not exclude, by the warnings about that."""
    warned = (found for found in findings if found.severity is Severity.WARNING and found.name in _OF_OPEN_BOUNDS)
    return [text for finding in warned for fix in finding.fixes[:1] for text in fix.installs]


def numpy_bound(chosen: tuple[Candidate, ...], asked: Mapping[str, Requirement], machine: Machine, matrix: Matrix) -> Iterator[Constraint]:
    """Yield numpy<2 if a release was compiled for NumPy 1 and the user left the version open."""
    if "numpy" not in asked or "==" in asked["numpy"].specifier:
        return
    for candidate in chosen:
        row = matrix.resolve(candidate.name, candidate.release, machine.platform).row
        if row is not None and row.numpy_abi == 1:
            yield Constraint(NUMPY_1, f"{candidate.label} was compiled for NumPy 1")
            return


def _older_cudnn(chosen: tuple[Candidate, ...], machine: Machine, matrix: Matrix) -> Iterator[tuple[Constraint, ...]]:
    """Yield the newest cuDNN releases that have kernels for every GPU."""
    major = next((candidate.cuda.major for candidate in chosen if candidate.cuda is not None), 0)
    capabilities = _capabilities(machine)
    tried = 0
    for row in reversed(matrix.cudnns(major, machine.platform)):
        code = cudnn_code(row.release, major, row, matrix)
        if row.sass is None or code is None or not all(runs(code, capability) in {Fit.NATIVE, Fit.PTX} for capability in capabilities):
            continue
        named = " and ".join(map(str, capabilities))
        yield (Constraint(f"nvidia-cudnn-cu{major}=={row.release}", f"the newest cuDNN with kernels for compute capability {named}"),)
        tried += 1
        if tried == _TRIES:
            return


def _capabilities(machine: Machine) -> tuple[Version, ...]:
    gpus = machine.nvml.gpus if isinstance(machine.nvml, Nvml) else ()
    texts = (gpu.compute_capability for gpu in gpus) if isinstance(gpus, tuple) else ()
    found = (versions.parse(text) for text in texts if isinstance(text, str))
    return tuple(dict.fromkeys(version for version in found if version is not None))
