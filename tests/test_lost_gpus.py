"""No GPU with an NVML alarm is called ready, whichever call raised it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from gpudoctor.diagnose import diagnose
from gpudoctor.findings import Diagnosis, Level, Policy, Rung, RungState, Severity, Verdict
from gpudoctor.matrix import Matrix
from gpudoctor.probe.inventory import ProbeScope
from gpudoctor.snapshot import Cause, Missing, Nvml, NvmlGpu, Pci, Refusals, Snapshot, Status
from tests.machines import trained
from tests.machines.store import NAMES, policy, recorded
from tests.probe.places import look
from tests.seams import Mig
from tests.seams import Nvml as Library
from tests.seams import NvmlGpu as Card
from tests.seams.every import every
from tests.shipped import shared_matrix

ALARMING = (8, 11, 14, 15, 16)
CHILD = Path(__file__).parent.parent / "gpudoctor" / "children" / "own"
EARLY = {"nvmlDeviceGetCount"}  # about no GPU


@pytest.fixture(scope="module")
def matrix() -> Matrix:
    return shared_matrix()


OLDER = {
    "nvmlDeviceGetCurrentClocksEventReasons": "nvmlDeviceGetCurrentClocksThrottleReasons",
    "nvmlDeviceGetGpuFabricInfoV": "nvmlDeviceGetGpuFabricInfo",
}
"""Functions that older drivers lack, and their replacements."""


def asked_of_a_gpu() -> set[str]:
    """Every NVML function about one GPU in the probe's scripts, without its version."""
    words = {word.strip('"') for file in CHILD.glob("nvml_*.py") for word in file.read_text().replace("(", " ").replace(",", " ").split()}
    return {word.partition("_v")[0] for word in words if word.startswith("nvmlDeviceGet")} - EARLY


def unready(diagnosis: Diagnosis, key: str) -> bool:
    """Whether a finding that counts is about this GPU, or NVML is not shown to work for it."""
    row = next(row for row in diagnosis.ladder if row.subject.key == key)
    shown = next(step.state for step in row.steps if step.rung is Rung.NVML) is RungState.PROVEN
    return not shown or any(finding.subject.key == key and finding.severity >= Severity.WARNING for finding in diagnosis.findings)


@pytest.mark.parametrize("half", [0, 1])
@pytest.mark.parametrize("old", [False, True], ids=["new driver", "old driver"])
@pytest.mark.parametrize("code", ALARMING)
def test_an_alarm_in_any_call_keeps_its_gpu_from_being_ready(
    code: int, old: bool, half: int, shim_environment: Callable[..., dict[str, str]], matrix: Matrix
) -> None:
    # a card before and after the failing ones: a call about two cards is attributed to the first
    every = sorted(asked_of_a_gpu() - set(OLDER if old else OLDER.values()))
    assert len(every) > 40
    functions = every[half::2]
    facts = {"nvlink_old": 1, "licence_product": "NVIDIA Virtual Compute Server", "licence_state": 1}
    needs = {"virtualization": 2, "mig": (1, 1), "mig_instances": (Mig(uuid="MIG-a"),), "facts": facts}
    cards = [Card(address=f"00000000:{1 + number:02X}:00.0", **needs) for number in range(len(functions) + 2)]  # type: ignore[arg-type]
    calls = {f"{name}.{number}": f"return {code}" for number, name in enumerate(functions, start=1)}
    library = Library(gpus=cards, calls=calls, without=tuple(OLDER) if old else ())
    nvml = look(ProbeScope(python=sys.executable), shim_environment(library))[0].nvml
    diagnosis = diagnose(Snapshot(created="", nvml=nvml), matrix, Policy(level=Level.LOOK))
    keys = {row.index: row.subject.key for row in diagnosis.ladder}
    assert [name for number, name in enumerate(functions, start=1) if not unready(diagnosis, keys[number])] == []
    assert not unready(diagnosis, keys[0]), "of the first card nothing failed"


def with_first(snapshot: Snapshot, **changes: Any) -> tuple[Snapshot, str]:
    """The snapshot with changed NVML facts of the first opened GPU, and its address; "" if there is none."""
    if not isinstance(snapshot.nvml, Nvml) or not isinstance(snapshot.nvml.gpus, tuple):
        return snapshot, ""
    gpus = list(snapshot.nvml.gpus)
    number = next((number for number, gpu in enumerate(gpus) if isinstance(gpu.address, str)), None)
    if number is None:
        return snapshot, ""
    gpus[number] = msgspec.structs.replace(gpus[number], **changes)
    replace = msgspec.structs.replace
    return replace(snapshot, nvml=replace(snapshot.nvml, gpus=tuple(gpus))), str(snapshot.nvml.gpus[number].address)


@every("name", NAMES)
def test_no_recorded_machine_with_an_alarm_is_ready(name: str, matrix: Matrix) -> None:
    code = ALARMING[NAMES.index(name) % len(ALARMING)]  # in turn
    alarmed, key = with_first(recorded(name), alarms=(Status(code, "NVML_ERROR", "nvmlDeviceGetName: alarm"),))
    if not key:
        return
    diagnosis = diagnose(alarmed, matrix, policy(name))
    hidden = not any(row.subject.key == key for row in diagnosis.ladder)
    assert hidden or (diagnosis.verdict is not Verdict.READY and unready(diagnosis, key)), code


@pytest.mark.parametrize("field", [name for name in NvmlGpu.__struct_fields__ if name not in {"index", "address"}])
def test_a_gpu_lost_in_any_fact_is_broken(field: str, matrix: Matrix) -> None:
    lost, key = with_first(recorded("healthy-eight"), **{field: Missing(Cause.LOST, "nvmlDeviceGetX answered 15 (GPU is lost)")})
    diagnosis = diagnose(lost, matrix, Policy(level=Level.LOOK))
    assert diagnosis.verdict is Verdict.BROKEN
    assert [finding.subject.key for finding in diagnosis.findings if finding.name == "gpu-fell-off-bus"] == [key]


@pytest.mark.parametrize(
    "change", [{"answers": False}, {"link_width": Missing(Cause.LOST, "current_link_width is 63, all ones")}], ids=list
)
def test_a_gpu_with_registers_of_all_ones_is_broken(change: dict[str, Any], matrix: Matrix) -> None:
    snapshot = recorded("healthy-eight")
    assert isinstance(snapshot.pci, Pci)
    devices = (msgspec.structs.replace(snapshot.pci.devices[0], **change), *snapshot.pci.devices[1:])
    diagnosis = diagnose(msgspec.structs.replace(snapshot, pci=Pci(devices)), matrix, Policy(level=Level.LOOK))
    assert diagnosis.verdict is Verdict.BROKEN
    assert [finding.name for finding in diagnosis.findings if finding.subject.key == devices[0].address] == ["gpu-fell-off-bus"]


@pytest.mark.parametrize("width", [63, 255])
def test_an_impossible_link_width_is_a_lost_gpu(width: int, matrix: Matrix) -> None:
    odd, key = with_first(recorded("healthy-eight"), link_width=width)
    diagnosis = diagnose(odd, matrix, Policy(level=Level.LOOK))
    assert [finding.subject.key for finding in diagnosis.findings if finding.name == "gpu-fell-off-bus"] == [key]


@pytest.mark.parametrize(
    ("code", "times", "verdict"), [(999, 31, Verdict.BROKEN), (10, 31, Verdict.BROKEN), (4, 31, Verdict.UNKNOWN), (999, 30, Verdict.READY)]
)
def test_the_same_error_for_most_calls_of_a_gpu(code: int, times: int, verdict: Verdict, matrix: Matrix) -> None:
    refused, key = with_first(recorded("healthy-eight"), refusals=Refusals(asked=60, code=code, times=times))
    diagnosis = diagnose(refused, matrix, Policy(level=Level.LOOK))
    assert diagnosis.verdict is verdict
    found = [finding.subject.key for finding in diagnosis.findings if finding.name == "gpu-not-responding"]
    assert found == ([key] if verdict is Verdict.BROKEN else [])


@pytest.mark.parametrize("code", ALARMING)
def test_an_alarm_without_a_gpu_leaves_all_unknown(code: int, matrix: Matrix) -> None:
    snapshot = recorded("healthy-eight")
    assert isinstance(snapshot.nvml, Nvml)
    nvml = msgspec.structs.replace(snapshot.nvml, alarms=(Status(code, "NVML_ERROR", "nvmlSystemGetDriverVersion: alarm"),))
    assert diagnose(msgspec.structs.replace(snapshot, nvml=nvml), matrix, Policy(level=Level.LOOK)).verdict is Verdict.UNKNOWN


def test_cuda_999_is_attributed_to_the_lost_gpu_not_to_nvidia_uvm(matrix: Matrix) -> None:
    replace = msgspec.structs.replace
    lost, _ = with_first(recorded("uvm-after-waking"), name=Missing(Cause.LOST, "nvmlDeviceGetName answered 15 (GPU is lost)"))
    assert {cause.name for cause in diagnose(recorded("uvm-after-waking"), matrix, Policy(level=Level.LOOK)).root_causes} == {
        "uvm-broken-after-suspend"
    }
    diagnosis = diagnose(replace(lost), matrix, Policy(level=Level.LOOK))
    assert [cause.name for cause in diagnosis.root_causes] == ["gpu-fell-off-bus"]


def test_a_gpu_that_ran_a_kernel_after_its_alarm_is_degraded(matrix: Matrix) -> None:
    alarmed, _ = with_first(trained.on_gpu(recorded("healthy-one")), alarms=(Status(15, "NVML_ERROR_GPU_IS_LOST", "nvmlDeviceGetName"),))
    assert diagnose(alarmed, matrix, Policy()).verdict is Verdict.DEGRADED
