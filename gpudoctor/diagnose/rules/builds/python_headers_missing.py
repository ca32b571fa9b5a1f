"""GD542: python-headers-missing."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Hardware, Site, Stack
from gpudoctor.diagnose.advice.needs import DOWNLOAD, ROOT
from gpudoctor.diagnose.rule import Explains, Join, need, rule
from gpudoctor.diagnose.rules.builds.triton import _OFF, _compiles
from gpudoctor.findings import Evidence, Fix, Problem, Rung, Severity, SubjectKind
from gpudoctor.snapshot import Cause, Framework, Missing, Python

_HEADERS = {
    "debian": "sudo apt install {python}-dev",
    "fedora": "sudo dnf install {python}-devel",
    "rhel": "sudo dnf install {python}-devel",
}


@rule(
    "GD542",
    severity=Severity.WARNING,
    breaks=Rung.TRAINED,
    since="0.1",
    about=SubjectKind.FRAMEWORK,
    predicts=False,
    explains=(Explains(("smoke-crashed",), "", Join.FRAMEWORK),),
)
def python_headers_missing(framework: Framework, stack: Stack, hardware: Hardware, python: Python, site: Site) -> Iterator[Problem]:
    """Python.h of this interpreter is not installed, so torch.compile fails.

    ## Why it matters
    The launchers that Triton compiles for torch.compile are extension modules of Python, and include Python.h. Distributions package it
    apart from the interpreter; without it the compiler ends with "fatal error: Python.h: No such file or directory". The rest of PyTorch
    works.

    ## What to do
    Install the headers of this Python, or use an interpreter that brings them, as those of conda and uv do.

    ## References
    - https://github.com/triton-lang/triton/blob/main/python/triton/runtime/build.py
    """
    _compiles(framework, stack, hardware)
    if isinstance(python.headers, Missing):
        if python.headers.cause is not Cause.ABSENT:
            need(python.headers)
        minor = ".".join(python.version.split(".")[:2]) if isinstance(python.version, str) else ""
        template = next((_HEADERS[name] for name in site.distribution if name in _HEADERS), "")
        own = python.base_prefix == "/usr" and bool(minor)
        yield Problem(
            message=f"torch.compile of {framework.label} needs Python.h of Python {minor}, and {python.headers.reason}.",
            evidence=(Evidence("Python.h", "not found", python.headers.reason), Evidence("interpreter", python.executable, python.why)),
            fixes=(
                Fix("Install the headers of this Python", template.format(python=f"python{minor}"), (ROOT, DOWNLOAD))
                if template and own
                else Fix(
                    "Use an interpreter that brings its headers", f"uv venv --python-preference only-managed --python {minor}", (DOWNLOAD,)
                ),
                _OFF,
            ),
        )
