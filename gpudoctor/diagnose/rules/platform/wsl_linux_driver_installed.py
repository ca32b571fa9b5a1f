from gpudoctor.derive import MachineView, not_applicable
from gpudoctor.diagnose.advice.shell import removal_command
from gpudoctor.diagnose.rule import TRAINING_FAILS, explains, rule
from gpudoctor.findings import ROOT, Action, Confidence, Domain, Evidence, Fix, Problem, Problems, Rung, Severity
from gpudoctor.snapshot import DriverFile, Libcuda


@rule("GD308", severity=Severity.ERROR, breaks=Rung.LIBCUDA, domain=Domain.DRIVER)
@explains(("wsl-driver-stack-broken", "driver-library-mismatch"), "Linux driver libraries do not work with the Windows driver.")
@explains(("cuda-init-fails", "gpu-count-mismatch", *TRAINING_FAILS), "CUDA finds no device through a Linux libcuda.")
@explains(("required-gpus-missing",), "A Linux libcuda finds no GPU in WSL.")
def wsl_linux_driver_installed(machine: MachineView) -> Problems:
    """Linux NVIDIA driver is installed inside WSL."""
    wsl, libcuda = machine.wsl2, machine.observed.libcuda
    if machine.site.container:
        not_applicable("a container gets its libraries from the runtime")
    packages = wsl.packages if isinstance(wsl.packages, tuple) else ()
    if not packages and not wsl.linux_driver:
        return
    loaded = libcuda.library if isinstance(libcuda, Libcuda) and isinstance(libcuda.library, str) else ""
    shadows = _folder(loaded) in {_folder(file.path) for file in wsl.linux_driver}
    names = ", ".join((*packages, *(file.path for file in wsl.linux_driver)))
    yield Problem(
        message=f"A Linux NVIDIA driver is installed inside WSL{' and its libcuda is loaded' if shadows else ''}: {names}.",
        severity=Severity.WARNING if machine.cuda_works else None,
        confidence=Confidence.CERTAIN if shadows or machine.cuda_works else Confidence.LIKELY,
        evidence=(
            Evidence("packages", ", ".join(packages) or "none", "/var/lib/dpkg/status"),
            *map(_linux_libcuda, wsl.linux_driver),
            Evidence("loaded libcuda", loaded or "none", "the loader"),
        ),
        fixes=(_remove_packages(packages) if packages else _remove_files(wsl.linux_driver),),
    )


def _folder(path: str) -> str:
    return path.rpartition("/")[0]


def _linux_libcuda(file: DriverFile) -> Evidence:
    return Evidence("Linux libcuda.so.1", file.version if isinstance(file.version, str) else "version unknown", file.path)


def _remove_packages(packages: tuple[str, ...]) -> Fix:
    return Fix("Remove the packages", f"sudo apt purge {' '.join(packages)} && sudo ldconfig", action=Action.REINSTALL_PACKAGE)


def _remove_files(files: tuple[DriverFile, ...]) -> Fix:
    """Return the fix that removes files which no package owns: NVIDIA's installer or someone put them there."""
    return Fix(
        "Remove these files; if NVIDIA's .run installer put them there, run nvidia-uninstall instead",
        removal_command(file.path for file in files),
        (ROOT,),
    )
