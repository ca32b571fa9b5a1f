from gpudoctor.derive import MachineView, not_applicable, require_known
from gpudoctor.diagnose.rule import TRAINING_FAILS, advises, explains, rule
from gpudoctor.diagnose.rules.platform.wsl import NEEDED_LIBRARIES, WSL_LIBRARY_FOLDER
from gpudoctor.findings import DOWNLOAD, REBOOT, Action, Confidence, Domain, Evidence, Fix, FixKind, Problem, Problems, Rung, Severity
from gpudoctor.findings.wording import singular_or_plural
from gpudoctor.snapshot import Libcuda, Nvml, Status, Wsl, is_absent


@rule("GD307", severity=Severity.ERROR, breaks=Rung.KERNEL_DRIVER, domain=Domain.DRIVER)
@advises(
    Fix("Shut WSL down and start it again", "wsl.exe --shutdown", action=Action.REBOOT),
    Fix("Update WSL", "wsl.exe --update", (DOWNLOAD,), kind=FixKind.ELSE),
    Fix(
        "Install the current NVIDIA driver in Windows, never in WSL: https://www.nvidia.com/drivers",
        needs=(DOWNLOAD, REBOOT),
        kind=FixKind.ELSE,
        action=Action.UPDATE_DRIVER,
    ),
)
@explains(("wsl-libcuda-not-on-path", "libcuda-not-on-loader-path"), "In WSL, libcuda comes from the Windows driver.")
@explains(("cuda-init-fails", "gpu-count-mismatch", *TRAINING_FAILS), "In WSL, CUDA works through the Windows driver.")
@explains(("required-gpus-missing",), "WSL has no usable GPU.")
def wsl_driver_stack_broken(machine: MachineView) -> Problems:
    """Windows driver is not exposed in WSL."""
    wsl = machine.wsl2
    if machine.site.container:
        not_applicable("a container sees only what its runtime adds")
    present = _exposed_libraries(wsl)
    missing = [f"{WSL_LIBRARY_FOLDER}/{name}" for name in NEEDED_LIBRARIES if name not in present]
    if not wsl.device:
        missing.insert(0, "/dev/dxg")
    failures = _init_failures(machine)
    if not missing and len(failures) < len(NEEDED_LIBRARIES):
        return
    what = (
        f"{', '.join(missing)} {singular_or_plural(len(missing), 'is', 'are')} missing" if missing else "NVML and CUDA fail to initialise"
    )
    yield Problem(
        message=f"The Windows NVIDIA driver is not exposed in WSL: {what}.",
        confidence=Confidence.CERTAIN if missing else Confidence.LIKELY,
        evidence=(
            Evidence("/dev/dxg", "present" if wsl.device else "missing", "/dev"),
            Evidence(
                "libraries of the Windows driver",
                ", ".join(name for name in NEEDED_LIBRARIES if name in present) or "none",
                WSL_LIBRARY_FOLDER,
            ),
            *failures,
        ),
    )


def _exposed_libraries(wsl: Wsl) -> tuple[str, ...]:
    absent = is_absent(wsl.libraries)
    return () if absent else require_known(wsl.libraries)


def _init_failures(machine: MachineView) -> tuple[Evidence, ...]:
    """Return how NVML and libcuda (without CUDA_VISIBLE_DEVICES) failed to initialise, as evidence."""
    observed = machine.observed
    libcuda = observed.libcuda_unmasked if isinstance(observed.libcuda_unmasked, Libcuda) else observed.libcuda
    inits = [
        (call, section.init) for call, section in (("nvmlInit", observed.nvml), ("cuInit", libcuda)) if isinstance(section, Nvml | Libcuda)
    ]
    return tuple(Evidence(call, f"{init.code} {init.name}", "the driver") for call, init in inits if isinstance(init, Status) and init.code)
