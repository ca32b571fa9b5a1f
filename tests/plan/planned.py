"""Plans on the machines that people have, from the shipped tables; the bounds keep the answers when the tables grow."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive.specifiers import Requirement, parse_requirement, satisfies
from gpudoctor.matrix.tables import TORCH_BUILDS
from gpudoctor.plan import Combination
from gpudoctor.plan.assumed_machine import AssumedMachine, assumed_machine
from gpudoctor.plan.proposal import PlanQuestion, proposed_plan
from gpudoctor.report.plan import Plan
from tests.shipped import shared_matrix

MATRIX = shared_matrix()
TORCH, TENSORFLOW, JAX = "torch<=2.15.0", "tensorflow<=2.21.0", "jax<=0.12.0.1"
OLD_CUDNN = "nvidia-cudnn-cu12==9.10.2.21"
_ON_12 = {TORCH: "torch==2.15.0+cu126", TENSORFLOW: "tensorflow[and-cuda]==2.20.0", JAX: "jax[cuda12]==0.12.0.1"}
_ON_13 = {TORCH: "torch==2.15.0", TENSORFLOW: "tensorflow[and-cuda]==2.20.0", JAX: "jax[cuda13]==0.12.0.1"}
_BEFORE_TURING = {TORCH: _ON_12[TORCH], TENSORFLOW: f"{_ON_12[TENSORFLOW]} {OLD_CUDNN}", JAX: f"{_ON_12[JAX]} {OLD_CUDNN}"}
_TURING_TO_HOPPER = ("T4", "L4", "a100", "h100")

EXPECTED: dict[tuple[str, str], dict[str, str]] = {
    ("GTX 1080", "535.104.05"): _BEFORE_TURING,
    ("v100-sxm2", "550.54.14"): _BEFORE_TURING,
    **{(gpu, driver): _ON_12 for gpu in _TURING_TO_HOPPER for driver in ("535.104.05", "550.54.14")},
    **{(gpu, "580.65.06"): _ON_13 for gpu in _TURING_TO_HOPPER},
    ("RTX 5090", "570.124.06"): {TORCH: "torch==2.13.0+cu129", TENSORFLOW: "", JAX: _ON_12[JAX]},
    ("RTX 5090", "580.65.06"): {**_ON_13, TENSORFLOW: ""},
    ("GB10", "580.95.05"): {**_ON_13, TENSORFLOW: ""},
    ("none", ""): {TORCH: "torch==2.15.0+cpu", TENSORFLOW: "tensorflow==2.21.0", JAX: "jax==0.12.0.1"},
}
"""By GPU and driver: the pins for each requirement; empty: nothing works."""
CASES = [(gpu, driver, asked, pins) for (gpu, driver), plans in EXPECTED.items() for asked, pins in plans.items()]


def combination(gpu: str, driver: str, *requirements: str, python: str | None = None) -> Combination:
    """What the options would state."""
    arch = "aarch64" if gpu == "GB10" else None
    return Combination(requirements=requirements, gpus=(gpu,) if gpu else (), driver=driver or None, arch=arch, python=python)


def assumed(gpu: str, driver: str) -> AssumedMachine:
    """The machine with this GPU and driver."""
    return assumed_machine(combination(gpu, driver, "torch"), MATRIX)


def asked(gpu: str, driver: str, *requirements: str, python: str = "", preferred: str = "") -> PlanQuestion:
    """What to plan for this machine."""
    return PlanQuestion(requirements=requirements, machine=assumed(gpu, driver), python=python, preferred=preferred)


def planned(gpu: str, driver: str, *requirements: str, python: str = "", preferred: str = "") -> Plan:
    """The plan for this machine from the tables."""
    return proposed_plan(asked(gpu, driver, *requirements, python=python, preferred=preferred), MATRIX).plan


def pins(plan: Plan) -> list[str]:
    """The pinned requirements; none if nothing works."""
    return [pin.requirement for pin in plan.environment.pins] if plan.environment else []


def every_build(asked: str, gpu: str, python: str = "") -> Iterator[tuple[tuple[int, ...], str, str]]:
    """Each release in the tables that satisfies a requirement, with each way to ask for its CUDA build, and a Python version.

    No candidate of the plan is trusted.
    """
    wanted = parse_requirement(asked)
    assert wanted is not None
    platform = "linux_aarch64" if gpu == "GB10" else "linux_x86_64"
    for row in MATRIX.releases(wanted.name, platform):
        for text in _spellings(wanted, str(row.release), platform, row.builds):
            if satisfies(text.partition("==")[2], wanted.specifier) and (not python or not row.pythons or python in row.pythons):
                plain = [one for one in row.pythons if not one.endswith("t")]
                yield row.release[:4], text, python or (plain or [""])[-1]


def _spellings(wanted: Requirement, release: str, platform: str, builds: tuple[str, ...]) -> Iterator[str]:
    name = wanted.name
    if wanted.extras:
        yield f"{name}[{','.join(wanted.extras)}]=={release}"
    elif name == "torch":
        tabled = {row.local for row in MATRIX.rows(TORCH_BUILDS, platform=platform) if release.startswith(f"{row.release.short}.")}
        yield from (f"{name}=={release}{local}" for local in ("", *(f"+{tag}" for tag in sorted({*builds, *tabled}))))
    elif name == "tensorflow":
        yield f"{name}[and-cuda]=={release}"
    elif name == "jax":
        yield from (f"{name}[cuda{major}]=={release}" for major in (12, 13))
    else:
        yield f"{name}=={release}"
