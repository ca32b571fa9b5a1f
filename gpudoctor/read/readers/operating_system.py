"""Reads what names the operating system: os-release, lsb_release, hostnamectl, uname, sw_vers, systeminfo, wsl.exe, nv_tegra_release."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpudoctor.expressions import expression
from gpudoctor.read.readers.reader import Form, Reader
from gpudoctor.read.statements import Line, Rank, Statement

_NAME = "operating system"


_ASKED = expression(r"\buname -(?P<option>[rm])\s*$")
_ANSWERS = {
    "r": ("kernel", expression(r"\d\.\d{1,3}[\w.+-]{1,60}")),
    "m": ("architecture", expression(r"x86_64|aarch64|arm64|armv7l|i686")),
}


def _blocks(lines: Sequence[Line]) -> Iterator[Statement]:
    """Yield what the line below a command answers, and what a table states."""
    yield from _wsl_list(lines)
    for place, line in enumerate(lines[:-1]):
        asked = _ASKED.search(line.text) if "uname -" in line.text else None
        if asked:
            what, form = _ANSWERS[asked["option"]]
            answer = lines[place + 1]
            if form.fullmatch(answer.text.strip()):
                yield Statement(what, answer.text.strip(), _NAME, answer.number, Rank.TOOL)


def _wsl_list(lines: Sequence[Line]) -> Iterator[Statement]:
    """Yield the version of WSL of the default distribution, which `wsl.exe -l -v` marks with an asterisk."""
    heads = [place for place, line in enumerate(lines) if line.text.split() == ["NAME", "STATE", "VERSION"]]
    for head in heads:
        for line in lines[head + 1 : head + 20]:
            words = line.text.split()
            if len(words) < 3 or words[-2] not in {"Running", "Stopped"}:
                break
            if words[0] == "*" and words[-1] in {"1", "2"}:
                yield Statement(f"platform:wsl{words[-1]}", line.text.strip(), _NAME, line.number, Rank.TOOL)


READER = Reader(
    _NAME,
    forms=(
        # https://www.freedesktop.org/software/systemd/man/latest/os-release.html
        Form("distribution", r"^ID=[\"']?(?P<value>[a-z][a-z0-9._-]{1,40})[\"']?$"),
        Form("distribution version", r"^VERSION_ID=[\"']?(?P<value>\d[\w.]{0,20})[\"']?$"),
        Form("distribution like", r"^ID_LIKE=[\"']?(?P<value>[a-z][a-z0-9 ._-]{1,80})[\"']?$"),
        Form("os", r"^PRETTY_NAME=[\"']?(?P<value>[^\"'\n]{3,120})"),
        # lsb_release -a, hostnamectl
        Form("os", r"^Description:\s{1,8}(?P<value>(?:Ubuntu|Debian|Linux Mint|Pop!_OS|CentOS|Red Hat|Fedora|Arch|openSUSE)[^\n]{0,80})"),
        Form("os", r"^ *Operating System: (?P<value>[A-Z][^\n]{2,100})$", Rank.LISTING),
        Form("kernel", r"^ *Kernel: Linux (?P<value>\d+\.\d[\w.+-]{1,60})$"),
        Form("architecture", r"^ *Architecture: {1,40}(?P<value>x86[_-]64|aarch64|arm64)$"),
        # uname
        Form("kernel platform", r"^\s*(?P<value>Linux \S{1,80} \d+\.\S{1,80} .{0,200})"),
        Form("architecture", r"\buname -[mpi]\b[: \t]{1,4}(?P<value>x86_64|aarch64|arm64)\b"),
        Form("kernel", r"\buname -r\b(?: is| says| gives)?[: \t]{1,4}(?P<value>\d+\.\d+[\w.+-]{1,60})"),
        Form("platform:macos", r"^(?P<value>Darwin \S{1,80} \d+\.\d+\.\d+ Darwin Kernel Version .{1,80})"),
        # sw_vers, system_profiler
        Form("platform:macos", r"^\s*(?:ProductName:\s{1,4}|System Version: )(?P<value>(?:macOS|Mac OS X)\b.{0,40})"),
        Form("apple chip", r"^\s*(?:Chip|Chipset Model): (?P<value>Apple M\d.{0,20})"),
        # systeminfo, ver
        Form("platform:windows", r"^\s*OS Name:\s{1,30}(?P<value>Microsoft Windows .{1,60})"),
        Form("platform:windows", r"^(?P<value>Microsoft Windows \[Version \d+\.\d+\.\d+[\d.]{0,8}\])"),
        # pip's offer: tensorflow-gpu ends there on Windows, and at 2.12 elsewhere
        Form(
            "platform:windows",
            r"requirement tensorflow-gpu(?:[=>]=\S{1,20})? \(from versions: [^()\n]{0,600}\b(?P<value>2\.10\.1)\)",
            Rank.LOG,
        ),
        # https://learn.microsoft.com/windows/wsl/basic-commands
        Form("platform:wsl2", r"^(?P<value>WSLg (?:version|Version): [\d.]{3,20})"),
        # the form of https://github.com/microsoft/WSL/issues
        Form("platform:wsl2", r"^\s*[-*] \[[xX]\] (?P<value>WSL 2)\s*$", Rank.LISTING),
        Form("platform:wsl1", r"\b(?P<value>\d\.\d{1,2}\.\d{1,3}-\d{4,6}-Microsoft)\b"),
        Form("platform:wsl1", r"/lib/modules/(?P<value>3\.4\.0\+)/", Rank.LOG),  # the kernel that the first WSL claims to be
        Form("platform:wsl1", r"^\s*[-*] \[[xX]\] (?P<value>WSL 1)\s*$", Rank.LISTING),
        Form("platform:wsl2", r"^\s*(?P<value>WSL version: 2\.[\d.]{1,12})$", Rank.LOG),
        Form("platform:wsl2", r"\b(?P<value>\d\.\d{1,3}\.\d{1,3}[\d.]{0,8}-microsoft-standard[\w-]{0,8})"),
        Form("kernel platform", r"(?P<value>Linux version \d\.\d{1,2}\.\S{1,60}) \("),
        # a line of its own
        Form(
            "platform:windows",
            r"(?i)^\W{0,4}(?P<value>windows|win(?:dows)? ?(?:7|8|8\.1|10|11)(?: (?:pro|home|x64|64[- ]?bit)){0,2})\W{0,3}$",
            Rank.PROSE,
        ),
        # what only Linux has, or TensorFlow's build for it
        Form(
            "platform:linux",
            r"(?P<value>\blib(?:cud|cub|cuf|cur|cus|nv|c10|torch)\w{0,40}\.so\.\d|/usr/local/cuda|/usr/lib/x86_64-linux-gnu|/proc/driver/nvidia|\bcudart_stub\.cc)",
            Rank.PROSE,
        ),
        Form(
            "platform:macos", r"(?i)^\W{0,4}(?P<value>(?:apple )?m[1-5](?: (?:pro|max|ultra))? mac(?:book)?)\s{0,4}(?:[,;]|$)", Rank.PROSE
        ),
        # Apple's builds of TensorFlow: https://developer.apple.com/metal/tensorflow-plugin/
        Form("platform:macos", r"(?P<value>\btensorflow[-_](?:macos|metal))\b", Rank.PROSE),
        # https://docs.nvidia.com/jetson/archives/, and jetson-stats
        Form("tegra release", r"^\W{0,3}R(?P<value>\d{2} \(release\), REVISION: \d+(?:\.\d+)?), GCID"),
        Form("tegra", r"\[L4T (?P<value>\d{2}\.\d+(?:\.\d+)?)\]"),
    ),
    blocks=_blocks,
    of_kernel=True,
)
