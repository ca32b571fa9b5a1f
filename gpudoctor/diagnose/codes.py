"""What a bare error code can mean, likeliest first: (cause, what to do, the command that tells or helps)."""

from __future__ import annotations

CUDA_CANDIDATES: dict[int, tuple[tuple[str, str, str], ...]] = {
    46: (
        ("exclusive compute mode and the GPU is taken, or compute is prohibited", "look at its compute mode", "nvidia-smi -q -d COMPUTE"),
    ),
    100: (
        ("CUDA_VISIBLE_DEVICES hides every GPU", "look at it", 'echo "$CUDA_VISIBLE_DEVICES"'),
        ("the device files cannot be opened or are missing", "list them", "ls -l /dev/nvidia*"),
        ("MIG is enabled and there is no instance", "list the instances", "nvidia-smi -L"),
    ),
    802: (
        ("NVSwitch machine and its fabric manager does not run", "look at it", "systemctl status nvidia-fabricmanager"),
        ("the fabric is still being set up, shortly after boot", "try again in a minute", "nvidia-smi -q | grep -A3 Fabric"),
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
    999: (
        ("the nvidia_uvm module is not loaded, or unusable after suspend", "reload it", "sudo rmmod nvidia_uvm; sudo modprobe nvidia_uvm"),
        ("a GPU fell off the bus", "read the kernel's log", "sudo dmesg | grep -E 'NVRM|Xid'"),
        ("/dev/nvidia-uvm is missing or stale", "create it", "sudo nvidia-modprobe -u -c 0"),
    ),
}
"""By CUresult. The candidates are those that users' solved reports show for each code."""
