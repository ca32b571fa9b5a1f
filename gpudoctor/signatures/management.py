"""What nvidia-smi and other programs say when NVML or the device files fail: NVML's error strings, https://docs.nvidia.com/deploy/nvml-api/."""

from __future__ import annotations

from gpudoctor.signatures.phrases import NO_NVIDIA_SMI, SHELL_LACKS_NVIDIA_SMI, smi_status_pattern
from gpudoctor.signatures.signature import Signature

_NVML_STATUS = r"\bnvml(?:Init(?:_v2|WithFlags)? (?:err|returned|failed)\W{1,3}| (?:vram )?init failure: )"
"""How Ollama's gpu_info_nvml.c and programs like it name a status of nvmlInit."""

_CONTAINER = r"(?:containers?|docker|pods?)"
_GPU = r"(?:gpus?|(?:graphics |video )?cards?|cuda)"
_AFTER_TIME = r"\bafter (?:(?:a|an|some|several|few|many|one|two|\d{1,2}|random|long|amount|of|about|running|for|it|runs) ){0,6}(?:while|time|hours?|days?|minutes?|weeks?)\b"
_GPU_LOST = r"(?:unavailable|inaccessible|lost|gone|disappear\w*|vanish\w*|no longer|not (?:available|accessible|visible|found|seen|detected)|can(?:no|')t)\b"

_CRASHES = r"\b(?:segmentation fault|segfault\w{0,3}|sigsegv|core dumped)\b"
_SMI_CRASHES = rf"\bnvidia-smi\b[^\n]{{0,60}}{_CRASHES}|\b(?:segmentation fault|segfault\w{{0,3}})\b[^\n]{{0,24}}\bnvidia-smi\b"
MANAGEMENT = (
    Signature(
        r"(?i:driver/library version mismatch)|NVIDIA driver's kernel and user space do(?:n't| not)|(?i:\b(?:(?:nvidia|cuda|kernel|gpu|my|the) )?driver\b[^\n.]{0,30}\b(?:mis-?match\w*|(?:not|n't) match)\b[^\n.]{0,20}\blibrar(?:y|ies)\b)|NVML(?:/RM)? version mismatch|Mismatch in versions between nvidia-smi and NVML|LIB_?RM_?VERSION_?MISMATCH|NVMLError_LibRmVersionMismatch"
        rf"|{_NVML_STATUS}18\b|{smi_status_pattern(18)}",
        ("driver-library-mismatch",),
        "the kernel module and the driver's libraries have different versions",
        (
            "Failed to initialize NVML: Driver/library version mismatch",
            "RM has detected an NVML/RM version mismatch.",
            "the proprietary NVIDIA driver's kernel and user space don't match",
        ),
    ),
    Signature(
        r"GPU access blocked by the operating system|blocked by the operating system/cgroups|NVMLError_OperatingSystem",
        ("wsl-driver-stack-broken", "wsl-linux-driver-installed", "container-cgroup-device-lost", "device-permission-denied"),
        "the operating system denies access to the GPU",
        ("Failed to initialize NVML: GPU access blocked by the operating system",),
        tells="uname -r; ls /usr/lib/wsl/lib; dpkg -l | grep -E 'libnvidia-compute|nvidia-utils'",
    ),
    Signature(
        # by name, by pynvml's exception, and by number, as miners have it
        rf"GPU is lost\b|\b(?:NVML_)?ERROR_GPU_IS_LOST\b|NVMLError_GpuIsLost|\bNVML: can.t get [^\n]{{1,60}}, error code 15\b|{smi_status_pattern(15)}",
        ("gpu-fell-off-bus",),
        "the GPU has fallen off the bus",
        (
            "Unable to determine the device handle for GPU0000:1F:00.0: GPU is lost.  Reboot the system to recover this GPU",
            "failed to get device utilization: ERROR_GPU_IS_LOST",
        ),
    ),
    # what a cgroup refuses, which files' modes do not: https://docs.kernel.org/admin-guide/cgroup-v2.html#device-controller
    Signature(
        r"/dev/nvidia(?:ctl|\d{1,2}|-uvm)\b[^\n]{0,60}(?:Operation not permitted|EPERM)",
        ("container-cgroup-device-lost", "device-permission-denied"),
        "the GPU's device files may not be opened, as in a container whose cgroup lost them",
        ("cat: /dev/nvidiactl: Operation not permitted",),
    ),
    Signature(
        r"/dev/nvidia(?:ctl|\d{1,2}|-uvm)\b[^\n]{0,60}(?:Permission denied|EACCES)"
        rf"|(?i:\bnvml(?: error)?: insufficient permissions)|NVMLError_NoPermission|{_NVML_STATUS}4\b|{smi_status_pattern(4)}",
        ("device-permission-denied", "container-cgroup-device-lost"),
        "this user may not open the GPU's device files",
        (
            "Failed to initialize NVML: Insufficient Permissions",
            "/dev/nvidia0: Permission denied",
            "nvidia-container-cli: initialization error: nvml error: insufficient permissions",
        ),
    ),
    # https://github.com/NVIDIA/nvidia-container-toolkit/issues/48
    Signature(
        rf"(?i:Failed to initi?\w{{0,3}}i?[sz]e NVML):? (?i:unknown error)|NVMLError_Unknown|{_NVML_STATUS}999\b",
        ("container-cgroup-device-lost", "device-permission-denied", "gpu-fell-off-bus"),
        "a container has lost its GPU devices",
        ("Failed to initialize NVML: Unknown Error",),
        tells="ls -l /dev/nvidiactl; cat /dev/nvidiactl",
    ),
    # as people tell it
    Signature(
        rf"(?i)^(?=[^\n]{{0,600}}\b{_CONTAINER}\b)[^\n]{{0,600}}(?:{_AFTER_TIME}[^\n.]{{0,60}}\b{_GPU}\b[^\n.]{{0,40}}\b{_GPU_LOST}|\b{_GPU}\b[^\n.]{{0,40}}\b{_GPU_LOST}[^\n.]{{0,60}}{_AFTER_TIME})"
        rf"|\b{_CONTAINER}\b[^\n.]{{0,30}}\b(?:loses?|lost|losing) (?:its |the |all )?(?:access to )?(?:its |the |all )?{_GPU}\b",
        ("container-cgroup-device-lost",),
        "a container has lost its GPU devices",
        ("After a few hours the GPU is no longer available in the container", "the container loses access to the GPU"),
        vague=True,
        said=True,
        last=True,
    ),
    Signature(
        rf"(?i)\b(?:restart|re-?creat)(?:ing|ed|es?|s)? (?:of )?(?:[\w-]{{1,16}} ){{0,3}}{_CONTAINER}\b[^\n.]{{0,40}}\b(?:fix|help|(?:brings?|brought|gets?|got) [^\n.]{{1,24}}\bback\b|recover|solv|resolv|restor|works? again|worked again)",
        ("container-cgroup-device-lost",),
        "a container has lost its GPU devices",
        ("Restarting the ollama container makes things work again",),
        vague=True,
        said=True,
        needs_support=True,
    ),
    # the device of WSL's driver, which WSL 1 lacks too
    Signature(
        r"/dev/dxg\b[^\n]{0,24}(?:No such file|not found|\bmissing\b|does not exist|doesn't exist)|\b(?:no|missing) /dev/dxg\b",
        ("wsl-driver-stack-broken", "wsl1"),
        "WSL has no device for the GPU",
        ("ls: cannot access '/dev/dxg': No such file or directory", "there is no /dev/dxg"),
    ),
    # an error that the loaded NVML has no words for: https://github.com/microsoft/WSL/issues/11755
    Signature(
        r"Failed to initialize NVML: N/A",
        ("wsl-driver-stack-broken", "wsl-linux-driver-installed", "driver-library-mismatch"),
        "NVML is not the one of the loaded driver",
        ("Failed to initialize NVML: N/A",),
        tells="uname -r; ls /usr/lib/wsl/lib; dpkg -l | grep -E 'libnvidia-compute|nvidia-utils'",
    ),
    # what nvidia-smi prints without a loaded kernel module
    Signature(
        r"(?i:\bNVIDIA[- ]SMI has failed because it could ?n(?:o|\S{0,1})t communicate with the NVIDIA driver)|Failed to initialize NVML: Driver Not Loaded|NVMLError_DriverNotLoaded"
        rf"|{_NVML_STATUS}9\b|{smi_status_pattern(9)}"
        # systemd-udevd and nvidia-persistenced
        r"|Process '/s?bin/modprobe nvidia[\w-]{0,10}' failed with exit code|nvidia-persistenced failed to initialize"
        # as people write it
        r"|(?i:\bnvidia-smi\W{0,3}\s[^\n.]{0,60}(?:\bcan ?no?t|\bcould ?no?t|n.t|\bunable to|\bnot able to|\bfails? to|\bfailed to) (?:(?:communicate|talk|connect|speak) (?:with|to)|reach|contact) (?:the )?(?:nvidia )?drivers?\b)",
        (
            "no-driver",
            "wsl-linux-driver-installed",
            "nouveau-loaded",
            "vfio-bound",
            "secure-boot-unsigned-module",
            "kernel-module-not-built",
            "driver-too-new-for-gpu",
            "gpu-too-new-for-driver",
            "scheduler-gpu-not-allocated",
            "no-gpu",
        ),
        "the NVIDIA kernel module is not loaded",
        ("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver", "Failed to initialize NVML: Driver Not Loaded"),
        tells="lsmod | grep -E 'nvidia|nouveau'; lspci -nnk -d 10de:; mokutil --sb-state; sudo modprobe nvidia",
    ),
    # nvidia-smi asks libcuda which CUDA release the driver serves: nvmlSystemGetCudaDriverVersion_v2 in nvml.h
    Signature(
        r"\bDriver Version: \d[\d.]{4,12}\s{1,20}CUDA Version: (?:ERR!|N/A)",
        ("libcuda-not-on-loader-path", "wsl-driver-stack-broken", "driver-library-mismatch", "container-no-gpu-access"),
        "NVML works, and nvidia-smi cannot load libcuda",
        ("Driver Version: 550.54.15    CUDA Version: ERR!", "Driver Version: 470.57.02    CUDA Version: N/A"),
        vague=True,
        tells="ldconfig -p | grep libcuda.so.1; cat /proc/driver/nvidia/version",
    ),
    # shells, on a machine without a driver or in a container that was started without its programs
    Signature(
        SHELL_LACKS_NVIDIA_SMI,
        ("no-driver", "container-no-gpu-access"),
        "the driver's programs are not installed, or not in this container",
        ("-bash: /usr/bin/nvidia-smi: No such file or directory", "'nvidia-smi' is not recognized as an internal or external command"),
        vague=True,
        last=True,
        tells="lspci -nnk -d 10de:; ls -d /.dockerenv /proc/driver/nvidia",
    ),
    Signature(
        NO_NVIDIA_SMI,
        ("container-no-gpu-access", "no-driver"),
        "the driver's programs are not installed, or not in this container",
        ("./entrypoint.sh: line 3: nvidia-smi: command not found",),
        vague=True,
        last=True,
        needs_support=True,
    ),
    # https://github.com/microsoft/WSL/issues/11277
    Signature(
        rf"(?i)^(?=[^\n]{{0,300}}\bWSL ?2?\b)[^\n]{{0,200}}?(?:{_SMI_CRASHES})",
        ("wsl-driver-stack-broken",),
        "nvidia-smi crashes in the driver's libraries",
        ("nvidia-smi in WSL ends with a segmentation fault",),
    ),
    Signature(
        rf"(?i){_SMI_CRASHES}",
        ("driver-library-mismatch", "wsl-driver-stack-broken"),
        "nvidia-smi crashes in the driver's libraries",
        ("nvidia-smi ends with a segmentation fault",),
        tells="cat /proc/driver/nvidia/version; ldconfig -p | grep -E 'libcuda|nvidia-ml'",
    ),
    # what nvidia-smi prints if the loader finds no NVML
    Signature(
        rf"couldn't find libnvidia-ml\.so library|NVMLError_LibraryNotFound|NVML Shared Library Not Found|libnvidia-ml\.so\S{{0,10}}: cannot open shared object file|{smi_status_pattern(12)}",
        ("no-driver", "libcuda-not-installed", "container-ldcache-stale", "container-no-gpu-access"),
        "the driver's library libnvidia-ml.so was not found",
        (
            "NVIDIA-SMI couldn't find libnvidia-ml.so library in your system.",
            "pynvml.NVMLError_LibraryNotFound: NVML Shared Library Not Found",
        ),
        vague=True,
        tells="ldconfig -p | grep libnvidia-ml; ls -d /.dockerenv /dev/nvidiactl",
    ),
    # kernel/hung_task.c, and what people write
    Signature(
        r"task nvidia\S{0,20}:\d{1,10} blocked for more than|soft lockup - CPU#\d{1,4} stuck for \d{1,5}s! \[(?:nvidia|nv_queue|irq/\d{1,4}-nvidia)|NVMLError_Timeout\b|(?:nvidia-smi\b|\bcuda\.(?:is_available|device_count|init)(?:\(\))?|\bcuInit\b)[^\n]{0,30}\b(?:hangs|hung|freezes|never returns|(?:gets?|is|got) stuck|does not return)\b"
        r"|\b(?:freez|hang|hung|stuck|lock(?:s|ed) up)\w{0,3}\b[^\n]{0,60}\b(?:can no longer|cannot|can't|unable to|not able to) (?:even )?(?:run|use|start|kill) nvidia-smi\b"
        r"|nvidia-smi\b[^\n]{0,40}\bin(?:to)? (?:the )?(?:\W?D\W? (?:\(\w{1,20}\) )?state|uninterruptible sleep|state D\b)",
        ("driver-hung", "gsp-firmware-failure", "gpu-fell-off-bus", "wsl-driver-stack-broken"),
        "a call into the driver does not return",
        ("INFO: task nvidia-smi:4242 blocked for more than 120 seconds.", "torch.cuda.is_available() hangs"),
        tells="sudo dmesg -T | grep -E 'NVRM|Xid|blocked for more than'",
    ),
    # py-spy, faulthandler and gdb on a program that waits in the first call of CUDA
    Signature(
        r"\b(?:is_available|device_count|_lazy_init|_cuda_init|_cuda_getDeviceCount)\b[^\n]{0,8}\(\S{0,120}torch/cuda/__init__\.py:\d{1,4}\)|torch/cuda/__init__\.py\", line \d{1,4},? in (?:is_available|device_count|_lazy_init)\b",
        ("driver-hung",),
        "a call into the driver does not return",
        ("is_available (torch/cuda/__init__.py:129)",),
        vague=True,
        needs_support=True,
    ),
    # a task of any program, whose stack shows the driver
    Signature(
        r"task \S{1,40}:\d{1,10} blocked for more than \d{2,5} seconds",
        ("driver-hung",),
        "a call into the driver does not return",
        ("INFO: task python3:88121 blocked for more than 241 seconds.",),
        vague=True,
        needs_support=True,
    ),
    Signature(
        r"(?i:\blicen[cs]e status\b[^\n]{0,40}\bunlicen[cs]ed)|nvidia-gridd\S{0,10}: [^\n]{0,60}(?:Failed to \w{5,7} licen[cs]e|Unlicensed|license not found)|vGPU license state: Unlicensed",
        ("vgpu-unlicensed",),
        "the vGPU has no licence",
        ("License Status : Unlicensed (Unrestricted)", "nvidia-gridd: Failed to acquire license from 10.4.0.7"),
    ),
)
