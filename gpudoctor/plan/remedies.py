"""Constraints on packages that a framework requires, with which a set of releases works better."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from gpudoctor import versions
from gpudoctor.derive.cudnn_code import cudnn_code
from gpudoctor.derive.gpu_code import Fit, fit_of_code
from gpudoctor.derive.specifiers import Requirement
from gpudoctor.findings import Finding, Severity
from gpudoctor.matrix import Matrix
from gpudoctor.plan.assumed_machine import AssumedMachine
from gpudoctor.plan.candidates import Candidate
from gpudoctor.plan.checker import Conclusion
from gpudoctor.snapshot import Nvml
from gpudoctor.versions import Version

_MAX_CUDNN_TRIES = 3
NUMPY_1_BOUND = "numpy<2"
_NUMPY_RULE = "numpy2-abi-mismatch"
_OPEN_BOUND_RULES = (_NUMPY_RULE, "protobuf-mismatch", "package-requirement-conflict")
"""Rules that warn of what an installer chooses and a release does not exclude."""


class AddedConstraint(msgspec.Struct, frozen=True):
    """A requirement that the user did not state, and why it is needed."""

    requirement: str
    reason: str


def constraint_sets(
    conclusion: Conclusion, chosen: tuple[Candidate, ...], machine: AssumedMachine, matrix: Matrix
) -> Iterator[tuple[AddedConstraint, ...]]:
    """Yield constraints that answer what was found, the newest release first."""
    if conclusion.named("cudnn-drops-gpu"):
        yield from _older_cudnn_constraints(chosen, machine, matrix)
    if bounds := tuple(_missing_bounds(conclusion, chosen)):
        yield bounds


def _missing_bounds(conclusion: Conclusion, chosen: tuple[Candidate, ...]) -> Iterator[AddedConstraint]:
    """Yield the bounds on packages that are too new for an old release and that its metadata allows."""
    if conclusion.named(_NUMPY_RULE):
        yield AddedConstraint(NUMPY_1_BOUND, f"{chosen[0].label} was compiled for NumPy 1")
    for text in open_bounds(conclusion.findings):
        if text != NUMPY_1_BOUND:
            yield AddedConstraint(text, f"{chosen[0].label} needs it and does not state it")


def further_bounds(constraints: tuple[AddedConstraint, ...], then: Conclusion, chosen: tuple[Candidate, ...]) -> Iterator[AddedConstraint]:
    """Yield the bounds that constraints make necessary: NumPy 1 for a jaxlib that was added."""
    known = {constraint.requirement for constraint in constraints}
    yield from (constraint for constraint in _missing_bounds(then, chosen) if constraint.requirement not in known)


def open_bounds(findings: Iterable[Finding]) -> list[str]:
    """Return the bounds that would keep an installer from what a release does not run with and does not exclude, by the warnings about that."""
    warned = (found for found in findings if found.severity is Severity.WARNING and found.name in _OPEN_BOUND_RULES)
    return [text for finding in warned for fix in finding.fixes[:1] for text in fix.installs]


def numpy_constraints(
    chosen: tuple[Candidate, ...], asked: Mapping[str, Requirement], machine: AssumedMachine, matrix: Matrix
) -> Iterator[AddedConstraint]:
    """Yield numpy<2 if a release was compiled for NumPy 1 and the user left the version open."""
    if "numpy" not in asked or "==" in asked["numpy"].specifier:
        return
    for candidate in chosen:
        row = matrix.resolve(candidate.name, candidate.release, machine.platform).row
        if row is not None and row.numpy_abi == 1:
            yield AddedConstraint(NUMPY_1_BOUND, f"{candidate.label} was compiled for NumPy 1")
            return


def _older_cudnn_constraints(
    chosen: tuple[Candidate, ...], machine: AssumedMachine, matrix: Matrix
) -> Iterator[tuple[AddedConstraint, ...]]:
    """Yield the newest cuDNN releases that have kernels for every GPU."""
    major = next((candidate.cuda.major for candidate in chosen if candidate.cuda is not None), 0)
    capabilities = _gpu_capabilities(machine)
    tried = 0
    for row in reversed(matrix.cudnns(major, machine.platform)):
        code = cudnn_code(row.release, major, row, matrix)
        if (
            row.sass is None
            or code is None
            or not all(fit_of_code(code, capability) in {Fit.NATIVE, Fit.PTX} for capability in capabilities)
        ):
            continue
        named = " and ".join(map(str, capabilities))
        yield (AddedConstraint(f"nvidia-cudnn-cu{major}=={row.release}", f"the newest cuDNN with kernels for compute capability {named}"),)
        tried += 1
        if tried == _MAX_CUDNN_TRIES:
            return


def _gpu_capabilities(machine: AssumedMachine) -> tuple[Version, ...]:
    gpus = machine.nvml.gpus if isinstance(machine.nvml, Nvml) else ()
    texts = (gpu.compute_capability for gpu in gpus) if isinstance(gpus, tuple) else ()
    found = (versions.parse_version(text) for text in texts if isinstance(text, str))
    return tuple(dict.fromkeys(version for version in found if version is not None))
