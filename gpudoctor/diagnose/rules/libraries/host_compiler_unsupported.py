from gpudoctor import versions
from gpudoctor.derive import MachineView, not_applicable, require_known
from gpudoctor.derive.toolkits import toolkit_version
from gpudoctor.diagnose.rule import rule
from gpudoctor.findings import DOWNLOAD, Action, Evidence, Fix, Problem, Problems, Rung, Severity
from gpudoctor.matrix.citations import citation

_PACKAGED_TOOLKITS = ("/usr", "/usr/lib/cuda")
"""Toolkits from distribution packages, which depend on a supported host compiler."""
_COMPILER_ORDER = ("NVCC_CCBIN", "CUDAHOSTCXX", "g++", "gcc")


@rule("GD417", severity=Severity.NOTE, breaks=Rung.TRAINED)
def host_compiler_unsupported(machine: MachineView) -> Problems:
    """Host compiler is too new for nvcc."""
    toolkit = machine.build_toolkit
    if toolkit.path in _PACKAGED_TOOLKITS:
        not_applicable("the distribution's toolkit installs a supported compiler")
    cuda, version = require_known(toolkit.toolkit_cuda), toolkit_version(toolkit)
    compilers = {compiler.name: compiler for compiler in machine.compilers}
    compiler = next((compilers[name] for name in _COMPILER_ORDER if name in compilers), None)
    if compiler is None or "clang" in compiler.path:
        not_applicable("gcc is not installed")
    stated = require_known(compiler.version)
    gcc, row = versions.parse_version(stated.value), machine.matrix.cuda(version) if version else None
    if row is None or row.host_gcc is None or gcc is None or gcc.major <= row.host_gcc:
        return
    debian = {"debian", "ubuntu"}.intersection(machine.site.distribution)
    install = (
        [Fix(f"Install gcc {row.host_gcc}", f"sudo apt install g++-{row.host_gcc}", (DOWNLOAD,), action=Action.INSTALL_PACKAGE)]
        if debian
        else []
    )
    yield Problem(
        message=f"nvcc {row.release.short} ({toolkit.path}) supports gcc up to {row.host_gcc}, but {compiler.path} is gcc {gcc.major}.",
        evidence=(
            Evidence("newest gcc that nvcc supports", str(row.host_gcc), citation(row.source, f"CUDA {row.release}")),
            Evidence(f"host compiler ({compiler.name})", f"{compiler.path} {stated.value}", stated.where),
            Evidence("CUDA version of the toolkit", cuda.value, cuda.where),
        ),
        fixes=(*install, Fix(f"Make nvcc use gcc {row.host_gcc}", f"export NVCC_CCBIN=g++-{row.host_gcc}")),
    )
