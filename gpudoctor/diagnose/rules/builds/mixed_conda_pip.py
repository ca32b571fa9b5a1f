import shlex
from collections.abc import Iterator

import msgspec

from gpudoctor.derive import EnvironmentView, not_applicable, require_known
from gpudoctor.derive.packages import stack_of
from gpudoctor.diagnose.advice.packages import install_fix
from gpudoctor.diagnose.advice.releases import pick_release
from gpudoctor.diagnose.advice.shell import shell_path
from gpudoctor.diagnose.rule import explains, rule
from gpudoctor.findings import DOWNLOAD, Confidence, Evidence, Fix, FixKind, Impact, Problem, Problems, Rung, Severity
from gpudoctor.frameworks import CATALOGUE
from gpudoctor.snapshot import Distribution, Missing

_DISTRIBUTIONS = {package: distribution for spec in CATALOGUE for package, distribution in spec.conda_names.items()}
"""The distribution that each conda package contains."""
_SINGLE_BUILDS = tuple(spec.one_build for spec in CATALOGUE)


@rule("GD512", severity=Severity.WARNING, breaks=Rung.TRAINED, impact=Impact.AT_RISK)
@explains(
    ("package-requirement-conflict", "nvidia-wheel-version-conflict", "torch-torchvision-mismatch", "torch-torchaudio-mismatch"),
    "conda and pip do not check each other's requirements.",
)
def mixed_conda_pip(environment: EnvironmentView) -> Problems:
    """conda and pip both installed parts of one framework."""
    packages, python = environment.packages, environment.python
    if python.kind != "conda":
        not_applicable("not a conda environment")
    by_conda = {_distribution_name(stem): stem for stem in require_known(packages.conda)}
    by_others = {
        distribution.name: distribution
        for distribution in packages.distributions
        if isinstance(distribution.installer, str) and distribution.installer not in {"conda", ""}
    }
    twice = [found for name, found in by_others.items() if name in by_conda and (stack_of(name) or name == "numpy")]
    mixed = twice or _parts_from_pip(by_others, by_conda)
    if not mixed:
        return
    installers = " and ".join(dict.fromkeys(str(distribution.installer) for distribution in mixed))
    both = "both installed" if twice else "each installed part of one framework:"
    yield Problem(
        message=f"conda and {installers} {both} {_labels(mixed)}.",
        confidence=Confidence.LIKELY,
        evidence=tuple(_evidence(mixed, by_conda)),
        fixes=(_reinstall_with_pip(environment, mixed, by_conda), _create_environment(environment, mixed)),
    )


def _package_name(stem: str) -> str:
    """Return the package that a file name in conda-meta names: pytorch for pytorch-2.5.1-cuda126_py312."""
    return stem.rsplit("-", 2)[0]


def _distribution_name(stem: str) -> str:
    """Return the distribution that a conda package contains."""
    return _DISTRIBUTIONS.get(_package_name(stem), _package_name(stem))


def _labels(distributions: list[Distribution]) -> str:
    return ", ".join(distribution.label for distribution in distributions)


def _parts_from_pip(by_others: dict[str, Distribution], by_conda: dict[str, str]) -> list[Distribution]:
    """Return the parts that pip installed of a framework whose other parts conda installed."""
    return [by_others[name] for build in _SINGLE_BUILDS if build & by_conda.keys() for name in sorted(build & by_others.keys())]


def _evidence(mixed: list[Distribution], by_conda: dict[str, str]) -> Iterator[Evidence]:
    for distribution in mixed:
        yield Evidence(distribution.label, f"installed by {distribution.installer}", distribution.where)
        if distribution.name in by_conda:
            yield Evidence(by_conda[distribution.name], "installed by conda", "conda-meta")


def _reinstall_with_pip(environment: EnvironmentView, mixed: list[Distribution], by_conda: dict[str, str]) -> Fix:
    """Return the fix that removes conda's copies and reinstalls pip's."""
    python = environment.python
    packages = dict.fromkeys(_package_name(by_conda[distribution.name]) for distribution in mixed if distribution.name in by_conda)
    pins = (f"{distribution.name}=={distribution.version.partition('+')[0]}" for distribution in mixed)
    reinstall = install_fix(f"Reinstall {_labels(mixed)}", python, *pins, options=("--force-reinstall",))
    if not packages:
        return reinstall
    prefix = f"--prefix {shell_path(python.prefix)} " if isinstance(python.prefix, str) else ""
    title = f"Remove conda's copy of {_labels(mixed)}, and reinstall it with pip"
    command = f"conda remove --yes --force {prefix}{' '.join(packages)} && {reinstall.command}"
    return msgspec.structs.replace(reinstall, title=title, command=command)


def _create_environment(environment: EnvironmentView, mixed: list[Distribution]) -> Fix:
    """Return the fix that creates an environment in which pip installs everything."""
    machine, stack = environment.machine, environment.stack_or_missing
    framework = next((name for distribution in mixed if (name := stack_of(distribution.name))), "")
    picked = pick_release(machine, framework) if framework else None
    python = "" if isinstance(stack, Missing) else stack.python
    wanted = shlex.join(picked.requirements) if picked is not None else " ".join(distribution.name for distribution in mixed)
    index = f" --index-url {picked.index}" if picked is not None and picked.index else ""
    create = f"conda create --yes --name training python={python or '3.12'} pip"
    command = f"{create} && conda run --name training python -m pip install {wanted}{index}"
    return Fix("Create a new environment and install the framework there with pip only", command, (DOWNLOAD,), kind=FixKind.INSTEAD)
