"""The options of the commands: how each is written, and what its help says."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from gpudoctor.cli import formats

Level = Annotated[
    Literal["look", "touch", "train", "full"] | None,
    typer.Option(
        help="How far to go. look: read, ask NVML and CUDA, take no GPU memory; touch: and run a small kernel on each free GPU; "
        "train (default): and train small networks on each; full: and measure copies, memory, products and a compiled step, and sum over all devices."
    ),
]
TrainLevel = Annotated[
    Literal["train", "full"],
    typer.Option("--level", help="How far to go. train (default): a small training on each free GPU; full: and everything measured."),
]
NoSmoke = Annotated[bool, typer.Option("--no-smoke", help="The same as --level look: train nothing.")]
Node = Annotated[
    bool,
    typer.Option(
        "--node",
        help="Ask about the machine alone: driver, NVML and CUDA, no Python environment and no framework. Goes with --level look (then the default) and touch.",
    ),
]
AllowCpu = Annotated[bool, typer.Option("--allow-cpu", help="A machine without an NVIDIA GPU may train on its CPU.")]
Python = Annotated[
    str | None,
    typer.Option(
        metavar="PATH",
        envvar="GPUDOCTOR_PYTHON",
        help="The interpreter, or the folder of the environment, to examine. Default: gpudoctor's own environment if it holds a framework, "
        "else the active virtual or conda environment, else the first python on PATH.",
    ),
]
Cwd = Annotated[
    str | None,
    typer.Option(
        "--cwd",
        metavar="DIR",
        help="The folder of your training script: a torch.py or torch/ there would be imported in place of PyTorch. Nothing in it is run.",
    ),
]
Only = Annotated[
    list[str] | None, typer.Option(metavar="RULE", help="Apply only these rules, by code or name; repeat it or separate with commas.")
]
Skip = Annotated[
    list[str] | None,
    typer.Option(metavar="RULE[=WHY]", help="Leave these rules out, written likewise; the report keeps the reason: 'GD712=a laptop'."),
]
Framework = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME",
        help="Train with this framework only: tensorflow, torch or jax; repeat it. Default: with all that are installed, in turn.",
    ),
]
Require = Annotated[
    list[str] | None,
    typer.Option(
        metavar="WHAT",
        help="What must be so besides, in quotes: 'driver>=550', 'gpus==8', 'memory>=80GB', 'cc>=8.0', 'torch>=2.4', tensorflow, bf16. Repeat it. "
        "What is not met is an error, what cannot be observed makes the verdict unknown.",
    ),
]
Wait = Annotated[
    float | None,
    typer.Option(
        metavar="SECONDS",
        help="After a boot, wait this long for what comes by itself: the driver, its device files, the fabric. Not at all where that would not help.",
    ),
]
FailOn = Annotated[
    Literal["error", "warning"] | None, typer.Option(help="warning: exit with 1 also where the verdict is degraded. Default: error.")
]
Timeout = Annotated[float | None, typer.Option(metavar="SECONDS", help="By when the whole check must be over. Default: 600.")]
Force = Annotated[bool, typer.Option("--force", help="Train also on a GPU that other processes use.")]
Compat = Annotated[str | None, typer.Option(metavar="DIR", help="Use the compatibility tables in DIR instead of those that came along.")]
Format = Annotated[
    formats.Format | None,
    typer.Option("--format", help="text (default), json (gpudoctor.report/1, one document), oneline (at most 80 bytes) or junit (XML)."),
]
SmokeFormat = Annotated[
    formats.TextOrJson, typer.Option("--format", help="text: a table of numbers; or json: gpudoctor.report/1, with the loss curves.")
]
Output = Annotated[
    str | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="Write the report to FILE (mode 0600, replaced in one step, never through a symbolic link) and only the verdict to "
        "standard error; - is standard output.",
    ),
]
Identify = Annotated[
    bool,
    typer.Option(
        "--identify", help="Keep host and user names, serial numbers, home folders and addresses in the report. Secrets are always removed."
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing on standard error while the check runs, nor after it with -o.")]
NoColor = Annotated[bool, typer.Option("--no-color", help="No colour; NO_COLOR, TERM=dumb and a pipe do the same.")]
Config = Annotated[
    str | None,
    typer.Option(
        metavar="FILE", help="Read options from a TOML file, keys named as the options; the command line wins. Never read unasked."
    ),
]
Root = Annotated[str | None, typer.Option(metavar="DIR", hidden=True, help="Look at this recorded tree instead of /.")]
XrayFormat = Annotated[formats.TextOrJson, typer.Option("--format", help="text, or json (gpudoctor.xray/1).")]
Files = Annotated[list[str] | None, typer.Argument(metavar="[FILE]...", help="Shared libraries or programs.")]
PageFormat = Annotated[formats.TextOrJson, typer.Option("--format", help="text, or json (gpudoctor.rules/1).")]

Requirements = Annotated[
    list[str],
    typer.Argument(
        metavar="REQ...", help="What would be installed, as pip takes it: 'tensorflow[and-cuda]==2.16.1', torch, 'jax[cuda12]<0.6'."
    ),
]
Driver = Annotated[str | None, typer.Option(metavar="V", help="The release of the NVIDIA driver: 535.104.05. With WSL, that of Windows.")]
Gpu = Annotated[list[str] | None, typer.Option(metavar="NAME", help="A GPU by any usual name: 'RTX 4090', 'a100 80gb'; repeat it.")]
Cc = Annotated[str | None, typer.Option(metavar="X.Y", help="The compute capability, for GPUs that the tables do not know: 8.6.")]
PythonVersion = Annotated[
    str | None, typer.Option(metavar="V", help="The version of Python: 3.11. Not stated, any that the packages are published for.")
]
Os = Annotated[Literal["linux", "windows", "macos", "wsl"], typer.Option("--os", help="The operating system.")]
Arch = Annotated[str | None, typer.Option(metavar="A", help="The architecture: x86_64 or aarch64. Default: the system's usual one.")]
SystemCuda = Annotated[str | None, typer.Option(metavar="V", help="The CUDA toolkit that is installed beside the packages: 12.4.")]
SystemCudnn = Annotated[str | None, typer.Option(metavar="V", help="The cuDNN that is installed beside the packages: 8.9.")]
QuietReport = Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing on standard error where -o takes the report.")]
MatrixSubject = Annotated[
    Literal["gpu", "driver", "cuda", "cudnn", "framework"],
    typer.Argument(metavar="gpu|driver|cuda|cudnn|framework", help="What NAME is."),
]
MatrixName = Annotated[
    str, typer.Argument(metavar="NAME", help="'RTX 4090'; 535.104.05 or 535; 12.4; 9.3 or 9.3.0.75; tensorflow, torch, jax, cupy-cuda12x.")
]
MatrixVersion = Annotated[str | None, typer.Argument(metavar="[VERSION]", help="A release of the framework; without it, all.")]
RowFormat = Annotated[formats.TextOrJson, typer.Option("--format", help="text, or json (gpudoctor.matrix/1).")]
