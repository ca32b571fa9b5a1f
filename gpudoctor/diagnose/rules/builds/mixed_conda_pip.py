"""GD512: mixed-conda-pip."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from gpudoctor.derive import MachineView
from gpudoctor.diagnose.advice.needs import DOWNLOAD
from gpudoctor.diagnose.advice.packages import install_package
from gpudoctor.diagnose.advice.releases import pick
from gpudoctor.diagnose.advice.shell import shell_path
from gpudoctor.diagnose.rule import Explains, need, not_applicable, rule
from gpudoctor.findings import Confidence, Evidence, Fix, FixKind, Problem, Rung, Severity, SubjectKind
from gpudoctor.frameworks import stack_of
from gpudoctor.snapshot import Distribution, Missing, Packages, Python

_CONDA_CALLS = {"pytorch": "torch", "tensorflow-base": "tensorflow", "libtensorflow": "tensorflow"}
"""How conda calls packages that have another name on the index."""


_OF_ONE_BUILD = ({"torch", "torchvision", "torchaudio"}, {"jax", "jaxlib"})


@rule(
    "GD512",
    severity=Severity.WARNING,
    breaks=Rung.TRAINED,
    since="0.1",
    about=SubjectKind.ENVIRONMENT,
    explains=(
        Explains(
            (
                "package-requirement-conflict",
                "nvidia-wheel-version-conflict",
                "torch-torchvision-mismatch",
                "torch-torchaudio-mismatch",
            ),
            "",
        ),
    ),
)
def mixed_conda_pip(packages: Packages, python: Python, machine: MachineView) -> Iterator[Problem]:
    """Conda and pip both installed parts of one framework.

    ## Why it matters
    Conda and pip do not see each other's work. Where both installed the same package, the files of one lie over those of the other and
    conda believes its own are there; where one installed torch and the other torchvision, the two were built with other compilers and
    other CUDA libraries. Either fails at import, or later in odd places.

    ## What to do
    Make a new environment and install the framework and all of its parts with one of them: conda for the interpreter, then pip for
    everything else, is the order that works.

    ## References
    - https://docs.conda.io/projects/conda/en/stable/user-guide/tasks/manage-environments.html#using-pip-in-an-environment
    """
    if python.kind != "conda":
        not_applicable("not a conda environment")
    condas = {_CONDA_CALLS.get(stem.rsplit("-", 2)[0], stem.rsplit("-", 2)[0]): stem for stem in need(packages.conda)}
    others = {one.name: one for one in packages.distributions if isinstance(one.installer, str) and one.installer not in {"conda", ""}}
    twice = [one for name, one in others.items() if name in condas and (stack_of(name) or name == "numpy")]
    split = [] if twice else _split(others, condas)
    if not twice and not split:
        return
    both = "both installed" if twice else "each installed a part of one stack:"
    names = ", ".join(one.label for one in twice or split)
    yield Problem(
        message=f"conda and {_installers(twice or split)} {both} {names}.",
        confidence=Confidence.LIKELY,
        evidence=tuple(
            row
            for one in twice or split
            for row in (
                Evidence(one.label, f"installed by {one.installer}", one.where),
                *((Evidence(condas[one.name], "installed by conda", "conda-meta"),) if one.name in condas else ()),
            )
        ),
        fixes=(_by_pip_alone(twice or split, condas, python), _fresh(twice or split, machine)),
    )


def _by_pip_alone(found: list[Distribution], condas: dict[str, str], python: Python) -> Fix:
    """Pip's own copies installed again, whole, after conda's are gone."""
    stems = dict.fromkeys(condas[one.name].rsplit("-", 2)[0] for one in found if one.name in condas)
    pins = [f"{one.name}=={one.version.partition('+')[0]}" for one in found]
    prefix = f"--prefix {shell_path(python.prefix)} " if isinstance(python.prefix, str) else ""
    remove = f"conda remove --yes --force {prefix}{' '.join(stems)} && " if stems else ""
    again = install_package(python, "--force-reinstall", *pins)
    names = ", ".join(one.label for one in found)
    return Fix(
        f"Leave {names} to pip: remove conda's copy and reinstall pip's" if stems else f"Reinstall {names}", f"{remove}{again}", (DOWNLOAD,)
    )


def _fresh(found: list[Distribution], machine: MachineView) -> Fix:
    """A new environment in which pip installs everything."""
    framework = next((name for one in found if (name := stack_of(one.name))), "")
    picked = pick(machine, framework) if framework else None
    python = (
        machine.stack_or_missing.python if not isinstance(machine.stack_or_missing, Missing) and machine.stack_or_missing.python else "3.12"
    )
    wanted = shlex.join(picked.requirements) if picked is not None else " ".join(one.name for one in found)
    index = f" --index-url {picked.index}" if picked is not None and picked.index else ""
    command = f"conda create --yes --name training python={python} pip && conda run --name training python -m pip install {wanted}{index}"
    return Fix("Make a new environment, and install the framework there with pip only", command, (DOWNLOAD,), kind=FixKind.INSTEAD)


def _split(others: dict[str, Distribution], condas: dict[str, str]) -> list[Distribution]:
    """The parts that pip installed of a stack of which conda installed other parts."""
    return [others[name] for build in _OF_ONE_BUILD if build & condas.keys() for name in sorted(build & others.keys())]


def _installers(found: list[Distribution]) -> str:
    return " and ".join(dict.fromkeys(str(one.installer) for one in found))
