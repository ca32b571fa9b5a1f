"""lsmod, modinfo, modprobe, DKMS, mokutil and /proc/driver/nvidia, and the causes that they decide."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudoctor.matrix import Matrix
from gpudoctor.snapshot import Cause, DkmsModule, KernelDriver, KernelModules, Missing, ModuleFile
from tests.read.mangled import mangled
from tests.read.reading import causes, is_read_or_refused, read

NO_DRIVER = "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest NVIDIA driver is installed and running.\n"
UNAME = "Linux ws3 6.11.0-21-generic #21-Ubuntu SMP PREEMPT_DYNAMIC Wed Feb 19 16:50:40 UTC 2025 x86_64 x86_64 x86_64 GNU/Linux\n"
DKMS = "$ dkms status\nnvidia/570.124.06, 6.11.0-{built}-generic, x86_64: installed\n"
ROWS = "".join(
    f"module{letter}{number:>20}  0\n" for letter, number in zip("abcdefghijklmnopqrstuvwxyz", range(16384, 49152, 1024), strict=False)
)
LOADED = "Module                  Size  Used by\nnvidia_uvm           4956160  0\nnvidia_drm            122880  4\n" + ROWS
NVIDIA = "nvidia              56844288  163 nvidia_uvm,nvidia_modeset\n"
MODINFO = """\
filename:       /lib/modules/6.11.0-21-generic/updates/dkms/nvidia.ko.zst
version:        570.124.06
supported:      external
signer:         ws3 Secure Boot Module Signature key
"""
PROC = """\
NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.124.06  Release Build  (dvs-builder@U22)
GCC version:  gcc version 13.3.0
"""
OLD_PROC = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  470.256.02  Thu May  2 14:37:44 UTC 2024\n"


def driver(text: str, matrix: Matrix) -> KernelDriver:
    found = read(text, matrix).kernel_driver
    assert isinstance(found, KernelDriver)
    return found


def modules(text: str, matrix: Matrix) -> KernelModules:
    found = read(text, matrix).kernel_modules
    assert isinstance(found, KernelModules)
    return found


def is_absent(value: object) -> bool:
    return isinstance(value, Missing) and value.cause is Cause.ABSENT


def test_the_version_file_states_release_and_flavour(matrix: Matrix) -> None:
    found, old = driver(PROC, matrix), driver(OLD_PROC, matrix)
    assert (found.version.value, found.flavour) == ("570.124.06", "open")  # type: ignore[union-attr]
    assert (old.version.value, old.flavour) == ("470.256.02", "proprietary")  # type: ignore[union-attr]


def test_the_row_of_nvidia_names_the_modules_that_use_it(matrix: Matrix) -> None:
    assert driver(NVIDIA, matrix).modules == ("nvidia", "nvidia_uvm", "nvidia_modeset")


def test_a_module_is_absent_only_from_a_whole_list(matrix: Matrix) -> None:
    assert is_absent(driver(LOADED.replace("nvidia_uvm", "mei_me").replace("nvidia_drm", "mei"), matrix).version)
    assert driver(LOADED + NVIDIA, matrix).version.cause is Cause.NOT_STATED  # type: ignore[union-attr]
    assert isinstance(read("Module   Size  Used by\nmei_me  53248  0\n...\n" + PROC, matrix).kernel_driver, KernelDriver)
    searched = read("$ lsmod | grep nvidia_uvm\nnvidia_uvm           4956160  0\n", matrix).kernel_driver
    assert isinstance(searched, Missing)


def test_dkms_names_the_kernels_with_a_module(matrix: Matrix) -> None:
    found = modules(UNAME + DKMS.format(built=19) + "nvidia/535.183.01: added\n", matrix)
    assert found.dkms == (DkmsModule("nvidia", "570.124.06", ("6.11.0-19-generic",)), DkmsModule("nvidia", "535.183.01", ()))
    assert (found.installed, found.other_kernels) == ((), ("6.11.0-19-generic",))
    old = modules("nvidia, 470.82.01, 5.4.0-90-generic, x86_64: installed\n", matrix)
    assert old.dkms == (DkmsModule("nvidia", "470.82.01", ("5.4.0-90-generic",)),)


def test_modinfo_states_the_file_and_its_signature(matrix: Matrix) -> None:
    assert modules(MODINFO, matrix).installed == (
        ModuleFile("nvidia", "/lib/modules/6.11.0-21-generic/updates/dkms/nvidia.ko.zst", signed=True),
    )


@pytest.mark.parametrize(("word", "state"), [("enabled", True), ("disabled", False)])
def test_mokutil_states_secure_boot(word: str, state: bool, matrix: Matrix) -> None:
    assert modules(f"$ mokutil --sb-state\nSecureBoot {word}\n", matrix).secure_boot is state


CASES = (
    ("kernel-module-not-built", UNAME + DKMS.format(built=19) + NO_DRIVER),
    ("kernel-module-not-built", "nvidia/560.35.03: added\n" + UNAME + NO_DRIVER),
    ("secure-boot-unsigned-module", UNAME + DKMS.format(built=21) + "SecureBoot enabled\n" + NO_DRIVER),
    ("nouveau-loaded", "$ lsmod | grep -i nouveau\nnouveau              3096576  4\n" + NO_DRIVER),
    ("nova-loaded", "nova_core             184320  1\n" + NO_DRIVER),
    ("driver-library-mismatch", PROC + "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 570.133\n"),
)  # fmt: skip


@pytest.mark.parametrize(("cause", "text"), CASES, ids=[f"{cause}-{number}" for number, (cause, _) in enumerate(CASES)])
def test_the_state_of_the_modules_decides(cause: str, text: str, matrix: Matrix) -> None:
    assert causes(text, matrix)[:1] == [cause]


NEAR_MISSES = (
    ("secure-boot-unsigned-module", UNAME + DKMS.format(built=21) + "SecureBoot disabled\n" + NO_DRIVER),
    ("kernel-module-not-built", UNAME + DKMS.format(built=21) + NO_DRIVER),
    ("nouveau-loaded", NVIDIA + "CUDA unknown error - this may be due to an incorrectly set up environment\nblacklist nouveau\n"),
    ("uvm-not-loaded", NVIDIA + "CUDA unknown error - this may be due to an incorrectly set up environment\n"),
)


@pytest.mark.parametrize(("cause", "text"), NEAR_MISSES, ids=[cause for cause, _ in NEAR_MISSES])
def test_a_fact_excludes_a_cause(cause: str, text: str, matrix: Matrix) -> None:
    assert causes(text, matrix)[:1] != [cause]


HEALTHY = (
    PROC,
    OLD_PROC,
    NVIDIA,
    LOADED + NVIDIA,
    MODINFO,
    UNAME + DKMS.format(built=21),
    UNAME + DKMS.format(built=19),
    "SecureBoot enabled\n" + PROC,
)


@pytest.mark.parametrize("text", HEALTHY)
def test_a_healthy_text_has_no_finding(text: str, matrix: Matrix) -> None:
    assert causes(text, matrix) == []


@given(data=st.data())
def test_any_part_in_any_order_is_read(data: st.DataObject, matrix: Matrix) -> None:
    text = data.draw(mangled(PROC + LOADED + NVIDIA + MODINFO + UNAME + DKMS.format(built=19) + "SecureBoot enabled\n" + NO_DRIVER))
    assert is_read_or_refused(text, matrix)


@pytest.mark.parametrize(
    ("text", "flavour"),
    [
        (LOADED + NVIDIA + "license:        Dual MIT/GPL\n", "open"),
        (LOADED + NVIDIA + "license:        NVIDIA\n", "proprietary"),
        ("### NVIDIA Open GPU Kernel Modules Version\n\n575.51.02\n\n" + LOADED + NVIDIA, "open"),
    ],
)
def test_the_licence_or_the_head_of_a_report_tells_the_flavour(text: str, flavour: str, matrix: Matrix) -> None:
    assert driver(text, matrix).flavour == flavour


@pytest.mark.parametrize(
    "text",
    [
        "$ cat /sys/module/nvidia/version\n535.129.03\n",
        "`cat /sys/module/nvidia/version` prints 535.129.03\n",
        "cat /sys/module/nvidia/version -> 535.129.03\n",
    ],
)
def test_the_loaded_module_has_the_version_that_sysfs_shows(text: str, matrix: Matrix) -> None:
    version = driver(text, matrix).version
    assert not isinstance(version, Missing)
    assert version.value == "535.129.03"


def test_an_answer_of_sysfs_decides(matrix: Matrix) -> None:
    text = "$ cat /sys/module/nvidia/version\n535.129.03\n$ nvidia-smi\nFailed to initialize NVML: Driver/library version mismatch\nNVML library version: 535.183\n"
    assert causes(text, matrix)[:1] == ["driver-library-mismatch"]
