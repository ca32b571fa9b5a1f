"""GD304: container-ldcache-stale."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Site
from gpudoctor.diagnose.advice.needs import ROOT
from gpudoctor.diagnose.advice.shell import shell_path
from gpudoctor.diagnose.rule import Explains, need, not_applicable, rule
from gpudoctor.diagnose.rules.effects import TRAINING_FAILS
from gpudoctor.findings import Evidence, Fix, Problem, Rung, Severity
from gpudoctor.snapshot import (
    Cause,
    Container,
    DriverFile,
    Libcuda,
    LoaderCache,
    Missing,
    Nvml,
)


@rule(
    "GD304",
    severity=Severity.ERROR,
    breaks=Rung.LIBCUDA,
    since="0.1",
    explains=(
        Explains(
            (
                "cuda-init-fails",
                "gpu-count-mismatch",
                "libcuda-not-on-loader-path",
                "required-gpus-missing",
                *TRAINING_FAILS,
            ),
            "",
        ),
    ),
)
def container_ldcache_stale(
    site: Site, container: Container | Missing, cache: LoaderCache | Missing, nvml: Nvml | Missing, libcuda: Libcuda | Missing
) -> Iterator[Problem]:
    """The driver's libraries are mounted into the container, and the loader does not find them.

    ## Why it matters
    The runtime mounts libcuda.so.550.163.01 and then runs ldconfig, which makes the link libcuda.so.1 and lists it in
    /etc/ld.so.cache. Where that step fails (an image without ldconfig, a read-only root, a path that the toolkit's configuration
    gets wrong) the libraries are there and no program finds them.

    ## What to do
    Run ldconfig in the container, at start. Do not install a driver inside it.

    ## References
    - https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/troubleshooting.html
    """
    if not site.container:
        not_applicable("not in a container")
    given = need(need(container).driver_files)
    lost = [
        file
        for name, section in (("libcuda.so", libcuda), ("libnvidia-ml.so", nvml))
        for file in given
        if _file_name(file).startswith(name) and isinstance(section, Missing) and section.cause is Cause.ABSENT
    ]
    if not lost:
        return
    known = ", ".join(cache.driver_files) or "neither" if isinstance(cache, LoaderCache) else cache.reason
    where = lost[0].path.rpartition("/")[0]
    private = where.startswith("/.singularity.d")
    yield Problem(
        message=f"{' and '.join(file.path for file in lost)} {'is' if len(lost) == 1 else 'are'} mounted, and the loader finds no "
        f"{' and no '.join(_file_name(file).partition('.so')[0] for file in lost)}.",
        evidence=(
            *(Evidence("mounted by the runtime", file.path, "/proc/self/mountinfo") for file in lost),
            Evidence("libcuda.so.1 and libnvidia-ml.so.1 in the loader's cache", known, "/etc/ld.so.cache"),
        ),
        fixes=(
            Fix(
                "Keep the path that the runtime sets",
                f'export LD_LIBRARY_PATH={shell_path(where)}"${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}"',
            )
            if private
            else Fix("Run ldconfig in the container, as root", "ldconfig", (ROOT,)),
        ),
    )


def _file_name(file: DriverFile) -> str:
    """The last part of its path."""
    return file.path.rpartition("/")[2]
