"""What the kernel, DKMS and NVIDIA's installer say when the NVIDIA kernel module cannot be built or loaded, or refuses a GPU."""

from __future__ import annotations

from gpudoctor.signatures.phrases import DKMS_FAILURE, cure_pattern
from gpudoctor.signatures.signature import Signature

_OPEN_MODULES = r"\bopen (?:(?:gpu|nvidia) )?kernel[ -]modules?\b"
_NVIDIA_MODULE = r"\bnvidia(?:'s)? (?:\w{1,12} ){0,2}(?:drivers?|modules?|module keys?)\b"
_SECURE_BOOT = r"\bsecure ?boot\b(?!\W{0,3}(?:is |was |being )?(?:already )?(?:disabled|off|turned off|not enabled))"

MODULES = (
    # as people say it
    Signature(
        r"(?i)\b(?:nvidia|kernel|dkms)\b[^\n.]{0,20}\bmodules? (?:is |are |was |were )?(?:not|never) (?:being |been )?(?:re)?built\b"
        r"|\bmodules? (?:is |are |was |were )?(?:not|never) (?:being |been )?(?:re)?built\b[^\n.]{0,30}\b(?:kernel|dkms)\b|\bdkms modules?\b[^\n.]{0,40}\b(?:disappeared|gone|deleted)\b"
        r"|\bmissing (?:the )?kernel headers\b|\bkernel[- ](?:devel|headers?)\b[^\n.]{0,24}\bmismatch",
        ("kernel-module-not-built",),
        "the NVIDIA kernel module is not built for the running kernel",
        ("the module was not rebuilt after the kernel update", "the DKMS module is gone", "you are missing kernel headers"),
        vague=True,
        said=True,
    ),
    # https://github.com/NVIDIA/open-gpu-kernel-modules, src/nvidia/arch/nvalloc/unix/src/osapi.c: each message is spread over several lines
    Signature(
        r"requires use of the NVIDIA open kernel modules|The 'proprietary' kernel modules are incompatible with the GPU"
        # as people say it
        rf"|(?i:{_OPEN_MODULES}[^\n.]{{0,24}}\b(?:is|are|being|be) (?:required|mandatory|needed)\b|\b(?:require|need)(?:s|ed)? (?:the use of |to use )?(?:the )?{_OPEN_MODULES})",
        ("gpu-too-new-for-driver",),
        "this GPU needs the open kernel modules and the proprietary ones are loaded",
        (
            "NVRM: installed in this system requires use of the NVIDIA open kernel modules.",
            "the kernel log says that the open kernel modules are required",
        ),
    ),
    Signature(
        r"not supported by open\b|nvidia\.ko because it does not include the required GPU|The 'open' kernel modules are incompatible with the GPU",
        ("driver-too-new-for-gpu",),
        "the open kernel modules are loaded and do not support this GPU: it is older than Turing",
        ("NVRM: installed in this system is not supported by open", "NVRM: nvidia.ko because it does not include the required GPU"),
    ),
    Signature(
        r"supported through the \w{4,8} \d{2,3}\.xx Legacy drivers|NVIDIA driver will ignore|supported through NVIDIA legacy Linux graphics drivers|NVRM: ignoring the legacy GPU"
        r"|(?i:\b(?:nvidia|driver)[ -]?\d{3}\b[^\n.]{0,24}\bignor(?:es|ed)\b[^\n.]{0,8}\b(?:gpu|card)\b)",
        ("driver-too-new-for-gpu",),
        "this driver no longer supports the GPU and ignores it",
        (
            "NVRM:  supported through the NVIDIA 470.xx Legacy drivers. Please",
            "NVRM:  information.  The 535.129.03 NVIDIA driver will ignore",
            "driver 550 ignored the card at boot",
        ),
    ),
    Signature(
        r"in this system is not supported by the(?: [\d.]{3,20})?(?: NVIDIA|$)|NVRM: NVIDIA [\d.]{3,20} driver release",
        ("gpu-too-new-for-driver", "driver-too-new-for-gpu"),
        "the driver does not know this GPU",
        ("NVRM: installed in this system is not supported by the NVIDIA 515.65.01 driver release.", "NVRM: NVIDIA 390.157 driver release."),
    ),
    # kernel/module/signing.c, security/lockdown/lockdown.c and kmod; the installer repeats kmod's words
    Signature(
        r"(?:(?<!': )(?<!\.ko: )|could not insert (?:module )?\S{0,80}\bnvidia[\w-]{0,20}(?:\.ko|'): )(?:Key was rejected by service|Required key not available)"
        # nvidia-installer
        r"|not signed by a key that is trusted by the kernel|kernel has CONFIG_MODULE_SIG_FORCE set"
        r"|(?i:\bnvidia (?:kernel |driver )?(?:kernel )?modules?\b[^\n.]{0,20}\b(?:unsigned|(?:not|n't) (?:properly )?signed)\b)",
        ("secure-boot-unsigned-module",),
        "the kernel rejected the NVIDIA module: its signature is not trusted",
        (
            "modprobe: ERROR: could not insert 'nvidia': Key was rejected by service",
            "modprobe: ERROR: could not insert 'nvidia': Required key not available",
            "the nvidia module is not signed",
        ),
    ),
    # any module's, unless another line names one that is not NVIDIA's
    Signature(
        r"could not insert [^\n:]{1,100}: (?:Key was rejected by service|Required key not available)"
        r"|oading of (?:unsigned module|module with (?:unavailable key|unsupported crypto)) is rejected|unsigned module loading is restricted",
        ("secure-boot-unsigned-module",),
        "the kernel rejected a module: its signature is not trusted",
        (
            "Loading of unsigned module is rejected",
            "Lockdown: modprobe: unsigned module loading is restricted; see man kernel_lockdown.7",
        ),
        vague=True,
    ),
    # as people say it
    Signature(
        rf"(?i){_NVIDIA_MODULE}[^\n.]{{0,40}}\b(?:are|is|was|were|gets?|got|being) (?:\w{{1,12}} ){{0,2}}(?:rejected|blocked|refused)\b(?! by the (?:server|api))"
        rf"|{_NVIDIA_MODULE}[^\n.]{{0,40}}(?:n't|\bcant|\bcannot|\bnot|\bfails? to|\bunable to)\b[^\n.]{{0,20}}\bload\w{{0,3}}\b[^\n.]{{0,20}}\b(?:because of|due to|with|under|while|when|as|since|by)\b[^\n.]{{0,12}}{_SECURE_BOOT}"
        rf"|{_SECURE_BOOT}[^\n.]{{0,30}}\b(?:block|prevent|reject|refus|stop|won't let|doesn't let|not allow)\w{{0,4}}\b[^\n.]{{0,40}}{_NVIDIA_MODULE}",
        ("secure-boot-unsigned-module",),
        "the kernel does not load the NVIDIA module, as its signature is not trusted",
        (
            "The nvidia module keys are rejected at boot",
            "my nvidia driver cannot load because of Secure Boot",
            "Secure Boot prevents the NVIDIA driver from loading",
        ),
        vague=True,
    ),
    Signature(
        r"Nouveau kernel driver is currently in use|NVRM: nouveau, \w{3,20}|already bound to nouveau|Kernel driver in use: nouveau|\bnouveau [0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.\d: (?!unknown chipset)\w"
        # as people say it
        r"|(?i:\b(?:lsmod|lspci|kernel|module|driver)\b[^\n.]{0,40}\bnouveau\b[^\n.]{0,20}\b(?:not|instead of|rather than|but no) (?:the )?nvidia\b)",
        ("nouveau-loaded",),
        "nouveau is bound to the GPU",
        (
            "ERROR: The Nouveau kernel driver is currently in use by your system.",
            "NVRM: nouveau, rivafb, nvidiafb or rivatv",
            "lsmod shows nouveau instead of nvidia",
            "nouveau 0000:65:00.0: NVIDIA TU102 (162000a1)",
        ),
    ),
    Signature(
        rf"\bnouveau\s{{1,40}}\d{{5,8}}\s{{1,10}}\d|(?i:\blsmod\b[^\n]{{0,12}}\bnouveau\b[`'\"]? (?:(?:still|also|yet|then|always) )?(?:prints?|shows?|lists?|returns?|gives?|displays?|has|finds?)(?! (?:nothing|no\b|empty|none|an empty))\b)|(?i:{cure_pattern(r'blacklist(?:ed|ing)? (?:the )?nouveau')})",
        ("nouveau-loaded",),
        "nouveau is loaded",
        (
            "nouveau              1863680  1",
            "lsmod | grep nouveau still prints the module",
            "after blacklisting nouveau the driver pod works",
        ),
        vague=True,
        last=True,
    ),
    # nvidia-fallback.service of RPM Fusion and negativo17
    Signature(
        r"(?i)\bfall(?:s|ing)? ?back (?:to|on) (?:the )?n(?:ouv|ov|ouav|uv)e?au\b|nvidia kernel module missing",
        ("kernel-module-not-built", "secure-boot-unsigned-module"),
        "the NVIDIA module did not load at boot",
        ("NVIDIA kernel module missing. Falling back to nouveau.",),
    ),
    Signature(
        r"already bound to NovaCore|(?i:\bnova_?core [0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.\d: |Kernel driver in use: nova_?core\b)",
        ("nova-loaded",),
        "nova is bound to the GPU",
        ("NVRM: GPU 0000:01:00.0 is already bound to NovaCore.", "NovaCore 0000:01:00.0: GPU name: AD104"),
    ),
    Signature(
        r"already bound to vfio-pci",
        ("vfio-bound",),
        "vfio-pci is bound to the GPU",
        ("NVRM: GPU 0000:41:00.0 is already bound to vfio-pci.",),
    ),
    # kernel-open/nvidia-uvm/uvm_pmm_gpu.c
    Signature(
        r"request_free_mem_region\(\) err",
        ("uvm-hmm-init-failure",),
        "nvidia_uvm could not reserve addresses for HMM",
        ("nvidia-uvm: request_free_mem_region() err -34",),
    ),
    Signature(
        r"nvidia[-_]uvm: Unknown symbol|could not insert 'nvidia[-_]uvm': Unknown symbol|odule nvidia[-_]uvm (?:is )?not (?:found|loaded)|Could not load UVM kernel module"
        # gpu-operator's validator, nvidia-ctk and nvidia-container-cli
        r"|(?i:\b(?:failed|unable) to load (?:kernel )?module\b)\W{1,3}nvidia[-_]uvm\b",
        ("uvm-not-loaded", "kernel-module-not-built"),
        "nvidia_uvm is not loaded",
        ("modprobe: FATAL: Module nvidia-uvm not found in directory /lib/modules/6.8.0-45-generic", "Could not load UVM kernel module"),
    ),
    Signature(
        r"/dev/nvidia-uvm\W{1,3}[Nn]o such file",
        ("uvm-not-loaded", "device-nodes-missing"),
        "there is no device file of nvidia_uvm",
        ("ls: cannot access '/dev/nvidia-uvm': No such file or directory",),
    ),
    # what gpudoctor/read/readers/across_lines.py says of a container whose device files are named one by one
    Signature(
        r"given other device files, not /dev/nvidia-uvm",
        ("uvm-not-loaded", "container-no-gpu-access"),
        "a container has no device file of nvidia_uvm, without which CUDA does not start",
        ("the container is given other device files, not /dev/nvidia-uvm",),
        vague=True,
        cure="Give the container /dev/nvidia-uvm and /dev/nvidia-uvm-tools too, or start it with NVIDIA's runtime.",
    ),
    # gpudoctor/read/readers/device_numbers.py: https://github.com/NVIDIA/nvidia-container-toolkit/issues/1934
    Signature(
        r"/dev/nvidia-uvm has major number \d{1,4}(?:, the driver has| in one list,) \d|LXC allows major number \d",
        ("device-nodes-missing",),
        "the device file of nvidia_uvm belongs to another driver",
        ("/dev/nvidia-uvm has major number 508, the driver has 511",),
        cure="Give the container the number that nvidia-uvm has in /proc/devices of the host (LXC: lxc.cgroup2.devices.allow), then restart it.",
    ),
    # strace: libcuda looks for the file before nvidia-modprobe makes it, so it may be there later
    Signature(
        r"\"/dev/nvidia-uvm\"[^\n]{0,60} = -1 ENOENT",
        ("uvm-not-loaded", "device-nodes-missing", "container-no-gpu-access"),
        "a program found no device file of nvidia_uvm",
        ('stat("/dev/nvidia-uvm", 0x7ffd4c1e2a30) = -1 ENOENT (No such file or directory)',),
        vague=True,
        guess=True,
        tells="lsmod | grep nvidia_uvm; ls -l /dev/nvidia*",
    ),
    # kmod, dkms, Void's and Arch's hooks, akmods, and the log of NVIDIA's installer
    Signature(
        r"odule nvidia(?![-_]uvm)[\w-]{0,20} not found(?: in directory|\.?$)|odule nvidia_(?!uvm)\w{2,10} not found|nvidia\w{0,20} not found in directory /lib/modules"
        r"|could not find module by name ?= ?'nvidia"
        r"|\bnvidia(?:-\w{3,12})?/\d[\w.-]{3,20}:? [^\n]{0,60}(?:is not built\b|was skipped since the kernel headers|autoinstall failed due to|Missing the module source directory)|dkms autoinstall on \S{3,80} failed for [^\n]{0,80}\bnvidia"
        r"|(?:error processing package|\binstalled) nvidia-dkms-\S{1,30} |could not insert module \S{0,80}nvidia[\w-]{0,10}\.ko\S{0,4}: (?:Invalid module format|Unknown symbol)|GPL-incompatible module nvidia"
        r"|DKMS module:? '?nvidia[^\n]{0,40}(?:failed to build|FAILED)|Build of nvidia\w{0,20}\.ko failed for|ERROR: module not found: 'nvidia(?!_uvm)|nvidia-kmod\b[^\n]{0,60}(?:\[FAILED\]|failed)"
        r"|dkms (?:install|build|autoinstall)\b[^\n]{0,60}\bnvidia/[^\n]{0,80}\bexited \d|Consult /var/lib/dkms/nvidia|/var/lib/dkms/nvidia\S{0,60}/dkms\.conf does not exist|Missing \S{3,80} kernel headers for module nvidia|kernel headers for kernel \S{3,80} cannot be found"
        r"|Failed to run `/usr/sbin/dkms build -m nvidia|[Uu]nable to (?:find the kernel source tree|build the (?:NVIDIA|nvidia[\w-]{0,10}) kernel module|link kernel module)"
        r"|kernel header file '[^'\n]{1,160}' does not exist|kernel header file exists\. The most likely reason|kernel output path '[^'\n]{1,160}' does not exist|nvidia[\w-]{0,10} kernel module (?:was not created|failed to build)|performing the step: \"Building kernel modules\""
        r"|could not insert 'nvidia\w{0,20}': (?:Exec format error|Invalid argument|(?<!uvm': )Unknown symbol)"
        r"|\bnvidia: (?:version magic|disagrees about version of symbol|Unknown symbol)",
        ("kernel-module-not-built",),
        "there is no NVIDIA module for the running kernel",
        (
            "modprobe: FATAL: Module nvidia not found in directory /lib/modules/6.8.0-45-generic",
            "modprobe: ERROR: could not find module by name='nvidia_current'",
            "==> ERROR: Missing 6.9.7-arch1-1 kernel headers for module nvidia/550.90.07.",
            "Error! Your kernel headers for kernel 6.1.0-28-amd64 cannot be found.",
            "Building DKMS module: nvidia-575.64.05... FAILED!",
            "dpkg: error processing package nvidia-dkms-570 (--configure):",
            "dkms autoinstall on 6.8.0-51-generic/x86_64 failed for nvidia(10)",
            'ERROR: An error occurred while performing the step: "Building kernel modules". See /var/log/nvidia-installer.log for details.',
            "==> ERROR: module not found: 'nvidia_modeset'",
            "ERROR: Unable to find the kernel source tree for the currently running kernel.",
        ),
    ),
    # dkms, which names the module in other lines
    Signature(
        DKMS_FAILURE,
        ("kernel-module-not-built",),
        "DKMS could not build a module for a kernel",
        ("Error! Bad return status for module build on kernel: 6.11.0-19-generic (x86_64)",),
        needs_support=True,
    ),
    # what gcc and make say of the module's sources; https://github.com/NVIDIA/gpu-driver-container
    Signature(
        r"\b(?:nvidia(?:-\w{2,8})?|common/inc)/[\w-]{2,60}\.[ch]:\d{1,6}:\d{1,4}: (?:fatal )?(?:error|Fehler|erreur|ошибка|エラー|错误)[:\uff1a]"
        r"|\*\*\* \[[^\]\n]{0,160}(?:dkms/nvidia[\w/.-]{0,120}|\bnvidia(?:-\w{2,8})?/[\w-]{1,60}\.o)\] Error \d|Could not resolve Linux kernel version"
        # gcc before 12, on the flags of a kernel that a newer one built: https://gcc.gnu.org/gcc-12/changes.html
        r"|\b(?:cc|gcc(?:-\d{1,2})?): error: unrecogni[sz]ed command[- ]line option .{0,3}-(?:ftrivial-auto-var-init|mharden-sls)",
        ("kernel-module-not-built",),
        "the NVIDIA module could not be compiled for the running kernel",
        (
            "/var/lib/dkms/nvidia/470.256.02/build/nvidia-drm/nvidia-drm-drv.c:748:10: error: 'struct drm_driver' has no member",
            "make[3]: *** [scripts/Makefile.build:244: /var/lib/dkms/nvidia/470.256.02/build/nvidia/nv-acpi.o] Error 1",
        ),
    ),
    # nvidia-installer, which builds nothing but these modules
    Signature(
        r"Unable to find the development tool `|You do not appear to have libc header files installed|(?i:\b(?:cc|gcc|compiler)[- ]version[- ]check failed)|[Cc]ompiler used to compile the kernel\b|kernel is compiled using gcc version",
        ("kernel-module-not-built",),
        "the NVIDIA module cannot be compiled here: a tool is missing or is not the kernel's",
        ("ERROR: Unable to find the development tool `cc` in your path; please make sure that you have the package 'gcc' installed.",),
        vague=True,
    ),
    Signature(
        r"You do not appear to have an NVIDIA GPU supported by the",
        ("no-gpu", "driver-too-new-for-gpu", "gpu-too-new-for-driver"),
        "NVIDIA's installer found no GPU that its driver supports",
        (
            "WARNING: You do not appear to have an NVIDIA GPU supported by the 570.86.16 NVIDIA Linux graphics driver installed in this system.",
        ),
        tells="lspci -nn -d 10de:",
    ),
    # kernel-open/nvidia/nv.c
    Signature(
        r"NVRM: No NVIDIA PCI devices found",
        ("no-gpu",),
        "the driver found no NVIDIA device on the PCI bus",
        ("NVRM: No NVIDIA PCI devices found.",),
    ),
    # kernel-open/nvidia/nv.c: why stands in the lines before it
    Signature(
        r"NVIDIA probe routine failed for \d|None of the NVIDIA devices were initialized",
        ("gpu-too-new-for-driver", "driver-too-new-for-gpu", "gpu-fell-off-bus", "pci-bar-not-assigned"),
        "the driver could not start a GPU",
        ("NVRM: The NVIDIA probe routine failed for 1 device(s).", "NVRM: None of the NVIDIA devices were initialized."),
        vague=True,
        last=True,
        tells="sudo dmesg | grep -A6 NVRM; lspci -nnk -d 10de:",
    ),
    Signature(
        r"NVRM: This can occur when another driver was loaded|could not insert 'nvidia\w{0,20}': No such device|NVIDIA probe routine was not called for \d|Unable to load the kernel module 'nvidia\.ko'",
        ("nouveau-loaded", "driver-too-new-for-gpu", "gpu-too-new-for-driver", "vfio-bound", "secure-boot-unsigned-module", "no-gpu"),
        "the NVIDIA module found no GPU that it may drive",
        (
            "modprobe: ERROR: could not insert 'nvidia': No such device",
            "NVRM: The NVIDIA probe routine was not called for 1 device(s).",
            "ERROR: Unable to load the kernel module 'nvidia.ko'.",
        ),
        tells="lspci -nnk -d 10de:; sudo dmesg | grep -E 'NVRM|nouveau|module verification|rejected'",
        last=True,
    ),
)
