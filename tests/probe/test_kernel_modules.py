from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from gpudoctor.probe.kernel_modules import SECURE_BOOT_VARIABLE, kernel_modules
from gpudoctor.snapshot import Blocked, Cause, DkmsModule, KernelModules, Missing
from tests.machines.recipes.kernel import DRIVER, KERNEL, OLDER, SIGNED, dkms, modules, without_module
from tests.probe.places import Content, plant


def seen(tmp_path: Path, files: Mapping[str, Content], *, loaded: bool = False) -> KernelModules:
    return kernel_modules(plant(tmp_path, files), KERNEL, loaded=loaded)


def test_the_modules_of_the_running_kernel(tmp_path: Path) -> None:
    found = seen(tmp_path, {**modules(content=SIGNED), f"lib/modules/{KERNEL}/build/Makefile": ""})
    assert isinstance(found.installed, tuple)
    assert [module_file.name for module_file in found.installed] == ["nvidia", "nvidia_uvm", "nvidia_modeset", "nvidia_drm"]
    assert found.installed[0].signed is True
    assert found.headers is True


def test_a_compressed_modules_signature_is_unknown(tmp_path: Path) -> None:
    listed = {
        f"lib/modules/{KERNEL}/modules.dep": "extra/nvidia.ko.xz:\nkernel/drivers/video/fbdev/nvidia/nvidiafb.ko: extra/nvidia.ko.xz\n"
    }
    found = seen(tmp_path, listed)
    assert isinstance(found.installed, tuple)
    (module,) = found.installed
    assert isinstance(module.signed, Missing)
    assert module.signed.cause is Cause.UNSUPPORTED


def test_modules_of_another_kernel(tmp_path: Path) -> None:
    found = seen(tmp_path, {**without_module(), **modules(OLDER)})
    assert (found.installed, found.other_kernels, found.headers) == ((), (OLDER,), False)


def test_a_missing_module_list_is_not_an_empty_one(tmp_path: Path) -> None:
    found = seen(tmp_path, modules(OLDER))
    assert isinstance(found.installed, Missing)
    assert found.other_kernels == (OLDER,)


def test_dkms_builds_and_failures(tmp_path: Path) -> None:
    found = seen(tmp_path, dkms(OLDER, failed=KERNEL))
    assert found.dkms == (DkmsModule("nvidia-current", DRIVER, (OLDER,), (KERNEL,)),)


def test_blocked_modules(tmp_path: Path) -> None:
    found = seen(
        tmp_path,
        {
            "etc/modprobe.d/a.conf": "#blacklist nvidia\nblacklist nouveau\noptions nouveau modeset=0\n",
            "lib/modprobe.d/a.conf": "blacklist nvidia\n",
            "lib/modprobe.d/b.conf": "install nvidia /bin/false\n",
            "lib/modprobe.d/c.conf": "blacklist nova-core\ninstall nova_drm /usr/bin/true\ninstall nouveau /sbin/modprobe nvidia\nblacklist\n",
            "lib/modprobe.d/README": "blacklist nvidia\n",
            "proc/cmdline": "root=/dev/sda1 modprobe.blacklist=pcspkr,nouveau module_blacklist=nvidia quiet\n",
        },
    )
    assert found.blocked == (
        Blocked("nouveau", "/etc/modprobe.d/a.conf", "blacklist"),
        Blocked("nvidia", "/lib/modprobe.d/b.conf", "install"),
        Blocked("nova_core", "/lib/modprobe.d/c.conf", "blacklist"),
        Blocked("nova_drm", "/lib/modprobe.d/c.conf", "install"),
        Blocked("nouveau", "/proc/cmdline", "blacklist"),
        Blocked("nvidia", "/proc/cmdline", "install"),
    )


@pytest.mark.parametrize(("last", "on"), [(b"\x01", True), (b"\x00", False)])
def test_secure_boot(tmp_path: Path, last: bytes, *, on: bool) -> None:
    assert seen(tmp_path, {SECURE_BOOT_VARIABLE: b"\x06\x00\x00\x00" + last}).secure_boot is on


def test_unknown_secure_boot_state(tmp_path: Path) -> None:
    without_efi = seen(tmp_path / "a", {"proc/cmdline": ""}).secure_boot
    hidden = seen(tmp_path / "b", {"sys/firmware/efi/runtime": ""}).secure_boot
    assert isinstance(without_efi, Missing)
    assert isinstance(hidden, Missing)
    assert (without_efi.cause, hidden.cause) == (Cause.ABSENT, Cause.FAILED)


def test_numbers_and_words_of_the_kernel(tmp_path: Path) -> None:
    found = seen(
        tmp_path,
        {
            "sys/kernel/security/lockdown": "none [integrity] confidentiality\n",
            "sys/module/module/parameters/sig_enforce": "N\n",
            "proc/sys/kernel/tainted": "4097\n",
            "sys/power/suspend_stats/success": "3\n",
        },
        loaded=True,
    )
    assert (found.lockdown, found.signatures_enforced, found.taint, found.suspends) == ("integrity", False, 4097, 3)
    assert isinstance(found.installed, Missing)
    assert found.installed.cause is Cause.NOT_ASKED
