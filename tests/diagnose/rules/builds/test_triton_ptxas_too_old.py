from __future__ import annotations

from typing import Any

import msgspec
import pytest

from gpudoctor.findings import OutcomeKind
from gpudoctor.snapshot import Asking, Fact, FoundBy, LibraryFile, LibraryUse, Snapshot, Toolkit
from tests.builders import ABSENT, TIMED_OUT, torch
from tests.diagnose.rules.asking import findings_of, kinds_of, with_gpus
from tests.diagnose.rules.examined import SITE, environment, use

RULE = "triton-ptxas-too-old"
PTXAS = f"{SITE}/triton/backends/nvidia/bin/ptxas"


def assembler(version: str, **changes: Any) -> LibraryUse:
    return use("triton-ptxas", "ptxas", PTXAS, version=version, asking=Asking.STARTED, vital=False, **changes)


def compiled_with(*assemblers: LibraryUse, gpu: Any = "12.0", **changes: Any) -> Snapshot:
    """PyTorch with Triton on one GPU of this compute capability."""
    seen = environment(*assemblers, framework=torch(), wheels="triton 3.2.0", **changes)
    sections = {name: getattr(seen, name) for name in ("frameworks", "libraries", "packages", "toolkits")}
    return with_gpus({"compute_capability": gpu, "name": f"GPU of {gpu}"}, **sections)


def test_a_newer_toolkit_on_disk_is_used() -> None:
    toolkit = Toolkit(path="/usr/local/cuda-12.8", toolkit_cuda=Fact("12.8.1", "version.json"), ptxas="/usr/local/cuda-12.8/bin/ptxas")
    (found,) = findings_of(RULE, compiled_with(assembler("12.4.99"), toolkits=(toolkit,)))
    assert "which does not support sm_120" in found.message
    assert found.fixes[0].command == "export TRITON_PTXAS_PATH=/usr/local/cuda-12.8/bin/ptxas"


@pytest.mark.parametrize(
    "changes", [{"ptxas": ABSENT}, {"toolkit_cuda": Fact("12.4.1", "version.json")}, {"toolkit_cuda": Fact("99.1", "x")}]
)
def test_a_toolkit_is_used_only_if_it_has_a_ptxas_that_is_known_to_support_the_gpu(changes: dict[str, Any]) -> None:
    toolkit = Toolkit(path="/opt/cuda", toolkit_cuda=Fact("12.8.1", "version.json"), ptxas="/opt/cuda/bin/ptxas")
    (found,) = findings_of(RULE, compiled_with(assembler("12.4.99"), toolkits=(msgspec.structs.replace(toolkit, **changes),)))
    assert found.fixes[0].title.startswith("Install a CUDA toolkit 12.8 or newer")


def test_a_variable_that_names_an_old_one_is_unset() -> None:
    (found,) = findings_of(RULE, compiled_with(assembler("12.4.99", found_by=FoundBy.VARIABLE)))
    assert found.fixes[0].command == "unset TRITON_PTXAS_PATH"


def test_without_one_a_toolkit_is_installed() -> None:
    (found,) = findings_of(RULE, compiled_with(assembler("12.4.99")))
    assert found.fixes[0].title.startswith("Install a CUDA toolkit 12.8 or newer")


def test_other_outcomes() -> None:
    assert kinds_of(RULE, compiled_with(assembler("12.8.93"))) == [OutcomeKind.PASSED]
    assert kinds_of(RULE, compiled_with()) == [OutcomeKind.NOT_APPLICABLE]
    assert kinds_of(RULE, compiled_with(assembler("12.8.93"), gpu=TIMED_OUT)) == [OutcomeKind.NOT_ASKED]
    assert kinds_of(RULE, compiled_with(assembler("99.1"))) == [OutcomeKind.NOT_ASKED]


@pytest.mark.parametrize(("capability", "words"), [("9.0", "ptxas_old"), ("10.0", "ptxas_new"), ("12.0", "ptxas_new")])
def test_blackwell_has_a_ptxas_of_its_own_beside_the_other(capability: str, words: str) -> None:
    old, new = (
        assembler("10.2.89", file=LibraryFile(f"{SITE}/{name}", version=Fact("10.2.89", "ptxas"))) for name in ("ptxas_old", "ptxas_new")
    )
    beside = msgspec.structs.replace(new, wanted="ptxas-blackwell")
    (found,) = findings_of(RULE, compiled_with(old, beside, gpu=capability))
    assert [words in evidence.value for evidence in found.evidence if evidence.what == "ptxas that Triton uses"] == [True]
