"""The options and arguments of the commands, with their help."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import typer

from gpudoctor.cli import completions, formats


def text_or_json_option(document: str) -> Any:
    """Return the option that chooses between text and this document."""
    return typer.Option("--format", help=f"text, or json (gpudoctor.{document}/1).")


Level = Annotated[
    Literal["look", "touch", "train", "full"] | None,
    typer.Option(
        help="How deep to check. look: read the system, query NVML, initialise CUDA; uses no GPU memory. touch: also run a small kernel on each "
        "free GPU. train (default): also train small networks on each. full: also measure copies, memory, matmul, a compiled step and all-reduce; "
        "takes about five minutes."
    ),
]
TrainLevel = Annotated[
    Literal["train", "full"],
    typer.Option(
        "--level", help="How deep to check. train: train small networks on each free GPU. full: also measure speed and all-reduce."
    ),
]
NoSmoke = Annotated[bool, typer.Option("--no-smoke", help="Do not train; same as --level look.")]
Node = Annotated[
    bool,
    typer.Option(
        "--node",
        help="Check the machine only: driver, NVML and CUDA, but no Python environment or framework. The default level is then look; touch works too.",
    ),
]
AllowCpu = Annotated[bool, typer.Option("--allow-cpu", help="Accept training on the CPU if the machine has no NVIDIA GPU.")]
Python = Annotated[
    str | None,
    typer.Option(
        metavar="PATH",
        envvar="GPUDOCTOR_PYTHON",
        help="Examine this interpreter or environment folder. Default: gpudoctor's own environment if it has a framework, "
        "else the active virtual or conda environment, else the first python on PATH.",
    ),
]
Cwd = Annotated[
    str | None,
    typer.Option(
        "--cwd",
        metavar="DIR",
        help="Folder of your training script. Files there that shadow a package, such as torch.py, are reported; none is run.",
    ),
]
Only = Annotated[
    list[str] | None,
    typer.Option(
        metavar="RULE",
        autocompletion=completions.rule_offers,
        help="Apply only these rules: codes (GD203), families (GD2) or names, separated by commas. Repeatable.",
    ),
]
Skip = Annotated[
    list[str] | None,
    typer.Option(
        metavar="RULE[=WHY]",
        autocompletion=completions.rule_offers,
        help="Skip these rules, named as for --only. The report keeps the reason: 'GD712=a laptop'. Repeatable.",
    ),
]
Framework = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME",
        autocompletion=completions.complete_frameworks,
        help="Train with this framework only: tensorflow, torch or jax. Repeatable. Default: each installed framework in turn.",
    ),
]
Require = Annotated[
    list[str] | None,
    typer.Option(
        metavar="WHAT",
        autocompletion=completions.complete_requirements,
        help="Fail unless this holds: 'driver>=550', 'gpus==8', 'memory>=80GB', 'cc>=8.0', 'torch>=2.4', tensorflow, bf16, 'fit=llama-8b,lora,bf16,batch=1'. Quote it. "
        "If it cannot be checked, the verdict is unknown. Repeatable.",
    ),
]
Wait = Annotated[
    float | None,
    typer.Option(
        metavar="SECONDS",
        help="Wait up to this long for the driver, its device files and the NVLink fabric to come up after boot. Does not wait if that cannot help.",
    ),
]
FailOn = Annotated[
    Literal["error", "warning"] | None, typer.Option(help="With warning, a degraded verdict exits with 1 too. Default: error.")
]
Timeout = Annotated[float | None, typer.Option(metavar="SECONDS", help="Stop the check after this long. Default: 600.")]
Force = Annotated[bool, typer.Option("--force", help="Train even on a GPU that other processes use.")]
Compat = Annotated[str | None, typer.Option(metavar="DIR", help="Use the compatibility tables in DIR instead of the built-in ones.")]
Format = Annotated[
    formats.Format | None,
    typer.Option(
        "--format",
        help="text (default), json (gpudoctor.report/1), oneline (at most 80 bytes), junit (XML), markdown (to paste in an issue), "
        "github (GitHub Actions annotations and step summary) or sarif (SARIF 2.1.0).",
    ),
]
Output = Annotated[
    str | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="Write the report to FILE and the verdict to standard error; - is standard output. FILE gets mode 0600 and is replaced "
        "atomically; a symbolic link is refused.",
    ),
]
Json = Annotated[str | None, typer.Option("--json", metavar="FILE", help="Also write the report as JSON to FILE, as -o does.")]
Junit = Annotated[str | None, typer.Option("--junit", metavar="FILE", help="Also write the report as JUnit XML to FILE.")]
Markdown = Annotated[str | None, typer.Option("--markdown", metavar="FILE", help="Also write the report as Markdown to FILE.")]
Sarif = Annotated[str | None, typer.Option("--sarif", metavar="FILE", help="Also write the report as SARIF to FILE.")]
Identify = Annotated[
    bool,
    typer.Option(
        "--identify", help="Keep host and user names, serial numbers, home folders and addresses in the report. Secrets are always removed."
    ),
]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Show all evidence, and each rule that was not checked with its reason.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing to standard error: no progress, and no verdict with -o.")]
NoColor = Annotated[bool, typer.Option("--no-color", help="Disable colour. NO_COLOR, TERM=dumb and a pipe also disable it.")]
Config = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="Read options from this TOML file. Keys are option names; the command line overrides them. No file is read by default.",
    ),
]
Root = Annotated[str | None, typer.Option(metavar="DIR", hidden=True, help="Look at this recorded tree instead of /.")]
EnvsFormat = Annotated[formats.TextOrJson, text_or_json_option("envs")]
XrayFormat = Annotated[formats.TextOrJson, text_or_json_option("xray")]
Files = Annotated[list[str] | None, typer.Argument(metavar="[FILE]...", help="Shared libraries or programs to examine.")]
Explained = Annotated[
    list[str],
    typer.Argument(
        metavar="WHAT...",
        autocompletion=completions.explanation_offers,
        help="A rule's code or name, an exit code, an Xid, a CUDA error, or any line of a log.",
    ),
]
Families = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[FAMILY]...", autocompletion=completions.complete_families, help="Families to list: driver, or GD2. Default: all."
    ),
]
SeverityOnly = Annotated[Literal["error", "warning", "note"] | None, typer.Option("--severity", help="List only rules of this severity.")]
PageFormat = Annotated[formats.TextOrJson, text_or_json_option("rules")]

RequirementFiles = Annotated[
    list[str] | None,
    typer.Option(
        "--requirements",
        "-r",
        metavar="FILE",
        help="Also read this file: requirements.txt, pyproject.toml, uv.lock, poetry.lock, pylock.toml, Pipfile.lock, environment.yml, pixi.toml, "
        "Dockerfile, what pip freeze, pip list or conda list printed, or a gpudoctor report. Repeatable.",
    ),
]
Extra = Annotated[list[str] | None, typer.Option("--extra", metavar="NAME", help="Also read this extra of the files. Repeatable.")]
Group = Annotated[
    list[str] | None, typer.Option("--group", metavar="NAME", help="Also read this dependency group of the files. Repeatable.")
]
Requirements = Annotated[
    list[str] | None,
    typer.Argument(metavar="[REQ]...", help="Packages to install, as for pip: 'tensorflow[and-cuda]==2.16.1', torch, 'jax[cuda12]<0.6'."),
]
Texts = Annotated[list[str], typer.Argument(metavar="[FILE]...", help="Text files about one machine; - is standard input.")]
Report = Annotated[
    str | None,
    typer.Argument(
        metavar="[REPORT]",
        help="A report, or any text that `gpudoctor diagnose` reads; - reads standard input. Default: check this machine without training.",
    ),
]
TicketFormat = Annotated[
    formats.TicketFormat,
    typer.Option("--format", help="markdown (for an issue, under 60 kB), html (one page that works offline) or json (gpudoctor.report/1)."),
]
TicketOutput = Annotated[
    str | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="Write the ticket to FILE; - is standard output. FILE gets mode 0600 and is replaced atomically.",
    ),
]
ShowRedactions = Annotated[
    bool, typer.Option("--show-redactions", help="Print to standard error how many values of each kind were removed, never the values.")
]
NoProgress = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")]
Driver = Annotated[str | None, typer.Option(metavar="V", help="NVIDIA driver: 535.104.05, or a branch: 535. For WSL, the Windows driver.")]
KernelModule = Annotated[
    Literal["open", "proprietary"] | None,
    typer.Option(help="Flavour of the driver's kernel modules on Linux. Default: one that supports the GPU."),
]
Gpu = Annotated[list[str] | None, typer.Option(metavar="NAME", help="GPU by any common name: 'RTX 4090', 'a100 80gb'. Repeatable.")]
PlannedGpu = Annotated[
    list[str] | None,
    typer.Option(
        "--gpu",
        metavar="NAME",
        help="Plan for a machine with this GPU instead of this machine; none plans for the CPU. Repeatable.",
    ),
]
PlannedOs = Annotated[
    Literal["linux", "windows", "macos", "wsl"] | None, typer.Option("--os", help="Plan for this operating system instead of this machine.")
]
Indexed = Annotated[str, typer.Argument(metavar="[REQ]", help="torch, or a bound such as 'torch<2.9'.")]
TorchBackend = Annotated[
    bool, typer.Option("--torch-backend", help="Print the word for uv's --torch-backend, such as cu126, instead of the address.")
]
IndexFormat = Annotated[formats.TextOrJson, text_or_json_option("index")]
Offline = Annotated[bool, typer.Option("--offline", help="Plan from the built-in tables alone; do not ask uv or the package index.")]
PlannedRequirements = Annotated[
    list[str] | None,
    typer.Argument(metavar="[REQ]...", help="Packages to plan for, as for pip: torch, 'tensorflow>=2.16', 'jax[cuda12]<0.6'."),
]
PlannedFiles = Annotated[
    list[str] | None,
    typer.Option(
        "--requirements",
        "-r",
        metavar="FILE",
        help="Also plan for what this file asks for: requirements.txt, pyproject.toml, a lock file, environment.yml or a Dockerfile. Repeatable.",
    ),
]
WritePlan = Annotated[
    list[str] | None,
    typer.Option(
        "--write",
        metavar="FILE",
        help="Also write the plan to requirements.txt, pyproject.toml, pylock.toml, Dockerfile or environment.yml. Repeatable.",
    ),
]
ForceWrite = Annotated[bool, typer.Option("--force", help="Let --write replace a file that exists.")]
Verify = Annotated[
    bool,
    typer.Option(
        "--verify", help="Make the environment in a temporary folder with uv, train in it, and remove it. Asks before the download."
    ),
]
Keep = Annotated[str | None, typer.Option("--keep", metavar="DIR", help="Make the environment in DIR and keep it; implies --verify.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before the download.")]
PlanFormat = Annotated[formats.TextOrJson, text_or_json_option("plan")]
Cc = Annotated[str | None, typer.Option(metavar="X.Y", help="Compute capability of a GPU that the tables do not know: 8.6.")]
PythonVersion = Annotated[
    str | None, typer.Option(metavar="V", help="Python version: 3.11. Default: any version that the packages have wheels for.")
]
Os = Annotated[Literal["linux", "windows", "macos", "wsl"], typer.Option("--os", case_sensitive=False, help="Operating system.")]
Arch = Annotated[
    str | None, typer.Option(metavar="A", help="Architecture: x86_64 or aarch64. Default: that of the GPU, or the usual one for --os.")
]
Libc = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="C library of the Linux system: a distribution (ubuntu-20.04, alpine), glibc-2.31 or musl."),
]
CudaCompat = Annotated[
    str | None, typer.Option(metavar="V", help="CUDA version of an installed cuda-compat package (forward compatibility): 12.8.")
]
SystemCuda = Annotated[str | None, typer.Option(metavar="V", help="CUDA toolkit installed on the system, outside the packages: 12.4.")]
SystemCudnn = Annotated[str | None, typer.Option(metavar="V", help="cuDNN installed on the system, outside the packages: 8.9.")]
QuietReport = Annotated[bool, typer.Option("--quiet", "-q", help="With -o, do not print the verdict to standard error.")]
MatrixSubject = Annotated[
    str, typer.Argument(metavar="gpu|driver|cuda|cudnn|framework", autocompletion=completions.complete_subjects, help="What to look up.")
]
MatrixName = Annotated[
    str | None,
    typer.Argument(
        metavar="[NAME]",
        autocompletion=completions.complete_names,
        help="'RTX 4090'; 535.104.05 or 535; 12.4; 9.3 or 9.3.0.75; tensorflow, torch, jax, cupy-cuda12x. Default: list all.",
    ),
]
MatrixVersion = Annotated[str | None, typer.Argument(metavar="[VERSION]", help="A release of the framework. Default: all releases.")]
RowFormat = Annotated[formats.TextOrJson, text_or_json_option("matrix")]
Before = Annotated[str, typer.Argument(metavar="A", help="A report, or any text that `diagnose` reads; - reads standard input.")]
After = Annotated[str, typer.Argument(metavar="B", help="The report to compare with A.")]
Golden = Annotated[
    bool, typer.Option("--golden", help="A is the reference: exit with 1 if B deviates, 3 if B does not know what A knows, 0 otherwise.")
]
Ignore = Annotated[
    list[str] | None,
    typer.Option(
        metavar="FIELD",
        autocompletion=completions.complete_fields,
        help="Ignore this field; * stands for any text: 'nvml.gpus.*.uuid'. -v shows the fields. Repeatable.",
    ),
]
IgnoreFile = Annotated[str | None, typer.Option(metavar="FILE", help="Ignore the fields in FILE, one a line; # begins a comment.")]
DiffFormat = Annotated[formats.TextMarkdownOrJson, typer.Option("--format", help="text, markdown, or json (gpudoctor.diff/1).")]
ResultOutput = Annotated[
    str | None, typer.Option("--output", "-o", metavar="FILE", help="Write the result to FILE instead of standard output.")
]
VerboseDiff = Annotated[
    bool,
    typer.Option(
        "--verbose", "-v", help="Also show consequences, values that change by themselves, what only one report has, and field names."
    ),
]
