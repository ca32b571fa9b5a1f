from __future__ import annotations

import msgspec
import pytest

from gpudoctor.findings import OutcomeKind
from gpudoctor.snapshot import Cause, CudaFiles, Missing
from tests.builders import ABSENT, machine
from tests.diagnose.rules.asking import findings_of, kinds_of
from tests.diagnose.rules.driver.libcudas import NOT_FOUND, PYTHON, on_disk, own

RULE = "libcuda-wrong-architecture"


@pytest.mark.parametrize(
    ("reason", "cause", "files", "kind"),
    [
        ("libcuda.so.1: wrong ELF class: ELFCLASS32", Cause.UNLOADABLE, on_disk(), OutcomeKind.FOUND),
        ("/opt/libcuda.so.1: invalid ELF header", Cause.UNLOADABLE, ABSENT, OutcomeKind.FOUND),
        ("libcuda.so.1: undefined symbol: x", Cause.FAILED, on_disk(), OutcomeKind.COULD_NOT_TELL),
        (NOT_FOUND.reason, Cause.ABSENT, on_disk(own(bits=32, architecture="i386")), OutcomeKind.FOUND),
        (NOT_FOUND.reason, Cause.ABSENT, on_disk(own(), own(bits=32, architecture="i386")), OutcomeKind.NOT_APPLICABLE),
        (NOT_FOUND.reason, Cause.ABSENT, on_disk(), OutcomeKind.NOT_APPLICABLE),
    ],
)
def test_libcuda_for_another_process(reason: str, cause: Cause, files: CudaFiles | Missing, kind: OutcomeKind) -> None:
    snapshot = machine(1, python=PYTHON, libcuda=Missing(cause, reason), cuda_files=files)
    assert kinds_of(RULE, snapshot) == [kind]


def test_a_32_bit_python_is_told_so() -> None:
    small = msgspec.structs.replace(PYTHON, bits=32, machine="i386")
    (finding,) = findings_of(RULE, machine(1, python=small, libcuda=NOT_FOUND, cuda_files=on_disk(own())))
    assert finding.fixes[0].title.startswith("Use a 64-bit Python")
