"""Words that speak for a cause in the machine: its GPUs, driver, system and settings."""

from __future__ import annotations

from gpudoctor.signatures.phrases import (
    ABOUT_WSL,
    AMD_GPU,
    DESKTOP_HYPERVISOR,
    HAS_CUDA,
    NVIDIA_SMI_WORKS,
    PINNING_CALL,
    ROCM_BUILD,
    USES_GPU_ELSEWHERE,
)
from gpudoctor.signatures.signature import Hint

_AS_NORMAL_USER = r"\b(?:without (?:sudo|root)|as (?:a |my )?(?:normal |regular |own )?user)\b"
_WITHOUT_NEGATION = r"(?:(?!\b(?:not?|never)\b|n't)[^\n]){0,30}"
_WORKS = r"(?<!not )(?<!n't )(?<!never )\b(?:works?|fine|succeeds?|ok)\b"

MACHINE_HINTS = (
    Hint(
        r"(?i)confidential[ -]computing|\bconf-compute\b|nvidia-smi conf-",
        "confidential-computing-not-ready",
        "nvidia-smi conf-compute -srs 1",
    ),
    Hint(r"(?i)\bfabric ?manager\b|\bNVSwitch\b|\bHGX\b", "fabric-manager-missing", "nvidia-fabricmanager.service: inactive (dead)"),
    # nv-fabricmanager on a machine without NVSwitches, which needs none
    Hint(r"\bNV_WARN_NOTHING_TO_DO\b", "", "NVSwitch driver failed with error:WARNING Nothing to do [NV_WARN_NOTHING_TO_DO]"),
    # a column of nvidia-smi's table, a field of nvidia-smi -q, and how people name it: https://docs.nvidia.com/deploy/driver-persistence/
    Hint(
        r"(?i)\b(?:persistence(?:[ -]m(?:ode)?)?|persistenced)\b(?: is| was)?\W{1,30}(?:off|disabled|inactive|not (?:on|enabled|running|active))\b|\bnon-persistence mode\b|\b(?:without|no) persistence(?: mode)?\b",
        "persistence-mode-off",
        "Persistence-M: Off",
    ),
    # what divides a GPU among containers
    Hint(r"/\S{0,200}lib(?:vgpu|cuda-control)\.so\b", "", "/etc/ld.so.preload: /usr/local/vgpu/libvgpu.so"),
    # what the fabric manager of NVLink 5 needs: https://docs.nvidia.com/datacenter/tesla/fabric-manager-user-guide/
    Hint(
        r"(?i)\b(?:ib_umad|mlx5_ib|nvlsm|nvidia-imex|infiniband-diags)\b[^\n]{0,80}\b(?:not|missing|absent|fail\w{0,3}|without|lacks?)\b|\b(?:missing|without|no|(?:not|n't) (?:load|start|install|run)\w{0,3}) (?:\w{1,12} ){0,2}(?:ib_umad|mlx5_ib|nvlsm|nvidia-imex)\b",
        "fabric-prerequisites-missing",
        "ib_umad is not loaded",
    ),
    # firmware settings without which a large BAR has no address
    Hint(
        r"(?i)\b(?:above[ -]4g(?:b)?(?: decoding)?|re-?sizable bar|rebar)\b[^\n]{0,60}\b(?:disabled|deactivated|off|not enabled|inactive)\b|\b(?:enabl|activat)\w{1,3} (?:both )?\W{0,2}(?:above[ -]4g|re-?sizable bar|rebar)|\bpci=realloc\b",
        "pci-bar-not-assigned",
        "Above 4G Decoding was disabled in the BIOS",
    ),
    # what a resumed machine logs: https://docs.kernel.org/power/basic-pm-debugging.html; training resumes too
    Hint(
        r"(?i)\bPM: (?:suspend|resume|hibernation)|\b(?:suspend|suspension|hibernat|wak(?:e|ing) up|sleep mode)|\bgo(?:es|ing)? to sleep\b|\b(?:after|from) (?:a |the |\w{1,12} ){0,2}(?:sleep|resume\b|standby|waking)|\brmmod nvidia[_-]uvm",
        "uvm-broken-after-suspend",
        "PM: suspend exit",
    ),
    Hint(
        r"(?i)open(?:-source)? (?:gpu )?kernel modules?|Open Kernel Module for|nvidia-(?:driver-)?(?:\d{3}-)?open\b|uvm_disable_hmm|not happen with the proprietary",
        "uvm-hmm-init-failure",
        "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.86.16",
    ),
    # the kernel's warning where no range of addresses is left: kernel/resource.c
    Hint(
        r"\bkernel/resource\.c:\d{1,5} \w{0,20}request_free_mem_region\b",
        "uvm-hmm-init-failure",
        "WARNING: CPU: 0 PID: 912 at kernel/resource.c:1859 request_free_mem_region.constprop.0+0x12c/0x140",
    ),
    # a frame of a kernel stack, and which programs hang
    Hint(
        r"\+0x[0-9a-f]{1,6}/0x[0-9a-f]{1,6} \[nvidia(?:_uvm|_modeset|_drm)?\]|\bnvidia-(?:smi|powerd|persistenced|modprobe)\b[^\n]{0,60}\b(?:blocked|hangs?|hung|deadlock\w{0,2})\b|(?i:\b(?:hangs?|hung|hanging|stuck|blocks?|waits?)\b[^\n.]{0,24}\b(?:forever|indefinitely|for (?:hours|days|ever))\b)",
        "driver-hung",
        "os_acquire_rwlock_read+0x35/0x50 [nvidia]",
    ),
    Hint(
        r"File \"(?:(?!site-packages|dist-packages)[^\"\n]){1,120}[/\\](?:torch|tensorflow|jax|keras)\.py\"",
        "two-copies-of-framework",
        'File "/home/me/project/torch.py", line 1, in <module>',
    ),
    # `ls -l` of one file, which tells nothing of the others
    Hint(
        r"\bc[rwx-]{6}(?!rw)[rwxst-]{3}[.+@]? [^\n]{4,90}/dev/nvidia(?:\d|ctl|-uvm)",
        "device-permission-denied",
        "crw-rw---- 1 root video 195, 0 Mar  3 08:11 /dev/nvidia0",
    ),
    Hint(
        r"(?i)\bWSL ?[12]?\b[^\n]{0,160}\b(?:[4-9]|1[0-6]|four|five|six|seven|eight) ?x? ?(?:nvidia |geforce |tesla |quadro )?(?:rtx|gtx|titan|gpus?\b|cards\b|[ahlvt]\d{1,3}\b)",
        "wsl-multi-gpu-limit",
        "WSL2 with 4x RTX 3090",
    ),
    Hint(r"No MIG(?:-enabled)? devices found", "mig-no-instances", "|  No MIG devices found                         |"),
    Hint(
        r"(?i:\blicen[cs]e status\b[^\n]{0,40}\bunlicen[cs]ed)|nvidia-gridd\S{0,10}: [^\n]{0,60}\bFailed to\b",
        "vgpu-unlicensed",
        "License Status : Unlicensed (Restricted)",
    ),
    Hint(r"\bvfio-pci\b", "vfio-bound", "Kernel driver in use: vfio-pci"),
    Hint(
        r"systemctl daemon-reload|\broot@[0-9a-f]{12}:|\(container\)|(?i:inside (?:a |the |my )?(?:running )?container|\brestart(?:ing)? (?:of )?(?:the |all (?:the )?)?containers?\b[^\n.]{0,30}\b(?:fix|help|bring|recover|solv|restor)\w{0,4})",
        "container-cgroup-device-lost",
        "root@3f1c9a7be210:/# nvidia-smi",
    ),
    Hint(
        r"(?i)\bafter (?:[\w.-]{1,12} ){0,6}(?:while|time|hours?|days?|weeks?)\b(?=(?:(?!\. )[^\n]){0,100}\b(?:gpus?|cuda|cpu)\b)(?:(?!\. )[^\n]){0,100}\b(?:stops?|stopped|no longer|only|just|reverts?|falls? back|fell back|switch\w{2,3}|loses?|lost|ignores?|unavailable)\b",
        "container-cgroup-device-lost",
        "after 12 hours it stops using the GPU",
    ),
    Hint(
        r"(?:apt|apt-get|aptitude)\b[^\n]{0,60} install [^\n]{0,80}(?:\b(?:nvidia-(?:driver|utils|dkms)-\d{3}|cuda-drivers)\b|(?<![\w-])cuda(?:-\d{1,2}-\d)?(?![\w-]))|\b[Ii]nstalled (?:the )?nvidia-(?:driver|utils|dkms)-\d{3}|^ii {1,4}(?:libnvidia-compute|nvidia-driver|nvidia-utils)-\d{3}",
        "wsl-linux-driver-installed",
        "sudo apt install nvidia-utils-535",
    ),
    # which modules DKMS builds
    Hint(
        r"/var/lib/dkms/(?!nvidia)[a-z]|\bdkms[ .](?:add|build|install|autoinstall|status)\b[^\n]{0,60}\s(?!nvidia)[a-z][\w-]{2,30}/v?\d|^\s{0,4}[a-z][\w-]{2,30}/v?\d[\w.-]{0,20}, \d[^\n]{3,60}: (?:added|built|installed)|DKMS module:? '?(?!nvidia)[a-z]",
        "",
        "Consult /var/lib/dkms/virtualbox/7.0.20/build/make.log for more information.",
    ),
    Hint(r"(?i)modprobe nvidia[-_]uvm|nvidia-modprobe", "uvm-not-loaded", "modprobe nvidia_uvm"),
    # a program of root's loads nvidia_uvm, and others then find it
    Hint(
        rf"(?i)\b(?:sudo|as root)\b[^\n]{{0,80}}\b(?:then|after(?:wards|ward| that| which)?|subsequent\w{{0,2}}|next|from then on|once)\b(?:(?!\bnot\b)[^\n]){{0,40}}(?:{_AS_NORMAL_USER}{_WITHOUT_NEGATION}{_WORKS}|{_WORKS}{_WITHOUT_NEGATION}{_AS_NORMAL_USER})",
        "uvm-not-loaded",
        "I run it once with sudo, and afterwards it works without sudo",
    ),
    # xla/stream_executor/cuda/cuda_diagnostics.cc
    Hint(
        r"kernel driver does not appear to be running on this host",
        "no-driver",
        "kernel driver does not appear to be running on this host (box): /proc/driver/nvidia/version does not exist",
    ),
    # https://github.com/canonical/ubuntu-drivers-common, prime-select, which then keeps NVIDIA's modules from loading
    Hint(r"\bprime-select intel\b", "no-driver", "sudo prime-select intel"),
    # torch/utils/collect_env.py, for which nvidia-smi did not run
    Hint(r"^\s{0,4}Nvidia driver version\s{0,30}: (?:Could not collect|No CUDA)", "no-driver", "Nvidia driver version: Could not collect"),
    # which CUDA release is installed: a missing library may belong to another
    Hint(
        rf"(?i){HAS_CUDA}v?\d{{1,2}}",
        "",
        "this machine has Ubuntu 18.04 with CUDA 9",
    ),
    # what `ls /usr/src` shows of a driver that DKMS is to build
    Hint(r"^(?:/usr/src/)?nvidia-\d{3}\.\d{2,3}(?:\.\d{2})?/?$", "kernel-module-not-built", "nvidia-470.141.03"),
    # platforms, by which gpudoctor/diagnose/platform_causes.py names a cause
    # not the patterns by which Ollama searches every Linux for libcuda
    Hint(
        ABOUT_WSL,
        "",
        "uname -r: 5.15.153.1-microsoft-standard-WSL2",
    ),
    Hint(r"(?i)\bjetson\b|\bjetpack\b|-tegra\b", "", "Jetson Orin Nano, JetPack 6.1"),
    Hint(
        AMD_GPU,
        "",
        "AMD Radeon RX 7900 XTX",
    ),
    Hint(DESKTOP_HYPERVISOR, "", "Ubuntu runs in VirtualBox"),
    Hint(ROCM_BUILD, "", "pip install torch --index-url https://download.pytorch.org/whl/rocm6.2"),
    Hint(
        r"(?i)\bNVIDIA_VISIBLE_DEVICES\s?[=:]\s?['\"]?\d{1,2}:\d{1,2},\d{1,2}:\d|\bMIG\b (?:(?:gpu |compute )?(?:devices?|instances?|slices?|partitions?|mode)|\d+\.|\d+g\.)|\bmulti-instance gpu|\b(?:several|multiple|two|three|all|using|use|with|for|of|into) (?:the )?MIGs?\b(?! M\.)|\bMIG \d|\bMIG-(?:(?:GPU-)?[0-9a-f]{8}|<\w{2,12}>|[xX]{3})|\bMIG (?:is |was |has been |mode )?(?:enabled|activated|on\b)|\b(?:enabled?|activated?) MIG\b",
        "mig-one-instance-per-process",
        "MIG 3g.40gb Device 0: (UUID: MIG-3f3d2b9e)",
    ),
    Hint(
        r"LD_LIBRARY_PATH[`'\"]?(?: ?[=:]| (?:has|contains?|lists?|includes?|leads?|points?|begins|with)\b)(?![^\n]{0,200}-packages/nvidia)[^\n]{0,300}cudnn|^(?:/\S{1,200}:)?/\S{0,100}cudnn\S{0,100}/lib(?:64)?(?::|$)|/usr/(?:lib|local)\S{0,80}/libcudnn",
        "cudnn-shadowed-by-system",
        "LD_LIBRARY_PATH=/opt/cudnn-8.2/lib64",
    ),
    Hint(
        r"(?i)\bdkms\b|\bakmods?\b|linux-headers|kernel (?:update|upgrade)|(?:updat|upgrad)\w{1,4} (?:the |my |to |a |new ){0,3}kernel|kernel (?:was |got |has been )?(?:updated|upgraded)|\u5185\u6838[^\n]{0,12}(?:\u66f4|\u5347)|(?:\u66f4|\u5347)[^\n]{0,6}\u5185\u6838",
        "kernel-module-not-built",
        "dkms status",
    ),
    # what a user needs for an AMD GPU: https://rocm.docs.amd.com/projects/install-on-linux/en/latest/install/prerequisites.html
    Hint(
        r"/dev/kfd\b[^\n]{0,60}(?:[Pp]ermission denied|EACCES|Operation not permitted)|(?i:\b(?:not|n't)\b[^\n.]{0,24}\b(?:render|video)\b[^\n.]{0,12}\bgroups?\b)",
        "device-permission-denied",
        "Unable to open /dev/kfd read-write: Permission denied",
    ),
    # what `lspci -vvv` shows of ACS, and the kernel's options for the IOMMU: https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html
    Hint(
        r"(?i)\bSrcValid\+|\bACSCtl\b|\b(?:intel_|amd_)?iommu\b|\bNCCL_P2P_DISABLE\b|\bCAN(?:NOT)? Access Peer Device\b|\bP2P=Enabled\b|\b(?i:disabl\w{1,3}) (?:the )?ACS\b|\bIO_PAGE_FAULT\b|\bDMAR: \[DMA"
        # how NCCL connects two GPUs: transport/p2p.cc
        r"|\bvia P2P/"
        # NCCL's init.cc: what hangs later is a transfer
        r"|\bnranks (?!1\b)\d{1,4} [^\n]{0,200}\bInit COMPLETE\b"
        # what tells a fault between GPUs from one of the program
        r"|(?i:\b(?:works?|worked|ok|fine|trains|runs|no problems?)\b[^\n.]{0,24}\b(?:with|on|using) (?:a single|any single|only one|just one|one(?: of the| of them)?|each|either|1)\b[^\n.]{0,12}\bgpus?\b|\b(?:(?:single|one|1|each|either)(?: of (?:the|my|them))?[ -]?gpus?|(?:each|either)(?: of them)? alone)\b[^\n.]{0,30}(?<!not )\b(?:works?|worked|fine|trains|runs)\b)",
        "nccl-p2p-acs-iommu",
        "ACSCtl: SrcValid+ TransBlk- ReqRedir+",
    ),
    Hint(
        r"\b(?:docker|podman) run\b(?![^\n]{0,400}(?:--shm-size|--ipc|nvidia-smi))|/dev/shm|(?i:\b(?:in|inside) (?:a |the )?(?:docker|container|kubernetes|pod)\b|\b[\w-]{1,20} docker\b)",
        "container-shm-too-small",
        "docker run --gpus all --rm trainer:2 python train.py",
    ),
    # several nodes, whose GPUs meet on the network; or shared memory that is large
    Hint(
        r"(?i)\bmulti[- ]?nodes?\b|\b(?:two|three|four|both|several|multiple|across|between|[2-9]) (?:the |\w{1,12} )?(?:nodes|hosts|servers|machines)\b|\bnnodes[\s=:]{1,3}(?:[2-9]|1\d)\b|\bnode[-_ ]?rank[\s=:]{1,3}[1-9]"
        r"|\b(?:NCCL|GLOO)_(?:SOCKET_IFNAME|IB_)|\bInfiniBand\b|\b(?:shm|/dev/shm)\b[^\n]{0,20}\b\d{1,3} ?Gi?B?\b|--shm-size[= ]\d{1,3}g",
        "all-reduce-failed",
        "torchrun --nnodes=2 --nproc_per_node=8 train.py",
    ),
    Hint(
        r"(?i)\b(?:used|held|occupied|taken) by (?:another|other) (?:process|program|user)|\b(?:another|other|somebody|someone|colleague|first|second|previous|old)(?:'s| else's)? (?:\S{1,12} ){0,5}(?:takes?|taking|uses?|using|holds?|holding|occup(?:y|ies|ying)|is using)(?: up)? (?:\w{1,8} |~)?\d{1,3}(?:\.\d)? ?(?:of (?:the )?\d{1,3} ?)?(?:[gm]i?b?\b|%)",
        "gpu-memory-held-by-other-process",
        "22 GiB are used by another process",
    ),
    Hint(
        r"(?i)\b(?:zombie|defunct|orphaned) process|\bkill(?:ed|ing)? (?:the )?(?:old |other )?(?:python )?process|\b(?:still|some|old|leftover|remaining) (?:\w{1,12} ){0,2}process(?:es)? (?:\w{1,8} ){0,4}(?:tak|us|hold|occup)\w{1,4}(?: up)? [~\d]"
        r"|\b(?:clos(?:e|ed|ing)|shut(?:ting)? down|multiple|several|two|another|other) (?:\w{1,12} ){0,2}(?:jupyter|notebooks?)\b|\b(?:jupyter|notebook)\b[^\n.]{0,24}\bopen(?:ed)?\b[^\n.]{0,16}\b(?:another|other)\b",
        "gpu-memory-held-by-other-process",
        "solved by killing the old python process",
    ),
    # several programs on one GPU: each takes its share
    Hint(
        r"(?i)^(?=[^\n]{0,300}\b(?:jax|tensorflow|keras|gpus?|at once|same time)\b)[^\n]{0,300}\b(?:more than one|two|several|multiple|second|another|2) (?:(?:jax|tensorflow|python|instances? of|concurrent|parallel|of (?:my|the)) ){0,2}(?:programs?|process(?:es)?|scripts?|notebooks?)\b(?! per\b)",
        "gpu-memory-preallocation",
        "it only fails when more than one program runs on the GPU",
    ),
    # the share that JAX allocates at its start: https://docs.jax.dev/en/latest/gpu_memory_allocation.html
    Hint(
        r"(?i)\b(?:XLA|JAX)\b[^\n]{0,200}\b75 ?%|\b75 ?%[^\n]{0,40}\bmemory\b[^\n]{0,80}\b(?:although|even though|but|while|only|tiny|small)\b",
        "gpu-memory-preallocation",
        "JAX takes 75% of the memory",
    ),
    Hint(
        r"(?i)\bpre-?allocat(?:e[sd]?|ion|ing)\b|(?:XLA_PYTHON_CLIENT_(?:PREALLOCATE|MEM_FRACTION)|TF_FORCE_GPU_ALLOW_GROWTH)(?![^\n]{0,60}(?:n't|\bnot|\bno|\bnever|\bwithout)\b)[^\n]{0,60}\b(?:help|fix|work|solv)",
        "gpu-memory-preallocation",
        "XLA_PYTHON_CLIENT_PREALLOCATE=false helps",
    ),
    # by which gpudoctor/diagnose/support_system.py knows what WSL limits
    Hint(PINNING_CALL, "", "DataLoader(dataset, pin_memory=True)"),
    Hint(
        r"(?i)\b(?:works?|working|fine|true|ok)\b[^\n]{0,60}\b(?:as (?:the )?root|(?:with|under|using) sudo)\b|\b(?:as (?:the )?root|with sudo)\b[^\n]{0,30}\b(?:works?|fine|true|ok|(?:is|was|are|gets?) (?:detected|found|recogni[sz]ed|visible|seen))\b|\b(?:as|by|for) (?:an? )?non-?root\b|\bunless [^\n]{0,30}\b(?:as (?:the )?root|(?:with|under|using) sudo|super-?user)\b"
        r"|\b(?:not|n't|without) (?:using|being|logged in as) (?:the )?root\b|\bonly (?:works? )?(?:as|for|with) (?:the )?(?:user )?\W?root\b|\b(?:possible|able)\b[^\n.]{0,24}\bas (?:the )?(?:user )?\W{0,2}root\b|\bsu root\b[^\n]{0,60}\b(?:works?|fine|ok)\b"
        r"|\bsudo (?:-\w{1,3} )?\S{0,60}python\S{0,6} [^\n]{0,200}(?:#|->|=>)[^\n\w]{0,4}(?:it |this )?works?\b|\bonly\b[^\n.]{0,40}\b(?:as|with|by|for|under|using|use[sd]?|when|if)\b[^\n.]{0,16}\b(?:root|sudo|super-?users?|admin(?:istrator)?s?)\b",
        "device-permission-denied",
        "nvidia-smi works with sudo",
    ),
    # nvidia-smi -q
    Hint(r"\bSW Power Cap\s{0,40}: Active", "power-throttled", "SW Power Cap                      : Active"),
    Hint(r"(?i)\bcompute[ _]mode\b[^\n]{0,40}\bprohibited\b", "compute-prohibited", "Compute Mode : Prohibited"),
    Hint(
        r"(?i)\bexclusive[_ -](?:process|thread)\b|(?<![\w.])E\. (?:Process|Thread)\b",
        "exclusive-compute-mode",
        "Compute Mode : Exclusive_Process",
    ),
    # processors from before 2011 and cheap ones after, which have no AVX
    Hint(
        r"\b(?:Pentium|Celeron|Core ?2|Phenom|Core\(?T?M?\)? i[357][ -]\d{3}\b|Xeon\S{0,3} [EXLW]5[456]\d\d)\b",
        "cpu-lacks-avx",
        "model name: Intel(R) Pentium(R) CPU G4560",
    ),
    Hint(r"LD_LIBRARY_PATH[^\n]{0,300}/stubs\b", "libcuda-is-stub", "LD_LIBRARY_PATH=/usr/local/cuda/lib64/stubs"),
    Hint(
        r"cannot access '?/dev/nvidia(?:\*|\d{1,2}|ctl)'?: No such file|(?i:\bno /dev/nvidia(?:\*|0|ctl)|/dev/nvidia(?:\*|0|ctl)? (?:\w{1,12} )?(?:do(?:es)? not|do(?:es)?n't) exist|\bnvidia-modprobe\b[^\n]{0,40}\b(?:creat|fix|solv|help))",
        "device-nodes-missing",
        "ls: cannot access '/dev/nvidia0': No such file or directory",
    ),
    Hint(
        r"(?i)\b(?:no|(?:not|n't) have an?) (?:nvidia |dedicated |discrete )?gpus? (?:\w{1,12} ){0,2}in (?:this|my|the|that|our) (?:machine|computer|pc|laptop|server|vm|box|host|node|instance)\b"
        r"|\b(?:machine|computer|pc|laptop|server|vm|box|host|instance) (?:(?:has|have|had|comes with) no|do(?:es)?(?:n't| not) have (?:a|an|any)) (?:nvidia |dedicated |discrete )?(?:gpus?|(?:graphics|video) cards?)\b"
        r"|\b(?:I|we) (?:do(?:n't| not) (?:have|own) an?y?|(?:have|own) no) nvidia (?:hardware|gpus?|(?:(?:graphics|video) )?cards?)\b"
        r"|\bwithout (?:a|any) (?:nvidia|dedicated|discrete) (?:gpus?|(?:graphics|video) cards?)\b(?! (?:driver|support|memory))",
        "no-gpu",
        "there is no GPU in this machine",
        said=True,
    ),
    # some hosts have no GPU
    Hint(
        r"(?i)\bnot (?:all|every one|each) (?:of (?:them|those|these|our|the) )?(?:\w{1,16} )?(?:have|has) (?:a |an |any )?(?:nvidia )?gpus?\b|\b(?:hosts?|machines?|servers?|nodes?|runners?|computers?|instances?|laptops?|vms?|boxes|pcs?) (?:without|with no|lacking|that (?:have|has) no) (?:a |an |any )?(?:nvidia |dedicated |discrete )?gpus?\b(?! (?:support|access))",
        "no-gpu",
        "the same image runs on hosts without a GPU",
        said=True,
    ),
    Hint(
        r"(?i)\blspci\b[^\n]{0,40}nvidia[^\n]{0,30}\b(?:nothing|empty|no output|no result|shows no|prints no)",
        "no-gpu",
        "lspci | grep -i nvidia shows nothing",
    ),
    Hint(
        r"LD_LIBRARY_PATH[^\n]{0,300}cuda[-/\d.]{0,8}compat|\bcuda-compat-\d|(?i:\bimage:?)[^\n]{0,60}(?:nvcr\.io|nvidia/cuda|vllm|pytorch)|nvcr\.io/nvidia/|Container image Copyright \(c\) \d{4}, NVIDIA",
        "cuda-compat-lib-conflict",
        "LD_LIBRARY_PATH=/usr/local/cuda/compat",
    ),
    # torch and collect_env in another process: what sees the GPU there does not inherit what hides it here
    Hint(
        r"(?i)\bcuda(?:[ .]is)?[ ._](?:is[ _])?available(?:\(\))?[`*'\")]{0,3}\s{0,3}(?:[:=]|(?:it |that )?(?:is|was|gives?|says?|shows?|prints?|returns?|returned|reports?)\b:?)?\W{0,6}true\b",
        "cuda-visible-devices-masked",
        "torch.cuda.is_available() returns True in a shell",
    ),
    Hint(
        r"(?i)\b(?:by|after|when|once|if) (?:(?:i|you|we) )?(?:unset|remov|clear|delet|comment)\w*\b[^\n]{0,30}\bCUDA_VISIBLE_DEVICES",
        "cuda-visible-devices-masked",
        "solved by removing CUDA_VISIBLE_DEVICES=3 from the script",
    ),
    Hint(USES_GPU_ELSEWHERE, "", "Blender uses the GPU without problems"),
    Hint(NVIDIA_SMI_WORKS, "", "nvidia-smi works and shows the GPU"),
    # numbers that the causes above are decided by
    Hint(
        r"(?:[Tt]otal|[Ff]ree) ?[Mm]emory: ?\d|Memory usage: \d+ bytes free|which [\d.]{1,12} ?\w{1,3} is free|manylinux_2_\d",
        "",
        "Free memory: 190.31MiB",
    ),
    Hint(
        r"Kernel driver in use: nouveau|^nouveau {2,40}\d|\bnouveau [0-9a-f]{4}:|(?i:\bnouveau (?:is |was )?(?:loaded|in use|active|running))",
        "nouveau-loaded",
        "Kernel driver in use: nouveau",
    ),
    Hint(
        r"SecureBoot enabled|(?i:\bsecure ?boot (?:is |was )?(?:enabled|on|active)\b|\bdisabl(?:e|ed|ing) (?:the )?secure ?boot\b|\benroll(?:ed|ing)?\b[^\n.]{0,30}\b(?:MOK|keys?)\b|\bMOK keys?\b)|PKCS#7 signature not signed|^\W{0,4}(?i:(?:\[\w{1,12}\] ?:? ?)?secure ?boot)(?! state)(?: ?[-\u2013] (?!disabled|off)|: (?:enabled|on|yes|active)\b)",
        "secure-boot-unsigned-module",
        "SecureBoot enabled",
    ),
)
