"""GD3: the Windows Subsystem for Linux, where the driver is that of Windows."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Hardware, Site
from gpudoctor.diagnose.fixes import DOWNLOAD, REBOOT, ROOT, shell_path
from gpudoctor.diagnose.rule import need, not_applicable, rule
from gpudoctor.findings import Confidence, Evidence, Fix, FixKind, Problem, Rung, Severity
from gpudoctor.snapshot import Cause, Host, Libcuda, Missing, Nvml, NvmlGpu, Platform, Snapshot, Status, Wsl

_LIBRARIES = "/usr/lib/wsl/lib"
_NEEDED = ("libcuda.so.1", "libnvidia-ml.so.1")
_RESTART = "in PowerShell: wsl --shutdown"
_GUIDE = "https://docs.nvidia.com/cuda/wsl-user-guide/"


def _here(wsl: Wsl | Missing, site: Site) -> Wsl:
    """The section, where the rule has something to say."""
    if site.platform not in {Platform.WSL2, "unknown"} or (isinstance(wsl, Missing) and wsl.cause is Cause.ABSENT):
        not_applicable("not WSL 2")
    return need(wsl)


@rule("GD306", severity=Severity.ERROR, breaks=Rung.LIBCUDA, since="0.1")
def wsl_libcuda_not_on_path(wsl: Wsl | Missing, site: Site, libcuda: Libcuda | Missing) -> Iterator[Problem]:
    """Windows' libcuda is in /usr/lib/wsl/lib, where the loader does not look.

    ## Why it matters
    WSL 2 shows the driver of Windows in /usr/lib/wsl/lib and tells the loader of it by /etc/ld.so.conf.d/ld.wsl.conf. Where that file
    is missing, was switched off in /etc/wsl.conf, or ldconfig did not run since, programs find no libcuda.so.1 and use the CPU.

    ## What to do
    Write the file and run ldconfig. Do not install a Linux driver or a libcuda from a package.

    ## References
    - https://docs.nvidia.com/cuda/wsl-user-guide/
    - https://learn.microsoft.com/windows/wsl/wsl-config
    """
    seen = _here(wsl, site)
    if isinstance(libcuda, Libcuda):
        return
    if libcuda.cause is not Cause.ABSENT:
        need(libcuda, Rung.LIBCUDA)
    if isinstance(seen.libraries, Missing) or _NEEDED[0] not in seen.libraries:
        not_applicable(f"{_LIBRARIES} holds no libcuda.so.1")
    conf = seen.loader_conf
    yield Problem(
        message=f"{_LIBRARIES}/libcuda.so.1 is there, and the loader does not find it.",
        evidence=(
            Evidence("libcuda.so.1", libcuda.reason, "the loader"),
            Evidence("the loader's configuration", conf if isinstance(conf, str) else conf.reason, "/etc/ld.so.conf.d"),
        ),
        fixes=(
            Fix(
                "Tell the loader of the folder",
                f"echo {_LIBRARIES} | sudo tee /etc/ld.so.conf.d/ld.wsl.conf && sudo ldconfig",
                (ROOT,),
            ),
            Fix(
                "For this shell alone",
                f'export LD_LIBRARY_PATH="{_LIBRARIES}${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}"',
                kind=FixKind.INSTEAD,
            ),
        ),
    )


@rule("GD307", severity=Severity.ERROR, breaks=Rung.KERNEL_DRIVER, since="0.1")
def wsl_driver_stack_broken(wsl: Wsl | Missing, site: Site, snapshot: Snapshot) -> Iterator[Problem]:
    """The driver of Windows does not reach into WSL.

    ## Why it matters
    WSL 2 reaches the GPU through /dev/dxg and the libraries that the Windows driver shows in /usr/lib/wsl/lib. If one is missing, or
    both libraries refuse, then Windows' driver has no WSL support, was upgraded under a running WSL, or WSL's kernel is old. Nothing
    that is installed inside WSL repairs that.

    ## What to do
    Shut WSL down and start it again; renew the NVIDIA driver in Windows and WSL itself.

    ## References
    - https://docs.nvidia.com/cuda/wsl-user-guide/
    - https://learn.microsoft.com/windows/wsl/tutorials/gpu-compute
    """
    seen = _here(wsl, site)
    if site.container:
        not_applicable("a container is given what WSL has, or not")
    present = () if isinstance(seen.libraries, Missing) and seen.libraries.cause is Cause.ABSENT else need(seen.libraries)
    lacking = [*(() if seen.device else ("/dev/dxg",)), *(f"{_LIBRARIES}/{name}" for name in _NEEDED if name not in present)]
    refusing = _refusals(snapshot)
    if not lacking and len(refusing) < len(_NEEDED):
        return
    said = f"{', '.join(lacking)} {'is' if len(lacking) == 1 else 'are'} missing" if lacking else "both its libraries refuse to start"
    yield Problem(
        message=f"The driver of Windows does not reach into WSL: {said}.",
        confidence=Confidence.CERTAIN if lacking else Confidence.LIKELY,
        evidence=(
            Evidence("/dev/dxg", "there" if seen.device else "missing", "/dev"),
            Evidence("libraries of Windows' driver", ", ".join(name for name in _NEEDED if name in present) or "none", _LIBRARIES),
            *refusing,
        ),
        fixes=(
            Fix("Shut WSL down and start it again", "wsl.exe --shutdown"),
            Fix("Update WSL", "wsl.exe --update", (DOWNLOAD,), kind=FixKind.ELSE),
            Fix(
                "Install the current NVIDIA driver in Windows, never in WSL: https://www.nvidia.com/drivers",
                needs=(DOWNLOAD, REBOOT),
                kind=FixKind.ELSE,
            ),
        ),
    )


def _refusals(snapshot: Snapshot) -> tuple[Evidence, ...]:
    """What NVML and libcuda (without a mask, where there is one) answered instead of starting."""
    asked = snapshot.libcuda_unmasked if isinstance(snapshot.libcuda_unmasked, Libcuda) else snapshot.libcuda
    sections = (("nvmlInit", snapshot.nvml), ("cuInit", asked))
    inits = ((call, section.init) for call, section in sections if isinstance(section, Nvml | Libcuda))
    return tuple(Evidence(call, f"{init.code} {init.name}", "the driver") for call, init in inits if isinstance(init, Status) and init.code)


@rule("GD308", severity=Severity.ERROR, breaks=Rung.LIBCUDA, since="0.1")
def wsl_linux_driver_installed(wsl: Wsl | Missing, site: Site, snapshot: Snapshot) -> Iterator[Problem]:
    """An NVIDIA driver for Linux is installed inside WSL.

    ## Why it matters
    Inside WSL the libraries of Windows' driver are the only ones that reach the GPU. A package with a Linux libcuda.so.1 (a driver,
    or the distribution's nvidia-cuda-toolkit, which pulls one in) puts another in front of them, and CUDA finds no device.

    It is an error where CUDA does not work and a warning where it does: the next ldconfig may change which library wins.

    ## What to do
    Remove those packages; keep the CUDA toolkit from NVIDIA's source for WSL, or the wheels' own CUDA, which bring no driver.

    ## References
    - https://docs.nvidia.com/cuda/wsl-user-guide/
    """
    seen = _here(wsl, site)
    if site.container:
        not_applicable("the container's libraries are given to it")
    packages = seen.packages if isinstance(seen.packages, tuple) else ()
    if not packages and not seen.linux_driver:
        return
    loaded = snapshot.libcuda.library if isinstance(snapshot.libcuda, Libcuda) and isinstance(snapshot.libcuda.library, str) else ""
    wins = any(file.path.rpartition("/")[0] == loaded.rpartition("/")[0] for file in seen.linux_driver)
    works = isinstance(snapshot.libcuda, Libcuda) and isinstance(snapshot.libcuda.init, Status) and not snapshot.libcuda.init.code
    names = ", ".join((*packages, *(file.path for file in seen.linux_driver)))
    remove = Fix("Remove the packages", f"sudo apt purge {' '.join(packages)} && sudo ldconfig", (ROOT,))
    yield Problem(
        message=f"A Linux driver is installed inside WSL: {names}{'; its libcuda is the one that programs load' if wins else ''}.",
        severity=Severity.WARNING if works else None,
        confidence=Confidence.CERTAIN if wins or works else Confidence.LIKELY,
        evidence=(
            Evidence("packages", ", ".join(packages) or "none", "/var/lib/dpkg/status"),
            *(Evidence("libcuda.so.1 for Linux", _version(file.version), file.path) for file in seen.linux_driver),
            Evidence("libcuda that is loaded", loaded or "none", "the loader"),
        ),
        fixes=(remove if packages else _without(seen),),
    )


def _without(seen: Wsl) -> Fix:
    """Files that no package lists: an installer of NVIDIA's put them there, or nobody knows who."""
    files = " ".join(shell_path(file.path) for file in seen.linux_driver)
    return Fix("Remove these files, or the driver as a whole with nvidia-uninstall", f"sudo rm {files} && sudo ldconfig", (ROOT,))


def _version(version: str | Missing) -> str:
    return version if isinstance(version, str) else "of unknown release"


@rule("GD309", severity=Severity.ERROR, breaks=Rung.KERNEL_DRIVER, since="0.1")
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


@rule("GD310", severity=Severity.NOTE, breaks=Rung.TRAINED, since="0.1", predicts=False)
def wsl_multi_gpu_limit(wsl: Wsl | Missing, site: Site, hardware: Hardware) -> Iterator[Problem]:
    """Several GPUs under WSL 2 work together only in part.

    ## Why it matters
    GPUs under WSL 2 belong to Windows. Classic CUDA inter-process handles are not supported, so NCCL takes the way through shared
    host memory, or fails where it was told otherwise; and containers are given all GPUs or none.

    ## What to do
    Train with one GPU a process, or use Linux without Windows for several. If NCCL hangs, set NCCL_P2P_DISABLE=1.

    ## References
    - https://docs.nvidia.com/cuda/wsl-user-guide/
    """
    _here(wsl, site)
    if len(hardware) < 2:
        return
    yield Problem(
        message=f"{len(hardware)} GPUs under WSL 2: they exchange data through host memory, slower than without Windows.",
        evidence=(Evidence("GPUs", str(len(hardware)), "NVML, CUDA"),),
        fixes=(Fix("If several processes hang in NCCL", "export NCCL_P2P_DISABLE=1"),),
    )


@rule("GD311", severity=Severity.NOTE, breaks=Rung.TRAINED, since="0.1", predicts=False)
def wsl_pinned_memory_limit(wsl: Wsl | Missing, site: Site, hardware: Hardware) -> Iterator[Problem]:
    r"""WSL 2 has less memory than its GPU, and only a part of it can be pinned.

    ## Why it matters
    WSL 2 is a virtual machine that is given half of Windows' memory unless told otherwise, and Windows lets it pin only a part of
    that for the GPU. Data loaders that pin memory, and offloading of weights, then fail with "out of memory" while the GPU is empty.

    ## What to do
    Raise `memory=` in %UserProfile%\.wslconfig and restart WSL, or do without pinned memory.

    ## References
    - https://docs.nvidia.com/cuda/wsl-user-guide/
    - https://learn.microsoft.com/windows/wsl/wsl-config
    """
    memory = need(_here(wsl, site).memory)
    sizes = [gpu.nvml.memory_total for gpu in hardware if isinstance(gpu.nvml, NvmlGpu) and isinstance(gpu.nvml.memory_total, int)]
    if not sizes:
        not_applicable("the memory of no GPU is known")
    if memory >= max(sizes):
        return
    yield Problem(
        message=f"WSL has {memory >> 30} GiB of memory, its GPU {max(sizes) >> 30} GiB: pinned memory will be scarce.",
        evidence=(
            Evidence("memory of WSL", f"{memory >> 20} MiB", "/proc/meminfo"),
            Evidence("of the GPU", f"{max(sizes) >> 20} MiB", "NVML"),
        ),
        fixes=(Fix(f"Raise memory= below [wsl2] in %UserProfile%\\.wslconfig, then restart WSL ({_RESTART})."),),
    )


RULES = (
    wsl_libcuda_not_on_path,
    wsl_driver_stack_broken,
    wsl_linux_driver_installed,
    wsl1,
    wsl_multi_gpu_limit,
    wsl_pinned_memory_limit,
)
