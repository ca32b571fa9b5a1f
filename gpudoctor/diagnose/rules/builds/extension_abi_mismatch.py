"""GD514: extension-abi-mismatch."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Hardware, MachineView
from gpudoctor.diagnose.rule import need, rule
from gpudoctor.diagnose.rules.builds.addons import _MOST, _addons, _again, _file, _main
from gpudoctor.findings import Evidence, Problem, Rung, Severity, SubjectKind
from gpudoctor.snapshot import Framework


@rule("GD514", severity=Severity.WARNING, breaks=Rung.TRAINED, since="0.1", about=SubjectKind.FRAMEWORK)
def extension_abi_mismatch(framework: Framework, machine: MachineView, hardware: Hardware) -> Iterator[Problem]:
    """A compiled add-on needs functions that the installed framework does not have.

    ## Why it matters
    A framework's C++ interface changes from release to release. An add-on that was compiled for another one cannot be imported:
    "undefined symbol: _ZN3c10...". The framework itself works.

    ## What to do
    Install the add-on's release for this framework, or compile it again.

    ## References
    - https://docs.pytorch.org/docs/stable/cpp_extension.html
    """
    found = _addons(framework, machine, hardware)
    for addon in found.values():
        lost = [(one, one.undefined) for one in addon if isinstance(one.undefined, tuple) and one.undefined]
        if lost:
            main = {one.path for one in _main(addon)}
            one, names = min(lost, key=lambda pair: pair[0].path not in main)
            more = f" and {len(names) - 1} more" if len(names) > 1 else ""
            yield Problem(
                message=f"{one.distribution} {one.version} needs {names[0]}{more}, which {framework.label} does not define: it cannot be imported."
                if one.path in main
                else f"{_file(one)} of {one.distribution} {one.version} needs {names[0]}{more}, which {framework.label} does not define.",
                severity=None if one.path in main else Severity.NOTE,
                evidence=tuple(Evidence("symbol that is nowhere defined", name, one.path) for name in names[:_MOST]),
                fixes=_again(one, framework, machine),
            )
    for one in (one for addon in found.values() for one in addon):
        need(one.undefined)
