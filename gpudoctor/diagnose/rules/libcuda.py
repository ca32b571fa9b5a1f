"""GD2: which libcuda a program would load, and whether it is the driver's own."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from gpudoctor import versions
from gpudoctor.derive import Hardware, MachineView, Site
from gpudoctor.derive import libcuda as library
from gpudoctor.diagnose.driver_fixes import install_driver
from gpudoctor.diagnose.fixes import DOWNLOAD, ROOT, shell_list, shell_path, unset
from gpudoctor.diagnose.rule import need, not_applicable, rule
from gpudoctor.findings import Evidence, Fix, FixKind, Problem, Rung, Severity
from gpudoctor.snapshot import Cause, CudaFile, CudaFiles, Fact, KernelDriver, Libcuda, Missing, Mps, Python, Snapshot, Status

_COMPAT_NOT_SUPPORTED, _MISMATCH = 804, 803
_MPS = {805, 806, 807, 808, 809, 810}
"""CUresult of the Multi-Process Service, CUDA_ERROR_MPS_*."""


def _said(libcuda: Libcuda, snapshot: Snapshot) -> tuple[Evidence, ...]:
    """What cuInit answered, from which file, and what brought the loader there."""
    code = library.code(libcuda)
    name = libcuda.init.name if isinstance(libcuda.init, Status) else ""
    values = {} if isinstance(snapshot.variables, Missing) else snapshot.variables.values
    return (
        Evidence("libcuda that was loaded", library.path(libcuda) or "not known", "/proc/self/maps"),
        *((Evidence("cuInit", f"{code} {name}", "libcuda"),) if code else ()),
        *(Evidence(one, values[one], "environment") for one in ("LD_LIBRARY_PATH", "LD_PRELOAD") if values.get(one)),
    )


def _take_away(path: str, snapshot: Snapshot, site: Site) -> tuple[Fix, ...]:
    """How to get a file off the loader's path: out of the variable that names its folder, else out of the loader's configuration."""
    folder = path.rpartition("/")[0]
    values = {} if isinstance(snapshot.variables, Missing) else snapshot.variables.values
    if path and values.get("LD_PRELOAD") and path in values["LD_PRELOAD"].replace(":", " ").split():
        return (unset("LD_PRELOAD"),)
    entries = [one for one in values.get("LD_LIBRARY_PATH", "").split(":") if one]
    left = [one for one in entries if one.rstrip("/") != folder]
    image = " (in a container, change the image as well)" if site.container else ""
    if len(left) < len(entries):
        line = f"export LD_LIBRARY_PATH={shell_list(left)}" if left else "unset LD_LIBRARY_PATH"
        return (Fix(f"Take {folder} out of LD_LIBRARY_PATH, here and where it is set{image}", line),)
    if not path:
        return (Fix("Take the folder of this libcuda off the loader's path."),)
    line = f"sudo sed -i '\\#^{folder}/*$#s/^/# /' /etc/ld.so.conf.d/*.conf && sudo ldconfig"
    return (Fix(f"Take {folder} out of the loader's configuration{image}", line, (ROOT,)),)


def _newer(path: str, machine: MachineView) -> Fix:
    """The driver with which no cuda-compat library is needed: one of that library's own release."""
    release = library.release(path)
    least = versions.parse(release.text) if release else None
    title = "" if least else "Update the NVIDIA driver"
    return msgspec.structs.replace(install_driver(machine, least, what=title), kind=FixKind.INSTEAD)


def _module(kernel_driver: KernelDriver | Missing) -> str:
    version = kernel_driver.version if isinstance(kernel_driver, KernelDriver) else kernel_driver
    return version.value if isinstance(version, Fact) else "not known"


@rule("GD216", severity=Severity.ERROR, breaks=Rung.LIBCUDA, since="0.1", predicts=False)
def forward_compat_unsupported_hw(
    libcuda: Libcuda | Missing, kernel_driver: KernelDriver | Missing, snapshot: Snapshot, machine: MachineView
) -> Iterator[Problem]:
    """A cuda-compat library is in use on a GPU that may not use it.

    ## Why it matters
    The package cuda-compat brings a newer libcuda that runs over an older kernel driver. NVIDIA allows that for data-centre GPUs and
    some workstation ones only; elsewhere cuInit answers 804, "forward compatibility was attempted on non supported HW". Images of
    newer CUDA releases switch it on by themselves where the host's driver is older than their CUDA.

    ## What to do
    Renew the host's driver, so that the library is not needed; or take the library off the loader's path and use builds for the
    CUDA that the driver serves.

    ## References
    - https://docs.nvidia.com/deploy/cuda-compatibility/
    """
    loaded = need(libcuda, Rung.LIBCUDA)
    if need(loaded.init, Rung.LIBCUDA).code != _COMPAT_NOT_SUPPORTED:
        return
    path = library.path(loaded)
    yield Problem(
        message=f"cuInit answers 804: {path or 'the loaded libcuda'} is newer than the kernel driver "
        f"({_module(kernel_driver)}), and this GPU may not bridge that.",
        evidence=(*_said(loaded, snapshot), Evidence("kernel driver", _module(kernel_driver), "/proc/driver/nvidia/version")),
        fixes=(*_take_away(path, snapshot, machine.site), _newer(path, machine)),
    )


@rule("GD217", severity=Severity.ERROR, breaks=Rung.LIBCUDA, since="0.1", predicts=False)
def cuda_compat_lib_conflict(
    libcuda: Libcuda | Missing, kernel_driver: KernelDriver | Missing, snapshot: Snapshot, machine: MachineView
) -> Iterator[Problem]:
    """A cuda-compat library comes before the driver's own and does not fit it.

    ## Why it matters
    The libcuda of a cuda-compat package runs over the kernel drivers of certain older branches, not over newer ones than itself nor
    over any other. Where an image or LD_LIBRARY_PATH puts it first all the same, cuInit answers 803.

    ## What to do
    Take the compat folder off the loader's path; a driver at least as new as the CUDA in use needs no such library. In an image,
    remove the package or unset what names its folder.

    ## References
    - https://docs.nvidia.com/deploy/cuda-compatibility/
    """
    loaded = need(libcuda, Rung.LIBCUDA)
    init = need(loaded.init, Rung.LIBCUDA)
    path = library.path(loaded)
    if init.code != _MISMATCH:
        return
    if not path:
        need(loaded.library, Rung.LIBCUDA)
    if not library.is_compat(path):
        return
    release = library.release(path)
    yield Problem(
        message=f"cuInit answers 803: the loader takes {path}{f' (release {release})' if release else ''} from a cuda-compat package, "
        f"which does not run over the kernel driver {_module(kernel_driver)}.",
        evidence=(*_said(loaded, snapshot), Evidence("kernel driver", _module(kernel_driver), "/proc/driver/nvidia/version")),
        fixes=(*_take_away(path, snapshot, machine.site), _newer(path, machine)),
    )


def _listed(files: list[CudaFile]) -> tuple[Evidence, ...]:
    return tuple(
        Evidence("libcuda on disk", file.path, f"{file.bits}-bit, {file.machine}" if isinstance(file.bits, int) else "no ELF file")
        for file in files
    )


@rule("GD218", severity=Severity.ERROR, breaks=Rung.LIBCUDA, since="0.1")
def libcuda_not_on_loader_path(
    libcuda: Libcuda | Missing, files: CudaFiles | Missing, python: Python | Missing, site: Site, hardware: Hardware
) -> Iterator[Problem]:
    """The driver's libcuda is on disk, and the loader does not find it.

    ## Why it matters
    Every CUDA program asks the loader for libcuda.so.1. It looks into LD_LIBRARY_PATH, its cache (ldconfig) and its default folders
    only. A driver that was mounted, unpacked or moved elsewhere is not there for programs, though nvidia-smi may work.

    ## What to do
    Tell the loader about the folder, or put the link libcuda.so.1 where it is lacking; ldconfig does both.

    ## References
    - https://man7.org/linux/man-pages/man8/ld.so.8.html
    """
    if site.on_wsl:
        not_applicable("under WSL libcuda belongs to Windows' driver")
    if site.has_pci and not hardware:
        not_applicable("there is no GPU that it could drive")
    if not isinstance(libcuda, Missing):
        return
    if libcuda.cause is not Cause.ABSENT:
        need(libcuda, Rung.LIBCUDA)
    there = [file for file in library.drivers_own(need(files)) if library.fits(file, python)]
    if not there:
        not_applicable("no libcuda that this interpreter could load is in the folders where drivers put it")
    path = there[0].path
    folder, _, name = path.rpartition("/")
    conf = f"echo {shell_path(folder)} | sudo tee /etc/ld.so.conf.d/nvidia-libcuda.conf && sudo ldconfig"
    add = f'export LD_LIBRARY_PATH={shell_path(folder)}"${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}"'
    here = Fix("For this shell alone", add, kind=FixKind.INSTEAD)
    lasting = Fix(f"Tell the loader about {folder}", conf, (ROOT,))
    link = Fix("Let ldconfig make the link libcuda.so.1", f"sudo ldconfig {shell_path(folder)}", (ROOT,))
    yield Problem(
        message=f"The loader finds no libcuda.so.1, and {path} is there"
        + (" without a link of that name." if name != "libcuda.so.1" else ": its folder is not on the loader's path."),
        evidence=(Evidence("the loader", libcuda.reason, "dlopen"), *_listed(there)),
        fixes=(lasting, here) if name == "libcuda.so.1" else (link,),
    )


@rule("GD219", severity=Severity.ERROR, breaks=Rung.LIBCUDA, since="0.1", predicts=False)
def libcuda_is_stub(
    libcuda: Libcuda | Missing, files: CudaFiles | Missing, snapshot: Snapshot, machine: MachineView, hardware: Hardware
) -> Iterator[Problem]:
    """The libcuda that the loader takes is a toolkit's stub, not the driver's library.

    ## Why it matters
    Toolkits carry a libcuda without content, in a folder named stubs, so that programs can be linked on machines without a GPU. It
    must never be loaded: cuInit answers 34 (CUDA_ERROR_STUB_LIBRARY), older stubs less clearly.

    ## What to do
    Take the stubs folder out of LD_LIBRARY_PATH and the loader's configuration. Where a build needs it, name it to the linker only
    (-L, LIBRARY_PATH). An image that made libcuda.so.1 there must not keep it.

    ## References
    - https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__TYPES.html
    """
    if machine.site.has_pci and not hardware:
        not_applicable("there is no GPU that it could drive")
    loaded = need(libcuda, Rung.LIBCUDA)
    path = library.path(loaded)
    code = library.code(loaded)
    refuses = code or isinstance(loaded.init, Missing)
    if code != library.STUB_LIBRARY and not (library.is_stub(path) and refuses):
        return
    own = [] if isinstance(files, Missing) else library.drivers_own(files)
    instead = f"; the driver's own is {own[0].path}" if own else "; no libcuda of a driver was seen on the disk"
    yield Problem(
        message=f"The loader takes {path or 'a stub'} for libcuda, which is there to link against only{instead}.",
        evidence=(*_said(loaded, snapshot), *_listed(own)),
        fixes=(*_take_away(path, snapshot, machine.site), *(() if own else (install_driver(machine),))),
    )


_FOREIGN = ("wrong ELF class", "invalid ELF header", "file too short", "Exec format error")
"""How glibc's loader refuses a file that is no library for this process."""


@rule("GD220", severity=Severity.ERROR, breaks=Rung.LIBCUDA, since="0.1", predicts=False)
def libcuda_wrong_architecture(
    libcuda: Libcuda | Missing, files: CudaFiles | Missing, python: Python | Missing, machine: MachineView, hardware: Hardware
) -> Iterator[Problem]:
    """The only libcuda that the loader finds is for another architecture, or no library at all.

    ## Why it matters
    A 64-bit process cannot load a 32-bit library, nor one for another processor. The driver's 32-bit libraries are a package of
    their own, for games; alone they are of no use here. A 32-bit Python has no CUDA at all.

    ## What to do
    Install the driver's libraries for this architecture, or run a Python that fits them.

    ## References
    - https://man7.org/linux/man-pages/man8/ld.so.8.html
    """
    if machine.site.has_pci and not hardware:
        not_applicable("there is no GPU that it could drive")
    if not isinstance(libcuda, Missing):
        return
    refused = any(words in libcuda.reason for words in _FOREIGN)
    if not refused and libcuda.cause is not Cause.ABSENT:
        need(libcuda, Rung.LIBCUDA)
    seen = [] if isinstance(files, Missing) else library.drivers_own(files)
    foreign = [file for file in seen if library.fits(file, python) is False]
    if not refused and (not foreign or len(foreign) < len(seen)):
        not_applicable("the loader finds no libcuda, of this architecture or another")
    mine = f"{python.bits}-bit, {python.machine}" if isinstance(python, Python) and isinstance(python.bits, int) else "not known"
    small = isinstance(python, Python) and python.bits == 32
    other = Fix("Use a 64-bit Python; no framework has CUDA for 32 bits.", needs=(DOWNLOAD,))
    yield Problem(
        message=f"No libcuda fits this interpreter ({mine}): {libcuda.reason if refused else f'{foreign[0].path} is for another architecture'}.",
        evidence=(Evidence("the loader", libcuda.reason, "dlopen"), Evidence("interpreter", mine, "sys"), *_listed(foreign)),
        fixes=(other,) if small else (install_driver(machine, what="Install the driver's 64-bit libraries"),),
    )


@rule("GD221", severity=Severity.ERROR, breaks=Rung.LIBCUDA, since="0.1", predicts=False)
def mps_misconfigured(libcuda: Libcuda | Missing, snapshot: Snapshot, mps: Mps | Missing, hardware: Hardware) -> Iterator[Problem]:
    """CUDA was told to use the Multi-Process Service, and that does not work.

    ## Why it matters
    With MPS, programs share a GPU through a daemon, which they find by pipes in CUDA_MPS_PIPE_DIRECTORY (/tmp/nvidia-mps by default).
    If the pipes are there and the daemon is not, belongs to another user, or is full, CUDA answers 805 to 810. If the variable names
    a folder without pipes, programs run without MPS, and nothing says so: that is a note.

    ## What to do
    Start the daemon with the same variable, or unset the variable and remove the stale folder.

    ## References
    - https://docs.nvidia.com/deploy/mps/
    """
    failed = _mps_failure(libcuda, snapshot)
    there = isinstance(mps, Mps)
    directory = mps.directory if isinstance(mps, Mps) else "/tmp/nvidia-mps"  # noqa: S108 -- CUDA's default
    control = "not known" if isinstance(mps, Missing) else "there" if mps.control else "not there"
    idle = isinstance(mps, Mps) and not mps.control and mps.where != "default"
    if not failed:
        loaded = need(libcuda, Rung.LIBCUDA)
        need(loaded.init, Rung.LIBCUDA)
        if not hardware or not idle:
            return
    yield Problem(
        severity=None if failed else Severity.NOTE,
        message=f"{failed}: the Multi-Process Service does not serve this program."
        if failed
        else f"CUDA_MPS_PIPE_DIRECTORY names {directory}, where no MPS daemon has its pipe: programs run without MPS.",
        evidence=(Evidence("the daemon's control pipe", control, f"{directory}/control"),)
        + ((Evidence("MPS folder", directory, mps.where),) if isinstance(mps, Mps) and there else ()),
        fixes=(
            Fix("Start the MPS daemon, as the user who computes", "nvidia-cuda-mps-control -d"),
            _without_mps(mps, directory),
        ),
    )


def _without_mps(mps: Mps | Missing, directory: str) -> Fix:
    """Programs look for a daemon where the variable says, else in the default folder, whose leftovers they take for one."""
    if isinstance(mps, Mps) and mps.where != "default":
        return Fix("Do without MPS", "unset CUDA_MPS_PIPE_DIRECTORY", kind=FixKind.INSTEAD)
    return Fix("Do without MPS: remove the leftovers of a daemon", f"sudo rm -r {shell_path(directory)}", (ROOT,), kind=FixKind.INSTEAD)


def _mps_failure(libcuda: Libcuda | Missing, snapshot: Snapshot) -> str:
    """The first answer that speaks of MPS; empty where none does."""
    if library.code(libcuda) in _MPS and isinstance(libcuda, Libcuda) and isinstance(libcuda.init, Status):
        return f"cuInit answers {libcuda.init.code} ({libcuda.init.name})"
    contexts = () if isinstance(snapshot.contexts, Missing) else snapshot.contexts
    calls = (call for context in contexts if (call := library.failed_call(context)))
    return next((f"{call.call} answers {call.status.code} ({call.status.name})" for call in calls if call.status.code in _MPS), "")


RULES = (
    forward_compat_unsupported_hw,
    cuda_compat_lib_conflict,
    libcuda_not_on_loader_path,
    libcuda_is_stub,
    libcuda_wrong_architecture,
    mps_misconfigured,
)
