"""The branches of the rules about libcuda, masks and our own kernel that no recorded machine reaches."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from gpudoctor.derive import MachineView
from gpudoctor.diagnose import diagnose
from gpudoctor.diagnose.advice.cuda_errors import CUDA_CANDIDATES, cures
from gpudoctor.findings import Finding, FixKind, Level, OutcomeKind, Policy, Severity
from gpudoctor.matrix import Matrix
from gpudoctor.snapshot import (
    Cause,
    CudaCall,
    CudaFile,
    CudaFiles,
    Framework,
    Hang,
    Host,
    Libcuda,
    Missing,
    Mps,
    NvmlGpu,
    Platform,
    Python,
    Snapshot,
    Status,
    Variables,
)
from tests.builders import ABSENT, TIMED_OUT, bare, in_docker, libcuda, machine, torch, touched

NOT_FOUND = Missing(Cause.ABSENT, "libcuda.so.1: cannot open shared object file: No such file or directory")
PYTHON = Python("/env/bin/python", "active", version="3.12.1", bits=64, machine="x86_64")
JAX = Framework(name="jax", distribution="jax", cuda_build=True)


def on_disk(*files: CudaFile) -> CudaFiles:
    return CudaFiles(files, ())


def own(path: str = "/opt/driver/libcuda.so.1", bits: int = 64, architecture: str = "x86_64") -> CudaFile:
    return CudaFile(path, real=path, bits=bits, machine=architecture)


def loaded(code: int, path: str) -> Libcuda:
    return msgspec.structs.replace(libcuda(1, code, f"CUDA_ERROR_{code}"), library=path)


def findings(snapshot: Snapshot, matrix: Matrix, name: str) -> list[Finding]:
    policy = Policy(level=Level.TOUCH, only=(name,))
    return list(diagnose(snapshot, matrix, policy).findings)


def outcome(snapshot: Snapshot, matrix: Matrix, name: str) -> OutcomeKind:
    (one,) = diagnose(snapshot, matrix, Policy(level=Level.TOUCH, only=(name,))).outcomes
    return one.kind


def test_a_hang_of_our_kernel_is_a_hung_driver(matrix: Matrix) -> None:
    hung = machine(1, contexts=touched(1, kernel_right=TIMED_OUT, hang=Hang("cuDevicePrimaryCtxRetain 0", 31.0, False)))
    (finding,) = findings(hung, matrix, "driver-hung")
    assert finding.message == "libcuda does not return from cuDevicePrimaryCtxRetain 0: no sign of life for 31 s."
    assert findings(hung, matrix, "cuda-init-fails") == []
    slow = machine(1, contexts=touched(1, kernel_right=TIMED_OUT, hang=Hang("cuDevicePrimaryCtxRetain 0", 12.0, False)))
    assert findings(slow, matrix, "driver-hung") == []


def test_a_refused_kernel_stays_an_error_though_cuda_initialises(matrix: Matrix) -> None:
    calls = (CudaCall("cuModuleLoadData", Status(221, "CUDA_ERROR_JIT_COMPILER_NOT_FOUND", ""), 1),)
    refused = machine(2, contexts=touched(2, kernel_right=ABSENT, calls=calls), cuda_files=on_disk())
    (finding,) = findings(refused, matrix, "cuda-init-fails")
    assert finding.severity is Severity.ERROR
    assert [(one.what, one.value) for one in finding.evidence][1] == ("libnvidia-ptxjitcompiler.so.1", "not found")


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({"libcuda": NOT_FOUND, "cuda_files": on_disk(own())}, OutcomeKind.FOUND),
        ({"libcuda": NOT_FOUND, "cuda_files": on_disk(own("/opt/libcuda.so.550.163.01"))}, OutcomeKind.FOUND),
        ({"libcuda": NOT_FOUND, "cuda_files": on_disk(own("/usr/local/cuda/lib64/stubs/libcuda.so"))}, OutcomeKind.NOT_APPLICABLE),
        ({"libcuda": NOT_FOUND, "cuda_files": on_disk(own(architecture="aarch64"))}, OutcomeKind.NOT_APPLICABLE),
        ({"libcuda": NOT_FOUND, "cuda_files": on_disk()}, OutcomeKind.NOT_APPLICABLE),
        ({"libcuda": NOT_FOUND, "cuda_files": ABSENT}, OutcomeKind.COULD_NOT_TELL),
        ({"libcuda": NOT_FOUND}, OutcomeKind.NOT_ASKED),
        ({"libcuda": Missing(Cause.DENIED, "Permission denied"), "cuda_files": on_disk(own())}, OutcomeKind.COULD_NOT_TELL),
        ({"cuda_files": on_disk(own())}, OutcomeKind.PASSED),
        ({"libcuda": NOT_FOUND, "cuda_files": on_disk(own()), "host": Host(platform=Platform.WSL2)}, OutcomeKind.NOT_APPLICABLE),
    ],
)
def test_libcuda_beside_the_loaders_path(changes: dict[str, Any], kind: OutcomeKind, matrix: Matrix) -> None:
    assert outcome(machine(1, python=PYTHON, **changes), matrix, "libcuda-not-on-loader-path") is kind


def test_a_missing_link_is_made_and_a_folder_is_told(matrix: Matrix) -> None:
    def commands(path: str) -> list[str]:
        (finding,) = findings(
            machine(1, python=PYTHON, libcuda=NOT_FOUND, cuda_files=on_disk(own(path))), matrix, "libcuda-not-on-loader-path"
        )
        return [fix.command for fix in finding.fixes]

    assert commands("/opt/driver/libcuda.so.550.163.01") == ["sudo ldconfig /opt/driver"]
    told, here = commands("/opt/driver/libcuda.so.1")
    assert told == "echo /opt/driver | sudo tee /etc/ld.so.conf.d/nvidia-libcuda.conf && sudo ldconfig"
    assert here.startswith('export LD_LIBRARY_PATH=/opt/driver"$')


@pytest.mark.parametrize(
    ("reason", "cause", "files", "kind"),
    [
        ("libcuda.so.1: wrong ELF class: ELFCLASS32", Cause.FAILED, on_disk(), OutcomeKind.FOUND),
        ("/opt/libcuda.so.1: invalid ELF header", Cause.FAILED, ABSENT, OutcomeKind.FOUND),
        ("libcuda.so.1: undefined symbol: x", Cause.FAILED, on_disk(), OutcomeKind.COULD_NOT_TELL),
        (NOT_FOUND.reason, Cause.ABSENT, on_disk(own(bits=32, architecture="i386")), OutcomeKind.FOUND),
        (NOT_FOUND.reason, Cause.ABSENT, on_disk(own(), own(bits=32, architecture="i386")), OutcomeKind.NOT_APPLICABLE),
        (NOT_FOUND.reason, Cause.ABSENT, on_disk(), OutcomeKind.NOT_APPLICABLE),
    ],
)
def test_libcuda_for_another_process(reason: str, cause: Cause, files: CudaFiles | Missing, kind: OutcomeKind, matrix: Matrix) -> None:
    snapshot = machine(1, python=PYTHON, libcuda=Missing(cause, reason), cuda_files=files)
    assert outcome(snapshot, matrix, "libcuda-wrong-architecture") is kind


def test_a_32_bit_python_is_told_so(matrix: Matrix) -> None:
    small = msgspec.structs.replace(PYTHON, bits=32, machine="i386")
    (finding,) = findings(machine(1, python=small, libcuda=NOT_FOUND, cuda_files=on_disk(own())), matrix, "libcuda-wrong-architecture")
    assert finding.fixes[0].title.startswith("Use a 64-bit Python")


@pytest.mark.parametrize(
    ("code", "path", "name"),
    [
        (34, "/usr/local/cuda/lib64/stubs/libcuda.so", "libcuda-is-stub"),
        (34, "", "libcuda-is-stub"),
        (999, "/usr/local/cuda/lib64/stubs/libcuda.so", "libcuda-is-stub"),
        (804, "/usr/local/cuda/compat/libcuda.so.570.26", "forward-compat-unsupported-hw"),
        (804, "", "forward-compat-unsupported-hw"),
        (803, "/usr/local/cuda/compat/libcuda.so.570.26", "cuda-compat-lib-conflict"),
        (803, "/usr/lib/libcuda.so.535.54.03", "driver-library-mismatch"),
        (808, "/usr/lib/libcuda.so.550.163.01", "mps-misconfigured"),
    ],
)
def test_the_file_makes_the_code_precise(code: int, path: str, name: str, matrix: Matrix) -> None:
    snapshot = machine(1, libcuda=loaded(code, path), mps=ABSENT)
    diagnosis = diagnose(snapshot, matrix, Policy(level=Level.LOOK))
    assert [finding.name for finding in diagnosis.root_causes if finding.severity is Severity.ERROR] == [name]


@pytest.mark.parametrize(("code", "path"), [(803, "/usr/lib/libcuda.so.550.163.01"), (803, ""), (100, "/x/compat/libcuda.so.1"), (999, "")])
def test_without_a_second_observation_the_code_stays_bare(code: int, path: str, matrix: Matrix) -> None:
    diagnosis = diagnose(machine(1, libcuda=loaded(code, path)), matrix, Policy(level=Level.LOOK))
    assert [finding.name for finding in diagnosis.root_causes] == ["cuda-init-fails"]


def test_no_fault_of_libcuda_without_a_gpu(matrix: Matrix) -> None:
    stubbed = bare(libcuda=loaded(34, "/usr/local/cuda/lib64/stubs/libcuda.so"))
    assert {finding.name for finding in diagnose(stubbed, matrix, Policy(level=Level.LOOK)).findings} == {"no-gpu"}


def test_mps_is_quiet_where_its_daemon_is_or_nobody_asked_for_it(matrix: Matrix) -> None:
    serving = Mps("/srv/mps", "CUDA_MPS_PIPE_DIRECTORY", True)
    assert outcome(machine(1, mps=serving), matrix, "mps-misconfigured") is OutcomeKind.PASSED
    assert outcome(machine(1, mps=ABSENT), matrix, "mps-misconfigured") is OutcomeKind.PASSED
    assert outcome(machine(1, mps=Mps("/tmp/nvidia-mps", "default", False)), matrix, "mps-misconfigured") is OutcomeKind.PASSED


def masked(value: str, shown: int, uuids: tuple[str, ...] = ("GPU-aa", "GPU-bb"), **changes: Any) -> Snapshot:
    whole = libcuda(len(uuids))
    assert not isinstance(whole.devices, Missing)
    devices = tuple(msgspec.structs.replace(one, uuid=uuid) for one, uuid in zip(whole.devices, uuids, strict=True))
    seen = libcuda(shown) if shown else libcuda(0, 100, "CUDA_ERROR_NO_DEVICE")
    unmasked = msgspec.structs.replace(whole, devices=devices)
    variables = Variables({"CUDA_VISIBLE_DEVICES": value})
    return machine(len(uuids), variables=variables, libcuda=seen, libcuda_unmasked=unmasked, **changes)


NAME = "cuda-visible-devices-uuid-unsupported"


@pytest.mark.parametrize(
    ("value", "shown", "kind", "words"),
    [
        ("GPU-cc", 0, OutcomeKind.FOUND, "no GPU or MIG instance here has that UUID"),
        ("MIG-cc", 0, OutcomeKind.FOUND, "no GPU or MIG instance here has that UUID"),
        ("GPU-BB", 0, OutcomeKind.FOUND, "this CUDA does not take it, though the GPU is there"),
        ("GPU-aa,GPU-cc", 1, OutcomeKind.FOUND, "CUDA shows 1 of the 2 devices"),
        ("GPU-aa,7", 1, OutcomeKind.PASSED, ""),
        ("GPU-aa,GPU-bb", 2, OutcomeKind.PASSED, ""),
        ("7", 0, OutcomeKind.NOT_APPLICABLE, ""),
    ],
)
def test_a_uuid_that_shows_nothing(value: str, shown: int, kind: OutcomeKind, words: str, matrix: Matrix) -> None:
    snapshot = masked(value, shown)
    assert outcome(snapshot, matrix, NAME) is kind
    assert all(words in finding.message for finding in findings(snapshot, matrix, NAME))
    for finding in findings(snapshot, matrix, NAME):
        assert finding.severity is (Severity.WARNING if shown else Severity.ERROR)


@pytest.mark.parametrize(
    ("frameworks", "values", "severity"),
    [
        ((JAX,), {"JAX_PLATFORMS": "cpu"}, Severity.ERROR),
        ((JAX,), {"JAX_PLATFORM_NAME": "CPU"}, Severity.ERROR),
        ((JAX,), {"JAX_PLATFORMS": "cpu,cuda"}, Severity.WARNING),
        ((JAX, torch()), {"JAX_PLATFORMS": "cpu"}, Severity.WARNING),
        ((JAX,), {"JAX_PLATFORMS": "gpu"}, None),
        ((JAX,), {"JAX_PLATFORMS": ""}, None),
        ((JAX,), {"ACCELERATE_USE_CPU": "true"}, None),
        ((torch(),), {"ACCELERATE_USE_CPU": "1"}, Severity.WARNING),
        ((torch(),), {"ACCELERATE_USE_CPU": "false"}, None),
        ((torch(),), {"KERAS_TORCH_DEVICE": "cpu"}, Severity.WARNING),
        ((torch(),), {"JAX_PLATFORMS": "cpu"}, None),
    ],
)
def test_a_variable_that_keeps_a_framework_off_the_gpu(
    frameworks: tuple[Framework, ...], values: dict[str, str], severity: Severity | None, matrix: Matrix
) -> None:
    found = findings(machine(1, frameworks=frameworks, variables=Variables(values)), matrix, "env-hides-gpu")
    assert [finding.severity for finding in found] == ([severity] if severity else [])
    assert findings(bare(frameworks=frameworks, variables=Variables(values)), matrix, "env-hides-gpu") == []


def test_no_memory_for_a_context_says_what_is_free(matrix: Matrix) -> None:
    calls = (CudaCall("cuDevicePrimaryCtxRetain", Status(2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"), 3),)
    full = machine(1, contexts=touched(1, kernel_right=ABSENT, calls=calls))
    assert not isinstance(full.nvml, Missing)
    gpu = NvmlGpu(0, address="0000:01:00.0", memory_total=80 << 30, memory_free=100 << 20, compute_processes=())
    full = msgspec.structs.replace(full, nvml=msgspec.structs.replace(full.nvml, gpus=(gpu,)))
    (finding,) = findings(full, matrix, "gpu-memory-insufficient")
    assert finding.message.endswith("answers 2 (CUDA_ERROR_OUT_OF_MEMORY); 0.1 of 80.0 GiB are free.")
    assert findings(full, matrix, "cuda-init-fails") == []


@pytest.mark.parametrize("code", CUDA_CANDIDATES)
def test_each_candidate_says_what_it_is_and_what_cures_it(code: int) -> None:
    for one in CUDA_CANDIDATES[code]:
        assert one.cause
        assert one.cure
        assert not one.cause.endswith(".")
        assert one.command or one.check or one.cure.startswith(("Take", "Reinstall", "Update", "Install", "Use", "End"))


def test_a_candidate_for_a_variable_is_named_only_where_that_is_set(matrix: Matrix) -> None:
    unset, masked = (MachineView(machine(variables=Variables(values)), matrix, Policy()) for values in ({}, {"CUDA_VISIBLE_DEVICES": "7"}))
    assert "unset CUDA_VISIBLE_DEVICES" not in [fix.command for fix in cures(100, unset)]
    set_one = cures(100, masked)
    assert (set_one[0].command, set_one[0].kind) == ("unset CUDA_VISIBLE_DEVICES", FixKind.FIX)
    assert [fix.kind for fix in set_one if fix.kind is not FixKind.CHECK][1:] == [FixKind.ELSE] * 2


def test_in_a_container_the_driver_is_the_hosts_to_cure(matrix: Matrix) -> None:
    contained = MachineView(machine(container=in_docker()), matrix, Policy())
    (fix,) = (fix for fix in cures(803, contained) if fix.kind is FixKind.FIX)
    assert "on the host, reboot" in fix.title
