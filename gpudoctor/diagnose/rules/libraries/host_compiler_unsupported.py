"""GD417: host-compiler-unsupported."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor import versions
from gpudoctor.derive import Hardware, MachineView
from gpudoctor.diagnose.advice.needs import DOWNLOAD, ROOT
from gpudoctor.diagnose.rule import need, not_applicable, rule
from gpudoctor.diagnose.rules.libraries.building import _nvcc, _with_gpu
from gpudoctor.findings import Evidence, Fix, Problem, Rung, Severity
from gpudoctor.matrix import Matrix
from gpudoctor.matrix.cite import cited
from gpudoctor.snapshot import Compiler, Snapshot

_PACKAGED = ("/usr", "/usr/lib/cuda")
"""Toolkits of distributions, which bring a host compiler that fits."""


_COMPILERS = ("NVCC_CCBIN", "CUDAHOSTCXX", "g++", "gcc")


@rule("GD417", severity=Severity.NOTE, breaks=Rung.TRAINED, since="0.1")
def host_compiler_unsupported(snapshot: Snapshot, hardware: Hardware, matrix: Matrix, machine: MachineView) -> Iterator[Problem]:
    """The host compiler is newer than the CUDA toolkit's nvcc accepts.

    ## Why it matters
    Nvcc leaves the code for the processor to gcc, and refuses one that is newer than it knows: "unsupported GNU version! gcc versions
    later than 12 are not supported". It matters only where something is built.

    ## What to do
    Name an older compiler to nvcc, or use a newer toolkit.

    ## References
    - https://docs.nvidia.com/cuda/cuda-installation-guide-linux/#host-compiler-support-policy
    """
    _with_gpu(hardware)
    toolkit = _nvcc(need(snapshot.toolkits))
    if toolkit.path in _PACKAGED:
        not_applicable("a distribution's toolkit brings a compiler that fits")
    release = need(toolkit.toolkit_cuda)
    version = versions.parse(release.value)
    row = matrix.cuda(version) if version else None
    compiler = _compiler(need(snapshot.compilers))
    stated = need(compiler.version)
    gcc = versions.parse(stated.value)
    if row is None or row.host_gcc is None or gcc is None or gcc.major <= row.host_gcc:
        return
    site = machine.site.distribution
    install = f"sudo apt install g++-{row.host_gcc}" if {"debian", "ubuntu"} & set(site) else ""
    yield Problem(
        message=f"nvcc {row.release.short} of {toolkit.path} accepts gcc up to {row.host_gcc}, and {compiler.path} is {gcc.major}.",
        evidence=(
            Evidence("newest gcc that it accepts", str(row.host_gcc), cited(row.source, f"CUDA {row.release}")),
            Evidence(f"host compiler ({compiler.name})", f"{compiler.path} {stated.value}", stated.where),
            Evidence("CUDA of the toolkit", release.value, release.where),
        ),
        fixes=(
            *((Fix(f"Install gcc {row.host_gcc}", install, (ROOT, DOWNLOAD)),) if install else ()),
            Fix(f"Before a build, name gcc {row.host_gcc} to nvcc", f"export NVCC_CCBIN=g++-{row.host_gcc}"),
        ),
    )


def _compiler(compilers: tuple[Compiler, ...]) -> Compiler:
    """The host compiler that nvcc would call; ends the rule where there is none of GNU's."""
    named = {one.name: one for one in compilers}
    found = next((named[name] for name in _COMPILERS if name in named), None)
    if found is None or "clang" in found.path:
        not_applicable("no gcc is there")
    return found
