"""What several rules on packages ask: which rule names an unmet requirement, and how to show what is installed."""

from __future__ import annotations

from collections.abc import Iterable

from gpudoctor.derive import Stack
from gpudoctor.derive.packages import Violation, major
from gpudoctor.derive.specifiers import clauses, satisfies
from gpudoctor.findings import Evidence
from gpudoctor.frameworks import spec_of, stack_of
from gpudoctor.snapshot import Distribution

_CUDNN = "nvidia-cudnn"
_WHEELS = ("nvidia-", "cuda-")


def named_by(one: Violation) -> str:
    """The rule that names an unmet requirement, the more exact one first; empty for cuDNN, which has rules of its own."""
    wanted, by = one.found.name, one.demand.by.name
    if wanted.startswith(_CUDNN):
        return ""
    same_stack = stack_of(by) is not None and stack_of(by) == stack_of(wanted)
    exact = {
        "numpy2-abi-mismatch": wanted == "numpy" and stack_of(by) is not None and needs_numpy_1(one),
        "protobuf-mismatch": wanted == "protobuf" and stack_of(by) is not None,
        "keras3-mismatch": wanted == "keras" and same_stack and _other_keras(one),
        f"{wanted}-{by}-mismatch": by in spec_of(wanted).companions,
        "jax-plugin-version-mismatch": same_stack and spec_of(stack_of(wanted) or "").plugin is not None,
        "nvidia-wheel-version-conflict": wanted.startswith(_WHEELS),
    }
    return next((name for name, true in exact.items() if true), "package-requirement-conflict")


def refused_cudnn(one: Violation) -> bool:
    """Whether an installer refuses a cuDNN that would run: a newer one of the major release that is required, as cuDNN's own rules pass it."""
    required = {major(version) for operator, version in clauses(one.demand.requirement.specifier) or () if operator in {"==", ">=", "~="}}
    return one.found.name.startswith(_CUDNN) and not one.older and major(one.found.version) in required


def needs_numpy_1(one: Violation) -> bool:
    """Whether NumPy 2 is there and all of it is excluded, as builds for NumPy 1 do."""
    return (major(one.found.version) or 0) >= 2 and not one.older and satisfies("2.0.0", one.demand.requirement.specifier) is False


def _other_keras(one: Violation) -> bool:
    """Whether Keras 3 is there where Keras 2 is required, or the other way round."""
    three = (major(one.found.version) or 0) >= 3
    return not three if one.older else three and satisfies("3.0.0", one.demand.requirement.specifier) is False


def there(stack: Stack, *, many: bool = False) -> str:
    """How a distribution is there: installed, or only asked for."""
    return f"{'are' if many else 'is'} {'asked for' if stack.supposed else 'installed'}"


def shown(one: Distribution) -> Evidence:
    """A distribution as evidence."""
    return Evidence(one.name, one.version, one.where)


def demanded(violations: Iterable[Violation]) -> list[Evidence]:
    """The requirements that are not met, as evidence."""
    unmet = {(one.demand.by.name, one.demand.requirement.specifier): one.demand for one in violations}
    return [Evidence(f"{one.by.label} requires", one.requirement.text, one.where) for one in unmet.values()]
