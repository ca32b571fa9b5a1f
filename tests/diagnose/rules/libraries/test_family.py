from __future__ import annotations

import pytest

from gpudoctor.findings import OutcomeKind
from gpudoctor.snapshot import Cause, Libcuda, LibraryFile, Missing
from tests.builders import ABSENT, bare, machine
from tests.diagnose.rules.examined import environment, outcome, use
from tests.machines.store import NAMES, recorded

RULES = (
    "cuda-library-missing", "cudnn-missing", "cuda-libs-not-on-loader-path", "pip-nvidia-libs-not-on-path", "ld-library-path-shadowing",
    "cudnn-shadowed-by-system", "libdevice-not-found", "ptxas-not-found", "ptxas-too-old", "nvcc-toolkit-missing",
    "nvcc-framework-cuda-mismatch", "host-compiler-unsupported", "extension-built-for-other-cuda", "extension-abi-mismatch",
    "extension-missing-arch", "nccl-version-conflict",
)  # fmt: skip


@pytest.mark.parametrize("name", RULES)
def test_without_a_gpu_nothing_of_it_is_a_fault(name: str) -> None:
    broken = environment(use("cudart", "libcudart.so.12"), use("ptxas", "ptxas"))
    snapshot = bare(**{section: getattr(broken, section) for section in ("frameworks", "libraries", "variables", "toolkits", "compilers")})
    assert outcome(snapshot, name) is OutcomeKind.NOT_APPLICABLE


@pytest.mark.parametrize("name", [name for name in RULES if not name.startswith(("nvcc", "host"))])
def test_without_an_xray_nothing_is_said(name: str) -> None:
    assert outcome(machine(1), name) is OutcomeKind.NOT_ASKED
    assert outcome(machine(1, libraries=ABSENT), name) is OutcomeKind.NOT_APPLICABLE
    failed = environment(libraries=Missing(Cause.TIMED_OUT, "the X-ray did not respond"))
    assert outcome(failed, name) is OutcomeKind.COULD_NOT_TELL


def test_the_simulated_loader_and_the_real_one_take_the_same_libcuda() -> None:
    compared = 0
    for name in NAMES:
        snapshot = recorded(name)
        if isinstance(snapshot.libraries, Missing) or not isinstance(snapshot.libcuda, Libcuda):
            continue
        for framework in snapshot.libraries.frameworks:
            for library_use in framework.uses if isinstance(framework.uses, tuple) else ():
                if (
                    library_use.component == "cuda"
                    and isinstance(library_use.file, LibraryFile)
                    and isinstance(snapshot.libcuda.library, str)
                ):
                    real = library_use.file.real if isinstance(library_use.file.real, str) else library_use.file.path
                    assert real == snapshot.libcuda.library, name
                    compared += 1
    assert compared >= 20
