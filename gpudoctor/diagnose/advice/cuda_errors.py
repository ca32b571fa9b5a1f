"""What a bare CUDA error code can mean, likeliest cause first, with its fix and the command that confirms it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from gpudoctor.derive import Gpu, MachineView, Site
from gpudoctor.diagnose.advice.system import read_log, reboot
from gpudoctor.findings import REBOOT, ROOT, Action, Fix, FixKind
from gpudoctor.snapshot import NvmlGpu
from gpudoctor.status_codes import CudaError


def _is_opened_by_nvml(gpu: Gpu) -> bool:
    """Return whether NVML opened the GPU."""
    return isinstance(gpu.nvml, NvmlGpu) and isinstance(gpu.nvml.address, str)


def _has_default_mode(gpu: Gpu) -> bool:
    return isinstance(gpu.nvml, NvmlGpu) and gpu.nvml.compute_mode == "default"


def _is_without_mig(gpu: Gpu) -> bool:
    """Return whether MIG is known to be off."""
    return isinstance(gpu.nvml, NvmlGpu) and gpu.nvml.mig_enabled is False


class PossibleCause(msgspec.Struct, frozen=True):
    """One possible cause of a code."""

    cause: str
    cure: str
    command: str = ""
    check: str = ""
    """The command that confirms the cause."""
    variable: str = ""
    """The variable without which this cause is ruled out."""
    on_host: bool = False
    """Whether the fix has to be applied on a container's host."""
    per_gpu: bool = False
    """Whether the command takes -i, to leave the other GPUs alone."""
    unless: Callable[[Gpu], bool] | None = None
    """What rules this cause out where it holds for each failing GPU."""
    action: Action = Action.CHANGE_SETTING


_REMOVE_STUBS = "Remove the toolkit's stubs folder from LD_LIBRARY_PATH and /etc/ld.so.conf.d"
_REMOVE_COMPAT = "Remove the cuda-compat folder from LD_LIBRARY_PATH and /etc/ld.so.conf.d"
_SHOW_LIBCUDA = 'ldconfig -p | grep libcuda.so; echo "$LD_LIBRARY_PATH"'
_SHOW_KERNEL_LOG = "sudo dmesg -T | grep -E 'NVRM|Xid'"
_GPU_FAILED = PossibleCause(
    "the GPU failed or was reset after the driver was loaded",
    "Reset it",
    "sudo nvidia-smi --gpu-reset",
    _SHOW_KERNEL_LOG,
    on_host=True,
    per_gpu=True,
    action=Action.RESET_GPU,
)
_RESTART_MPS = "echo quit | nvidia-cuda-mps-control; nvidia-cuda-mps-control -d"
_LIST_MPS_CLIENTS = "echo ps | nvidia-cuda-mps-control"
_MASK_VARIABLE = "CUDA_VISIBLE_DEVICES"

CUDA_CANDIDATES: dict[int, tuple[PossibleCause, ...]] = {
    CudaError.OUT_OF_MEMORY: (
        PossibleCause("another process holds the GPU's memory", "End it", check="nvidia-smi", action=Action.FREE_GPU),
        PossibleCause(
            "this GPU or MIG instance is too small", "Use a larger one", check="nvidia-smi -q -d MEMORY", action=Action.REPLACE_HARDWARE
        ),
    ),
    CudaError.STUB_LIBRARY: (
        PossibleCause("a CUDA toolkit's stub is loaded instead of the driver's libcuda", _REMOVE_STUBS, check=_SHOW_LIBCUDA),
    ),
    CudaError.DEVICE_UNAVAILABLE: (
        PossibleCause(
            "the GPU is in an exclusive or prohibited compute mode",
            "Set the default mode",
            "sudo nvidia-smi -c DEFAULT",
            on_host=True,
            per_gpu=True,
            unless=_has_default_mode,
        ),
        _GPU_FAILED,
    ),
    CudaError.NO_DEVICE: (
        PossibleCause(f"{_MASK_VARIABLE} hides every GPU", f"Unset {_MASK_VARIABLE}", f"unset {_MASK_VARIABLE}", variable=_MASK_VARIABLE),
        PossibleCause(
            "the device files are missing",
            "Create them",
            "sudo nvidia-modprobe -c 255 -c 0 && sudo nvidia-modprobe -u -c 0",
            "ls -l /dev/nvidia*",
            on_host=True,
        ),
        PossibleCause(
            "MIG is on but has no instance", "Turn MIG off", "sudo nvidia-smi -mig 0", "nvidia-smi -L", on_host=True, unless=_is_without_mig
        ),
    ),
    CudaError.INVALID_DEVICE: (
        PossibleCause(
            f"{_MASK_VARIABLE} names a GPU twice, or one that does not exist",
            f"Unset {_MASK_VARIABLE}",
            f"unset {_MASK_VARIABLE}",
            variable=_MASK_VARIABLE,
        ),
        PossibleCause(
            "a GPU disappeared after it was counted", "Reboot", "sudo reboot", _SHOW_KERNEL_LOG, on_host=True, action=Action.REBOOT
        ),
    ),
    CudaError.INVALID_CONTEXT: (
        PossibleCause("a preloaded library intercepts CUDA", "Unset LD_PRELOAD", "unset LD_PRELOAD", variable="LD_PRELOAD"),
        _GPU_FAILED,
    ),
    CudaError.NO_BINARY_FOR_GPU: (
        PossibleCause("CUDA_DISABLE_PTX_JIT is set", "Unset it", "unset CUDA_DISABLE_PTX_JIT", variable="CUDA_DISABLE_PTX_JIT"),
        PossibleCause(
            "the driver's PTX compiler does not support this GPU", "Update the NVIDIA driver", on_host=True, action=Action.UPDATE_DRIVER
        ),
    ),
    CudaError.ECC_UNCORRECTABLE: (
        PossibleCause(
            "the GPU's memory had an uncorrectable error",
            "Reset it",
            "sudo nvidia-smi --gpu-reset",
            "nvidia-smi -q -d ECC,PAGE_RETIREMENT,ROW_REMAPPER",
            on_host=True,
            per_gpu=True,
            action=Action.RESET_GPU,
        ),
    ),
    CudaError.INVALID_PTX: (
        PossibleCause(
            "libcuda and libnvidia-ptxjitcompiler have different versions",
            "Reinstall the whole driver",
            on_host=True,
            action=Action.UPDATE_DRIVER,
        ),
    ),
    CudaError.JIT_COMPILER_NOT_FOUND: (
        PossibleCause(
            "the driver's PTX compiler is missing",
            "Install libnvidia-ptxjitcompiler.so.1 of the driver's version",
            check="ldconfig -p | grep -E 'libcuda|ptxjit'",
            on_host=True,
            action=Action.INSTALL_PACKAGE,
        ),
    ),
    CudaError.UNSUPPORTED_PTX_VERSION: (
        PossibleCause(
            "libnvidia-ptxjitcompiler is older than the PTX", "Reinstall the whole driver", on_host=True, action=Action.UPDATE_DRIVER
        ),
    ),
    CudaError.JIT_COMPILATION_DISABLED: (
        PossibleCause("CUDA_DISABLE_PTX_JIT stops the driver from compiling PTX", "Unset it", "unset CUDA_DISABLE_PTX_JIT"),
    ),
    CudaError.OPERATING_SYSTEM: (
        PossibleCause("a resource limit of this shell is too low", "Raise it", "ulimit -l unlimited; ulimit -v unlimited", "ulimit -a"),
        PossibleCause("the kernel driver refused a call", "Reboot", "sudo reboot", _SHOW_KERNEL_LOG, on_host=True, action=Action.REBOOT),
    ),
    CudaError.ILLEGAL_ADDRESS: (
        _GPU_FAILED,
        PossibleCause("the GPU is overclocked or undervolted", "Restore the default clocks", "sudo nvidia-smi -rgc; sudo nvidia-smi -rmc"),
    ),
    CudaError.LAUNCH_FAILED: (
        _GPU_FAILED,
        PossibleCause("another program crashed the context that MPS shares", "Restart MPS", _RESTART_MPS, "pgrep -a nvidia-cuda-mps"),
    ),
    CudaError.NOT_SUPPORTED: (
        PossibleCause("this virtual GPU has no compute licence", "Restart its licence client", "sudo systemctl restart nvidia-gridd"),
        PossibleCause(
            "libcuda is older than the kernel driver", "Reboot", "sudo reboot", _SHOW_LIBCUDA, on_host=True, action=Action.REBOOT
        ),
    ),
    CudaError.SYSTEM_NOT_READY: (
        PossibleCause("the fabric manager is not running", "Start it", "sudo systemctl enable --now nvidia-fabricmanager", on_host=True),
        PossibleCause(
            "confidential computing is on, but the GPUs are not set to ready", "Set them to ready", "sudo nvidia-smi conf-compute -srs 1"
        ),
    ),
    CudaError.SYSTEM_DRIVER_MISMATCH: (
        PossibleCause(
            "the driver was updated, but the old kernel module is still loaded", "Reboot", "sudo reboot", on_host=True, action=Action.REBOOT
        ),
        PossibleCause("a cuda-compat libcuda shadows the driver's", _REMOVE_COMPAT, check=_SHOW_LIBCUDA),
    ),
    CudaError.COMPAT_NOT_SUPPORTED_ON_DEVICE: (
        PossibleCause("a cuda-compat libcuda is loaded on a GPU that does not support it", _REMOVE_COMPAT, check=_SHOW_LIBCUDA),
    ),
    CudaError.MPS_CONNECTION_FAILED: (
        PossibleCause("the MPS daemon is not running", "Start it", "nvidia-cuda-mps-control -d", "pgrep -a nvidia-cuda-mps"),
        PossibleCause("the MPS daemon belongs to another user", "Run without it", "export CUDA_MPS_PIPE_DIRECTORY=/nonexistent"),
    ),
    CudaError.MPS_RPC_FAILURE: (PossibleCause("the MPS server died", "Restart MPS", _RESTART_MPS, "tail /var/log/nvidia-mps/server.log"),),
    CudaError.MPS_SERVER_NOT_READY: (
        PossibleCause("the MPS server is starting or recovering from a crashed program", "Restart MPS", _RESTART_MPS),
    ),
    CudaError.MPS_MAX_CLIENTS_REACHED: (
        PossibleCause(
            "MPS already serves its maximum number of clients", "End one of them", check=_LIST_MPS_CLIENTS, action=Action.FREE_GPU
        ),
    ),
    CudaError.MPS_MAX_CONNECTIONS_REACHED: (
        PossibleCause(
            "all MPS connections to the GPU are in use", "End a program that uses MPS", check=_LIST_MPS_CLIENTS, action=Action.FREE_GPU
        ),
    ),
    CudaError.UNKNOWN: (
        PossibleCause("nvidia_uvm is not usable", "Reload it", "sudo rmmod nvidia_uvm; sudo modprobe nvidia_uvm", on_host=True),
        PossibleCause(
            "/dev/nvidia-uvm is missing or stale", "Create it", "sudo nvidia-modprobe -u -c 0", "ls -l /dev/nvidia*", on_host=True
        ),
        PossibleCause(
            "a GPU fell off the bus",
            "Power-cycle the machine",
            "sudo poweroff",
            _SHOW_KERNEL_LOG,
            on_host=True,
            unless=_is_opened_by_nvml,
            action=Action.REBOOT,
        ),
    ),
}
"""The candidates come from solved user reports and NVIDIA's descriptions of the codes."""


def fixes_for_error(code: int, machine: MachineView, failing: Sequence[Gpu] = ()) -> tuple[Fix, ...]:
    """Return the fixes to try for a code, likeliest cause first; `failing` are the GPUs that it is about, if not all."""
    gpus = failing or tuple(machine.hardware)
    likely = [cause for cause in CUDA_CANDIDATES.get(code, ()) if _is_possible(cause, machine, gpus)]
    if not likely:
        return read_log(), _reload_driver(machine.site)
    first, *others = likely
    fixes = [*_try_cause(first, machine.site, FixKind.FIX, failing)]
    for other in others:
        fixes += _try_cause(other, machine.site, FixKind.ELSE, failing)
    return tuple(fixes)


def _is_possible(candidate: PossibleCause, machine: MachineView, gpus: Sequence[Gpu]) -> bool:
    """Return whether nothing that was observed rules a cause out."""
    if candidate.variable and candidate.variable not in machine.environment.set_variables:
        return False
    return candidate.unless is None or not gpus or not all(map(candidate.unless, gpus))


def _reload_driver(site: Site) -> Fix:
    if site.container:
        return Fix("Reboot the host to reload the driver and reset the GPUs.", needs=(ROOT, REBOOT), action=Action.REBOOT)
    return reboot("Reboot to reload the driver and reset the GPUs")


def _try_cause(candidate: PossibleCause, site: Site, kind: FixKind, failing: Sequence[Gpu]) -> tuple[Fix, ...]:
    where = "on the host, " if site.container and candidate.on_host else ""
    title = f"If {candidate.cause}: {where}{candidate.cure[0].lower()}{candidate.cure[1:]}"
    aim = f" -i {','.join(gpu.selector for gpu in failing)}" if candidate.per_gpu and failing else ""
    command = f"{candidate.command}{aim}"
    restarts = "reboot" in command or "poweroff" in command
    needs = (REBOOT,) if restarts else ()
    action = Action.CONTACT_ADMINISTRATOR if where else candidate.action
    cure = Fix(title if command else f"{title}.", command, needs, kind=kind, action=action)
    if not candidate.check:
        return (cure,)
    return Fix(f"Check whether {candidate.cause}", candidate.check, kind=FixKind.CHECK), cure
