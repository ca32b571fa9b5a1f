"""Fixes and evidence for libdevice and ptxas, which XLA needs to compile for a GPU."""

from gpudoctor.derive import FrameworkView
from gpudoctor.diagnose.advice.shell import shell_path
from gpudoctor.diagnose.rules.libraries.install_missing import install_missing_libraries
from gpudoctor.diagnose.rules.libraries.missing import request_evidence
from gpudoctor.findings import Evidence, Fix, Severity
from gpudoctor.findings.wording import first_few
from gpudoctor.snapshot import LibraryUse

_FOLDER_FLAG = "--xla_gpu_cuda_data_dir="
_INNER_PATHS = ("/bin/ptxas", "/nvvm/libdevice/libdevice.10.bc")
"""The paths of the two files inside a toolkit or package."""


def xla_severity(framework: FrameworkView) -> Severity | None:
    """Return a warning for TensorFlow releases in which Keras does not compile with XLA by default."""
    return Severity.WARNING if framework.is_before("compiles-unasked") else None


def point_to_file(framework: FrameworkView, use: LibraryUse) -> tuple[Fix, ...]:
    """Return the fix that points XLA to the folder with the file, or installs the package that contains it."""
    if not use.elsewhere:
        return install_missing_libraries(framework, (use,))
    return (Fix("Point XLA to the folder that contains it", point_to_folder(use.elsewhere[0].path)),)


def point_to_folder(path: str) -> str:
    """Return the command that points XLA to the toolkit or package of a file: of a flag that is there twice, XLA takes the last."""
    for inside in _INNER_PATHS:
        path = path.removesuffix(inside)
    return f'export XLA_FLAGS="$XLA_FLAGS {_FOLDER_FLAG}"{shell_path(path)}'


def search_evidence(use: LibraryUse) -> tuple[Evidence, ...]:
    """Return where XLA looks for the file and where it is on disk."""
    on_disk = (Evidence("on disk", place.path, place.why) for place in first_few(use.elsewhere))
    return (*request_evidence((use,)), *on_disk)
