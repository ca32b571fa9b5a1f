"""What the fields of an issue form are called, and which part of an answer states a fact."""

from __future__ import annotations

from typing import NamedTuple

from gpudoctor.expressions import expression
from gpudoctor.frameworks import CATALOGUE, MISTAKEN
from gpudoctor.read.readers.reader import INTEL_GPU_FORM

SYSTEMS = (
    r"(?:64[- ]?bit )?(?:microsoft |gnu/|apple |m[1-5] (?:pro |max |ultra )?){0,2}(?:windows|win ?(?:7|8|10|11)\b|wsl|linux|x?k?ubuntu|debian|mac|os ?x\b|darwin|centos|rhel|red ?hat|fedora|arch\b"
    r"|manjaro|open ?suse|suse|sles|rocky|alma|alpine|amazon linux|oracle linux|nixos|gentoo|pop!?_?os|linux ?mint|mint\b|kali|endeavouros|cachyos|jetpack|jetson|l4t)"
)
_CARD_NAMES = r"geforce|rtx|gtx|tesla|quadro|titan|jetson|orin|xavier|nvidia|\b(?:a100|a800|a10g?|a16|a30|a40|a2|b100|b200|b300|gb\d{2,3}|h100|h200|h800|h20|gh200|l4|l20|l40s?|t4|v100|p100|p40|p4|k80|m60)\b"
_GPU_KEYS = (
    r"(?:nvidia |my |your )?(?:gpus?|graphics? cards?|video cards?|graphics|accelerators?|device|card|hardware)"
    r"(?:(?: and|,)? (?:model|models|name|type|info|memory|card|used|configuration|vram)){0,4}"
)
_CUDA_KEYS = r"(?:cuda(?:[ -]?toolkit)?|toolkit|version|release|v|:| |[-_](?=\d)){0,5}"


class FieldKey(NamedTuple):
    """One kind of field: how people name it, and its answers."""

    what: str
    """The key of the fact; "package" if the field's name is the package's."""
    name: str
    """A regular expression for the whole name, in lower case and without what stands in parentheses."""
    answer: str
    """A regular expression for the beginning of an answer in lower case; its first group with text is the fact."""
    alone: bool = False
    """Whether a second number of that form in the answer makes it a comparison, which states nothing."""


FIELD_KEYS = (
    FieldKey(
        "os",
        r"(?:host |guest |base |linux |my |wsl )?(?:os|operating system|platform|system|distro|distribution|environment)"
        r"(?:[ /](?:platform and distribution|platform|and|version|name|type|info|details|distribution|os)){0,3}",
        rf"(?:(?:edition|name|os|system)[: ]{{1,3}})?({SYSTEMS}.{{0,80}})",
    ),
    # what scripts print before the answer of torch.cuda.is_available()
    FieldKey(
        "torch devices",
        r"(?:is |torch |pytorch ){0,2}cuda(?:[ ._]is)?[ ._](?:available|availability|enabled|usable)",
        r"(true|false|yes|no)\b(?!,)",
    ),
    FieldKey(
        "python",
        r"python(?: interpreter)?(?: versions?| ver)?|version of python",
        r"(?:c?python|version|v|:| ){0,3}([23]\.\d{1,2}(?:\.\d{1,2})?)\b",
    ),
    FieldKey(
        "cuda served",
        r"cuda (?:driver|umd)(?: api)?(?: version)?|cuda version (?:driver|nvidia-smi|smi|from nvidia-smi)|nvidia-smi cuda(?: version)?",
        r"(?:version|v|:| ){0,3}(\d{1,2}\.\d{1,2})\b(?!\.)",
    ),
    FieldKey(
        "driver",
        r"(?:latest |installed )?(?:nvidia[ -]|gpu |graphics |geforce |display |video |cuda |card ){0,3}drivers?(?: versions?)?|nvidia-(?:driver|smi)(?: version)?",
        r"(?:nvidia|geforce|game ready|studio|drivers?|version|v|:| |-){0,5}(\d{3}\.\d{1,3}(?:\.\d{1,3})?)\b",
        alone=True,
    ),
    FieldKey(
        "toolkit",
        r"(?:(?:installed )?version of )?(?:nvidia )?cuda(?:(?: ?[/,&+] ?| and | )cudnn)?(?: ?toolkit| sdk| runtime)?(?: versions?| ver)?(?: used| installed)?|cudatoolkit",
        rf"{_CUDA_KEYS}(\d{{1,2}}\.\d)(?:\.\d{{1,4}})?(?![^\n]{{0,80}}(?:smi|driver))",
    ),
    FieldKey(
        "cudnn",
        r"(?:(?:installed )?version of )?(?:nvidia )?(?:cuda(?: ?[/,&+] ?| and | ))?cudnn(?: library)?(?: versions?| ver)?",
        r"(?:cudnn|version|v|=|:| ){0,4}([5-9]\.\d{1,2}(?:\.\d{1,3})?)\b"
        r"|[^\n]{0,60}?(?:cudnn\W{0,12}|\d ?[/,&+] ?v?)([5-9]\.\d{1,2}(?:\.\d{1,3})?)\b",
    ),
    FieldKey(
        "gpu",
        _GPU_KEYS,
        rf"(?:\d{{1,2}} ?[x\u00d7*] ?|x\d )?((?:(?:asus|evga|gigabyte|msi|zotac|laptop|nvidia's) )?(?:{_CARD_NAMES}|\d{{3,4}} ?(?:rtx|gtx|ti|super)\b|(?:[2-5]0[5-9]0|10[5-8]0|16[56]0)\b)[^\n,;|(+]{{0,60}})",
    ),
    FieldKey(
        "other gpu",
        _GPU_KEYS,
        rf"((?:amd |ati )?radeon\b|(?:amd )?rx ?[5-9]\d{{2,3}}\b|amd (?:gpu|graphics|instinct|firepro)\b|{INTEL_GPU_FORM})(?![^\n]*(?:{_CARD_NAMES}))",
    ),
    FieldKey("kernel", r"(?:linux )?kernel(?: version| release)?|uname -r", r"(?:linux |version )?(\d\.\d{1,2}\.\d[\w.+-]{0,60})"),
    FieldKey("architecture", r"(?:cpu |system )?arch(?:itecture)?|uname -[mpi]|machine", r"(x86[_-]64|amd64|aarch64|arm64)\b"),
    FieldKey("libc", r"g?libc(?: version)?", r"(?:glibc|gnu|:|-| ){0,3}(2\.\d{1,2})\b"),
    FieldKey("jetpack", r"jetpack(?: version| sdk| release)?|nvidia jetpack", r"(?:jetpack|version|v|:| ){0,3}(\d\.\d(?:\.\d)?)\b"),
    FieldKey(
        "tegra",
        r"l4t(?: version| release)?|jetson linux(?: version| release)?",
        r"(?:l4t|jetson linux|r|:| ){0,3}(\d{2}\.\d{1,2}(?:\.\d)?)\b",
    ),
    FieldKey(
        "package",
        r"(?P<package>torch|pytorch|tensor ?flow(?:-gpu|-cpu)?|tf|jax|jaxlib)(?: (?:version|release|build))?",
        # "v2.4.1-0-g85c8b2a817f 2.4.1" is how tf.version.GIT_VERSION and VERSION are pasted together
        r"v\d\S{3,40}-g[0-9a-f]{6,12}'?,? '?(\d{1,2}\.\d{1,3}(?:\.\w{1,20}){0,3})|(?:torch|pytorch|tf[-_]nightly(?:[-_][cg]pu)?|tensorflow|tf|jax|jaxlib|version|stable|nightly|release|v|unknown|=|:|-|\(| ){0,5}(\d{1,2}\.\d{1,3}(?:\.\w{1,20}){0,3}(?:-dev\d{1,8})?(?:\+\w[\w.]{0,20})?)",
    ),
)
FIRST_WORDS = frozenset(
    word
    for word in [
        *MISTAKEN,
        *(name for spec in CATALOGUE for name in (*spec.distributions, *spec.parts)),
        "accelerator",
        "accelerators",
        "arch",
        "architecture",
        "base",
        "card",
        "cpu",
        "cuda",
        "cudatoolkit",
        "cudnn",
        "device",
        "display",
        "distribution",
        "distro",
        "driver",
        "drivers",
        "environment",
        "geforce",
        "glibc",
        "gpu",
        "gpus",
        "graphic",
        "graphics",
        "guest",
        "hardware",
        "host",
        "installed",
        "is",
        "jaxlib",
        "jetpack",
        "jetson",
        "kernel",
        "l4t",
        "latest",
        "libc",
        "linux",
        "machine",
        "my",
        "nvidia",
        "nvidia-driver",
        "nvidia-smi",
        "operating",
        "os",
        "platform",
        "python",
        "system",
        "tensor",
        "uname",
        "version",
        "video",
        "wsl",
        "your",
        "cuda/cudnn",
        "cuda,cudnn",
        "cuda+cudnn",
        "cuda&cudnn",
        "os/platform",
        "os/distribution",
    ]
)
"""Words that the names of fields begin with: few lines need a closer look."""
FIELD_NAME_FORMS = tuple(expression(field.name) for field in FIELD_KEYS)
FIELD_ANSWER_FORMS = tuple(expression(field.answer) for field in FIELD_KEYS)
