"""GD309: wsl1."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.diagnose.rule import Explains, need, not_applicable, rule
from gpudoctor.diagnose.rules.effects import TRAINING_FAILS
from gpudoctor.findings import Evidence, Fix, Problem, Rung, Severity
from gpudoctor.snapshot import Host, Platform


@rule(
    "GD309",
    severity=Severity.ERROR,
    breaks=Rung.KERNEL_DRIVER,
    since="0.1",
    explains=(
        Explains(
            (
                "cuda-init-fails",
                "gpu-count-mismatch",
                "wsl-driver-stack-broken",
                "wsl-libcuda-not-on-path",
                "container-no-gpu-access",
                "required-gpus-missing",
                *TRAINING_FAILS,
            ),
            "",
        ),
    ),
)
def wsl1(host: Host) -> Iterator[Problem]:
    """WSL is version 1, from which no GPU can be reached.

    ## Why it matters
    WSL 1 translates system calls and has no Linux kernel, so no way to a GPU. Only WSL 2 has one.

    ## What to do
    Convert the distribution to WSL 2, which keeps its files. It needs virtualisation switched on in the firmware.

    ## References
    - https://learn.microsoft.com/windows/wsl/basic-commands
    """
    platform = need(host.platform)
    if platform not in {Platform.WSL1, Platform.WSL2}:
        not_applicable("not WSL")
    if platform != Platform.WSL1:
        return
    kernel = host.kernel if isinstance(host.kernel, str) else host.kernel.reason
    yield Problem(
        message="This is WSL 1, from which no GPU can be reached.",
        evidence=(Evidence("kernel", kernel, "/proc/sys/kernel/osrelease"),),
        fixes=(
            Fix("Convert it, in PowerShell (wsl --list --verbose shows its name): wsl --set-version NAME 2."),
            Fix("Make version 2 the default, in PowerShell: wsl --set-default-version 2."),
        ),
    )
