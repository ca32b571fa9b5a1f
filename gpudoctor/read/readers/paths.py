"""Reads what paths in tracebacks and names of downloaded wheels show: toolkits, the operating system, the architecture."""

from __future__ import annotations

from gpudoctor.read.readers.reader import Reader, StatementForm
from gpudoctor.read.statements import Directness

_WHEEL_LINE = r"(?:Downloading|Using cached|Processing|Installing|install) .{0,300}-"
_WHEEL_NAME = r"^\W{0,4}(?:tensorflow|torch|jaxlib)\w{0,12}-\d[\w.+]{0,30}-cp\d{2,3}-\w{3,8}-"
"""A line that is a wheel's name, as people tell what they installed."""

READER = Reader(
    "path",
    forms=(
        StatementForm("toolkit", r"/usr/local/cuda-(?P<value>\d{1,2}\.\d)\b", Directness.LOG),
        StatementForm("toolkit", r"NVIDIA GPU Computing Toolkit[\\/]{1,2}CUDA[\\/]{1,2}v(?P<value>\d{1,2}\.\d)\b", Directness.LOG),
        # the interpreter's own form of a frame: File "PATH", line N
        StatementForm("platform:windows", r"File \"(?P<value>[A-Za-z]:\\[^\"\n]{3,200})\", line \d", Directness.LOG),
        StatementForm(
            "platform:macos", r"File \"(?P<value>(?:/Users/|/opt/homebrew/|/Library/Frameworks/)[^\"\n]{3,200})\", line \d", Directness.LOG
        ),
        StatementForm(
            "platform:linux",
            r"File \"(?P<value>(?:/home/|/root/|/usr/lib/python|/usr/local/lib/python|/opt/conda/)[^\"\n]{3,200})\", line \d",
            Directness.LOG,
        ),
        StatementForm(
            "platform:windows",
            r"(?P<value>[A-Za-z]:\\(?:Users|ProgramData|Program Files|Windows)\\[^\n]{1,200}\.(?:py|dll|exe|pyd)\b)",
            Directness.LOG,
        ),
        # where only Python for Windows has packages and programs
        StatementForm(
            "platform:windows",
            r"(?P<value>(?<![A-Za-z])[A-Za-z]:\\{1,2}(?:[^\\\n\"<>|]{1,80}\\{1,2}){0,12}(?:[Ll]ib\\{1,2}site-packages|Scripts\\{1,2}(?:python|pip|activate)))\b",
            Directness.LOG,
        ),
        # the prompts of cmd and PowerShell
        StatementForm(
            "platform:windows", r"^\s{0,8}(?:\([\w.-]{1,40}\) ?)?(?:PS )?(?P<value>[A-Z]:\\[^<>\"|\n]{0,150})>(?: |$|\w)", Directness.LOG
        ),
        # WSL mounts the drives of Windows below /mnt, and its driver below /usr/lib/wsl
        StatementForm("platform:wsl2", r"File \"(?P<value>/mnt/[a-z]/Users/[^\"\n]{3,200})\", line \d", Directness.LOG),
        StatementForm("platform:wsl2", r"\w@[\w.-]{2,40}:(?P<value>/mnt/[a-z]/(?:Users|[Ww]indows)\b\S{0,200})", Directness.LOG),
        StatementForm(
            "platform:wsl2", r"(?P<value>/usr/lib/wsl/(?:lib|drivers)/[\w./-]{0,150}lib[\w.-]{2,60}\.so[\d.]{0,12})", Directness.LOG
        ),
        StatementForm("platform:windows", rf"{_WHEEL_LINE}(?P<value>win_amd64)\.whl", Directness.LOG),
        StatementForm("platform:macos", rf"{_WHEEL_LINE}(?P<value>macosx_\d{{2}}_\d{{1,2}}_\w{{4,12}})\.whl", Directness.LOG),
        StatementForm(
            "platform:linux",
            rf"{_WHEEL_LINE}(?P<value>(?:many|musl)?linux\w{{4,40}}?_(?:x86_64|aarch64))(?:\.\w{{4,60}})?\.whl",
            Directness.LOG,
        ),
        StatementForm("architecture", rf"{_WHEEL_LINE}\w{{0,80}}?(?P<value>x86_64|aarch64|arm64|amd64)\.whl", Directness.LOG),
        StatementForm("platform:windows", rf"{_WHEEL_NAME}(?P<value>win_amd64)\.whl\s{{0,4}}$", Directness.LOG),
        StatementForm("platform:macos", rf"{_WHEEL_NAME}(?P<value>macosx_\d{{2}}_\d{{1,2}}_\w{{4,12}})\.whl\s{{0,4}}$", Directness.LOG),
        StatementForm("architecture", rf"{_WHEEL_NAME}\w{{1,40}}?(?P<value>x86_64|aarch64|arm64|amd64)\.whl\s{{0,4}}$", Directness.LOG),
        StatementForm("architecture", r"/(?P<value>x86_64|aarch64)-linux-gnu/", Directness.LOG),
    ),
)
