"""What a bare error code can mean, likeliest first: the cause, what cures it, and the command that shows whether this is it."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from gpudoctor.derive import Site
from gpudoctor.diagnose.advice.needs import REBOOT, ROOT
from gpudoctor.diagnose.advice.system import read_log
from gpudoctor.findings import Fix, FixKind


class Candidate(msgspec.Struct, frozen=True):
    """One thing that a code can mean."""

    cause: str
    cure: str
    command: str = ""
    look: str = ""
    """The command that shows whether this is it."""
    variable: str = ""
    """Only where this variable is set."""
    of_host: bool = False
    """What only the host of a container can do."""


_STUB = "Take the toolkit's stubs folder out of LD_LIBRARY_PATH and /etc/ld.so.conf.d"
_COMPAT = "Take the cuda-compat folder out of LD_LIBRARY_PATH and /etc/ld.so.conf.d"
_LOADED = 'ldconfig -p | grep libcuda.so; echo "$LD_LIBRARY_PATH"'
_LOG = "sudo dmesg -T | grep -E 'NVRM|Xid'"
_RESET = Candidate(
    "the GPU failed, or was reset, since the driver was loaded", "Reset it", "sudo nvidia-smi --gpu-reset", _LOG, of_host=True
)
_RESTART_MPS = "echo quit | nvidia-cuda-mps-control; nvidia-cuda-mps-control -d"
_CLIENTS = "echo ps | nvidia-cuda-mps-control"
_MASK = "CUDA_VISIBLE_DEVICES"

CUDA_CANDIDATES: dict[int, tuple[Candidate, ...]] = {
    2: (
        Candidate("another process holds the GPU's memory", "End it", look="nvidia-smi"),
        Candidate("this GPU or MIG instance is too small", "Use a larger one", look="nvidia-smi -q -d MEMORY"),
    ),
    34: (Candidate("a toolkit's stub is loaded in place of the driver's libcuda", _STUB, look=_LOADED),),
    46: (
        Candidate(
            "the GPU is in an exclusive or prohibited compute mode", "Set the default mode", "sudo nvidia-smi -c DEFAULT", of_host=True
        ),
        _RESET,
    ),
    100: (
        Candidate(f"{_MASK} hides every GPU", f"Unset {_MASK}", f"unset {_MASK}", variable=_MASK),
        Candidate("the device files are missing", "Create them", "sudo nvidia-modprobe -c 0 -u", "ls -l /dev/nvidia*", of_host=True),
        Candidate("MIG is enabled without an instance", "Disable MIG", "sudo nvidia-smi -mig 0", "nvidia-smi -L", of_host=True),
    ),
    101: (
        Candidate(f"{_MASK} names a GPU twice, or one that is not there", f"Unset {_MASK}", f"unset {_MASK}", variable=_MASK),
        Candidate("a GPU vanished between counting and opening", "Reboot", "sudo reboot", _LOG, of_host=True),
    ),
    201: (
        Candidate("a preloaded library intercepts CUDA", "Unset LD_PRELOAD", "unset LD_PRELOAD", variable="LD_PRELOAD"),
        _RESET,
    ),
    209: (
        Candidate("CUDA_DISABLE_PTX_JIT is set", "Unset it", "unset CUDA_DISABLE_PTX_JIT", variable="CUDA_DISABLE_PTX_JIT"),
        Candidate("the driver's compiler does not know this GPU", "Update the NVIDIA driver", of_host=True),
    ),
    214: (
        Candidate(
            "the GPU's memory had an uncorrectable error",
            "Reset it",
            "sudo nvidia-smi --gpu-reset",
            "nvidia-smi -q -d ECC,PAGE_RETIREMENT,ROW_REMAPPER",
            of_host=True,
        ),
    ),
    218: (Candidate("libcuda and libnvidia-ptxjitcompiler are of different releases", "Reinstall the driver as a whole", of_host=True),),
    221: (
        Candidate(
            "the driver's compiler is missing",
            "Install libnvidia-ptxjitcompiler.so.1 of the driver's release",
            look="ldconfig -p | grep -E 'libcuda|ptxjit'",
            of_host=True,
        ),
    ),
    222: (Candidate("libnvidia-ptxjitcompiler is older than the PTX", "Reinstall the driver as a whole", of_host=True),),
    223: (Candidate("CUDA_DISABLE_PTX_JIT forbids the driver to compile", "Unset it", "unset CUDA_DISABLE_PTX_JIT"),),
    304: (
        Candidate("a limit of this shell", "Raise it", "ulimit -l unlimited; ulimit -v unlimited", "ulimit -a"),
        Candidate("the kernel driver refused a call", "Reboot", "sudo reboot", _LOG, of_host=True),
    ),
    700: (_RESET, Candidate("overclocking or undervolting", "Set the card's default clocks", "sudo nvidia-smi -rgc; sudo nvidia-smi -rmc")),
    719: (_RESET, Candidate("another program broke the context that MPS shares", "Restart MPS", _RESTART_MPS, "pgrep -a nvidia-cuda-mps")),
    801: (
        Candidate("this virtual GPU has no licence for compute", "Restart its licence client", "sudo systemctl restart nvidia-gridd"),
        Candidate("libcuda is older than the kernel driver", "Reboot", "sudo reboot", _LOADED, of_host=True),
    ),
    802: (
        Candidate("the fabric manager does not run", "Start it", "sudo systemctl enable --now nvidia-fabricmanager", of_host=True),
        Candidate("the GPUs of a confidential machine were not set ready", "Set them ready", "sudo nvidia-smi conf-compute -srs 1"),
    ),
    803: (
        Candidate("the driver was upgraded and its old module is still loaded", "Reboot", "sudo reboot", of_host=True),
        Candidate("a cuda-compat library is found before the driver's own", _COMPAT, look=_LOADED),
    ),
    804: (Candidate("a cuda-compat library is in use on a GPU that does not support it", _COMPAT, look=_LOADED),),
    805: (
        Candidate("the MPS daemon does not run", "Start it", "nvidia-cuda-mps-control -d", "pgrep -a nvidia-cuda-mps"),
        Candidate("the MPS daemon belongs to another user", "Do without it", "export CUDA_MPS_PIPE_DIRECTORY=/nonexistent"),
    ),
    806: (Candidate("the MPS server died", "Restart MPS", _RESTART_MPS, "tail /var/log/nvidia-mps/server.log"),),
    807: (Candidate("the MPS server starts, or recovers from a program that failed", "Restart MPS", _RESTART_MPS),),
    808: (Candidate("MPS serves as many programs as it can", "End one of them", look=_CLIENTS),),
    809: (Candidate("MPS has no connection to the GPU left", "End one of its programs", look=_CLIENTS),),
    999: (
        Candidate("nvidia_uvm is not usable", "Reload it", "sudo rmmod nvidia_uvm; sudo modprobe nvidia_uvm", of_host=True),
        Candidate("/dev/nvidia-uvm is missing or stale", "Create it", "sudo nvidia-modprobe -u -c 0", "ls -l /dev/nvidia*", of_host=True),
        Candidate("a GPU fell off the bus", "Shut down and switch on again", "sudo poweroff", _LOG, of_host=True),
    ),
}
"""By CUresult. The candidates are those that users' solved reports and NVIDIA's own descriptions show for each code."""


def cures(code: int, site: Site, variables: Mapping[str, str]) -> tuple[Fix, ...]:
    """What to do about a code, for the likeliest cause first; `variables` are those that are set."""
    likely = [one for one in CUDA_CANDIDATES.get(code, ()) if not one.variable or one.variable in variables]
    if not likely:
        away = "" if site.container else "sudo reboot"
        place = "Reboot the host" if site.container else "Reboot"
        return (read_log(), Fix(f"{place}: this loads the driver again and resets the GPUs{'' if away else '.'}", away, (ROOT, REBOOT)))
    return tuple(fix for number, one in enumerate(likely) for fix in _tried(one, site, FixKind.ELSE if number else FixKind.FIX))


def _tried(one: Candidate, site: Site, kind: FixKind) -> tuple[Fix, ...]:
    look = (Fix(f"See whether {one.cause}", one.look, (ROOT,) if "sudo " in one.look else (), kind=FixKind.CHECK),) if one.look else ()
    where = "on the host, " if site.container and one.of_host else ""
    cure = f"If {one.cause}: {where}{one.cure[0].lower()}{one.cure[1:]}"
    needs = ((ROOT,) if "sudo " in one.command else ()) + ((REBOOT,) if "reboot" in one.command or "poweroff" in one.command else ())
    return (*look, Fix(cure if one.command else f"{cure}.", one.command, needs, kind=kind))
