"""GD541: c-compiler-missing."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Hardware, Site, Stack
from gpudoctor.diagnose.advice.needs import DOWNLOAD, ROOT
from gpudoctor.diagnose.rule import Explains, Join, need, rule
from gpudoctor.diagnose.rules.builds.triton import _OFF, _compiles
from gpudoctor.findings import Evidence, Fix, Problem, Rung, Severity, SubjectKind
from gpudoctor.snapshot import Framework, Snapshot

_COMPILERS = ("CC", "gcc", "clang")
"""As triton/runtime/build.py looks for one; no c++ and no cc."""


_GCC = {
    "debian": "sudo apt install gcc",
    "ubuntu": "sudo apt install gcc",
    "fedora": "sudo dnf install gcc",
    "rhel": "sudo dnf install gcc",
    "suse": "sudo zypper install gcc",
    "arch": "sudo pacman -S gcc",
}


@rule(
    "GD541",
    severity=Severity.WARNING,
    breaks=Rung.TRAINED,
    since="0.1",
    about=SubjectKind.FRAMEWORK,
    predicts=False,
    explains=(Explains(("smoke-crashed",), "", Join.FRAMEWORK),),
)
def c_compiler_missing(framework: Framework, stack: Stack, hardware: Hardware, snapshot: Snapshot, site: Site) -> Iterator[Problem]:
    """No C compiler is installed, so torch.compile fails.

    ## Why it matters
    Triton compiles a small launcher in C for each kernel, at run time. It takes the compiler that CC names, else gcc or clang of PATH, and
    without one ends with "Failed to find C compiler". Slim container images have none. The rest of PyTorch works.

    ## What to do
    Install gcc, or use the "devel" variant of the image.

    ## References
    - https://github.com/triton-lang/triton/blob/main/python/triton/runtime/build.py
    """
    _compiles(framework, stack, hardware)
    found = need(snapshot.compilers)
    if any(one.name in _COMPILERS for one in found):
        return
    command = next((_GCC[name] for name in site.distribution if name in _GCC), "")
    yield Problem(
        message=f"torch.compile of {framework.label} needs a C compiler: neither gcc nor clang is on PATH, and CC names none.",
        evidence=(
            Evidence("gcc, clang", "not found", "PATH"),
            Evidence("compilers found", ", ".join(one.name for one in found) or "none", "PATH"),
        ),
        fixes=(Fix("Install gcc" if command else "Install gcc or clang.", command, (ROOT, DOWNLOAD)), _OFF),
    )
