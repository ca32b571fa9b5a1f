"""What XLA needs to compile for a GPU: NVIDIA's device library and its assembler."""

from __future__ import annotations

from gpudoctor.derive import FrameworkView
from gpudoctor.diagnose.advice.shell import shell_path
from gpudoctor.diagnose.rules.libraries.install_missing import install_missing
from gpudoctor.diagnose.rules.libraries.missing import request_evidence
from gpudoctor.findings import Evidence, Fix, Severity
from gpudoctor.snapshot import LibraryUse

_FLAG = "--xla_gpu_cuda_data_dir="
_INSIDE = ("/bin/ptxas", "/nvvm/libdevice/libdevice.10.bc")
"""Where a toolkit or package has the two files."""


def xla_severity(framework: FrameworkView) -> Severity | None:
    """A warning where only programs that ask for it compile with XLA: TensorFlow, before Keras compiled with it unasked."""
    return Severity.WARNING if framework.precedes("compiles-unasked") else None


def name_folder_or_install(framework: FrameworkView, use: LibraryUse) -> tuple[Fix, ...]:
    """Name to XLA the folder that has the file, or install the package that contains it."""
    if not use.elsewhere:
        return install_missing(framework, (use,))
    return (Fix("Name its folder to XLA", name_folder(use.elsewhere[0].path)),)


def name_folder(path: str) -> str:
    """The command that names to XLA the toolkit or package of a file."""
    for inside in _INSIDE:
        path = path.removesuffix(inside)
    return f'export XLA_FLAGS={_FLAG}{shell_path(path)}" $XLA_FLAGS"'


def search_evidence(use: LibraryUse) -> tuple[Evidence, ...]:
    """Where XLA looks for the file, and where it is on disk."""
    on_disk = (Evidence("on disk", place.path, place.why) for place in use.elsewhere[:3])
    return (*request_evidence((use,)), *on_disk)
