"""A message agrees with the number of what it is about: one, two or more than it names."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from gpudoctor.snapshot import (
    Damage,
    DamageKind,
    DriverFile,
    FrameworkLibraries,
    Hang,
    KernelModules,
    Libraries,
    Licence,
    Limits,
    LinkCount,
    MemoryKills,
    NvLink,
    Nvml,
    Pci,
    PciBar,
    ProcGpu,
    Product,
    ScriptFolder,
    SharedMemory,
    SpareRows,
    Stage,
    StageKind,
    StageState,
    StuckProcess,
)
from tests.builders import ABSENT, SUCCESS, address, bare, card, machine, smoke, tensorflow, torch
from tests.diagnose.rules.asking import findings_of, with_gpus, xids
from tests.diagnose.rules.driver.loaded import failing, kernel_driver
from tests.diagnose.rules.driver.modules import signed, unloaded
from tests.diagnose.rules.examined import SITE, environment, use
from tests.diagnose.rules.hardware.samples import RADEON
from tests.diagnose.rules.platform.samples import DOCKER, ON_WSL, WINDOWS, change
from tests.diagnose.rules.state.masks import masked
from tests.diagnose.rules.training.samples import stage, trained, watched
from tests.machines.measured import A100

FOLDER = "/usr/lib/x86_64-linux-gnu"
LIMITS = Limits(shared_memory=SharedMemory(64 << 20, 64 << 20, "tmpfs"))
WIDE = {"link_width": 16, "link_width_max": 16}


def in_container(*names: str) -> Any:
    """A container into which these libraries of the driver are mounted; the loader finds none of them."""
    files = tuple(DriverFile(f"{FOLDER}/{name}.so.550.163.01") for name in names)
    return machine(container=change(DOCKER, driver_files=files), libcuda=ABSENT, nvml=ABSENT)


def unlisted(*bars: int) -> Any:
    """A GPU that NVML does not list, whose BARs of these numbers have no address."""
    regions = tuple(PciBar(number, 1 << 30, assigned=False) for number in bars)
    return machine(1, nvml=Nvml(init=SUCCESS, gpus=()), pci=Pci((card(0, bars=regions),)))


def slow(*precisions: str) -> Any:
    """An A100 that reaches a tenth of its published rates in these precisions."""
    products = tuple(Product("GPU:0", precision, 8192, A100[precision] / 10, 0.0, 5e-4, address=address(0)) for precision in precisions)
    return machine(1, smoke=(smoke(products=products),))


def killed(count: int) -> Any:
    """A training run that ended after the kernel killed so many processes, out of memory."""
    crashed = (Stage(StageKind.TRAINING, StageState.CRASHED, device="GPU:0", error="killed by signal 9"),)
    return machine(1, smoke=(smoke(1, trainings=(), stages=crashed, memory_kills=MemoryKills(count, "memory.events", of_machine=False)),))


def broken(count: int) -> Any:
    """PyTorch with so many damaged files of its own."""
    files = tuple(Damage(f"{SITE}/torch/lib/libtorch_{number}.so", DamageKind.EMPTY, "an empty file") for number in range(count))
    return environment(framework=torch(), libraries=Libraries(frameworks=(FrameworkLibraries("torch", uses=(), broken=files),)))


def damaged(count: int) -> Any:
    """TensorFlow with so many damaged CUDA libraries."""
    return environment(
        *(
            use(
                "cublas", f"libcublas{number}.so.12", damaged=(Damage(f"{SITE}/nvidia/libcublas{number}.so.12", DamageKind.EMPTY, "empty"),)
            )
            for number in range(count)
        )
    )


def rows_left(banks: int) -> Any:
    """A GPU of 602 banks, so many of them without a spare row."""
    return with_gpus({"spare_rows": SpareRows(max=600, high=1, partial=1, low=0, none=banks)})


CASES = [
    ("container-shm-too-small", machine(1, container=DOCKER, limits=LIMITS), "in a container with 1 GPU; NVIDIA"),
    ("container-shm-too-small", machine(2, container=DOCKER, limits=LIMITS), "in a container with 2 GPUs; NVIDIA"),
    ("container-ldcache-stale", in_container("libcuda"), f"is mounted in {FOLDER}, but the loader does not find it."),
    ("container-ldcache-stale", in_container("libcuda", "libnvidia-ml"), f"are mounted in {FOLDER}, but the loader does not find them."),
    (
        "uvm-broken-after-suspend",
        failing(kernel_driver=kernel_driver(), kernel_modules=KernelModules(suspends=1)),
        "(1 suspend since boot)",
    ),
    (
        "uvm-broken-after-suspend",
        failing(kernel_driver=kernel_driver(), kernel_modules=KernelModules(suspends=2)),
        "(2 suspends since boot)",
    ),
    ("vfio-bound", bare(pci=Pci((card(0, driver="vfio-pci"),))), "The only GPU is bound to vfio-pci"),
    ("vfio-bound", bare(pci=Pci((card(0, driver="vfio-pci"), card(1, driver="vfio-pci")))), "All 2 GPUs are bound to vfio-pci"),
    ("nouveau-loaded", bare(pci=Pci((card(0, driver="nouveau"),))), f"GPU {address(0)} is bound to nouveau"),
    (
        "nouveau-loaded",
        bare(pci=Pci((card(0, driver="nouveau"), card(1, driver="nouveau")))),
        f"GPUs {address(0)} and {address(1)} are bound to nouveau",
    ),
    ("no-driver", unloaded(signed(signature=True)), "(1 GPU on the PCI bus)"),
    ("no-driver", unloaded(signed(signature=True), pci=Pci((card(0, driver=ABSENT), card(1, driver=ABSENT)))), "(2 GPUs on the PCI bus)"),
    ("script-folder-hides-package", machine(script_folder=ScriptFolder("/p", hides=("/p/torch.py",))), "not the installed package."),
    (
        "script-folder-hides-package",
        machine(script_folder=ScriptFolder("/p", hides=("/p/torch.py", "/p/numpy", "/p/jax"))),
        "(2 more files shadow other packages).",
    ),
    (
        "nvlink-errors",
        with_gpus({"nvlinks": (NvLink(3, active=True, errors=(LinkCount("link_recovery_failed_events", 2),), grown=()),)}),
        "2 failed recoveries on link 3",
    ),
    ("pci-bar-not-assigned", unlisted(1), "BAR1 has no address"),
    ("pci-bar-not-assigned", unlisted(1, 3), "BAR1 and BAR3 have no address"),
    ("pci-bar-not-assigned", unlisted(5), "BAR5 has no address"),
    ("amd-gpu-unsupported", bare(pci=Pci((RADEON,)), frameworks=(tensorflow(),)), "tensorflow is a CUDA build and cannot"),
    (
        "amd-gpu-unsupported",
        bare(pci=Pci((RADEON,)), frameworks=(tensorflow(), torch())),
        "tensorflow and torch are CUDA builds and cannot",
    ),
    ("spare-rows-exhausted", rows_left(1), "1 of 603 memory banks has no spare rows left."),
    ("spare-rows-exhausted", rows_left(2), "2 of 604 memory banks have no spare rows left."),
    ("gpu-errors-logged", machine(1, kernel_log=xids((31, 0))), "logged Xid 31 (GPU page fault"),
    ("gpu-errors-logged", machine(1, kernel_log=xids((31, 0), (31, 0))), "logged Xid 31 × 2 (GPU page fault"),  # noqa: RUF001 -- a cross counts
    ("cuda-visible-devices-masked", masked("", 0, ("GPU-aa",)), "hides the only GPU from CUDA programs."),
    ("cuda-visible-devices-masked", masked("", 0), "hides all 2 GPUs from CUDA programs."),
    ("gpu-slower-than-expected", slow("fp16"), "of the published 312.0."),
    ("gpu-slower-than-expected", slow("fp16", "bf16"), "; 1 more rate is low."),
    ("gpu-slower-than-expected", slow("fp16", "bf16", "tf32"), "; 2 more rates are low."),
    ("host-memory-insufficient", killed(1), "1 process"),
    ("host-memory-insufficient", killed(2), "2 processes"),
    ("framework-files-damaged", broken(1), "(an empty file)."),
    ("framework-files-damaged", broken(2), "(an empty file) (and 1 more)."),
    ("cuda-library-damaged", damaged(1), "cannot load libcublas0.so.12: "),
    ("cuda-library-damaged", damaged(3), "cannot load libcublas0.so.12 and 2 more: "),
    ("pcie-link-degraded", with_gpus({"link_width": 1, "link_width_max": 16}), "runs with 1 of 16 lanes"),
    (
        "pcie-link-degraded",
        with_gpus(WIDE, {"link_width": 1, "link_width_max": 1}),
        "runs with 1 lane; another GPU",
    ),
    (
        "pcie-link-degraded",
        with_gpus(WIDE, {"link_width": 2, "link_width_max": 2}),
        "runs with 2 lanes; another GPU",
    ),
    ("pcie-link-degraded", trained(watched(stage(replays=1))), "had 1 replay during"),
    ("pcie-link-degraded", trained(watched(stage(replays=2))), "had 2 replays during"),
    ("pcie-link-degraded", with_gpus(WIDE, pci=Pci((card(0, aer_fatal=1, aer_nonfatal=0),))), "had 1 uncorrectable error (AER)"),
    ("pcie-link-degraded", with_gpus(WIDE, pci=Pci((card(0, aer_fatal=1, aer_nonfatal=1),))), "had 2 uncorrectable errors (AER)"),
    ("wsl-driver-stack-broken", bare(host=ON_WSL, wsl=change(WINDOWS, libraries=("libnvidia-ml.so.1",))), "libcuda.so.1 is missing"),
    ("wsl-driver-stack-broken", bare(host=ON_WSL, wsl=change(WINDOWS, libraries=())), "libnvidia-ml.so.1 are missing"),
    (
        "device-nodes-missing",
        failing(kernel_driver=kernel_driver(modules=("nvidia",)), device_nodes=ABSENT),
        "/dev/nvidiactl and /dev/nvidia0 are missing.",
    ),
]


@pytest.mark.parametrize(("rule", "snapshot", "words"), CASES, ids=[f"{number}-{case[0]}" for number, case in enumerate(CASES)])
def test_a_message_agrees_with_the_number(rule: str, snapshot: Any, words: str) -> None:
    said = [finding.message for finding in findings_of(rule, snapshot)]
    assert [words in message for message in said] == [True] * bool(words), said


def missing(count: int) -> Any:
    """TensorFlow that finds so many of its libraries nowhere."""
    return environment(*(use("cublas", f"libcublas{number}.so.12") for number in range(count)))


def hung(seconds: float, *stuck: int) -> Any:
    """A machine whose NVML does not answer, and stuck processes with these pids."""
    whole = machine(1).nvml
    assert isinstance(whole, Nvml)
    nvml = msgspec.structs.replace(whole, hang=Hang("nvmlInit", seconds, uninterruptible=False))
    return machine(1, nvml=nvml, stuck=tuple(StuckProcess(pid, "nvidia-smi", ABSENT) for pid in stuck))


def licensed(seconds: int) -> Any:
    """A virtual GPU whose licence ends so soon."""
    licence = Licence("NVIDIA RTX vWS", enabled=True, licensed=True, expires="2026-01-02T04:00:00Z", seconds_left=seconds)
    return with_gpus({"virtualization": "vgpu", "licences": (licence,)})


def shared(size: int) -> Any:
    """A container with a /dev/shm of so many bytes."""
    return machine(1, container=DOCKER, limits=Limits(shared_memory=SharedMemory(size, size, "tmpfs")))


@pytest.mark.parametrize(
    ("rule", "at", "beyond"),
    [
        ("driver-hung", hung(30), hung(29.9)),
        ("vgpu-licence-expiring", licensed(3600), licensed(3601)),
        ("container-shm-too-small", shared((1 << 30) - 1), shared(1 << 30)),
    ],
)
def test_a_limit_is_where_the_page_says(rule: str, at: Any, beyond: Any) -> None:
    assert len(findings_of(rule, at)) == 1
    assert findings_of(rule, beyond) == []


@pytest.mark.parametrize(
    ("rule", "snapshot", "what"),
    [
        ("framework-files-damaged", broken(5), f"{SITE}/torch/lib/libtorch_"),
        ("cuda-library-damaged", damaged(5), "libcublas"),
        ("cuda-library-missing", missing(5), "libcublas"),
        ("driver-hung", hung(31, 1, 2, 3, 4, 5), "process in state D"),
        ("gpu-errors-logged", machine(1, kernel_log=xids(*((code, 0) for code in (31, 32, 39, 40, 41)))), "Xid"),
    ],
)
def test_the_first_four_of_five_are_the_evidence(rule: str, snapshot: Any, what: str) -> None:
    (finding,) = findings_of(rule, snapshot)
    assert [row.what.startswith(what) for row in finding.evidence].count(True) == 4


@pytest.mark.parametrize(
    ("rule", "snapshot", "words"),
    [
        ("cuda-library-missing", missing(4), "libcublas1.so.12, libcublas2.so.12 and libcublas3.so.12"),
        ("cuda-library-missing", missing(5), "libcublas0.so.12, libcublas1.so.12, libcublas2.so.12 and 2 more:"),
        (
            "gpu-errors-logged",
            machine(1, kernel_log=xids(*((code, 0) for code in (31, 32, 39, 40, 41)))),
            "(copy engine fault) and 2 more.",
        ),
        (
            "device-nodes-missing",
            failing(
                kernel_driver=kernel_driver(gpus=tuple(ProcGpu(address(one), minor=one) for one in range(3))),
                device_nodes=ABSENT,
                pci=Pci((card(0), card(1), card(2))),
            ),
            "/dev/nvidiactl, /dev/nvidia0, /dev/nvidia1 and 2 more are missing",
        ),
    ],
)
def test_a_few_are_named_and_the_others_counted(rule: str, snapshot: Any, words: str) -> None:
    (finding,) = findings_of(rule, snapshot)
    assert words in finding.message
