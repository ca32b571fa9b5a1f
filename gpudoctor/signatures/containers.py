"""What container engines, NVIDIA's container toolkit, Kubernetes and Slurm say when a container or job gets no GPU."""

from __future__ import annotations

from gpudoctor.signatures.phrases import absence_pattern, cure_pattern
from gpudoctor.signatures.signature import Signature

_CLUSTER = r"\b(?:nodes?|kubernetes|k[83]s|kubelet|device[- ]plugin|daemon-?set)\b"
_GPUS = r"(?:\b(?:gpus?|graphics cards?)\b|nvidia\.com/gpu)"
_CONTAINER_CLI = r"nvidia-container-cli(?:\.real)?: "
_TOOLKIT = r"(?:nvidia-container-(?:cli|toolkit|runtime)|(?:nvidia )?container toolkit)"

_GPU_GIVEN = r"(?:(?:add|set|pass|specify|includ|insert)(?:ed|ing)?|us(?:ed|ing)|with|by) (?:[^ ]{1,16} ){0,3}?[`'\"]{0,2}(?:runtime: ?nvidia|--runtime[ =]nvidia|--gpus[ =]all|gpus: ?all|NVIDIA_VISIBLE_DEVICES[=:] ?all)"
"""What gives a container GPUs."""
CONTAINERS = (
    # the entry point of NVIDIA's images: nvidia_entrypoint.sh, entrypoint.d/50-gpu-driver-check.sh
    Signature(
        r"GPU, which (?:is not|may not) yet (?:be )?supported in this version of the container",
        ("gpu-too-new-for-build",),
        "the image is older than this GPU",
        ("WARNING: Detected NVIDIA GB10 GPU, which is not yet supported in this version of the container",),
        despite_versions=True,  # the image, not the framework's release, lacks the kernels
    ),
    Signature(
        r"No supported GPU\(s\) detected to run this container",
        ("gpu-too-new-for-build", "gpu-too-old-for-build"),
        "the image supports none of the GPUs",
        ("ERROR: No supported GPU(s) detected to run this container",),
        vague=True,
    ),
    Signature(
        r"This container was built for NVIDIA Driver Release [\d.]{3,12} or later|detected and compatibility mode is UNAVAILABLE",
        ("driver-too-old",),
        "the driver is older than the image needs",
        ("ERROR: This container was built for NVIDIA Driver Release 525.85 or later, but",),
    ),
    Signature(
        r"This container was built for CPUs supporting at least the AVX",
        ("cpu-lacks-avx",),
        "the image needs a CPU with AVX",
        ("ERROR: This container was built for CPUs supporting at least the AVX instruction set, but",),
    ),
    # https://github.com/NVIDIA/nvidia-docker/issues/1034; moby's and containerd's words for a runtime that is not configured
    Signature(
        r"could not select device driver\b[^\n]{0,24}\bcapabilities\W{1,3}\[\["
        r"|(?:unknown or invalid runtime name:|[Uu]nknown runtime specified) \S{0,2}nvidia|no runtime for \S{0,3}nvidia\S{0,3} is configured"
        r"|RuntimeHandler \S{0,3}nvidia\S{0,3} not supported"
        r"|\bnvidia-(?:container-(?:runtime|toolkit|runtime-hook|cli)|ctk|docker)\S{0,3}:? (?:no such file or directory|executable file not found|(?:command )?not found)"
        r"|[Cc]ommand not found: nvidia-(?:c(?:ontainer|tk)|docker)|(?i:\bRuntimeClass)\S{0,16} \S{0,3}nvidia\S{0,3} not found|NVIDIA runtime is not configured"
        r"|(?:nvidia-container-runtime|nvidia) did not terminate successfully",
        ("container-toolkit-missing",),
        "the container engine has no NVIDIA runtime",
        (
            'could not select device driver "" with capabilities: [[gpu]]',
            'could not select device driver "nvidia" with capabilities: [[gpu]]',
            "unknown or invalid runtime name: nvidia",
            "fork/exec /usr/bin/nvidia-container-runtime: no such file or directory",
            'exec: "nvidia-container-runtime": executable file not found in $PATH',
            'no runtime for "nvidia" is configured',
            'pod rejected: RuntimeClass "nvidia" not found',
            "nvidia-container-cli: command not found",
            "[ERROR] Command not found: nvidia-container-cli",
        ),
    ),
    # as people say it
    Signature(
        rf"(?i){absence_pattern(_TOOLKIT)}|\b(?:install\w{{0,3}}|need(?:ed)?) (?:the )?{_TOOLKIT}\b[^\n]{{0,40}}\b(?:fix|solv|help|work)(?:ed|s)\b",
        ("container-toolkit-missing",),
        "the NVIDIA Container Toolkit is not installed",
        (
            "the log shows a missing nvidia-container-cli",
            "the container toolkit was not installed",
            "installing the nvidia-container-toolkit fixed it",
        ),
        vague=True,
        said=True,
    ),
    # https://github.com/NVIDIA/k8s-device-plugin, internal/rm and cmd/nvidia-device-plugin
    Signature(
        r"could not load NVML library|If this is a GPU node, did you (?:set|configure)|Detected non-NVML platform"
        r"|ncompatible (?:platform|strategy) detected|ERROR_LIBRARY_NOT_FOUND|No devices found\. Waiting indefinitely",
        ("container-toolkit-missing", "container-no-gpu-access", "no-driver", "container-ldcache-stale"),
        "the device plugin finds no NVML in its container",
        (
            "Failed to initialize NVML: could not load NVML library",
            "If this is a GPU node, did you configure the NVIDIA Container Toolkit?",
            "Incompatible platform detected",
            "No devices found. Waiting indefinitely.",
        ),
    ),
    Signature(
        r"(?i:insufficient) nvidia\.com/(?:gpu|mig)|requested number of devices unavailable for nvidia\.com/|Invalid generic resource \(gres\) specification|Requested node configuration is not available",
        ("scheduler-gpu-not-allocated", "container-toolkit-missing"),
        "the scheduler has no GPU to allocate to this job",
        ("0/3 nodes are available: 3 Insufficient nvidia.com/gpu.", "Invalid generic resource (gres) specification"),
    ),
    # https://github.com/NVIDIA/libnvidia-container, src/nvc.c, src/driver.c, src/dxcore.c and src/cli/configure.c
    Signature(
        r"WSL environment detected but no adapters were found",
        ("wsl-driver-stack-broken", "wsl1", "no-gpu"),
        "WSL has no GPU from the Windows driver",
        ("nvidia-container-cli: initialization error: WSL environment detected but no adapters were found",),
    ),
    Signature(
        r"unsatisfied condition: (?:cuda|driver|brand|arch) ?[>=]"
        # nvidia-docker 1: https://github.com/NVIDIA/nvidia-docker/issues/384
        r"|unsupported CUDA version: driver (?!0\.0)\d{1,2}\.\d{1,2} < image \d",
        ("driver-too-old",),
        "the driver is too old for the image's CUDA version",
        (
            "nvidia-container-cli: requirement error: unsatisfied condition: cuda>=12.8, please update your driver to a newer version",
            "Error: unsupported CUDA version: driver 7.5 < image 8.0.44",
        ),
    ),
    Signature(
        r"unsupported CUDA version: driver 0\.0 < image \d",
        ("driver-library-mismatch", "uvm-not-loaded", "cuda-init-fails"),
        "CUDA does not initialise on the host",
        ("Error: unsupported CUDA version: driver 0.0 < image 8.0.61",),
    ),
    # https://github.com/NVIDIA/nvidia-container-toolkit/issues/289
    Signature(
        rf"{_CONTAINER_CLI}mount error: file creation failed: [^\n]{{1,300}}/lib(?:nvidia|cuda)\S{{0,60}}: file exists",
        ("wsl-linux-driver-installed", "cuda-compat-lib-conflict"),
        "the image contains a driver's libraries, where the container toolkit mounts the host's",
        (
            "nvidia-container-cli: mount error: file creation failed: /var/lib/docker/overlay2/7c/merged/usr/lib/x86_64-linux-gnu/libcuda.so.1: file exists: unknown.",
        ),
    ),
    Signature(
        rf"{_CONTAINER_CLI}initialization error: (?:load library failed: lib(?:nvidia-ml|cuda)\.|nvml error: driver not loaded)",
        ("no-driver", "kernel-module-not-built"),
        "the host has no loaded NVIDIA driver",
        (
            "nvidia-container-cli: initialization error: nvml error: driver not loaded",
            "nvidia-container-cli: initialization error: load library failed: libnvidia-ml.so.1: cannot open shared object file",
        ),
    ),
    Signature(
        rf"{_CONTAINER_CLI}(?:initialization error: driver (?:rpc )?error|detection error: driver rpc error): timed out",
        ("driver-hung", "gpu-fell-off-bus", "wsl-driver-stack-broken", "persistence-mode-off"),
        "the driver did not answer the container toolkit",
        ("nvidia-container-cli: initialization error: driver rpc error: timed out",),
    ),
    # the driver answers with an error on the host too: src/driver.c, src/nvc_info.c
    Signature(
        rf"{_CONTAINER_CLI}(?:initialization|detection) error: (?:cuda|nvml) error: (?!driver|insufficient|gpu is lost)",
        ("cuda-init-fails", "uvm-not-loaded", "gpu-requires-reset", "gpu-fell-off-bus", "wsl-driver-stack-broken"),
        "the driver does not work on the host",
        (
            "nvidia-container-cli: initialization error: cuda error: unknown error",
            "nvidia-container-cli: detection error: nvml error: unknown error",
        ),
        tells="nvidia-smi; sudo dmesg | grep -E 'NVRM|Xid' | tail",
    ),
    # the service that asks the driver ended: src/driver.c
    Signature(
        rf"{_CONTAINER_CLI}(?:initialization error: driver (?:rpc )?error|detection error: driver rpc error): failed to process request",
        ("driver-hung", "uvm-not-loaded", "gpu-fell-off-bus", "wsl-driver-stack-broken"),
        "the driver did not answer the container toolkit",
        ("nvidia-container-cli: initialization error: driver error: failed to process request",),
        last=True,
    ),
    Signature(
        rf"{_CONTAINER_CLI}(?:mount error: failed to add device rules|device error: \S{{0,60}} ?unknown device)|Runtime Hook directly \(e\.g\. specifying the docker --gpus",
        ("container-no-gpu-access",),
        "the container toolkit could not give the container its GPU devices",
        (
            "nvidia-container-cli: mount error: failed to add device rules: unable to find any existing device filters attached to the cgroup",
            "nvidia-container-cli: device error: 3: unknown device",
            "invoking the NVIDIA Container Runtime Hook directly (e.g. specifying the docker --gpus flag) is not supported",
        ),
    ),
    # https://github.com/NVIDIA/nvidia-docker/issues/587; Ubuntu's /sbin/ldconfig is a script that runs /sbin/ldconfig.real
    Signature(
        rf"{_CONTAINER_CLI}ldcache error: ",
        ("container-toolkit-missing",),
        "the container toolkit cannot run the host's ldconfig",
        (
            "nvidia-container-cli: ldcache error: process /sbin/ldconfig failed with error code: 127",
            "nvidia-container-cli: ldcache error: open failed: /sbin/ldconfig.real: no such file or directory",
        ),
        cure='Name the host\'s ldconfig in /etc/nvidia-container-runtime/config.toml: ldconfig = "@/sbin/ldconfig.real" on Ubuntu, "@/sbin/ldconfig" elsewhere.',
    ),
    # https://github.com/NVIDIA/libnvidia-container/issues/111
    Signature(
        rf"{_CONTAINER_CLI}container error: (?:cgroup subsystem devices not found|failed to get device cgroup)",
        ("container-toolkit-missing",),
        "the container toolkit cannot give the container its devices through cgroups",
        (
            "nvidia-container-cli: container error: cgroup subsystem devices not found: unknown",
            "nvidia-container-cli: container error: failed to get device cgroup mount path: unable to create cgroupv0 interface",
        ),
        cure="Update the NVIDIA Container Toolkit to 1.8.0 or newer, which supports cgroup v2; in a rootless engine, set no-cgroups = true in its config.toml.",
    ),
    Signature(
        rf"{_CONTAINER_CLI}(?:initialization|ldcache|mount|container|detection|device|requirement) error: ",
        ("container-no-gpu-access", "container-toolkit-missing", "no-driver"),
        "the container toolkit could not give the container its GPUs",
        ("nvidia-container-cli: mount error: stat failed: /dev/nvidia-modeset: no such file or directory",),
        vague=True,
        tells="sudo nvidia-container-cli -k -d /dev/tty info",
    ),
    # moby's, Podman's and slurmd's words for a device file that was named by hand: https://slurm.schedmd.com/gres.conf.html
    Signature(
        r"adding custom device \S{0,2}/dev/nvidia|(?:can't stat|Waiting for) gres\.conf file /dev/nvidia|\bstat /dev/nvidia\S{1,20}: no such file",
        ("device-nodes-missing", "no-driver"),
        "the host has no device file of the NVIDIA driver",
        (
            'error gathering device information while adding custom device "/dev/nvidia0": no such file or directory',
            "slurmd: fatal: can't stat gres.conf file /dev/nvidia0: No such file or directory",
        ),
        tells="nvidia-smi; ls -l /dev/nvidia*",
    ),
    # src/plugins/gpu of Slurm
    Signature(
        r"configured with nvml functionality, but that lib wasn't found",
        ("no-driver", "libcuda-not-on-loader-path"),
        "Slurm finds no NVML on the node",
        ("slurmd: fatal: We were configured with nvml functionality, but that lib wasn't found on the system.",),
    ),
    # pkg/nvcdi of the container toolkit, which asks NVML for the driver's version and searches files of this version
    Signature(
        r"failed to generate CDI spec\b",
        ("container-cdi-spec-missing", "no-driver", "driver-library-mismatch"),
        "nvidia-ctk could not write a CDI specification",
        ("failed to generate CDI spec: failed to create edits common for entities",),
        vague=True,
        last=True,
        tells="nvidia-smi; cat /proc/driver/nvidia/version; ldconfig -p | grep -E 'libcuda|libnvidia-ml'",
    ),
    # the validators of the GPU operator, which wait for the toolkit, and this for the driver
    Signature(
        r"waiting for nvidia container stack to be setup|toolkit is not ready|waiting for (?:the )?container toolkit\b",
        ("container-toolkit-missing", "no-driver"),
        "the GPU operator waits for the container toolkit, which waits for the driver",
        ("waiting for nvidia container stack to be setup",),
        vague=True,
        last=True,
        tells="kubectl get pods -n gpu-operator; nvidia-smi",
    ),
    # what people say of a node without GPUs, and kubectl shows: https://kubernetes.io/docs/tasks/manage-gpus/scheduling-gpus/
    Signature(
        # as `describe` and YAML print a node, and as people write; not what a pod's own YAML asks for, nor what `describe` says that pods took
        r"(?i)\bnvidia\.com/gpu(?:\W{0,4}['\"`]|:? {2,24})0\b(?![/.\d]|\s{1,20}\d)|(?<=\S )[`'\"]?nvidia\.com/gpu[`'\"]?: ?0\b(?![/.\d]|[^\n]{0,40}\b(?:limits?|requests?)\b)"
        rf"|{_CLUSTER}[^\n]{{0,80}}(?:\b(?:not|unable to|fails? to)\b|n't)[^\n]{{0,20}}\b(?:see|detect|find|show|advertis|regist|report|list|expos|recogni[sz]|discover)\w{{0,4}}\b[^\n]{{0,30}}{_GPUS}"
        rf"|{_CLUSTER}[^\n]{{0,80}}\b(?:sees|finds|found|shows|reports|detects|advertises|lists|registers) (?:0|no|zero|any) (?:\w{{1,12}} )?{_GPUS}"
        r"|(?<!if )\bno (?:allocatable |schedulable |nvidia )?(?:gpu resources?|allocatable gpus?)\b(?! (?:is|are) (?:need|requir|us)ed)"
        r"|\u8bbe\u5907\u63d2\u4ef6[^\n]{0,20}(?:\u68c0\u6d4b\u4e0d\u5230|\u627e\u4e0d\u5230|\u8bc6\u522b\u4e0d\u5230)",
        ("container-toolkit-missing", "scheduler-gpu-not-allocated", "no-driver"),
        "the Kubernetes node offers no GPU",
        ("nvidia.com/gpu:     0", "kubectl describe node shows no GPU resource", "the device plugin does not see the GPU"),
        vague=True,
        last=True,
        tells="kubectl logs -n kube-system -l name=nvidia-device-plugin-ds; kubectl get runtimeclass",
    ),
    # a pod that waits for a GPU which no node offers, or all are in use
    Signature(
        r"(?i)gpu\S{0,60}\s{1,40}0/\d\s{1,40}Pending\b|\b(?:pods?|containers?|notebooks?|jobs?)\b[^\n]{0,40}\b(?:stuck|stays?|remains?|hangs?|always|keeps?|still)\b[^\n]{0,24}\bpending\b",
        ("container-toolkit-missing",),
        "no Kubernetes node offers the GPU that the pod requests",
        ("gpu-pod   0/2     Pending   0          24h", "the pod stays in the pending state"),
        vague=True,
        needs_support=True,
        last=True,
    ),
    # https://apptainer.org/docs/user/latest/gpu.html; on a node without GPUs it is harmless
    Signature(
        r"Could not find any nv files on this host",
        ("scheduler-gpu-not-allocated", "no-driver"),
        "the host of this container has no NVIDIA driver",
        ("INFO:    Could not find any nv files on this host!",),
        vague=True,
        last=True,
        needs_support=True,
    ),
    # runc's and crun's words for a program that only NVIDIA's runtime mounts
    Signature(
        r"exec: \S{0,3}nvidia-smi\S{0,3}:? (?:stat [^\n]{0,40}: )?(?:no such file|executable file not found)|executable file [`']nvidia-smi[`'] not found",
        ("container-no-gpu-access", "container-toolkit-missing"),
        "the container was started without the driver's programs",
        ('exec: "nvidia-smi": executable file not found in $PATH: unknown.', "executable file `nvidia-smi` not found in $PATH"),
    ),
    Signature(
        r"\b(?:docker|podman|nerdctl) run\b[^\n]{0,300}\b(?:libcuda|libnvidia-ml|nvidia-smi|dev/nvidia)[^\n]{0,60}[(<\[>#] ?(?:no (?:results?|output|match\w{0,2})|nothing|empty|none)\b",
        ("container-no-gpu-access",),
        "the container has no file of the driver",
        ("$ docker run --rm debian:12 ls /usr/lib/x86_64-linux-gnu/libcuda.so.1 (no output)",),
    ),
    Signature(
        r"(?i)\b(?:in|inside)(?: of)? (?:the |my |a |our )?(?:docker )?(?:container|image|pod)\b[^\n.]{0,40}\blibcuda\b[^\n]{0,60}\b(?:prints? nothing|nothing|no output|no results?|not (?:found|there)|missing|absent)\b",
        ("container-no-gpu-access",),
        "the container has no libcuda, which the host has",
        ("inside the container ldconfig -p | grep libcuda prints nothing",),
        vague=True,
        said=True,
    ),
    # what helped
    Signature(
        rf"(?i){cure_pattern(_GPU_GIVEN)}",
        ("container-no-gpu-access",),
        "the container was started without GPUs",
        ("adding `runtime: nvidia` to the compose file fixed it", "solved by passing --gpus all"),
        vague=True,
        last=True,
    ),
    # the entry point of NVIDIA's images
    Signature(
        r"The NVIDIA Driver was not detected\.",
        ("container-no-gpu-access",),
        "the container was started without GPUs",
        ("WARNING: The NVIDIA Driver was not detected.  GPU functionality will not be available.",),
    ),
)
