"""What nvidia-smi and people say of GPUs that work and are slow."""

from __future__ import annotations

from gpudoctor.signatures.signature import Signature

_GPU_USE = r"(?:\.cuda\(|\.to\(|\bcuda\b|\bgpu\b|\bsession\b)"
_LONG_TIME = r"\b(?:minutes?|mins?|(?:very|really|extremely|so) (?:long|slow)|long time|(?:[6-9]\d|[1-9]\d{2,3})(?:\.\d{1,3})? ?(?:s|secs?|seconds))\b"

_MINUTES = r"(?:\b(?:minutes?|mins?)|\b(?:[6-9]\d|\d{3,4}) ?s(?:ec(?:ond)?s?)?)\b"

_TRAINS = r"\b(?:fit\b|samples?\b|epochs?\b)"
_STARTS_SLOWLY = (
    rf"(?i)\b(?:is_gpu_available\(\)|list_physical_devices\([^)\n]{{0,12}}\)|tf\.Session\(\)|jax\.devices\(\)|creating (?:the |a )?(?:gpu |tensorflow )?device)\W{{0,4}} {{0,2}}[^\n]{{0,20}}\b(?:takes?|took|needs?|lasts?)\b[^\n]{{0,30}}{_LONG_TIME}"
    rf"|\b(?:start(?:s|ing|up)?|start-up|initiali[sz]\w{{1,6}}|load(?:s|ing)?|launch\w{{0,3}}|(?:first|1st|initial) (?:\w{{1,12}} )?(?:epoch|batch|step|iteration|run|call|inference|prediction|time)|(?:epoch|step) 1(?:/\d{{1,6}})?)\b[^\n]{{0,80}}(?:{_LONG_TIME}|\b(?:slow|hangs?|stucks?|freezes?|forever)\b)"
    rf"|(?:{_LONG_TIME}|\b(?:slow|hangs?|stucks?|freezes?|forever)\b)[^\n]{{0,60}}\b(?:start(?:s|ing|up)?|start-up|begin(?:s|ning)?|initiali[sz]\w{{1,6}}|load(?:s|ing)?|launch\w{{0,3}}|(?:first|1st) (?:epoch|batch|step|iteration|run|call|inference|prediction|time)|(?:epoch|step) 1(?:/\d{{1,6}})?)\b"
    rf"|\b(?:hangs?|hanging|stucks?|freezes?)\b[^\n]{{0,24}}\b(?:any|every|each|all|simple) (?:\w{{1,12}} )?(?:ops?|operations?|calls?|computations?|matmuls?)\b"
    rf"|{_TRAINS}[^\n]{{0,24}}\b(?:hangs?|hung|stuck|freezes?)\b|\b(?:hangs?|hung|stuck|freezes?)\b[^\n]{{0,24}}{_TRAINS}"
)

_HOT = r"\b(?:8[7-9]|9\d|10\d) ?(?:\u00b0|\u00ba|\u2103|deg(?:rees?)?\b|celsius\b|C\b)"
"""From where GeForce and data-centre GPUs lower their clocks, in degrees Celsius: nvidia-smi -q -d TEMPERATURE states each GPU's own."""
_SLOWS = r"(?:\bthrottl(?:es?|ed|ing)\b|\bslow(?:s|ed|er|ing|ly|down)?\b(?! ?(?:temp|t\.limit))|\bclocks?(?: speeds?)?\b[^\n.]{0,24}\b(?:drop|fall)s?\b)"
_ABOUT_GPU = r"\b(?:gpus?|nvidia-smi|graphics card|card|(?:rtx|gtx) ?\d{3,4}|[AHVLT]\d{1,3})\b"
_WATTS = r"\d{2,3} ?(?:W\b|watts?\b)"

# nvidia-smi -q -d PERFORMANCE of 390 to 580
SLOWNESS = (
    # PTX of a build without machine code for the GPU: https://github.com/pytorch/pytorch/issues/537, /issues/18359
    Signature(
        r"(?i)\bptx[ -]?jit(?:t?ing|ted)?\b|\bjit[ -]?compil\w{1,4}\b[^\n]{0,40}\bptx\b|(?<!failed to )(?<!fails to )(?<!cannot )(?<!unable to )(?<!could not )\bcompil(?:es?|ing|ation of)\b[^\n]{0,20}\bptx\b",
        ("slow-ptx-jit",),
        "the driver compiles PTX for a GPU that the build has no machine code for",
        ("startup is slow because of PTX JIT compilation",),
        vague=True,
    ),
    Signature(
        rf"(?i)\b(?:first|initial)\b(?! (?:epoch|step|batch|iteration))[^\n]{{0,60}}{_GPU_USE}[^\n]{{0,80}}{_LONG_TIME}"
        rf"|^(?=[^\n]{{0,200}}{_GPU_USE})(?:(?=[^\n]{{0,200}}{_LONG_TIME})[^\n]{{0,200}}\bfirst time\b|(?=[^\n]{{0,200}}{_MINUTES})[^\n]{{0,200}}\bfirst[ -](?:time|start|run|call|use|launch)\b"
        rf"|[^\n]{{0,160}}\b(?:waits?|hangs?|freezes?|pauses?|stalls?|takes?|took|needs?)\b[^\n]{{0,40}}{_MINUTES}[^\n]{{0,24}}\b(?:before|until) (?:\w{{1,12}} ){{0,3}}?(?:start|begin|comput|train|work)(?:s|ing|ed|es)?\b)"
        rf"|(?:\.cuda\(\)?|\bcuda function\b)[^\n]{{0,20}}\b(?:takes?|took|needs?)\b[^\n]{{0,20}}{_LONG_TIME}|\b(?:long|lot of) time\b[^\n]{{0,40}}\.cuda\(",
        ("slow-ptx-jit", "persistence-mode-off"),
        "the first use of the GPU takes minutes: the driver compiles PTX for a GPU that the build has no machine code for",
        (
            "the first call of .cuda() takes 4 minutes",
            "It takes about 3 minutes to run torch.zeros(1).cuda() for the first time",
            "the GPU needs several minutes before it starts computing",
        ),
        vague=True,
        tells="python -c 'import torch; print(torch.cuda.get_arch_list(), torch.cuda.get_device_capability())'",
    ),
    # as people say it; the GPU and the build's CUDA must tell
    Signature(
        _STARTS_SLOWLY,
        ("slow-ptx-jit",),
        "the start takes long: the driver compiles PTX for a GPU that the build has no machine code for",
        ("TensorFlow is extremely slow during startup", "the first batch takes over 4 minutes"),
        vague=True,
        needs_support=True,
    ),
    Signature(
        _STARTS_SLOWLY,
        ("persistence-mode-off",),
        "the start takes long: the driver initialises the GPU for each program again",
        ("the first GPU call is slow",),
        vague=True,
        needs_support=True,
    ),
    Signature(
        r"(?i)\bgpus?\b[^\n]{0,60}\b(?:power[ -](?:throttl\w{2,4}|limited|capped)|throttl\w{2,4} (?:by|because of|due to) (?:the )?power)|\b(?:sw )?power cap\b[^\n.:]{0,24}\b(?:appears?|is (?:active|on|reached|hit|shown)|shows up|kicks in|limits?|active)\b|(?<=[\w:,;] )sw power cap ?[:=]? ?active\b",
        ("power-throttled",),
        "the GPU lowers its clocks because of its power limit",
        ("the GPU is power throttled",),
        vague=True,
    ),
    # as people say it, with the numbers
    Signature(
        rf"(?i)^(?=[^\n]{{0,300}}{_HOT})(?=[^\n]{{0,300}}{_ABOUT_GPU})[^\n]{{0,300}}?(?<!no )(?<!not )(?<!n't )(?<!without ){_SLOWS}",
        ("thermal-throttled",),
        "the GPU is so hot that it lowers its clocks",
        ("training slows down after a while: nvidia-smi shows 92 degrees",),
        vague=True,
        said=True,
    ),
    Signature(
        rf"(?i)\b(?:only|just|limited to)\b[^\n.]{{0,12}}?\b{_WATTS}[^\n.]{{0,24}}\binstead of\b[^\n.]{{0,16}}\b{_WATTS}",
        ("power-throttled",),
        "the GPU runs with less power than its default limit",
        ("under full load the A100 draws only 100 W instead of 400 W",),
        vague=True,
        said=True,
    ),
    # as people say it; nvidia-smi must show why
    Signature(
        r"(?i)\b(?:clocks?|clock speeds?|frequenc(?:y|ies)|MHz)\b[^\n.]{0,40}\b(?:drop|fall|fell|lower|reduc|throttl|decreas|stuck|limited|capped)\w{0,5}\b(?! (?:reasons|registers)\b)|\b(?:HW|SW) (?:Slowdown|Thermal Slowdown|Power Brake Slowdown|Power Cap)\s{0,40}: Active|\b(?:frequency|clock) (?:reduction|drops?)\b|\bthrottl(?:es?|ed|ing)\b(?! (?:reasons|registers)\b)|\b(?:capped|limited|stuck) (?:at|to) (?:about |around |~)?\d{2,3} ?W\b",
        ("power-throttled", "thermal-throttled", "hw-slowdown"),
        "the GPU lowers its clocks",
        ("at full load the clocks drop", "one of the GPUs is capped to 150 W"),
        vague=True,
        last=True,
        needs_support=True,
    ),
    Signature(
        r"(?i)\bgpu\b[^\n]{0,60}\b(?:slower than|half as fast as|half the speed of)\b[^\n]{0,30}\b(?:other|same|identical|another) [^\n]{0,20}\bgpus?\b"
        r"|\b(?:only|just) [\d.,]{1,6} ?(?:TFLOPS|TFLOP/s|GB/s)\b[^\n]{0,60}\b(?:expect\w{0,3}|others?|instead|should|nominal)",
        ("gpu-slower-than-expected",),
        "the GPU is slower than others of its model",
        ("GPU 3 is half as fast as the other GPUs", "it reaches only 60 TFLOPS, others report 165"),
        vague=True,
    ),
    Signature(
        r"(?i:(?<!\.)\b[SH]W Thermal Slowdown\b)(?!\s{0,40}[:=](?!\s{0,4}Active))|(?i:\b(?:gpus?|graphics cards?)\b[^\n]{0,160}(?<!no )(?<!not )(?<!without )\b(?:overheat|thermal(?:ly)?[ -](?:throttl|constrain|limited)|(?:throttled|slow\w{0,4}|clocks?|power)\b[^\n]{0,60}\b(?:because of|due to) (?:the |its )?(?:thermals?|heat|(?:high )?temperatures?)\b))",
        ("thermal-throttled",),
        "the GPU lowers its clocks because of its temperature",
        ("        SW Thermal Slowdown               : Active",),
        vague=True,
    ),
    Signature(
        r"HW (?:Power Brake )?Slowdown\s{0,40}: Active",
        ("hw-slowdown", "power-throttled", "thermal-throttled"),
        "the GPU's hardware halves its clocks: power brake, or too hot",
        ("        HW Power Brake Slowdown           : Active", "        HW Slowdown                       : Active"),
        vague=True,
    ),
    Signature(
        r"(?i)\bnvidia-smi\b[^\n]{0,30}\b(?:takes|needs|is (?:very |so )?slow)\b|\bfirst (?:cuda|gpu) (?:call|operation|access)\b[^\n]{0,40}\b(?:slow|takes|seconds|minutes)\b",
        ("persistence-mode-off", "driver-hung"),
        "the driver initialises the GPU for each program again; persistence mode avoids that",
        ("nvidia-smi takes 25 s", "the first CUDA call takes many seconds"),
        vague=True,
    ),
    Signature(
        r"(?i)\bgpu\b[^\n]{0,60}(?<!not )(?<!n't )(?<!no )\bslower than (?:on )?(?:the |my )?cpu\b|(?<!not )(?<!n't )(?<!no )\bslower (?:on|with|using) (?:the |my |a )?gpus?\b[^\n.?]{0,40}\b(?:than|versus|vs|compared)\b[^\n.?]{0,30}\bcpu\b|\bcpu\b[^\n]{0,20}\bfaster than\b[^\n]{0,24}\bgpu\b|\bgpu (?:training )?is as slow as (?:the )?cpu\b",
        ("gpu-not-faster-than-cpu",),
        "training on the GPU is no faster than on the CPU",
        ("training on the GPU is slower than the CPU",),
        vague=True,
    ),
)
