"""What people write of the parts of a machine: patterns composed of word lists, where a new word serves every sentence."""

from __future__ import annotations

import re
from itertools import chain

from gpudoctor.expressions import expression

_SEEN = r"(?:found|detected|recogni[sz]ed|seen|visible|identified|listed|located|discovered|available|installed|present|there|loaded|running|exist)"
_FIND = r"(?:find|detect|recogni[sz]e|see|identify|list|locate|have|load|install)(?:ed|s|ing)?"
_ARTICLE = r"(?:(?:the|a|an|any|my|our|its|your|proper|suitable|working) ){0,2}"
_NOT = r"(?:\bnot|\bcannot|n't|\bcant|\bdont|\bdoesnt|\bunable to|\bfail(?:s|ed|ing)? to|\bnever)"
_BE = r"(?:is|are|was|were|be|been|has|have|could|can|does|did|seems?)"

GPU_WORDS = r"(?:e-?gpu|gpu|(?:graphics? |video )?card|(?:[rg]tx ?)?[1-5]0[5-9]0(?: ti| super)?|[ahlv]\d{2,3}s?|a\d{4}|t4)"
"""A GPU by what people call it, or by its model."""
KERNEL_RAN = "a kernel ran and failed an assertion of its own"
"""What a reader makes of a failed assertion: driver and build had to work for that."""
AMD_GPU = r"(?i)(?<!with )\bradeon\b|\bradeon (?:\d{3}M|RX|Pro|VII)\b|\bamdgpu-install\b|\bAMD (?:的 ?)?(?:显卡|顯卡|显示卡|顯示卡|独显|グラボ|그래픽)|(?:显卡|顯卡|グラボ|видеокарт\w{0,3}|tarjeta(?: gr[aá]fica)?|carte graphique|grafikkarte|placa de v[ií]deo|그래픽(?: ?카드)?)(?: ?(?:是|は|는|:))? (?:de |es (?:una )?|est (?:une )?|ist (?:eine )?)?\bAMD\b|\bAMD (?:GPUs?|cards?|graphics|видеокарт\w{0,3}|video card|RX|Instinct|\d{4} ?(?:XTX?|GRE)|version instead)\b|\bRX ?[5-9]\d{2,3}(?: ?XTX?)?\b"
"""A GPU of AMD; a processor "with Radeon Graphics" is in many machines with an NVIDIA GPU."""
OLLAMA_PACKAGE = r"(?i)\bpacman\b[^\n]{0,24}\bollama\b(?!-cuda)|\bollama\b[^\n]{0,60}\bpacman\b|\bextra/ollama\b(?!-cuda)"
"""How distributions package Ollama without CUDA, which has a package of its own."""
ROCM_BUILD = r"\bdownload\.pytorch\.org/whl/(?:nightly/)?rocm\d|(?<!no )(?<!without )\bROCm (?:support|build)\b"
"""A build for AMD's GPUs, beside the error of another build."""
DESKTOP_HYPERVISOR = (
    r"(?i)\b(?:in(?:side)?|on|under|with|using|via|running) (?:\w{1,12} ){0,3}(?:virtualbox|parallels(?: desktop)?|vmware (?:fusion|workstation|player))\b(?! on (?:the|my|this) host)"
    r"|\b(?:virtualbox|parallels(?: desktop)?|vmware (?:fusion|workstation|player))(?: based)? (?:vm|guest|virtual machine)\b"
)
"""A guest of a hypervisor for desktops, none of which passes a GPU through to CUDA."""
ABOUT_WSL = r"(?i)^\W{0,3}\(WSL ?[12]?\) ?[-:]|(?<!running under )\bwindows subsystem for linux\b|(?<!non-)\bWSL ?[12]?\b(?!\))(?!/(?:lib|drivers/\*)/lib\w{2,20}\.so\*)|microsoft-standard"
"""What names WSL, not the patterns by which Ollama searches every Linux for libcuda, nor what nvidia-container-cli logs on every Linux."""
ABOUT_SLURM = (
    r"\b(?:srun|sbatch|salloc|slurmstepd|SLURM_JOB_ID|NoDevFiles)\b|#SBATCH\b|(?i:\blogin[ -]?node\b|@\w{0,20}login\d{0,3}\b|\bslurm\b)"
)
"""What shows that a program runs under Slurm, or on a node that hands out jobs."""
STATED_WHEEL = (
    r"(?i)(?<!no )(?<!not )\b(nvidia-[a-z]{2,16}-cu\d{2})\b(?:[`'\"]|==[\d.]{1,16}){0,2} (?:(?:package|wheel) )?(?:is|are|was|were) (?:already |also |both )?(?:installed|present|there|in (?:the|my|this) (?:environment|env|venv))\b"
    r"|\b(?:i|we)(?:'ve| have| had)? (?:already |also |even )?(?:pip[ -])?installed (?:the )?(?:package )?[`'\"]?(nvidia-[a-z]{2,16}-cu\d{2})\b"
)
"""A sentence that says of one of NVIDIA's packages for pip that it is installed."""
PINNING_CALL = r"(?<!Using ')\bpin_memory\b|\bcudaHost(?:Alloc|Register)\b|\bcudaMallocHost\b|(?<!no )(?<!without )\b(?:pinned|page-locked) (?:host )?memory\b|\bcuMemHostAlloc\b|\bcuda_host_allocator\b"
"""What allocates page-locked memory, which WSL limits: https://docs.nvidia.com/cuda/wsl-user-guide/index.html

vLLM's notice that it uses none there does not.
"""
SHOWS = "dá dà zeigt gibt liefert ergibt muestra regresa restituisce ritorna retourne zwraca возвращает выдаёт выдает devuelve retorna mostra affiche donne renvoie показывает выводит"
"""Shows or returns, as other languages write it."""
NO_NVIDIA_SMI = r"\bnvidia-smi\b[^\n.;]{0,24}(?:\bnot found|: No such file|\bnot recogni[sz]ed as (?:an?|the) (?:internal|name))|command not found: nvidia-smi"
"""What shells say of a program that is not there."""
SHELL_LACKS_NVIDIA_SMI = (
    r"^\W{0,3}(?:(?:/(?:usr/)?bin/)?-?(?:ba|z|da|k|tc|c)?sh: (?:line )?(?:\d{1,4}: )?)?(?:/usr/bin/)?nvidia-smi: (?:command not found|not found|No such file or directory)\W{0,3}$"
    r"|^\W{0,3}(?:zsh: command not found|fish: Unknown command):? \W?nvidia-smi\W{0,3}$|^\W{0,3}Command '?nvidia-smi'? not found\b"
    r"|^\W{0,3}(?:nvidia-smi ?: )?(?:The term )?['\"\u2018]?nvidia-smi['\"\u2019]? is not recogni[sz]ed as (?:an?|the) (?:internal|name)"
)
"""The same as the whole message of a shell, not in a sentence."""
LIBRARY_NAMES = "cudart|cublas|cublasLt|cufft|curand|cusolver|cusparse|nvrtc|nvJitLink|cudnn"
_LIBRARY = rf"(?:lib(?:{LIBRARY_NAMES})(?:_\w{{1,40}})?\.so\.[\d.]{{1,8}}|(?:{LIBRARY_NAMES})(?:_\w{{1,40}})?64_\d{{1,3}}(?:_\d)?\.dll)\b"
LIBRARY_STATED_INSTALLED = (
    rf"(?P<placed>{_LIBRARY})(?:(?!\bno|n't|dlerror)[^\n]){{0,50}} (?:in|inside|under|at) (?:(?!\bno)[^\n]){{0,24}}?(?:/\w|[A-Z]:\\)"
    rf"|(?P<being>{_LIBRARY})[`'\"]?(?: (?:does|do|is|are|also|already|actually|definitely|clearly|itself|file)){{0,3}} (?:exists?|there|present|on (?:the )?disk)\b(?!\?)"
    r"|(?:\b(?:[Ii]|[Ww]e|[Ii]t|they|which|that|only|just|folder|directory|bin|path|toolkit|cuda|CUDA|Windows|System32|conda|env)"
    r" (?:only |just |also |already ){0,2}(?:has|have|had|contains?|includes?|holds?|lists?|sees?|found|finds?|got)\b|\b[Tt]here(?: is|'s| are))"
    rf" (?:(?:only|just|the|a|an|one|file|dll|library|version|called|named) ){{0,4}}[`'\"]?(?P<had>{_LIBRARY})(?: (?:in|inside|under|at) [^\s,;]{{1,80}})?"
)
"""What people say of a library that is there; a group has its name."""
HAS_CUDA = (
    r"(?:(?:\b(?:with|have|has|had|us(?:e[sd]?|ing)|installed|run(?:s|ning)?|on|my|mit|con|com|avec|\u0441)\s{1,3}|(?:\u5b89\u88c5|\u88c5|\u5b89\u88dd|\u4f7f\u7528|\u7528)(?:\u4e86|\u7684\u662f)?\s{0,2}|^\W{0,6})cuda[ -]?(?:toolkit |version )?"
    r"|\bcuda/cudnn version\W{1,6}(?:cuda )?|\bcuda (?:version )?(?:is|was|has been) (?:now )?(?:(?:up|down)(?:graded|dated) (?:from [\d.]{1,5} )?to )?"
    r"|\b(?:re-?install|upgrad|updat|downgrad|switch|mov|chang)(?:e|ed|ing)?\s(?:my |the |our |to )?cuda (?:toolkit |version )?(?:from (?:v?[\d.]{1,5}|version [\d.]{1,5}) )?(?:to )?(?:version )?"
    r"|\bcuda[ -]?(?:toolkit |version )?(?=v?\d{1,2}(?:\.\d{1,2}){0,2} (?:libs? |librar(?:y|ies) |toolkit |runtime )?(?:is |are |was |were )?(?:already )?installed\b))"
)
"""What stands before the version of the CUDA that somebody has."""
DEVICES_PASSED_BY_HAND = r"\brun\b(?![^\n]{0,400}--(?:gpus|runtime)\b)[^\n]{0,400}--device[= ]/dev/nvidia(?:\d|ctl)\b"
"""A container that is given device files alone, which bring no library of the driver."""
DKMS_FAILURE = r"Bad return status for module build on kernel|kernel headers for this kernel do(?:es)? not seem to be installed"
"""What dkms says of a module that it cannot build, which it names in other lines."""
DRIVER_WORDS = r"(?:(?:nvidia|nvidias|graphics?|gpu|video|cuda|display|card)[ -]){1,3}drivers?(?:/(?:kernel )?modules?)?"
"""Only with what drives it: any program has drivers."""


def absence_pattern(thing: str) -> str:
    """Return the pattern of a sentence that says of a thing that it is not there, or that something does not find it."""
    return (
        rf"\bno {thing} (?:(?:is|was|were|are|has been|could be|can be|seems? to be) )?(?:\w{{1,12}} )?{_SEEN}\b"
        rf"|\b(?:there (?:is|are|was)|ha(?:s|ve|d)|got|says?|with|[Ee]rror:) no {thing}\b"
        rf"|{_NOT} (?:\w{{1,12}} )?{_FIND} {_ARTICLE}{thing}\b"
        rf"|\b{thing} (?:\w{{1,12}} )?{_BE}(?: not|n't) (?:\w{{1,12}} ){{0,2}}{_SEEN}\b"
        rf"|\b{thing} (?:{_BE} )?(?:missing|absent)\b|\b(?:missing|lacks?|lacking) {_ARTICLE}{thing}\b"
    )


def unloaded_pattern(file: str) -> str:
    """Return the pattern of a sentence that says of a library that it is not there, or does not load."""
    return (
        rf"{_NOT} (?:\w{{1,12}} )?{_FIND} {_ARTICLE}{file}|\b(?:missing|lacks?|lacking) {_ARTICLE}{file}|\b{file} (?:{_BE} )?(?:missing|absent)\b"
        rf"|\b{file}[^\n.;]{{0,36}}(?:not|n't|nt)\b[^\n.;]{{0,12}}\b(?:load|open|found|find|there|exist|present|installed|available)"
    )


_HELPED = r"(?<!not )(?<!n't )(?<!never )(?:fixe[sd]|solve[sd]|resolve[sd]|help(?:ed|s)|work(?:ed|s)|avoid(?:ed|s)|did the trick|succeed(?:ed|s))\b"


def cure_pattern(step: str) -> str:
    """Return the pattern of a sentence that says that a step helped, or that what failed works since."""
    return (
        rf"\b{step}[^\n]{{0,60}}?\b{_HELPED}|\b{_HELPED}(?:[^\n.:]{{0,12}}: |[^\n.]{{0,24}}\b(?:by|after|when|once|with)\b[^\n.]{{0,40}}\b){step}"
        rf"|\b(?:solution|fix|workaround|work-around)\b[^\n.]{{0,24}}(?:\b(?:is|was)\b|:)[^\n.]{{0,24}}\b{step}"
    )


SUCCEEDS = (
    r"(?:(?<!n't )(?<!not )(?:works?|worked|runs|trains|starts|finds?|sees|loads|succeeds|found|sees)\b|no longer (?:crash|fail|hang|stop|happen|occur)\w{0,3}|\b(?:found|seen|visible|detected|listed|gone|is there|are there|is fine|is used|are used)\b"
    r"|(?:goes|went) away|disappear\w{0,3}|vanish\w{0,2}|\b(?:it does|that does)\b(?!n't| not)|\bsays available|\b(?:is true|returns? true|says true|gives true)\b|\u597d\u4e86|\u6b63\u5e38|\u53ef\u4ee5\u4e86|\u89e3\u51b3)"
)
"""What a program does since a step, or the error that is gone."""
WITHOUT_DENIAL = r"(?:(?!\b(?:not?|never|still|neither|cannot|same (?:error|problem|issue|result|thing|message))\b|n't|[;?])[^\n])"
"""A letter of a clause that denies nothing."""


def contrast_pattern(step: str) -> str:
    """Return the pattern of a sentence that sets a step against what follows: "with X it runs", "X makes the error disappear", "the error goes away with X"."""
    return (
        rf"\b(?:unless|(?:need|have|has|had) to set)\b (?:\w{{1,12}} ){{0,2}}{step}|\b(?:with|once|after|when|setting|only)\b{WITHOUT_DENIAL}{{0,40}}?{step}{WITHOUT_DENIAL}{{0,60}}?\b(?!tried){SUCCEEDS}"
        rf"|(?:^|[.,;:] ){step}{WITHOUT_DENIAL}{{0,30}}?(?:made|makes|lets|,) {WITHOUT_DENIAL}{{0,30}}?{SUCCEEDS}"
        rf"|{SUCCEEDS}{WITHOUT_DENIAL}{{0,12}}\b(?:with|once|after|when|if)\b{WITHOUT_DENIAL}{{0,40}}?{step}(?![^\n.]{{0,20}}\?)"
        rf"|{step}[^\n]{{0,30}}(?:\u4ee5\u540e|\u4e4b\u540e|\u540e|\u5c31)[^\n]{{0,8}}(?:\u597d\u4e86|\u6b63\u5e38|\u53ef\u4ee5|\u884c\u4e86|\u89e3\u51b3)"
    )


def failed_cure_pattern(step: str) -> str:
    """Return the pattern of a sentence that says that a step did not help: "with X it still hangs", "X made no difference", "fails with X too"."""
    return (
        rf"{step}[^\n.;:]{{0,40}}?(?:(?:\bnot|n't|\bnever) (?:help|fix|solve|resolve|change|work|make)|\bno (?:effect|difference|change|help|luck|avail)\b|\bsame (?:error|problem|hang|issue|result|thing)\b|\bstill (?:hang|fail|crash|stuck))"
        rf"|(?:(?:\bnot|n't) (?:work|help)|\b(?:still|also) (?:hangs?|fails?|crashe?s?))(?: even)? (?:with|after|when)\b[^\n.;:]{{0,30}}?{step}|\b(?:hangs?|fails?|crashes) with {step},? (?:too|either|as well)\b"
    )


_ENDED = r"(?:exit(?:ed|s)?|returned|returns|failed|fails|ended|return|error|rc)"
_FAILED = r"(?:exit(?:ed|s)?|failed|fails|ended|error)"
"""A number behind another verb may be one of GPUs."""
_WITH = r"(?: with| an?| the| non-?zero| exit| return| error| code| status| rc){0,5}"


def smi_status_pattern(status: int) -> str:
    """Return the pattern of what says that nvidia-smi ended with a status, which is NVML's: NVIDIA's manual lists those up to 15."""
    numbered = rf"{_ENDED}{_WITH} (?:code|status|rc)[ :=]{{1,3}}{status}|{_FAILED}{_WITH}[ :=]{{1,3}}{status}(?=\s{{0,3}}(?:$|[.,;:)\]]))"
    return rf"\bnvidia-smi\b[^\n|]{{0,160}}?\b(?:{numbered})(?![\d.]*\d| ?(?:gpus?|devices?|cards?|lines?|%|[MG]i?B)\b)"


_VERY = r"(?:(?:too|very|really|quite|rather|far|much|just|simply|way|still|a bit|so) ){0,2}"
_OLD = r"(?:old|outdated|out[- ]of[- ]date|obsolete|ancient)"


def outdated_pattern(thing: str) -> str:
    """Return the pattern of a sentence that says of a thing that it is too old, or that a newer one is needed."""
    return (
        rf"\b{thing}\b(?: versions?)?(?: (?:v|branch )?\d[\d.]{{1,11}})?(?:,? (?:and|but) (?:that|it|this)|,? which|[^\n.;]{{0,40}}, (?:it|this|that)| (?:on|of|in) (?:the|my|our|this|that|these) (?:\w{{1,16}} )?\w{{1,16}}| installed\b[^\n;]{{0,30}})? (?:is|are|was|were|seems?(?: to be)?|turned out to be) (?:{_VERY}{_OLD}|not (?:new|recent) enough)\b"
        rf"|\b(?:too old|outdated|obsolete|out[- ]of[- ]date) (?:\w{{1,12}} ){{0,2}}{thing}\b"
        rf"|\b(?:needs?|requires?|wants?) (?:a )?(?:newer|new|more recent) (?:\w{{1,12}} )?{thing}\b"
        rf"|(?:\bnot|n't) (?:work|run|start)\b[^\n.;]{{0,24}} (?:until|unless|before) (?:we|i|they|you|somebody|the admins?) (?:can |could |finally )?(?:up(?:grade|date)|renew)d? (?:the |our |my |your )?{thing}\b"  # words: ok
    )


_HYPOTHESIS = expression(
    r"(?i)\b(?:if|whether|unless|until|in case|make sure|ensure|check|verify|assum(?:e|es|ing)|suppos(?:e|ing)|e\.g\.|such as|errors? like|what to do|(?:can|could|may) (?:i|we|you|one)|(?:want(?:s|ed)?|tr(?:y|ied|ying)) to(?! (?:know|understand))|(?:like|possible|option|how) to|how (?:do|does|should|would)|should (?:i|we|you|one)|recommends?|please (?:install|use|check|try))\b"
)
_CLAUSE_END = expression(r"[.,;:!?]\s| (?:but|yet|although|though|however|then|because) ")
_LOOKBACK_LENGTH = 120
"""Characters before a sentence's words that show that it only supposes them."""


_CONDITION = expression(
    r"(?i)\b(?:if|when|whenever|in case) (?:you|one|users?|people|somebody|someone|it|nvidia-smi|torch) (?:\w{1,12} )?(?:gets?|sees?|says?|encounters?|runs? into|meets?|reports?|shows?|prints?|hits?|fails? with)\b"
    r"|\b(?:I|we) (?:do|did|have)(?:n't| not) (?:get|got|see|seen|have|had|hit|run into) (?:an?|any|the|that|this)\b"
)


_COMMENTED_OUT = expression(r"#(?:export |[^\"'\n]{0,80}\b(?:environ|putenv)\W{1,3}(?:(?:setdefault|update)\W{1,3})?)?$")
"""What stands before the name. A space follows the prompt of root."""
_QUOTATION = expression(r"[\"`]")
"""A mark of a quotation, which is part of the clause before it: if you see "..."."""


def meant(match: re.Match[str], *, said: bool) -> re.Match[str] | None:
    """Return the first of a pattern's matches in a line, from `match` on, that is neither only supposed nor commented out; None if there is none.

    A clause supposes with "if you get ...", or with "make sure that no driver is missing" of what is said by people.
    """
    matches = chain((match,), match.re.finditer(match.string, match.end()))
    return next((hit for hit in matches if not _is_not_asserted(hit.string, _start_of_words(hit), said=said)), None)


def _is_not_asserted(line: str, place: int, *, said: bool) -> bool:
    return is_hypothetical(line, place, said=said) or is_commented_out(line, place)


def is_commented_out(line: str, place: int) -> bool:
    """Return whether a variable, whose name begins at a place in a line, is set by code that is commented out."""
    return _COMMENTED_OUT.search(line[max(0, place - _LOOKBACK_LENGTH) : place]) is not None


def _start_of_words(match: re.Match[str]) -> int:
    """Return where the words begin that are said: the group of a pattern that begins with all that stands before them."""
    return max(match.start(), match.start(1)) if match.re.groups else match.start()


def is_hypothetical(line: str, place: int, *, said: bool) -> bool:
    """Return whether the clause before a place in a line only supposes what stands there; `said`: people say it."""
    marks = [mark.start() for mark in _QUOTATION.finditer(line, 0, place)]
    end = marks[-1] if len(marks) % 2 else place
    clause = _CLAUSE_END.split(line[max(0, end - _LOOKBACK_LENGTH) : end])[-1]
    return _CONDITION.search(clause) is not None or (said and _HYPOTHESIS.search(clause) is not None)


CUPY_USE = r"CuPy failed to load|\b(?:import|install) cupy\b|\binstall cupy-cuda\d|\bcupy_backends\b|/cupy/_?\w|\"cupy/\w|(?m:^\W{0,3}cupy(?: version)?:? v?\d{1,2}\.\d)"
"""What shows that CuPy is used, by its own imports: https://docs.cupy.dev/en/stable/install.html"""
CUDA_BUILD_FUNCTION = r"_cuda_(?:[gs]etDevice|getDeviceCount|init|getDriverVersion)'"
"""How names end in torch/csrc/cuda/Module.cpp, which only a build with CUDA has."""
USES_GPU_ELSEWHERE = (
    r"(?i)\b(?:comfyui|a1111|automatic1111|forge|fooocus|invokeai|ollama|lm studio|blender|games?|web-?uis?|everything else|(?:other|another|all other|different) (?:\w{1,16} )?(?:programs?|apps?|tools?|projects?|software|models?|environments?|repos?|uis?))\b"
    r"(?:(?!\bnot\b|n't|\bnor\b|\bno\b|\bcpu\b)[^\n.;]){0,60}\b(?:works?|runs?|uses?|using|sees?|detects?|finds?|recogni[sz]es?)\b(?:(?!\bnot\b|n't|\bnor\b|\bno\b|\bcpu\b)[^\n.;]){0,40}\b(?:gpu|cuda|(?:graphics |video )?card)\b"
    r"|\b(?:it|which|that|alone) uses? (?:my |the )?gpu (?:perfectly|fine|just fine|well|without|as it should)\b"
)
"""A sentence that says that another program uses the GPU, so its driver works."""
NVIDIA_SMI_WORKS = (
    r"(?i)\bnvidia-smi\b\W{1,3}(?:(?:command|output|itself|also|still|just|now|does|always|alone) ){0,2}"
    r"(?:(?:works?|runs?|is (?:working|running|fine|ok|okay|good)|looks (?:fine|good|ok|okay|normal|correct|right))\b"
    r"(?! (?:only|until|for|once|again|after|before|when|if|sometimes|without|on|outside|from|as)\b| in (?:windows|powershell|cmd|the host)\b)"
    r"|(?:shows?|lists?|reports?|detects?|sees?|displays?|finds?|recogni[sz]es|prints|gives|outputs)\b "
    r"(?:(?!no\b|not\b|none\b|nothing\b|zero\b|0\b|only\b|an? error|error\b|unknown\b|fail)\w[\w-]{0,16} ){0,4}(?:gpus?|cards?|[rg]tx|geforce|tesla|quadro|[ahltv]\d{1,3}s?)\b(?![^\n.]{0,20}\b(?:error|fail|lost|mismatch)))"
    rf"|(?:^|[.,;:(]|\bbut\b|\band\b){WITHOUT_DENIAL}{{0,60}}?\b(?:see|visible|shown|shows up|listed|appears|detected|recogni[sz]ed) (?:in|by|with|under) (?:the )?(?:output of )?\W?nvidia-smi\b"
)
"""A sentence that says that nvidia-smi answers, so the driver is loaded; not of a host, whose driver says nothing of a guest's."""
NOTEBOOK = r"(?:notebooks?|jupyter\w{0,4}|vs ?code|pycharm|spyder)"
TERMINAL = r"(?:terminal|command[ -](?:line|prompt)|shell|console|script|python prompt)"
"""The programs that people compare, each of which runs a Python of its own."""
_RELEASE = r"(?:(?: |==?)v?[\d.]{1,8})?"
_TOGETHER_WITH = r" (?:and|&|plus|with|beside|alongside) (?:the )?"
TENSORFLOW_TWICE = (
    rf"\bboth (?:the )?tensorflow(?:[-_ ]cpu)?{_RELEASE}{_TOGETHER_WITH}tensorflow[-_ ]gpu\b|\bboth (?:the )?tensorflow[-_ ]gpu{_RELEASE}{_TOGETHER_WITH}tensorflow(?:[-_ ]cpu)?\b"
    rf"|\btensorflow(?:[-_ ]cpu)?{_RELEASE}{_TOGETHER_WITH}tensorflow[-_ ]gpu{_RELEASE},? (?:are |were )?(?:both|together|side by side|at the same time)\b|\btensorflow-gpu{_RELEASE} also installs tensorflow\b(?!-)"
    rf"|\binstall (?:-\S{{1,20}} ){{0,2}}tensorflow{_RELEASE} tensorflow-gpu\b|\binstall (?:-\S{{1,20}} ){{0,2}}tensorflow-gpu{_RELEASE} tensorflow(?![-_\w])"
)
"""What installs or names two packages of TensorFlow that own the same files."""
