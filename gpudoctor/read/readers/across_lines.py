"""Compares what different lines of a text state, such as how many GPUs lspci and nvidia-smi count or which driver a CDI specification is for.

What it finds becomes a line of the log, which a signature recognises.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from itertools import takewhile

from gpudoctor.expressions import expression
from gpudoctor.read.readers.reader import Reader
from gpudoctor.read.statements import Directness, Line, Statement
from gpudoctor.signatures.phrases import is_commented_out

SHOWN_KEY = "shown:"
"""Begins the key of such a line."""

_LISTS_BUS = expression(r"\blspci\b(?:[^|\n]{0,40}\b10de:|[^\n]{0,80}\b(?i:nvidia)\b)")
_GPU_ON_BUS = expression(r"^\S{7,12} (?:VGA compatible|3D) controller(?: \[\w{4}\])?: NVIDIA\b")
_COUNTS_BUS = expression(
    r"\blspci\b[^\n]{0,40}(?:\b10de:|\b(?i:nvidia)\b)[^\n]{0,60}\b(?:3D|VGA)\b[^\n]{0,40}(?:\bwc -l|grep -\w{0,3}c)|\blspci -d 10de::030[02x][^\n]{0,20}\bwc -l|\blspci\b[^|\n]{0,40}\b10de:[^|\n]{0,20}\| ?grep -\w{0,3}c\w{0,3} \S{0,20}(?:3D|VGA)|\blspci\b[^\n]{0,40}grep -\w{0,3}c\w{0,3} \S{0,3}3D\b"
)
_COUNTS_SEEN = expression(
    r"\bnvidia-smi (?:-L|--list-gpus|--query-gpu=\S{1,60} --format=csv,noheader)\b[^\n]{0,20}\| ?(?:wc -l|grep -\w{0,3}c\b)"
)
_NUMBER_LINE = expression(r"\W{0,2}(\d{1,2})\W{0,2}$")
_WITHHOLDING_WORDS = expression(r"(?i)\b(?:docker|podman|container|pod|srun|sbatch|vfio|passthrough|nouveau)\b|@[0-9a-f]{12}:")
"""What gives a process or the host fewer GPUs on purpose."""

_LIBRARY_OF_CDI = expression(
    r"\b(?:host|container)Path: [\"']?/\S{1,120}/lib(?:cuda|nvidia-ml|nvidia-ptxjitcompiler)\.so\.(\d{3}\.\d{1,3}(?:\.\d{1,3})?)\b"
)
_CDI_WORDS = expression(r"\b(?:cdi|containerPath|hostPath|nvidia-ctk)\b")
_DRIVER_OF_MACHINE = expression(
    r"\bDriver Version: (\d{3}\.\d{1,3}(?:\.\d{1,3})?)|\bKernel Module(?: for \w{1,8})?  (\d{3}\.\d{1,3}(?:\.\d{1,3})?)|^(\d{3}\.\d{1,3}(?:\.\d{1,3})?)$"
)
_DEVICE_OF_CDI = expression(r"^\s{0,20}(?:- )?path: [\"']?(/dev/nvidia[\w-]{0,20})")
_MAJOR_OF_CDI = expression(r"^\s{0,20}major: (\d{1,4})$")
_MAJOR_OF_HOST = expression(r"\bc[rw-]{9}\S? .{4,60}?\b(\d{1,4}), {1,8}\d{1,7}\s.{0,40}?(/dev/nvidia[\w-]{0,20})")

_READS_ACS = expression(r"\bsetpci\b[^=\n]{0,60}\b(?:ECAP_ACS\+0?x?0?6|[fF]2[aA])\.[wWlL]")
_REGISTER_VALUE = expression(r"[0-9a-f]{4}(?:[0-9a-f]{4})?$")
_REDIRECT_BITS = 0x1C
"""P2P request redirect, completion redirect and upstream forwarding of the ACS control register: linux/pci_regs.h."""
_NEAR_LINES = 40
"""Lines of an answer."""


def _statements(lines: Sequence[Line]) -> Iterator[Statement]:
    yield from _gpu_count_statements(lines)
    yield from _cdi_statements(lines)
    yield from _acs_statements(lines)
    yield from _mig_statements(lines)
    yield from _visibility_statements(lines)
    yield from _device_file_statements(lines)
    yield from _library_statements(lines)
    yield from _copy_statements(lines)
    yield from _crash_statements(lines)
    yield from _wait_statements(lines)


def _shown_statement(name: str, text: str, line: Line) -> Statement:
    return Statement(f"{SHOWN_KEY}{name}", text, READER.name, line.number, Directness.TOOL)


def _gpu_count_statements(lines: Sequence[Line]) -> Iterator[Statement]:
    """Yield that nvidia-smi counts fewer GPUs than lspci, unless the text names what withholds some."""
    on_bus = seen = 0
    last = None
    for place, line in enumerate(lines):
        if "lspci" not in line.text and "nvidia-smi" not in line.text:
            continue
        answer = _NUMBER_LINE.match(lines[place + 1].text) if place + 1 < len(lines) else None
        if answer and _COUNTS_SEEN.search(line.text):
            seen, last = int(answer[1]), lines[place + 1]
        elif answer and _COUNTS_BUS.search(line.text):
            on_bus, last = int(answer[1]), lines[place + 1]
        elif _LISTS_BUS.search(line.text):
            on_bus = on_bus or sum(1 for other in lines[place + 1 : place + _NEAR_LINES] if _GPU_ON_BUS.match(other.text))
    if last and 0 < seen < on_bus and not any(_WITHHOLDING_WORDS.search(line.text) for line in lines):
        yield _shown_statement("count", f"nvidia-smi lists only {seen} of {on_bus} GPUs that lspci lists", last)


def _cdi_statements(lines: Sequence[Line]) -> Iterator[Statement]:
    """Yield a library of another driver release, or a device file of another number, that a CDI specification names."""
    if not any(_CDI_WORDS.search(line.text) for line in lines):
        return
    drivers = {next(filter(None, found.groups())) for line in lines if (found := _DRIVER_OF_MACHINE.search(line.text))}
    for line in lines:
        if drivers and (found := _LIBRARY_OF_CDI.search(line.text)) and found[1] not in drivers:
            text = f"the CDI specification names driver {found[1]}, the host has {min(drivers)}"
            yield _shown_statement("cdi driver", text, line)
            break
    host = {found[2]: found[1] for line in lines if (found := _MAJOR_OF_HOST.search(line.text))}
    for place, line in enumerate(lines):
        path = _DEVICE_OF_CDI.match(line.text)
        number = next((found[1] for other in lines[place + 1 : place + 4] if (found := _MAJOR_OF_CDI.match(other.text))), "")
        if path and number and host.get(path[1], number) != number:
            text = f"the CDI specification names {path[1]} with number {number}, the host has {host[path[1]]}"
            yield _shown_statement("cdi device", text, line)
            break


def _acs_statements(lines: Sequence[Line]) -> Iterator[Statement]:
    """Yield a control register of ACS which redirects what GPUs send each other."""
    for place, line in enumerate(lines):
        if "setpci" not in line.text or not _READS_ACS.search(line.text):
            continue
        for other in lines[place + 1 : place + _NEAR_LINES]:
            if not _REGISTER_VALUE.match(other.text.strip()):
                break
            if int(other.text.strip(), 16) & _REDIRECT_BITS:
                yield _shown_statement("acs", f"ACSCtl of a PCIe bridge is {other.text.strip()}: it redirects peer-to-peer traffic", other)
                return


_MIG_INSTANCE = expression(r"^\s{0,8}MIG (?:\d{1,2}c\.)?\dg\.\d{1,3}gb\S{0,8}\s{1,8}Device\s{1,4}\d{1,2}(?::|\s{0,4}$)")
_SEVERAL_INSTANCES = expression(
    r"(?i)^(?=[^\n]{0,300}\bMIG\b)[^\n]{0,300}\b(?:several|multiple|two|three|four|five|six|seven|[2-7]x?) (?:\w{1,8} |\dg\.\d{1,3}gb )?(?:MIG )?(?:instances|devices|slices|partitions|migs)\b"
)
_COUNTS_DEVICES = expression(r"\bdevice_count\(\)\W{0,4}$")
_COUNTS_ONE = expression(r"\bfound 1 CUDA devices?\b")
"""ggml-cuda.cu."""


def _mig_statements(lines: Sequence[Line]) -> Iterator[Statement]:
    """Yield that a framework counts one device where `nvidia-smi -L` lists several MIG instances."""
    several = sum(1 for line in lines if _MIG_INSTANCE.match(line.text)) > 1 or any(_SEVERAL_INSTANCES.search(line.text) for line in lines)
    if not several:
        return
    asked = (below for line, below in itertools.pairwise(lines) if _COUNTS_DEVICES.search(line.text) and below.text.strip() == "1")
    other = next(asked, None) or next((line for line in lines if _COUNTS_ONE.search(line.text)), None)
    if other:
        yield _shown_statement("instances", "with MIG only one device: device_count() is 1", other)


_ASSIGNED_DEVICES = expression(
    r"os\.environ(?:\[|\.setdefault\()\s?['\"](?P<variable>CUDA_VISIBLE_DEVICES)['\"]\s?(?:\]\s{0,3}=|,)\s{0,3}['\"](?P<gpus>\d{1,2}(?:, ?\d{1,2}){0,15})['\"]"
)
_COUNTED_DEVICES = expression(
    r"\bdevice_count\(\)\)?[^\w\n]{1,8}(?:(?:is|returns?|gives|prints|shows) )?(?P<count>\d{1,2})\W{0,4}$|\bNum GPUs(?: Available)?[:=\s]{1,4}(?P<number>\d{1,2})\b|\bLet's use (?P<used>\d{1,2}) GPUs\b"
    r"|^\W{0,4}CUDA:(?P<index>\d{1,2})\b\W{1,3}(?:NVIDIA|GeForce|Tesla|Quadro|TITAN)"
)
"""How many GPUs a framework counts, or the number of one that a program lists: also in PyTorch's and TensorFlow's tutorials."""


def _visibility_statements(lines: Sequence[Line]) -> Iterator[Statement]:
    """Yield that a framework counts more GPUs than the program above gives it in CUDA_VISIBLE_DEVICES."""
    given = 0
    for line, below in itertools.zip_longest(lines, lines[1:], fillvalue=Line(0, "")):
        assigns = _ASSIGNED_DEVICES.search(line.text)
        if assigns and not is_commented_out(line.text, assigns.start("variable")):
            given = assigns["gpus"].count(",") + 1
        elif given and (counted := _counted_gpus(line.text, below.text)) > given:
            text = f"CUDA_VISIBLE_DEVICES has no effect: the program sets it to {given} GPU(s), and the framework counts {counted}"
            yield _shown_statement("visible", text, line)
            return


def _counted_gpus(text: str, below: str) -> int:
    """Return how many GPUs a line, or the answer below it, says that a framework counts; 0 if neither does."""
    if _COUNTS_DEVICES.search(text):
        answer = _NUMBER_LINE.match(below)
        return int(answer[1]) if answer else 0
    found = _COUNTED_DEVICES.search(text)
    if not found:
        return 0
    return int(found["index"]) + 1 if found["index"] else int(found["count"] or found["number"] or found["used"])


_GIVES_DEVICE = expression(
    r"--device[= ]/dev/nvidia(?:\d|ctl)\b|\blxc\.mount\.entry ?[:=] ?/dev/nvidia(?:\d|ctl)\b|^\s{2,12}- [\"']?/dev/nvidia(?:\d|ctl):"
)


def _device_file_statements(lines: Sequence[Line]) -> Iterator[Statement]:
    """Yield that a container is given a GPU's device files one by one, and not that of nvidia_uvm."""
    given = next((line for line in lines if _GIVES_DEVICE.search(line.text)), None)
    if given and not any("nvidia-uvm" in line.text or "/dev/nvidia*" in line.text for line in lines):
        yield _shown_statement("uvm device", "the container is given other device files, not /dev/nvidia-uvm", given)


_LIST_COMMAND = expression(r"^\W{0,4}(?:\S{1,60}[$#] )?(?:sudo )?(?:ls|ll|dir) (?:-\w{1,6} )?(/[^\s|;&*?]{1,200}?)/?(?: ?\||\s{0,4}$)")
_LISTED_LIBRARY = expression(r"(?<!\S)(lib\w{1,40}\.so\.\d[\d.]{0,16})(?!\S)")
_TOTAL_LINE = expression(r"^\s{0,4}total \d")
"""The first line of `ls -l`."""
_MAX_LIST_LINES = 200
"""Lines of a list of files."""


def _library_statements(lines: Sequence[Line]) -> Iterator[Statement]:
    """Yield the paths of the libraries that `ls` lists in a folder."""
    for place, line in enumerate(lines):
        if found := _LIST_COMMAND.search(line.text):
            files = (below for below in lines[place + 1 : place + _MAX_LIST_LINES] if not _TOTAL_LINE.match(below.text))
            for below in takewhile(lambda file: _LISTED_LIBRARY.search(file.text), files):
                for name in _LISTED_LIBRARY.findall(below.text):
                    yield _shown_statement(f"library {found[1]}/{name}", f"{found[1]}/{name}", below)


_PRINTED_ZEROS = expression(r"^\s{0,8}(?:Out\[\d{1,5}\]: )?tensor\(\[{1,4}0\.?(?:, {1,4}0\.?){1,15}\]{1,4}, device='cuda:\d{1,2}'")
_COPY_CALL = expression(r"\.to\(|\.cuda\(\w|\.copy_\(")
_NONZERO_VALUES = expression(r"(?i:\btensor)\(\[{1,4}[^\]\n]{0,80}?[1-9]|\btorch\.(?:ones|randn?|arange)\(")
_LINES_ABOVE = 4
"""Lines between a copy and what it prints."""


def _copy_statements(lines: Sequence[Line]) -> Iterator[Statement]:
    """Yield that a tensor is printed as zeros after a copy to a GPU, where its values above are others."""
    for place, line in enumerate(lines):
        if "device='cuda" not in line.text or not _PRINTED_ZEROS.match(line.text):
            continue
        above = [other.text for other in lines[max(0, place - _NEAR_LINES) : place]]
        if (
            any(map(_COPY_CALL.search, above[-_LINES_ABOVE:]))
            and any(map(_NONZERO_VALUES.search, above))
            and not any("zeros" in one for one in above)
        ):
            yield _shown_statement("copy", "zeros arrive instead of the values of a tensor that is copied between GPUs", line)
            return


_SMI_COMMAND = expression(r"(?:^|[$#>] ?|^sudo )nvidia-smi\b[^\n]{0,40}$")
_SEGMENTATION_FAULT = expression(r"^\s{0,4}(?:\[\d\] {1,8}\d{1,7} )?(?i:segmentation fault)\b[^\n]{0,40}$")


def _crash_statements(lines: Sequence[Line]) -> Iterator[Statement]:
    """Yield that nvidia-smi crashed, which the shell says in the line below."""
    for line, below in itertools.pairwise(lines):
        if "nvidia-smi" in line.text and _SMI_COMMAND.search(line.text) and _SEGMENTATION_FAULT.match(below.text):
            yield _shown_statement("crash", f"nvidia-smi: {below.text.strip()}", below)
            return


_FIRST_USE = expression(r"\.cuda\(|\.to\(['\"]?cuda|\bdevice=['\"]?cuda")
_TAKES_TIME = expression(r"\bprint\b|\btime\b|^\s{0,8}$")
_MINUTES_LINE = expression(r"^\s{0,8}(?:\d{1,3}\W{1,4})?(?!0{1,2}:00:)\d{1,2}:\d\d:\d\d\.\d{2,9}\s{0,4}$")
_SHORT_TIME_LINE = expression(r"^\s{0,8}(?:\d{1,3}\W{1,4})?0{1,2}:00:00\.\d{2,9}\s{0,4}$")
"""What Python prints of a timedelta, after its number."""
_NAMED_MINUTES = expression(
    r"(?i)^\s{0,8}(?:time\w{0,2}|elapsed|took|duration)\W{1,4}(?:[6-9]\d|[1-9]\d{2,3})\.\d{1,16}(?: ?s(?:ec\w{0,4})?)?\s{0,4}$"
)


def _wait_statements(lines: Sequence[Line]) -> Iterator[Statement]:
    """Yield that, where the GPU is used, the first of several times is of minutes and the next one no second, or that one just below is of minutes."""
    if not any(_FIRST_USE.search(line.text) for line in lines):
        return
    slow = next(
        (line for line, below in itertools.pairwise(lines) if _MINUTES_LINE.match(line.text) and _SHORT_TIME_LINE.match(below.text)), None
    )
    used = (
        line
        for place, line in enumerate(lines)
        if _NAMED_MINUTES.match(line.text) and _is_gpu_use(lines[max(0, place - _LINES_ABOVE) : place])
    )
    if slow := slow or next(used, None):
        yield _shown_statement("wait", f"the first use of the GPU took minutes: {slow.text.strip()}", slow)


def _is_gpu_use(lines: Sequence[Line]) -> bool:
    """Return whether the last of these lines that neither prints nor takes the time uses the GPU."""
    last = next((line for line in reversed(lines) if not _TAKES_TIME.search(line.text)), None)
    return last is not None and _FIRST_USE.search(last.text) is not None


READER = Reader(
    "several lines",
    blocks=_statements,
    cues=(
        "lspci",
        "/cdi",
        "cdi.",
        "hostpath",
        "containerpath",
        "setpci",
        "device_count()",
        "found 1 cuda device",
        "environ",
        "/dev/nvidia",
        "ls /",
        "ls -",
        "ll /",
        "dir /",
        "device='cuda",
        "segmentation fault",
        ".cuda(",
        ".to('cuda",
        '.to("cuda',
        ".to(cuda",
        'device="cuda',
        "device=cuda",
    ),
)
