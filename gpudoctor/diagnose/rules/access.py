"""GD2: a driver that is there and cannot be used: permissions, hangs, failing initialisation."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Hardware, Site
from gpudoctor.derive.libcuda import failed_call
from gpudoctor.derive.nodes import withheld
from gpudoctor.diagnose.codes import cures
from gpudoctor.diagnose.fixes import REBOOT, ROOT, read_log, reboot
from gpudoctor.diagnose.rule import need, not_applicable, rule
from gpudoctor.findings import Evidence, Fix, Problem, Rung, Severity
from gpudoctor.snapshot import Cause, CudaContext, DeviceNodes, Hang, Host, Libcuda, Missing, Node, Nvml, Snapshot, Status

_NVML_NO_PERMISSION = 4
_NEEDED_NODES = ("/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/dxg")


@rule("GD204", severity=Severity.ERROR, breaks=Rung.DEVICE_NODE, since="0.1")
def device_permission_denied(nodes: DeviceNodes | Missing, nvml: Nvml | Missing, host: Host | Missing, site: Site) -> Iterator[Problem]:
    """The user may not open the GPU's device files.

    ## Why it matters
    NVML and CUDA reach the driver through /dev/nvidiactl, /dev/nvidia-uvm and a /dev/nvidiaN for each GPU. A user who may not read
    and write them sees no GPU, while root sees all: a check that runs as root cannot find this.

    ## What to do
    Join the group that owns the files, and log in again. Where they belong to root alone, the driver was told so
    (NVreg_DeviceFileMode, or a udev rule). In a rootless container add the group with `--group-add keep-groups`.

    ## References
    - https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/
    """
    if isinstance(nodes, Missing):
        if nodes.cause is Cause.ABSENT:
            not_applicable("there are no device files")
        need(nodes, Rung.DEVICE_NODE)
        return
    shut = [node for node in nodes.nodes if node.accessible is False and is_needed(node) and not withheld(node, host)]
    refused = isinstance(nvml, Nvml) and isinstance(nvml.init, Status) and nvml.init.code == _NVML_NO_PERMISSION
    if not shut and not refused:
        return
    user = f"uid {host.uid}" if isinstance(host, Host) and isinstance(host.uid, int) else "this user"
    what = ", ".join(node.path for node in shut) or "NVML (no permission)"
    yield Problem(
        message=f"{user} may not open {what}.",
        evidence=tuple(Evidence(node.path, _permissions(node), "stat") for node in shut)
        or (Evidence("nvmlInit", f"{_NVML_NO_PERMISSION} no permission", "NVML"),),
        fixes=(_permission_fix(shut, site),),
    )


def is_needed(node: Node) -> bool:
    """Whether a program needs this device file to compute on a GPU."""
    return node.path in _NEEDED_NODES or node.path.removeprefix("/dev/nvidia").isdigit()


def _permissions(node: Node) -> str:
    group = node.group if isinstance(node.group, str) else f"gid {node.gid}"
    return f"mode {node.mode}, owner uid {node.uid}, group {group}"


def _permission_fix(shut: list[Node], site: Site) -> Fix:
    if site.container:
        return Fix("Start the container as a user of the group that owns the files, or with --group-add for that group.")
    group = next((node.group for node in shut if isinstance(node.group, str) and node.group != "root"), "")
    if group:
        return Fix(f"Join the group {group}, then log in again", f'sudo usermod -aG {group} "$USER"', (ROOT,))
    return Fix(
        "Let everybody use the GPU, as the driver does by default, then reboot",
        "echo options nvidia NVreg_DeviceFileMode=0666 | sudo tee /etc/modprobe.d/nvidia-permissions.conf",
        (ROOT, REBOOT),
    )


HANG_SECONDS = 30
"""A call that has not returned after this long is hung; less is only slow, as on eight cards without persistence mode."""


@rule("GD205", severity=Severity.ERROR, breaks=Rung.NVML, since="0.1", predicts=False)
def driver_hung(nvml: Nvml | Missing, libcuda: Libcuda | Missing, snapshot: Snapshot) -> Iterator[Problem]:
    """A call into the driver does not return.

    ## Why it matters
    The driver waits for a GPU, or for itself. Every program that calls it will wait too, and a process in an uninterruptible call
    (state D) cannot even be killed.

    ## What to do
    Reboot; a hung driver does not recover. Before that, save the kernel's log, which mostly names the GPU (Xid 79, 119, 120): if it
    hangs again on the same one, the card or its slot is at fault.

    ## References
    - https://docs.nvidia.com/deploy/xid-errors/
    """
    unseen = [section for section in (nvml, libcuda) if isinstance(section, Missing) and section.cause is not Cause.ABSENT]
    contexts = () if isinstance(snapshot.contexts, Missing) else snapshot.contexts
    for name, section in (("NVML", nvml), ("libcuda", libcuda), *(("libcuda", context) for context in contexts)):
        hang = section.hang if isinstance(section, Nvml | Libcuda | CudaContext) else None
        if not isinstance(hang, Hang) or not (hang.uninterruptible or hang.seconds >= HANG_SECONDS):
            continue
        state = " and cannot be killed (state D)" if hang.uninterruptible else ""
        yield Problem(
            message=f"{name} does not return from {hang.call}: no sign of life for {hang.seconds:.0f} s{state}.",
            evidence=(Evidence("call that hangs", hang.call, name), *_stuck(snapshot)),
            fixes=(read_log("NVRM|Xid|blocked for more than", "Save the kernel log, which mostly names the GPU"), reboot()),
        )
    for section in unseen:
        need(section, Rung.NVML)


def _stuck(snapshot: Snapshot) -> tuple[Evidence, ...]:
    """The processes that nobody can end."""
    stuck = snapshot.stuck if isinstance(snapshot.stuck, tuple) else ()
    return tuple(
        Evidence(
            "in state D", f"{one.name} (process {one.pid})" + (f" in {one.waits_in}" if isinstance(one.waits_in, str) else ""), "/proc"
        )
        for one in stuck[:5]
    )


@rule("GD206", severity=Severity.ERROR, breaks=Rung.LIBCUDA, since="0.1", predicts=False)
def cuda_init_fails(libcuda: Libcuda | Missing, snapshot: Snapshot, hardware: Hardware, site: Site) -> Iterator[Problem]:
    """CUDA does not initialise, or not on every GPU.

    ## Why it matters
    Every CUDA program begins with cuInit, and with a context on each GPU that it uses. Their error codes are few and each has several
    causes, so the code alone is no diagnosis: where nothing else that was seen explains it, only candidates can be named.

    ## What to do
    Go through the candidates in their order; each names the one observation that tells.

    ## References
    - https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__TYPES.html
    """
    if site.has_pci and not hardware:
        not_applicable("there is no GPU for CUDA to initialise")
    library = need(libcuda, Rung.LIBCUDA)
    init = need(library.init, Rung.LIBCUDA)
    where = library.library if isinstance(library.library, str) else "libcuda.so.1"
    if init.code:
        yield Problem(
            message=f"cuInit answers {init.code} ({init.name}).",
            evidence=(Evidence("cuInit", f"{init.code} {init.name}", where),),
            fixes=cures(init.code, site, _set(snapshot)),
        )
    for (words, code), gpus in _refusals(snapshot.contexts, hardware).items():
        yield Problem(
            message=f"{words} on {gpus[0] if len(gpus) == 1 else f'{len(gpus)} GPUs: ' + ', '.join(gpus)}.",
            evidence=(Evidence("our own kernel", words, where), *_ptx_compiler(snapshot, code)),
            fixes=cures(code, site, _set(snapshot)),
        )


def _set(snapshot: Snapshot) -> dict[str, str]:
    """The variables that are set."""
    return {} if isinstance(snapshot.variables, Missing) else {name: value for name, value in snapshot.variables.values.items() if value}


_NAMED_ELSEWHERE = {2, *range(805, 811)}
"""CUresults of a context that are a cause by themselves: no memory, and MPS."""
_NO_PTX_COMPILER = 221


def _refusals(contexts: tuple[CudaContext, ...] | Missing, hardware: Hardware) -> dict[tuple[str, int], list[str]]:
    """The GPUs on which our own kernel was refused or its process died, by the words for that and the code, 0 where there is none."""
    labels = {gpu.key: gpu.label for gpu in hardware}
    found: dict[tuple[str, int], list[str]] = {}
    for context in () if isinstance(contexts, Missing) else contexts:
        call, right = failed_call(context), context.kernel_right
        if call is not None and call.status.code not in _NAMED_ELSEWHERE:
            told = (f"{call.call} answers {call.status.code} ({call.status.name})", call.status.code)
        elif call is None and isinstance(right, Missing) and right.cause is Cause.FAILED:
            told = (right.reason.removesuffix(f" {context.ordinal}"), 0)
        else:
            continue
        found.setdefault(told, []).append(labels.get(str(context.address), str(context.address)))
    return found


def _ptx_compiler(snapshot: Snapshot, code: int) -> tuple[Evidence, ...]:
    if code != _NO_PTX_COMPILER or isinstance(snapshot.cuda_files, Missing):
        return ()
    places = ", ".join(file.path for file in snapshot.cuda_files.ptx_compiler)
    return (Evidence("libnvidia-ptxjitcompiler.so.1", places or "not found", "the folders where drivers put it"),)


RULES = (device_permission_denied, driver_hung, cuda_init_fails)
