"""What frameworks answer that see no GPU, and how people say it. It names no cause, so what is known elsewhere must."""

from __future__ import annotations

import msgspec

from gpudoctor.signatures.phrases import NOTEBOOK, SHOWS, TERMINAL
from gpudoctor.signatures.signature import Signature

_SHOWS = "|".join(SHOWS.split())
# TensorFlow's, PyTorch's and JAX's answers as people print them
NO_GPU_ANSWER = Signature(
    r"Num GPUs(?: Available)?:\s{0,3}0\b|(?i:\bGPUs?):?\s{0,4}\[ ?\]|^\W{0,6}\[ ?\]\W{0,3}$|list_physical_devices\([^)\n]{0,20}\)[^\n]{0,40}(?:\[ ?\]|empty list)|Is GPU Available: (?:False|\[\])"
    r"|(?i:\blist of (?:\w{1,12} ){0,2}gpus?\b[^\n.]{0,24}\bempty\b|\bempty list of (?:\w{1,12} ){0,2}gpus?\b|\bgpus?(?: devices?)? list is (?:\w{1,8} )?empty\b)"
    r"|\bDevice mapping: no known devices|\[_DeviceAttributes\((?![^\n]{0,600}device:GPU:)[^()\n]{0,80}/device:CPU:0,"
    # torch/utils/cpp_extension.py, where a toolkit is installed
    r"|No CUDA runtime is found, using CUDA_HOME="
    # yolov5's utils/torch_utils.py
    r"|CUDA unavailable, invalid device [\w,]{1,20} requested"
    r"|msg=\"inference compute\" id=\S{1,40} library=cpu\b"
    r"|\[(?:tensorflow\.)?PhysicalDevice\(name='/physical_device:CPU:0', device_type='CPU'\)\]"
    r"|(?:(?i:\bcuda (?:is )?available)|[Ii]s CUDA available|cuda\.is_available(?:\(\))?|is_gpu_available\(\))\W{0,12}(?:[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]{1,8}\W{0,3})?"
    rf"(?:(?:{_SHOWS}) )?"
    r"(?:it )?(?:(?:always|still|just|only) )?(?:(?:(?:is |was )?return(?:s|ed|ing)?|(?:is |was )?(?:show(?:s|n|ing)?(?: up)?(?: as)?|com(?:es|ing) (?:up|back|out)(?: as)?|evaluat(?:es|ing) to))\W{1,3})?[Ff]alse\b|(?i:\bcuda(?: device| gpu)? is(?:n't| (?:still )?not| still)? (?:available|unavailable)(?<!is available)(?<!still available)\b)|\bCPU training is not allowed\b|list_local_devices\(\)[^\n]{0,30}/device:CPU:0|gpu_device_name\(\)\W{0,8}(?:''|\"\")|\[(?:Cpu|TFRT_CPU_)\w{0,10}\(?\w{0,6}=?0",
    (
        "cpu-only-build",
        "two-copies-of-framework",
        "driver-too-old",
        "amd-gpu-unsupported",
        "jetson-needs-vendor-wheel",
        "windows-native-no-gpu",
        "no-cuda-wheel-for-platform",
        "container-no-gpu-access",
        "device-nodes-missing",
        "scheduler-gpu-not-allocated",
        "cuda-visible-devices-masked",
        "cuda-visible-devices-uuid-unsupported",
        "libcuda-is-stub",
        "libcuda-not-on-loader-path",
        "pip-nvidia-libs-not-on-path",
        "metal-plugin-missing",
        "wsl1",
        "wsl-driver-stack-broken",
        "mig-no-instances",
        "uvm-not-loaded",
        "device-permission-denied",
        "no-gpu",
    ),
    "the framework sees no GPU",
    ("GPUs: []", "torch.cuda.is_available() returns False"),
    vague=True,
    needs_support=True,
)
_FRAMEWORK_SEES_NONE = (
    r"(?i)\b(?:tensorflow|keras|torch|jax)\b(?!\[)[^\n]{0,60}(?:\bnot|n't|\bunable to)\b[^\n]{0,20}\b(?:us|detect|see|recogni[sz]|find|access)\w{0,3}\b[^\n]{0,16}\bgpus?\b"
    r"|\b(?:tensorflow|keras|torch|jax)\b(?!\[)[^\n]{0,40}\b(?:sees?|detects?|finds?|found|reports?|shows?|uses?|gets?) (?:no|zero) (?:nvidia |cuda )?(?:gpus?|devices?)\b"
    r"|\bno gpus? (?:is|are|was|were) (?:being )?used\b|\bgpus?(?: device)?(?: (?:is|was|are))?(?:n't| not)(?: being| getting)? (?:recogni[sz]ed|detected|found|visible|used|utili[sz]ed|available)\b"
    r"|\b(?:can'?t|cannot|trouble|unable to|not able to|fail\w{0,3} to)\b[^\n.]{0,20}\bget\w{0,4} (?:tensorflow|keras|(?:py)?torch|jax|it) to (?:recogni[sz]e|detect|see|find|use)\b[^\n.]{0,16}\bgpus?\b"
    r"|\b(?:can'?t|cannot|trouble|unable to|fail\w{0,3} to)\b[^\n.]{0,20}\bget\w{0,4} (?:the |my |it to use the |it to use my )?gpus?\b(?: to (?:work|be)| recogni[sz]ed| detected| working)?"
)
"""As people say it. The name with an extra is what somebody installs, which speaks for a cause."""
_ANY_SEES_NONE = (
    r"(?i)(?:\b(?:not|cannot|unable to|failed to|fails to)|n't)(?: \w{1,12}){0,2} (?:list|detect|find|see|recogni|identif|regist|pick)\w{0,6} (?:up )?(?:(?:the|my|any|an?|our|its|nvidia|cuda|[rg]tx|\d{3,4}|ti|discrete|graphics|video) ){0,4}(?:gpus?|cards?)\b"
    r"|(?:\bcannot|\bcan'?t|\bunable to|\bnot able to) use (?:the |my |any |our |its ){0,2}(?:nvidia )?gpus?\b(?! memory)|\b(?:torch|tensorflow|jax|cuda) (?:says|returns|prints|shows|is) false\b"
    r"|\b(?:only|just) (?:find|see|use|list|detect|show|get|recogni|identif)\w{0,6} (?:the |my |a |one )?cpus?\b"
    r"|\b(?:only|just|everything|entirely|always|still|exclusively|solely)\b[^\n.,;]{0,24}\b(?:on|uses|using) (?:the |my )?cpu\b|\b(?:runs?|running|ran|works?|uses|using|trains?|training) (?:\w{1,12} )?(?:on |with )?(?:the |my )?cpu (?:only\b|instead of\b|rather than\b|and not\b)"
    r"|\bcurrently\b[^\n.,;]{0,16}\b(?:on|uses|using) my cpu\b|\bnever (?:us|touch|utili[sz])\w{1,4} (?:the |my |our )?(?:nvidia |geforce )?(?:gpus?|cards?|geforce|[rg]tx)\b|\bgpu (?:\w{1,12} )?(?:stays|sits|remains) (?:idle|unused|at 0 ?%)"
)
"""As people say it whatever sees none."""
_ONLY_CPU_FOUND = (
    r"(?i)\b(?:only|just) (?:can|could) (?:find|see) (?:the |my |a |one )?cpus?\b"
    # download-model and server.py of text-generation-webui of 2023, and others
    r"|\bno gpus? ha(?:s|ve) been (?:detected|found|recogni[sz]ed)\b|\bfall(?:ing|s|en)? back to (?:the )?cpu(?: mode)?\b(?![^\n]{0,40}\b(?:op|operator|kernel|layer)s?\b)"
    r"|\b(?:only|just) (?:the |my |a |one )?cpus? (?:is|are|was|were|gets) (?:being )?(?:found|seen|used|listed|detected|shown|recogni[sz]ed)\b"
    r"|\busing (?:the )?(?:gpu|cuda): ?(?:false|no|0)\b"
    r"|\b(?:keras|tensorflow|(?:py)?torch|jax|it) (?:(?:will|would|always|then|now) ){1,2}(?:only )?(?:runs? on|uses?) (?:the |my )?cpu\b"
    r"|\b(?:is|are|was|does|do|did|it|its|it's)(?:n't| not) (?:us(?:e|ing)|utili[sz](?:e|ing)) (?:the |my |our |its )?(?:nvidia )?gpus?\b(?! memory)|\bus(?:es|ing|ed) (?:only|just) (?:the |my )?cpus?\b"
    r"|\bno gpus? (?:is |was |were |are )?(?:detected|found|available|visible)\b[^\n]{0,24}\bcpu\b"
)
"""As people say that a CPU is all it finds."""
_IN_OTHER_LANGUAGES = (
    # German, Spanish and Portuguese, French, Russian, Korean, Chinese, Japanese
    r"(?i)\b(?:gpu|karte) (?:wird|wurde) (?:\w{1,12} )?nicht (?:erkannt|gefunden|verwendet|benutzt|genutzt)\b|\b(?:erkennt|findet|sieht) (?:die|meine|keine) gpu\b"
    r"|\b(?:no|n\u00e3o) (?:me )?(?:reconoce|reconhece|detecta|encuentra|encontra|usa|utiliza) (?:la |a |mi |minha |o |el |ninguna )?(?:gpu|tarjeta gr\u00e1fica|placa de v\u00eddeo)\b|\bno ve (?:la |mi |ninguna )?(?:gpu|tarjeta gr\u00e1fica)\b"
    r"|\bn(?:e |')(?:d\u00e9tecte|reconna\u00eet|trouve|voit|utilise) pas (?:le |la |mon |ma )?(?:gpu|carte graphique)\b"
    r"|\bgpu (?:no|n\u00e3o) (?:es|est\u00e1|\u00e9|se) (?:detecta|reconoc)"
    r"|\b(?:gpu|carte)(?: graphique)? n'est pas (?:d\u00e9tect|reconnu|utilis)"
    r"|\u043d\u0435 (?:\u0432\u0438\u0434\u0438\u0442|\u0438\u0441\u043f\u043e\u043b\u044c\u0437\u0443\u0435\u0442) (?:gpu|\u0432\u0438\u0434\u0435\u043e\u043a\u0430\u0440\u0442\u0443)|\u0432\u0438\u0434\u0435\u043e\u043a\u0430\u0440\u0442\u0430 \u043d\u0435 (?:\u043e\u043f\u0440\u0435\u0434\u0435\u043b\u044f\u0435\u0442\u0441\u044f|\u0438\u0441\u043f\u043e\u043b\u044c\u0437\u0443\u0435\u0442\u0441\u044f)"
    r"|gpu(?:\ub97c|\uac00)? ?(?:\uc778\uc2dd|\uc0ac\uc6a9)(?:\ud558\uc9c0|\ub418\uc9c0) ?(?:\ubabb|\uc54a)"
    r"|(?:\u68c0\u6d4b\u4e0d\u5230|\u627e\u4e0d\u5230|\u8bc6\u522b\u4e0d\u5230|\u8bc6\u522b\u4e0d\u4e86|\u65e0\u6cd5\u8bc6\u522b|\u65e0\u6cd5\u4f7f\u7528|\u4e0d\u80fd\u4f7f\u7528|\u7528\u4e0d\u4e86) ?(?:gpu|\u663e\u5361)|(?:\u4e00\u76f4|\u53ea|\u90fd|\u8fd8\u662f|\u4ecd\u7136)[^\n]{0,6}(?:\u5728|\u7528|\u4f7f\u7528) ?cpu|gpu ?(?:\u4e0d\u53ef\u7528|\u4e0d\u80fd\u7528|\u7528\u4e0d\u4e86)"
    r"|gpu ?(?:\u304c|\u3092) ?(?:\u8a8d\u8b58|\u691c\u51fa) ?(?:\u3055\u308c\u306a\u3044|\u3055\u308c\u307e\u305b\u3093|\u3057\u306a\u3044|\u3057\u307e\u305b\u3093)"
)
"""As people say it in other languages."""
_OTHER_CUDA = msgspec.structs.replace(NO_GPU_ANSWER, causes=("cuda-version-mismatch",), lines=("Num GPUs Available: 0",), vague=False)
_NO_LIBRARIES = msgspec.structs.replace(
    NO_GPU_ANSWER,
    causes=("cuda-library-missing",),
    lines=("Num GPUs Available: 0",),
    last=True,
    guess=True,
    tells="ldconfig -p | grep -E 'cudart|cudnn'",
)
"""A build that opens the system's CUDA, where nothing else in the text explains why it sees no GPU."""
NO_GPU_ANSWERS = (_OTHER_CUDA, NO_GPU_ANSWER, _NO_LIBRARIES)
GPU_SEEN_ELSEWHERE = Signature(
    rf"(?i)\bsame (?:python )?(?:code|command|script|line|program)\b[^\n.]{{0,30}}\b(?:in|from|on|inside) (?:\w{{1,12}} ){{0,2}}{NOTEBOOK}\b[^\n]{{0,40}}:\s{{0,4}}$"
    rf"|^(?=[^\n]{{0,200}}\bgpus?\b)[^\n]{{0,200}}\b{TERMINAL}\b[^\n.]{{0,60}}\b(?:but not|but|while|whereas|not) [^\n.]{{0,40}}\b{NOTEBOOK}\b"
    rf"|^(?=[^\n]{{0,200}}\bgpus?\b)[^\n]{{0,200}}\b{NOTEBOOK}\b[^\n.]{{0,60}}\b(?:not|n't|no|none|empty)\b[^\n.]{{0,60}}\b(?:but|while|whereas|although)\b[^\n.]{{0,60}}\b{TERMINAL}\b",
    ("wrong-python-environment", "cuda-visible-devices-masked"),
    "a notebook or editor sees no GPU where a shell does: it runs another Python, or with other variables",
    (
        "Same code from a notebook cell:",
        "TensorFlow finds the GPU in a terminal, but not in Jupyter",
        "the notebook does not see the GPU, while the terminal does",
    ),
    vague=True,
    said=True,
    last=True,
    tells="python -c 'import sys; print(sys.executable)'",
)
"""As people tell of one program that sees the GPU and another that does not."""
STILL_NO_GPU = Signature(
    r"(?i)\b(?:always|still|keeps?|only)\b[^\n]{0,40}\b(?:cuda|gpu)\b[^\n]{0,24}\bfalse\b|\b(?:cuda|gpu)\b[^\n]{0,24}\bavailable\b[^\n]{0,12}\b(?:always|still|keeps?)\b[^\n]{0,16}\bfalse\b",
    ("no-driver", "no-gpu"),
    "the framework sees no GPU",
    ("I still get cuda = False",),
    vague=True,
    needs_support=True,
    last=True,
)
"""As people complain. A report alone may come from a machine that has no GPU; an installed CUDA toolkit shows that one was expected."""
_STATEMENTS = (
    (_FRAMEWORK_SEES_NONE, ("TensorFlow does not detect my GPU", "the GPU is not recognized")),
    (_ANY_SEES_NONE, ("it cannot list the GPU devices", "it only finds the CPU")),
    (_ONLY_CPU_FOUND, ("only the CPU is detected", "the program is not using my GPU", "no GPU detected, will be using CPU")),
    (_IN_OTHER_LANGUAGES, ("GPU wird nicht erkannt", "\u68c0\u6d4b\u4e0d\u5230 GPU")),
)
NO_GPU_STATEMENTS = tuple(
    msgspec.structs.replace(signature, pattern=pattern, lines=lines, vague=True, last=True, said=True)
    for signature in NO_GPU_ANSWERS
    for pattern, lines in _STATEMENTS
)
