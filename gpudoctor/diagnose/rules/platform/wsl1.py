from gpudoctor.derive import MachineView, not_applicable, require_known
from gpudoctor.diagnose.rule import TRAINING_FAILS, advises, explains, rule
from gpudoctor.findings import Domain, Evidence, Fix, Problem, Problems, Rung, Severity
from gpudoctor.snapshot import Platform


@rule("GD309", severity=Severity.ERROR, breaks=Rung.KERNEL_DRIVER, domain=Domain.DRIVER)
@advises(
    Fix("Convert the distribution to WSL 2, in PowerShell: wsl --set-version NAME 2 (wsl --list --verbose shows NAME)."),
    Fix("Make WSL 2 the default, in PowerShell: wsl --set-default-version 2."),
)
@explains(("wsl-driver-stack-broken", "wsl-libcuda-not-on-path", "container-no-gpu-access"), "WSL 1 has no GPU driver interface.")
@explains(("cuda-init-fails", "gpu-count-mismatch", *TRAINING_FAILS), "WSL 1 cannot access a GPU.")
@explains(("required-gpus-missing",), "WSL 1 cannot access a GPU.")
def wsl1(machine: MachineView) -> Problems:
    """WSL 1 cannot access a GPU."""
    host = machine.host
    platform = require_known(host.platform)
    if platform not in {Platform.WSL1, Platform.WSL2}:
        not_applicable("not WSL")
    if platform != Platform.WSL1:
        return
    kernel = host.kernel if isinstance(host.kernel, str) else host.kernel.reason
    yield Problem(
        message="This distribution runs on WSL 1, which cannot access a GPU.",
        evidence=(Evidence("kernel", kernel, "/proc/sys/kernel/osrelease"),),
    )
