"""Reads what paths in tracebacks and names of downloaded wheels show: toolkits, the operating system, the architecture."""

from __future__ import annotations

from gpudoctor.read.readers.reader import Form, Reader
from gpudoctor.read.statements import Rank

_WHEEL = r"(?:Downloading|Using cached|Processing|Installing|install) .{0,300}-"
_ALONE = r"^\W{0,4}(?:tensorflow|torch|jaxlib)\w{0,12}-\d[\w.+]{0,30}-cp\d{2,3}-\w{3,8}-"
"""A line that is a wheel's name, as people tell what they installed."""

READER = Reader(
    "path",
    forms=(
        Form("toolkit", r"/usr/local/cuda-(?P<value>\d{1,2}\.\d)\b", Rank.LOG),
        Form("toolkit", r"NVIDIA GPU Computing Toolkit[\\/]{1,2}CUDA[\\/]{1,2}v(?P<value>\d{1,2}\.\d)\b", Rank.LOG),
        # the interpreter's own form of a frame: File "PATH", line N
        Form("platform:windows", r"File \"(?P<value>[A-Za-z]:\\[^\"\n]{3,200})\", line \d", Rank.LOG),
        Form("platform:macos", r"File \"(?P<value>(?:/Users/|/opt/homebrew/|/Library/Frameworks/)[^\"\n]{3,200})\", line \d", Rank.LOG),
        Form(
            "platform:linux",
            r"File \"(?P<value>(?:/home/|/root/|/usr/lib/python|/usr/local/lib/python|/opt/conda/)[^\"\n]{3,200})\", line \d",
            Rank.LOG,
        ),
        Form(
            "platform:windows",
            r"(?P<value>[A-Za-z]:\\(?:Users|ProgramData|Program Files|Windows)\\[^\n]{1,200}\.(?:py|dll|exe|pyd)\b)",
            Rank.LOG,
        ),
        # where only Python for Windows has packages and programs
        Form(
            "platform:windows",
            r"(?P<value>(?<![A-Za-z])[A-Za-z]:\\{1,2}(?:[^\\\n\"<>|]{1,80}\\{1,2}){0,12}(?:[Ll]ib\\{1,2}site-packages|Scripts\\{1,2}(?:python|pip|activate)))\b",
            Rank.LOG,
        ),
        # the prompts of cmd and PowerShell
        Form("platform:windows", r"^\s{0,8}(?:\([\w.-]{1,40}\) ?)?(?:PS )?(?P<value>[A-Z]:\\[^<>\"|\n]{0,150})>(?: |$|\w)", Rank.LOG),
        # WSL mounts the drives of Windows below /mnt, and its driver below /usr/lib/wsl
        Form("platform:wsl2", r"File \"(?P<value>/mnt/[a-z]/Users/[^\"\n]{3,200})\", line \d", Rank.LOG),
        Form("platform:wsl2", r"\w@[\w.-]{2,40}:(?P<value>/mnt/[a-z]/(?:Users|[Ww]indows)\b\S{0,200})", Rank.LOG),
        Form("platform:wsl2", r"(?P<value>/usr/lib/wsl/(?:lib|drivers)/[\w./-]{0,150}lib[\w.-]{2,60}\.so[\d.]{0,12})", Rank.LOG),
        Form("platform:windows", rf"{_WHEEL}(?P<value>win_amd64)\.whl", Rank.LOG),
        Form("platform:macos", rf"{_WHEEL}(?P<value>macosx_\d{{2}}_\d{{1,2}}_\w{{4,12}})\.whl", Rank.LOG),
        Form("platform:linux", rf"{_WHEEL}(?P<value>(?:many|musl)?linux\w{{4,40}}?_(?:x86_64|aarch64))(?:\.\w{{4,60}})?\.whl", Rank.LOG),
        Form("architecture", rf"{_WHEEL}\w{{0,80}}?(?P<value>x86_64|aarch64|arm64|amd64)\.whl", Rank.LOG),
        Form("platform:windows", rf"{_ALONE}(?P<value>win_amd64)\.whl\s{{0,4}}$", Rank.LOG),
        Form("platform:macos", rf"{_ALONE}(?P<value>macosx_\d{{2}}_\d{{1,2}}_\w{{4,12}})\.whl\s{{0,4}}$", Rank.LOG),
        Form("architecture", rf"{_ALONE}\w{{1,40}}?(?P<value>x86_64|aarch64|arm64|amd64)\.whl\s{{0,4}}$", Rank.LOG),
        Form("architecture", r"/(?P<value>x86_64|aarch64)-linux-gnu/", Rank.LOG),
    ),
)
