"""GD341: container-cdi-spec-incompatible."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor import versions
from gpudoctor.derive import Hardware, Site
from gpudoctor.diagnose.advice.needs import DOWNLOAD, ROOT
from gpudoctor.diagnose.rule import need, not_applicable, rule
from gpudoctor.diagnose.rules.platform.cdi import _GPU, GENERATE, asked_by, severity, tools_of
from gpudoctor.findings import Evidence, Fix, FixKind, Problem, Rung, Severity
from gpudoctor.matrix import Engine, Matrix
from gpudoctor.matrix.cite import cited
from gpudoctor.snapshot import CdiSpec, ContainerTools, Missing, Snapshot, SystemPackages

_OLDER_TOOLKIT = (
    f"sudo apt install --allow-downgrades 'nvidia-container-toolkit=1.18.*' 'nvidia-container-toolkit-base=1.18.*' && {GENERATE}"
)


_PACKAGES = {"docker": ("docker-ce", "docker.io", "moby-engine"), "podman": ("podman",), "containerd": ("containerd.io", "containerd")}
"""What the packages of an engine are called."""


@rule("GD341", severity=Severity.ERROR, breaks=Rung.DEVICE_NODE, since="0.1", predicts=False)
def container_cdi_spec_incompatible(
    site: Site, tools: ContainerTools | Missing, snapshot: Snapshot, matrix: Matrix, hardware: Hardware
) -> Iterator[Problem]:
    """The container engine cannot read this version of the CDI specification.

    ## Why it matters
    Newer NVIDIA Container Toolkits write fields (additionalGids) that older engines do not know. Such an engine ignores the whole file, and
    says only that "nvidia.com/gpu=all" is unresolvable. Podman 4.9 of Ubuntu 24.04 and a toolkit from 1.19 on are such a pair.

    It is an error where a configuration uses CDI, else a note.

    ## What to do
    Update the engine, or generate the file with an older toolkit.

    ## References
    - https://github.com/cncf-tags/container-device-interface/blob/main/SPEC.md
    - https://github.com/NVIDIA/nvidia-container-toolkit/issues/1860
    """
    found = tools_of(site, tools)
    specs = [one for one in need(found.cdi) if one.kind == _GPU]
    if not specs or not hardware:
        not_applicable("there is no CDI specification of NVIDIA's" if hardware else "there is no NVIDIA GPU to give to a container")
    engines = [(name, version, row) for name, version in _installed(found, snapshot) if (row := matrix.engine(name, version))]
    if not engines:
        not_applicable("the version of no container engine is known")
    for spec in specs:
        wanted = _wanted(spec)
        for name, version, row in engines:
            if wanted is not None and wanted > row.cdi:
                older = _OLDER_TOOLKIT if {"debian", "ubuntu"} & set(site.distribution) else ""
                yield _problem(found, spec, wanted, (name, version, row), older)


def _installed(tools: ContainerTools, snapshot: Snapshot) -> Iterator[tuple[str, versions.Version]]:
    """The engines with the versions of their packages, without epoch and the distribution's own part."""
    section = snapshot.system_packages
    packages = section.packages if isinstance(section, SystemPackages) else ()
    by_name = {} if isinstance(packages, Missing) else {one.name: one.version for one in packages}
    for engine in tools.engines:
        written = next((by_name[name] for name in _PACKAGES.get(engine, ()) if name in by_name), "")
        version = versions.parse(written.rpartition(":")[2].partition("-")[0].partition("+")[0].partition("~")[0])
        if version is not None:
            yield engine, version


def _wanted(spec: CdiSpec) -> versions.Version | None:
    """The version that an engine must know: the one that the file declares, or a newer one whose fields it uses."""
    said = [versions.parse(text) for text in (spec.declares, spec.needs) if isinstance(text, str)]
    return max((one for one in said if one is not None), default=None)


def _problem(
    tools: ContainerTools, spec: CdiSpec, wanted: versions.Version, engine: tuple[str, versions.Version, Engine], older: str
) -> Problem:
    name, version, row = engine
    return Problem(
        message=f"{spec.path} needs CDI {wanted}, and {name} {version} reads up to {row.cdi}.",
        severity=severity(tools),
        evidence=(
            *asked_by(tools),
            Evidence("CDI version that the file declares", str(spec.declares) if isinstance(spec.declares, str) else "none", spec.path),
            Evidence("CDI version whose fields it uses", str(spec.needs), spec.path),
            Evidence(f"newest that {name} {row.release} reads", str(row.cdi), cited(row.source, f"{name} {row.release}")),
        ),
        fixes=(
            Fix(f"Update {name} to a release that reads CDI {wanted}.", needs=(ROOT, DOWNLOAD)),
            Fix("Install NVIDIA Container Toolkit 1.18 and generate the file with it", older, (ROOT, DOWNLOAD), kind=FixKind.INSTEAD),
        ),
    )
