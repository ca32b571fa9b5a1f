"""What a bare error code can mean, likeliest first: (cause, what to do, the command that tells or helps)."""

from __future__ import annotations

_LOG = ("read the kernel's log", "sudo dmesg | grep -E 'NVRM|Xid'")
_PTXAS = "ldconfig -p | grep -E 'libcuda|ptxjit'"
_CLIENTS = "echo ps | nvidia-cuda-mps-control"

CUDA_CANDIDATES: dict[int, tuple[tuple[str, str, str], ...]] = {
    2: (
        ("another process holds the GPU's memory", "see who", "nvidia-smi"),
        ("this MIG instance, or this card, is too small", "look at its memory", "nvidia-smi -L; nvidia-smi -q -d MEMORY"),
    ),
    34: (("a toolkit's stub is loaded in the driver's place", "take its folder off the loader's path", 'echo "$LD_LIBRARY_PATH"'),),
    46: (
        ("exclusive compute mode and the GPU is taken, or compute is prohibited", "look at its compute mode", "nvidia-smi -q -d COMPUTE"),
        ("the GPU was reset, or has failed, since the driver was loaded", *_LOG),
    ),
    100: (
        ("CUDA_VISIBLE_DEVICES hides every GPU", "look at it", 'echo "$CUDA_VISIBLE_DEVICES"'),
        ("the device files cannot be opened or are missing", "list them", "ls -l /dev/nvidia*"),
        ("MIG is enabled and there is no instance", "list the instances", "nvidia-smi -L"),
    ),
    101: (
        ("CUDA_VISIBLE_DEVICES names a GPU twice, or one that is not there", "look at it", 'echo "$CUDA_VISIBLE_DEVICES"; nvidia-smi -L'),
        ("a GPU vanished between counting and opening", *_LOG),
    ),
    201: (
        ("the context was lost to a GPU error or a reset between two calls", *_LOG),
        ("a preloaded or injected library takes part", "look for it", "env | grep -E 'LD_PRELOAD|CUDA_INJECTION64_PATH'"),
    ),
    209: (
        (
            "the driver's compiler does not know this GPU",
            "compare both",
            "nvidia-smi --query-gpu=name,compute_cap,driver_version --format=csv",
        ),
        ("CUDA_DISABLE_PTX_JIT is set", "look at it", "env | grep PTX_JIT"),
    ),
    214: (("uncorrectable errors of the GPU's memory", "read the counters", "nvidia-smi -q -d ECC,PAGE_RETIREMENT,ROW_REMAPPER"),),
    218: (("libcuda and libnvidia-ptxjitcompiler are of different releases", "compare them", _PTXAS),),
    221: (
        ("the driver's compiler, libnvidia-ptxjitcompiler.so.1, is not installed or not on the loader's path", "look for it", _PTXAS),
        ("the container lacks the capability compute", "look at what it was given", 'echo "$NVIDIA_DRIVER_CAPABILITIES"'),
    ),
    222: (("libnvidia-ptxjitcompiler is older than the PTX asks for", "compare it with libcuda", _PTXAS),),
    223: (("CUDA_DISABLE_PTX_JIT forbids the driver to compile", "unset it", "unset CUDA_DISABLE_PTX_JIT"),),
    304: (
        ("the system refuses what the driver asks of it, by a sandbox or a limit", "look at the limits", "ulimit -l; ulimit -v"),
        ("the kernel driver refused a call", *_LOG),
    ),
    700: (
        ("the GPU's memory or its links are defective; our kernel touches only its own memory", *_LOG),
        ("overclocking or undervolting", "look at the clocks", "nvidia-smi -q -d CLOCK,PERFORMANCE"),
    ),
    719: (
        ("the GPU failed while it computed", *_LOG),
        ("another program broke the context that MPS shares", "look for the daemon", "pgrep -a nvidia-cuda-mps"),
    ),
    801: (
        ("this virtual GPU, or its licence, does not allow compute", "look at both", "nvidia-smi -q | grep -iA3 -E 'vgpu|license'"),
        ("libcuda is older than the kernel driver", "compare the versions", "cat /proc/driver/nvidia/version; ldconfig -p | grep libcuda"),
    ),
    802: (
        ("NVSwitch machine and its fabric manager does not run", "look at it", "systemctl status nvidia-fabricmanager"),
        ("the fabric is still being set up, shortly after boot", "try again in a minute", "nvidia-smi -q | grep -A3 Fabric"),
        ("confidential computing is on and the GPUs were not set ready", "look at it", "nvidia-smi conf-compute -grs"),
    ),
    803: (
        ("libcuda is of another release than the kernel driver", "compare the versions", "cat /proc/driver/nvidia/version"),
        (
            "a bundled cuda-compat library comes before the driver's own",
            "look for it",
            'ldconfig -p | grep libcuda.so; echo "$LD_LIBRARY_PATH"',
        ),
    ),
    804: (
        ("a cuda-compat library is in use on a GPU that may not use it", "take it off the loader's path", "ldconfig -p | grep libcuda.so"),
    ),
    805: (
        ("MPS: its pipes are there, and its daemon does not answer", "look for it", "pgrep -a nvidia-cuda-mps"),
        ("MPS: the daemon belongs to another user", "look at the pipes", 'ls -l "${CUDA_MPS_PIPE_DIRECTORY:-/tmp/nvidia-mps}"'),
    ),
    806: (("MPS: the server died meanwhile", "read its log", "tail /var/log/nvidia-mps/server.log"),),
    807: (
        (
            "MPS: the server starts, or recovers from a program that failed",
            "try again, then restart it",
            "echo quit | nvidia-cuda-mps-control",
        ),
    ),
    808: (("MPS: as many programs as it serves are running", "list them", _CLIENTS),),
    809: (("MPS: the GPU has no connection left for another program", "list the programs", _CLIENTS),),
    999: (
        ("the nvidia_uvm module is not loaded, or unusable after suspend", "reload it", "sudo rmmod nvidia_uvm; sudo modprobe nvidia_uvm"),
        ("a GPU fell off the bus", "read the kernel's log", "sudo dmesg | grep -E 'NVRM|Xid'"),
        ("/dev/nvidia-uvm is missing or stale", "create it", "sudo nvidia-modprobe -u -c 0"),
    ),
}
"""By CUresult. The candidates are those that users' solved reports and NVIDIA's own descriptions show for each code."""
