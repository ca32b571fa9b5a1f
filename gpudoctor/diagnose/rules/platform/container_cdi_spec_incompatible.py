from collections.abc import Iterator

import msgspec

from gpudoctor import versions
from gpudoctor.derive import MachineView, not_applicable, require_known
from gpudoctor.diagnose.rule import rule
from gpudoctor.diagnose.rules.platform.cdi import GENERATE_SPECIFICATION, NVIDIA_DEVICE_KIND, cdi_use_evidence, severity_by_use
from gpudoctor.diagnose.rules.platform.container import product_name
from gpudoctor.findings import DOWNLOAD, ROOT, Evidence, Fix, FixKind, Problem, Problems, Rung, Severity
from gpudoctor.matrix import ContainerEngine
from gpudoctor.matrix.citations import citation
from gpudoctor.snapshot import CdiSpec, ContainerTools, Missing, SystemPackages
from gpudoctor.versions import Version

_OLDER_TOOLKIT = f"sudo apt install --allow-downgrades 'nvidia-container-toolkit=1.18.*' 'nvidia-container-toolkit-base=1.18.*' && {GENERATE_SPECIFICATION}"
_ENGINE_PACKAGES = {
    "docker": ("docker-ce", "docker.io", "moby-engine"),
    "podman": ("podman",),
    "containerd": ("containerd.io", "containerd"),
}
"""The packages of an engine."""


class _InstalledEngine(msgspec.Struct, frozen=True):
    """An engine, its version, and its row in the tables."""

    name: str
    version: Version
    row: ContainerEngine


@rule("GD341", severity=Severity.ERROR, breaks=Rung.DEVICE_NODE, predicts=False)
def container_cdi_spec_incompatible(machine: MachineView) -> Problems:
    """CDI specification is too new for the container engine."""
    tools = machine.container_engines
    specs = [spec for spec in require_known(tools.cdi) if spec.kind == NVIDIA_DEVICE_KIND]
    if not specs or not machine.hardware:
        not_applicable("there is no NVIDIA CDI specification" if machine.hardware else "there is no NVIDIA GPU")
    engines = tuple(_installed_engines(machine, tools))
    if not engines:
        not_applicable("no container engine's version is known")
    debian = {"debian", "ubuntu"} & set(machine.site.distribution)
    for spec in specs:
        needed = _needed_cdi(spec)
        for engine in engines:
            if needed is not None and needed > engine.row.cdi:
                yield _problem(tools, spec, needed, engine, _OLDER_TOOLKIT if debian else "")


def _installed_engines(machine: MachineView, tools: ContainerTools) -> Iterator[_InstalledEngine]:
    section = machine.observed.system_packages
    packages = section.packages if isinstance(section, SystemPackages) else ()
    by_name = {} if isinstance(packages, Missing) else {package.name: package.version for package in packages}
    for name in tools.engines:
        package_version = next((by_name[package] for package in _ENGINE_PACKAGES.get(name, ()) if package in by_name), "")
        version = _upstream_version(package_version)
        row = machine.matrix.engine(name, version) if version is not None else None
        if version is not None and row is not None:
            yield _InstalledEngine(name, version, row)


def _upstream_version(version: str) -> Version | None:
    """Return a package's version without epoch and distribution suffix."""
    without_epoch = version.rpartition(":")[2]
    return versions.parse_version(without_epoch.partition("-")[0].partition("+")[0].partition("~")[0])


def _needed_cdi(spec: CdiSpec) -> Version | None:
    """Return the CDI version that an engine must support: the declared one, or a newer one whose fields the file uses."""
    stated = [versions.parse_version(text) for text in (spec.declares, spec.needs) if isinstance(text, str)]
    return max((version for version in stated if version is not None), default=None)


def _problem(tools: ContainerTools, spec: CdiSpec, needed: Version, engine: _InstalledEngine, older_toolkit: str) -> Problem:
    release = f"{product_name(engine.name)} {engine.row.release}"
    return Problem(
        message=f"{spec.path} needs CDI {needed}, but {product_name(engine.name)} {engine.version} supports CDI {engine.row.cdi} at most.",
        severity=severity_by_use(tools),
        evidence=(
            *cdi_use_evidence(tools),
            Evidence("declared CDI version", spec.declares if isinstance(spec.declares, str) else "none", spec.path),
            Evidence("CDI version of its fields", str(spec.needs), spec.path),
            Evidence(f"newest CDI that {release} supports", str(engine.row.cdi), citation(engine.row.source, release)),
        ),
        fixes=(
            Fix(f"Update {product_name(engine.name)} to a version that supports CDI {needed}.", needs=(ROOT, DOWNLOAD)),
            Fix(
                "Downgrade to NVIDIA Container Toolkit 1.18 and generate the file again",
                older_toolkit,
                (ROOT, DOWNLOAD),
                kind=FixKind.INSTEAD,
            ),
        ),
    )
