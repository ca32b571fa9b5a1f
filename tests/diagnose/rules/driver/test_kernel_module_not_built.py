from __future__ import annotations

import msgspec

from gpudoctor.findings import Finding, OutcomeKind
from gpudoctor.snapshot import Cause, DkmsModule, KernelModules, Missing
from tests.builders import ABSENT
from tests.diagnose.rules.asking import findings_of, kinds_of
from tests.diagnose.rules.driver.modules import signed, unloaded

RULE = "kernel-module-not-built"


def test_a_source_without_a_module_is_built() -> None:
    modules = KernelModules(
        installed=(), other_kernels=("6.1.0-18",), headers=False, dkms=(DkmsModule("nvidia", "550.163.01", ("6.1.0-18",)),)
    )
    (finding,) = findings_of(RULE, unloaded(modules))
    assert finding.message.endswith("only for 6.1.0-18.")
    assert [fix.command for fix in finding.fixes][:2] == [
        'sudo apt install "linux-headers-$(uname -r)"',
        "sudo dkms autoinstall && sudo modprobe nvidia",
    ]


def test_a_module_for_the_running_kernel_is_enough() -> None:
    assert kinds_of(RULE, unloaded(signed(signature=True, other_kernels=()))) == [OutcomeKind.PASSED]


def test_nothing_installed_is_not_half_installed() -> None:
    modules = KernelModules(installed=(), other_kernels=(), dkms=(), blocked=())
    snapshot = unloaded(modules, nvml=ABSENT, libcuda=ABSENT)
    assert kinds_of(RULE, snapshot) == [OutcomeKind.NOT_APPLICABLE]
    assert findings_of("no-driver", snapshot)


def test_no_list_of_modules_at_all_is_ignorance() -> None:
    assert kinds_of(RULE, unloaded(KernelModules(installed=ABSENT, other_kernels=ABSENT))) == [OutcomeKind.COULD_NOT_TELL]


def test_an_old_snapshot_did_not_ask() -> None:
    kept = msgspec.structs.replace(unloaded(KernelModules()), kernel_modules=Missing(Cause.NOT_ASKED, "not asked for"))
    assert kinds_of(RULE, kept) == [OutcomeKind.NOT_ASKED]
    assert [finding.because_of for finding in findings_of("no-driver", kept)] == [()]


def test_a_driver_that_debian_built_for_older_kernels_only_is_not_proposed() -> None:
    def found(version: str, kernel: str) -> Finding:
        failed = DkmsModule("nvidia-current", version, (), failed=(kernel,))
        snapshot = unloaded(KernelModules(installed=(), other_kernels=("6.1.0-18",), headers=True, dkms=(failed,)))
        host = msgspec.structs.replace(snapshot.host, distribution="debian", distribution_version="12", kernel=kernel)
        return findings_of(RULE, msgspec.structs.replace(snapshot, host=host))[0]

    def update(version: str, kernel: str) -> str:
        title = f"Install a driver newer than {version}"
        return next(fix.command for fix in found(version, kernel).fixes if fix.title.startswith(title))

    assert update("525.147.05", "6.16.12-amd64").startswith("sudo apt install nvidia-driver ")
    assert update("525.147.05", "6.17.4+deb12-amd64").endswith("sudo apt install nvidia-open")
    shown = {evidence.what: evidence.value for evidence in found("535.309.01", "6.17.4+deb12-amd64").evidence}
    assert shown["newest kernel that nvidia-driver 535.309.01 was built for"] == "6.16"
    assert not [evidence for evidence in found("535.309.01", "6.16.12-amd64").evidence if "newest kernel" in evidence.what]
