"""What container engines, tools and libraries say that only pasted text shows: gpudoctor's own training cannot meet these."""

from __future__ import annotations

from gpudoctor.signatures.phrases import GPU_WORDS
from gpudoctor.signatures.signature import Signature

_GPU_LOST = r"(?:CPU|unknown|no longer|stop\w{0,4}|fails?|failed|lost|loses|can(?:no|')t|not|False|disappear\w{0,3}|broken?|breaks)"
_AFTER_SLEEP = r"(?:after|following|when(?:ever)?|once|from|until)\b[^\n]{0,60}\b(?:suspend\w{0,5}|sleep\w{0,4}|hibernat\w{0,5}|standby)"

_GPU = r"(?:gpus?|graphics card|video card|nvidia|cuda|nvidia-smi|rtx|gtx)"
_NO_LONGER_SEEN = r"(?:no longer|stop(?:s|ped)|(?:not|n't)[^\n.]{0,40} any ?more|disappear\w{0,3}|gone|vanish\w{0,2}|broken?|breaks|lost)"
"""What only somebody says whose GPU worked before: one who says "still" tried an update as a cure."""
_WITHOUT_CURE = r"(?![^\n]{0,200}\b(?:still|works? again|fixed|solved)\b)"


def _loss_pattern(event: str, given: str = "") -> str:
    """Return the pattern of a sentence in which the GPU was lost with an event; `given` looks ahead from its beginning."""
    after = rf"\b(?:after|since|following|with)\b[^\n.]{{0,40}}\b{event}"
    return rf"(?i)^{given}{_WITHOUT_CURE}[^\n]{{0,200}}(?:{after}\b[^\n]{{0,80}}\b{_GPU}\b[^\n.]{{0,60}}\b{_NO_LONGER_SEEN}|\b{_GPU}\b[^\n.]{{0,60}}\b{_NO_LONGER_SEEN}\b[^\n]{{0,60}}{after})"


_NOT_SEEN = r"(?:(?:not|n't|no longer) (?:\w{1,10} ){0,2}(?:identified|detected|recogni[sz]ed|found|seen|visible|work\w{0,3})|gone|missing|disappear\w{0,3})\b"
_OTHER_KERNEL = r"\b(?:install|boot|switch|chang|mov)\w{0,4} (?:in)?(?:to )?(?:the |a |my )?(?:\w{1,20} ){0,2}kernel\b(?! (?:driver|module|header|source|param))"


_REBOOTED = r"(?<!without )(?<!not )(?<!n't )\b(?:rebooted|restarted|and (?:then )?(?:reboot|restart)(?:ing)?|(?:after|since) (?:the |a |that )?(?:reboot|restart))\b"
_AFTER_UPDATE = r"(?:(?:driver|system|os|distro\w{0,8}|apt|apt-get|dnf|pacman|package|unattended|ubuntu|fedora|debian) ?-?(?:update|upgrade)s?|(?:updat|upgrad)\w{1,4} (?:the |my |to )?(?:nvidia |gpu |new )?(?:drivers?|system|packages|os|ubuntu|fedora|debian))"


_NO_FRAMEWORK = r"(?![^\n]{0,60}\b(?:pytorch|torch|cuda|tensorflow)\b)"
_OLD_GPU = r"(?:pascal|maxwell|volta|kepler|fermi|tesla architecture|(?:geforce )?gts? ?[4-7]\d0m?|(?:gtx ?)?10[5-8]0(?: ti)?|gtx ?[4-9]\d0m?|quadro [km]\d{3,4}m?|(?:grid |tesla )?[km]\d{2,4}[cmx]?|grid k[12])"
"""What branches no longer support, by generation or model."""

PASTED = (
    # what people say of a GPU in a box outside, whose cable or power supply gives way
    Signature(
        r"(?i)\be-?gpu\W{0,2} (?:\w{1,12} ){0,3}(?:disconnect\w{0,3}|disappear\w{0,3}|drops out|dropped out|vanish\w{0,2}|is lost|gets lost)\b|\b(?:loses?|lost|drops)\W{1,3}(?:the |my )?e-?gpu\b"
        rf"|\b{GPU_WORDS}\b (?:\w{{1,12}} ){{0,2}}(?:disconnect\w{{0,3}}|drops (?:out|off)|disappear\w{{0,3}}|vanish\w{{0,2}}|falls? off|fell off|has fallen off) (?:from |of )?the (?:pcie?|bus)\b",
        ("gpu-fell-off-bus",),
        "the GPU disconnects while it is in use",
        ("after some minutes the laptop loses the eGPU", "under load the GPU disconnects from the PCIe bus"),
        vague=True,
        last=True,
    ),
    # what people say of a branch that no longer has their GPU's generation
    Signature(
        rf"(?i)\b(?:drivers?|nvidia[-\w]{{0,12}})\b{_NO_FRAMEWORK}[^\n.]{{0,40}}\b(?:no long(?:er)?|dropp?(?:s|ed|ing)?|remov\w{{1,3}}|(?:does|do|did)(?: not|n't)) (?:\w{{1,12}} )?supp?ort\w{{0,3}}\b[^\n]{{0,30}}\b{_OLD_GPU}\b"
        rf"|\b{_OLD_GPU}\b[^\n.]{{0,20}}(?:\bnot|n't) supported by\b{_NO_FRAMEWORK}[^\n]{{0,30}}\bdrivers?\b"
        rf"|\b(?:drivers?|nvidia) \d{{3}}\b[^\n]{{0,30}}\b(?:is|are) (?:incompatible|not compatible) with\b[^\n]{{0,20}}\b{_OLD_GPU}\b",
        ("driver-too-new-for-gpu",),
        "the driver no longer supports this generation of GPUs",
        ("driver 590 dropped support for Pascal", "nvidia-dkms no longer supports Maxwell", "a GT 730 is not supported by the new drivers"),
        vague=True,
        last=True,
    ),
    Signature(
        r"(?i)\bcuda ?-?1[3-9]\b[^\n.]{0,60}(?:\b(?:not|cannot|fails? to|no longer)|n'?t)\b[^\n.]{0,20}\b(?:work|run|support|start)\w{0,3}\b[^\n.]{0,40}\b(?:v100|p100|p40|p4|m[46]0|titan (?:x|v)|gtx ?(?:9|10)\d0|volta|pascal|maxwell)\b",
        ("gpu-too-old-for-build",),
        "CUDA 13 has no kernels for a GPU this old",
        ("the cuda13 images don't work with my V100",),
        vague=True,
    ),
    # what people found out themselves
    Signature(
        r"(?i)\bcuda\b[^\n]{0,40}\b(?:requir|need)\w{0,3}\b[^\n]{0,40}\bdrivers?\b[^\n]{0,20}\d{3}[^\n]{0,60}\b(?:mine|i|we|my|our|this)\b[^\n]{0,40}\b\d{3}\b"
        r"|\b(?:i|we|my|our)\b[^\n]{0,60}\bdrivers?\b[^\n]{0,20}\d{3}[^\n]{0,60}\bcuda\b[^\n]{0,30}\b(?:requir|need)\w{0,3}\b[^\n]{0,30}\d{3}"
        r"|\bdrivers?\b[^\n.]{0,24}\b(?:is|are|only|just|supports?|goes|made)\b[^\n.,;]{0,16}\bcuda ?(\d{1,2}\.\d)\b[^\n.]{0,60}\b(?:compil|buil[dt]|link|us|need|wants?|requir|install)\w{0,3}\b[^\n.]{0,24}(?<![\d.])(?!\1)\d{2}\.\d\b",
        ("driver-too-old",),
        "the driver is older than the CUDA release requires",
        ("I have driver 470, but CUDA 12.2 requires driver 525", "the driver is for CUDA 12.1 and we compile with 12.2"),
        vague=True,
    ),
    Signature(
        r"(?i)\b(?:only|just)\b[^\n.]{0,24}\b(?:1|one|a single)\b(?: of (?:them|the|these|my|our)\b[^\n.]{0,12})?(?: (?:gpus?|devices?|mig|instances?|slices?|partitions?)\b|[.!?]|$)"
        r"|device_count\(\)\W{0,3}(?:\w{1,12} ){0,3}(?:1|one)\b",
        ("mig-one-instance-per-process",),
        "a program uses one GPU or MIG instance only",
        ("torch.cuda.device_count() shows only one GPU",),
        vague=True,
        needs_support=True,
        last=True,
    ),
    # the kernel's and the shell's words for SIGILL
    Signature(
        r"(?i)\billegal (?:hardware )?instruction\b(?! (?:was|is) encountered| address| parameter| encoding)|\bSIGILL\b|trap invalid opcode",
        ("cpu-lacks-avx",),
        "the CPU lacks an instruction that the build uses",
        (
            "Illegal instruction (core dumped)",
            "the import ends with illegal instruction (core dumped)",
            "traps: python3[4242] trap invalid opcode ip:7f3c",
        ),
    ),
    # what people write
    Signature(
        rf"(?i)\b(?:cuda|gpu|torch|ollama|tensorflow)\b[^\n]{{0,160}}\b{_GPU_LOST}\b[^\n]{{0,120}}\b{_AFTER_SLEEP}|\b{_AFTER_SLEEP}\b[^\n]{{0,160}}\b(?:cuda|gpu|torch|ollama|tensorflow)\b[^\n]{{0,80}}\b{_GPU_LOST}\b",
        ("uvm-broken-after-suspend",),
        "the GPU cannot be used after the machine slept",
        ("After suspend the GPU is not found until a reboot", "torch.cuda.is_available() is False whenever the laptop wakes from sleep"),
        vague=True,
        last=True,
    ),
    # the other status that a context has whose GPU memory did not survive; it comes from a program's own kernels too
    Signature(
        r"unspecified launch failure|cudaErrorLaunchFailure|CUDA_ERROR_LAUNCH_FAILED",
        ("uvm-broken-after-suspend",),
        "a kernel failed on the GPU",
        ("RuntimeError: CUDA error: unspecified launch failure",),
        vague=True,
        needs_support=True,
        last=True,
    ),
    Signature(
        _loss_pattern(
            r"(?:kernel (?:update|upgrade)|(?:updat|upgrad)\w{1,4} (?:the |my |to )?(?:a |new |linux ){0,2}kernel|(?:new|newer) kernel)"
        )
        + rf"|^{_WITHOUT_CURE}[^\n]{{0,200}}{_OTHER_KERNEL}[^\n.]{{0,30}}\b(?:now|then|suddenly|all of (?:a|the) sudden)\b[^\n.]{{0,20}}\b{_GPU}\b[^\n.]{{0,40}}\b{_NOT_SEEN}",
        ("kernel-module-not-built",),
        "the GPU cannot be used since the kernel was updated",
        ("After a kernel update the GPU is no longer detected", "nvidia-smi stopped working after I upgraded the kernel"),
        vague=True,
        last=True,
    ),
    # a reboot has loaded the module that belongs to the new libraries, if there is one
    Signature(
        _loss_pattern(_AFTER_UPDATE, rf"(?=[^\n]{{0,400}}{_REBOOTED})"),
        ("kernel-module-not-built", "no-driver", "driver-too-new-for-gpu", "secure-boot-unsigned-module"),
        "the GPU cannot be used since the system or its driver was updated and the machine rebooted",
        ("After the OS upgrade I rebooted, and now the GPU is gone",),
        vague=True,
        last=True,
        tells="nvidia-smi; dkms status; sudo dmesg | grep NVRM; mokutil --sb-state",
    ),
    Signature(
        _loss_pattern(_AFTER_UPDATE, rf"(?![^\n]{{0,400}}{_REBOOTED})"),
        ("driver-library-mismatch", "kernel-module-not-built", "driver-too-new-for-gpu", "no-driver"),
        "the GPU cannot be used since the system or its driver was updated",
        ("Since the last apt upgrade the GPU is gone", "CUDA no longer works after I updated the NVIDIA driver"),
        vague=True,
        last=True,
        tells="nvidia-smi; cat /proc/driver/nvidia/version; dkms status; sudo dmesg | grep NVRM",
    ),
    Signature(
        r"(?i)^(?=[^\n]{0,400}\b(?:nvidia|gpus?|graphics)\b)[^\n]{0,400}(?:\b(?:errors?|exit\w{0,4}|fail\w{0,3})\b[^\n]{0,60}\bdkms\b[^\n]{0,24}\b(?:build|compil)|\bdkms\b[^\n]{0,40}\b(?:build\w{0,3}|compil\w{1,5})\b[^\n.]{0,30}\b(?:errors?|fail\w{0,3}|exits?)\b)",
        ("kernel-module-not-built",),
        "DKMS could not build the NVIDIA module",
        ("the installation of the nvidia driver ends with an error while dkms builds it",),
        vague=True,
        last=True,
    ),
)
