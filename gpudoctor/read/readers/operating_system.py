"""Reads what names the operating system: os-release, lsb_release, hostnamectl, uname, sw_vers, systeminfo, wsl.exe, nv_tegra_release."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpudoctor.expressions import expression
from gpudoctor.read.readers.reader import Reader, StatementForm
from gpudoctor.read.statements import Directness, Line, Statement

_NAME = "operating system"


_UNAME_COMMAND = expression(r"\buname -(?P<option>[rm])\s*$")
_UNAME_ANSWERS = {
    "r": ("kernel", expression(r"\d\.\d{1,3}[\w.+-]{1,60}")),
    "m": ("architecture", expression(r"x86_64|aarch64|arm64|armv7l|i686")),
}


def _statements(lines: Sequence[Line]) -> Iterator[Statement]:
    """Yield what the line below a command answers, and what a table states."""
    yield from _wsl_list_statements(lines)
    for place, line in enumerate(lines[:-1]):
        asked = _UNAME_COMMAND.search(line.text) if "uname -" in line.text else None
        if asked:
            what, form = _UNAME_ANSWERS[asked["option"]]
            answer = lines[place + 1]
            if form.fullmatch(answer.text.strip()):
                yield Statement(what, answer.text.strip(), _NAME, answer.number, Directness.TOOL)


def _wsl_list_statements(lines: Sequence[Line]) -> Iterator[Statement]:
    """Yield the version of WSL of the default distribution, which `wsl.exe -l -v` marks with an asterisk."""
    heads = [place for place, line in enumerate(lines) if line.text.split() == ["NAME", "STATE", "VERSION"]]
    for head in heads:
        for line in lines[head + 1 : head + 20]:
            words = line.text.split()
            if len(words) < 3 or words[-2] not in {"Running", "Stopped"}:
                break
            if words[0] == "*" and words[-1] in {"1", "2"}:
                yield Statement(f"platform:wsl{words[-1]}", line.text.strip(), _NAME, line.number, Directness.TOOL)


READER = Reader(
    _NAME,
    forms=(
        # https://www.freedesktop.org/software/systemd/man/latest/os-release.html
        StatementForm("distribution", r"^ID=[\"']?(?P<value>[a-z][a-z0-9._-]{1,40})[\"']?$"),
        StatementForm("distribution version", r"^VERSION_ID=[\"']?(?P<value>\d[\w.]{0,20})[\"']?$"),
        StatementForm("distribution like", r"^ID_LIKE=[\"']?(?P<value>[a-z][a-z0-9 ._-]{1,80})[\"']?$"),
        StatementForm("os", r"^PRETTY_NAME=[\"']?(?P<value>[^\"'\n]{3,120})"),
        # lsb_release -a, hostnamectl
        StatementForm(
            "os", r"^Description:\s{1,8}(?P<value>(?:Ubuntu|Debian|Linux Mint|Pop!_OS|CentOS|Red Hat|Fedora|Arch|openSUSE)[^\n]{0,80})"
        ),
        StatementForm("os", r"^ *Operating System: (?P<value>[A-Z][^\n]{2,100})$", Directness.LISTING),
        StatementForm("kernel", r"^ *Kernel: Linux (?P<value>\d+\.\d[\w.+-]{1,60})$"),
        StatementForm("architecture", r"^ *Architecture: {1,40}(?P<value>x86[_-]64|aarch64|arm64)$"),
        # uname
        StatementForm("kernel platform", r"^\s*(?P<value>Linux \S{1,80} \d+\.\S{1,80} .{0,200})"),
        StatementForm("architecture", r"\buname -[mpi]\b[: \t]{1,4}(?P<value>x86_64|aarch64|arm64)\b"),
        StatementForm("kernel", r"\buname -r\b(?: is| says| gives)?[: \t]{1,4}(?P<value>\d+\.\d+[\w.+-]{1,60})"),
        StatementForm("platform:macos", r"^(?P<value>Darwin \S{1,80} \d+\.\d+\.\d+ Darwin Kernel Version .{1,80})"),
        # sw_vers, system_profiler
        StatementForm("platform:macos", r"^\s*(?:ProductName:\s{1,4}|System Version: )(?P<value>(?:macOS|Mac OS X)\b.{0,40})"),
        StatementForm("apple chip", r"^\s*(?:Chip|Chipset Model): (?P<value>Apple M\d.{0,20})"),
        # systeminfo, ver
        StatementForm("platform:windows", r"^\s*OS Name:\s{1,30}(?P<value>Microsoft Windows .{1,60})"),
        StatementForm("platform:windows", r"^(?P<value>Microsoft Windows \[Version \d+\.\d+\.\d+[\d.]{0,8}\])"),
        # pip's offer: tensorflow-gpu ends there on Windows, and at 2.12 elsewhere
        StatementForm(
            "platform:windows",
            r"requirement tensorflow-gpu(?:[=>]=\S{1,20})? \(from versions: [^()\n]{0,600}\b(?P<value>2\.10\.1)\)",
            Directness.LOG,
        ),
        # https://learn.microsoft.com/windows/wsl/basic-commands
        StatementForm("platform:wsl2", r"^(?P<value>WSLg (?:version|Version): [\d.]{3,20})"),
        # the form of https://github.com/microsoft/WSL/issues
        StatementForm("platform:wsl2", r"^\s*[-*] \[[xX]\] (?P<value>WSL 2)\s*$", Directness.LISTING),
        StatementForm("platform:wsl1", r"\b(?P<value>\d\.\d{1,2}\.\d{1,3}-\d{4,6}-Microsoft)\b"),
        StatementForm("platform:wsl1", r"/lib/modules/(?P<value>3\.4\.0\+)/", Directness.LOG),  # the kernel that the first WSL claims to be
        StatementForm("platform:wsl1", r"^\s*[-*] \[[xX]\] (?P<value>WSL 1)\s*$", Directness.LISTING),
        StatementForm("platform:wsl2", r"^\s*(?P<value>WSL version: 2\.[\d.]{1,12})$", Directness.LOG),
        StatementForm("platform:wsl2", r"\b(?P<value>\d\.\d{1,3}\.\d{1,3}[\d.]{0,8}-microsoft-standard[\w-]{0,8})"),
        StatementForm("kernel platform", r"(?P<value>Linux version \d\.\d{1,2}\.\S{1,60}) \("),
        # a line of its own
        StatementForm(
            "platform:windows",
            r"(?i)^\W{0,4}(?P<value>windows|win(?:dows)? ?(?:7|8|8\.1|10|11)(?: (?:pro|home|x64|64[- ]?bit)){0,2})\W{0,3}$",
            Directness.PROSE,
        ),
        # what only Linux has, or TensorFlow's build for it
        StatementForm(
            "platform:linux",
            r"(?P<value>\blib(?:cud|cub|cuf|cur|cus|nv|c10|torch)\w{0,40}\.so\.\d|/usr/local/cuda|/usr/lib/x86_64-linux-gnu|/proc/driver/nvidia|\bcudart_stub\.cc)",
            Directness.PROSE,
        ),
        StatementForm(
            "platform:macos",
            r"(?i)^\W{0,4}(?P<value>(?:apple )?m[1-5](?: (?:pro|max|ultra))? mac(?:book)?)\s{0,4}(?:[,;]|$)",
            Directness.PROSE,
        ),
        # PyTorch's device for Metal: torch/backends/mps, aten/src/ATen/mps
        StatementForm(
            "platform:macos",
            r"(?P<value>\bMPS (?:backend|device)\b|\btorch\.(?:backends\.)?mps\.|\bon MPS device\b|\bdevice ?[=:(]{1,2} ?['\"]mps\b|\.to\(['\"]mps\b)",
            Directness.PROSE,
        ),
        # Apple's builds of TensorFlow: https://developer.apple.com/metal/tensorflow-plugin/
        StatementForm("platform:macos", r"(?P<value>\btensorflow[-_](?:macos|metal))\b", Directness.PROSE),
        # https://docs.nvidia.com/jetson/archives/, and jetson-stats
        StatementForm("tegra release", r"^\W{0,3}R(?P<value>\d{2} \(release\), REVISION: \d+(?:\.\d+)?), GCID"),
        StatementForm("tegra", r"\[L4T (?P<value>\d{2}\.\d+(?:\.\d+)?)\]"),
    ),
    blocks=_statements,
    of_kernel=True,
)
