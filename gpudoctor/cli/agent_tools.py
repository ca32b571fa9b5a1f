"""The tools that `gpudoctor mcp` offers. Each answers with a document that gpudoctor publishes, or with gpudoctor.error/1.

They are coroutines that never wait, so they run one after another in the main thread, where a check handles signals.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import getdoc
from typing import Annotated, Literal

import msgspec
from mcp.server import MCPServer
from mcp.types import CallToolResult, TextContent, ToolAnnotations
from pydantic import Field

from gpudoctor import __version__
from gpudoctor.check.environments import list_environments
from gpudoctor.check.run import examine_machine
from gpudoctor.cli import system
from gpudoctor.cli.content import content_of_file, diagnose_texts
from gpudoctor.cli.delivery import redacted_report
from gpudoctor.cli.document_limit import bounded_document
from gpudoctor.cli.error_document import error_document
from gpudoctor.cli.machine import plan_question
from gpudoctor.cli.screen import redactor_for_output
from gpudoctor.cli.settings import GivenOptions, diagnosis_policy, settings_of_options
from gpudoctor.crash import crash_sentence
from gpudoctor.errors import GpudoctorError, UsageError
from gpudoctor.examination import Examination
from gpudoctor.exit_codes import CRASHED, USAGE
from gpudoctor.manual import pages
from gpudoctor.manual.look_up import look_up
from gpudoctor.matrix_files import open_matrix
from gpudoctor.plan import Combination, check_combination
from gpudoctor.plan.proposal import proposed_plan
from gpudoctor.plan.question_files import question_with_files
from gpudoctor.requirement_files.model import RequestedPackages
from gpudoctor.requirement_files.reading import read_requirement_files

ENVIRONMENTS_SECONDS = 60.0
READ_ONLY = ToolAnnotations(read_only_hint=True, open_world_hint=False)
INSTRUCTIONS = (
    "Answers come from rules and published compatibility tables, not from a model. Read `verdict`, then the `message` and `fixes` of the first finding. "
    "The verdict unknown is not a pass. Call compat or plan before installing packages, and check after it. explain with the text 'agents' has the rest."
)

Requirements = Annotated[list[str], Field(max_length=64, description="Requirements as pip takes them: torch==2.8.0, jax[cuda12]")]
RequirementFiles = Annotated[
    list[str],
    Field(
        max_length=16,
        description="Files to read as well: requirements.txt, pyproject.toml, a lock file, environment.yml, pixi.toml, a Dockerfile",
    ),
]
Gpus = Annotated[list[str], Field(max_length=16, description="GPU models: 'NVIDIA L4', 'RTX 5090'")]
Driver = Annotated[str | None, Field(description="The NVIDIA driver's version: 535.183.01")]
PythonVersion = Annotated[str | None, Field(description="The version of Python: 3.12")]
Arch = Annotated[str | None, Field(description="x86_64 or aarch64")]
System = Literal["linux", "windows", "macos", "wsl"]


def mcp_server() -> MCPServer[None]:
    """Return the server with its tools."""
    made: MCPServer[None] = MCPServer("gpudoctor", version=__version__, instructions=INSTRUCTIONS, log_level="ERROR")
    for tool in (check, diagnose, envs, compat, plan, explain):
        made.tool(description=getdoc(tool), annotations=READ_ONLY, structured_output=False)(tool)
    return made


async def check(
    python: Annotated[str | None, Field(description="The interpreter or environment folder to examine; by default the active one")] = None,
    require: Annotated[list[str], Field(max_length=64, description="What must hold: gpus>=2, memory>=40GiB, torch>=2.4, bf16")] = [],
    node: Annotated[bool, Field(description="Examine only the machine, not a Python environment")] = False,
) -> CallToolResult:
    """Find out whether this machine and Python environment can train on the GPU and, if not, what to change. Uses no GPU memory."""

    def work() -> msgspec.Struct:
        system.require_linux("check")
        settings = settings_of_options(GivenOptions(level=None if node else "look", node=node, python=python, require=tuple(require)), None)
        return _redacted_report(examine_machine(settings.options), "check")

    return _tool_answer(work)


async def diagnose(
    text: Annotated[str, Field(description="Error messages, logs, nvidia-smi, collect_env, pip list, or several of them mixed")] = "",
    files: Annotated[list[str], Field(max_length=16, description="Text files, or a gpudoctor report, about the same machine")] = [],
) -> CallToolResult:
    """Find the cause of a fault in pasted text, in files about one machine, or in both, without looking at this machine."""

    def work() -> msgspec.Struct:
        if not text and not files:
            raise UsageError("Give text or files.")
        texts = {name: data for data, name in map(content_of_file, dict.fromkeys(files))}
        if text:
            texts["the text"] = text.encode("utf-8", "surrogatepass")
        return _redacted_report(diagnose_texts(texts, open_matrix(), diagnosis_policy()), "diagnose")

    return _tool_answer(work)


async def envs() -> CallToolResult:
    """List the Python environments of this machine, their frameworks, and whether each could train here."""

    def work() -> msgspec.Struct:
        system.require_linux("envs")
        return redactor_for_output("/", stays=False).struct(list_environments(ENVIRONMENTS_SECONDS, None, "/"))

    return _tool_answer(work)


async def compat(
    requirements: Requirements = [],
    requirement_files: RequirementFiles = [],
    gpus: Gpus = [],
    driver: Driver = None,
    python_version: PythonVersion = None,
    os: System = "linux",
    arch: Arch = None,
) -> CallToolResult:
    """Find out whether packages, driver, GPU and Python work together, before anything is installed. Does not look at this machine."""

    def work() -> msgspec.Struct:
        stated = Combination(requirements=tuple(requirements), gpus=tuple(gpus), driver=driver, python=python_version, os=os, arch=arch)
        return _redacted_report(
            check_combination(stated, diagnosis_policy(), None, _file_requirements(requirements, requirement_files), fixes=True), "compat"
        )

    return _tool_answer(work)


async def plan(
    requirements: Requirements = [],
    requirement_files: RequirementFiles = [],
    gpus: Gpus = [],
    driver: Driver = None,
    python_version: PythonVersion = None,
    os: System | None = None,
    arch: Arch = None,
) -> CallToolResult:
    """Find the newest releases that work on this machine, or on the one that is stated, and the commands that install them.

    Plans from the tables, without the network: `gpudoctor plan` also has uv resolve the other packages. Installs nothing.
    """

    def work() -> msgspec.Struct:
        stated = Combination(
            requirements=tuple(requirements), gpus=tuple(gpus), driver=driver, python=python_version, os=os or "linux", arch=arch
        )
        asked, matrix = _file_requirements(requirements, requirement_files), open_matrix()
        wanted = plan_question(stated, matrix, "plan", os_stated=os is not None)
        found = proposed_plan(wanted if asked is None else question_with_files(wanted, asked, matrix), matrix).plan
        noted = msgspec.structs.replace(found, resolver_note="Planned from the tables alone (this tool uses no network).")
        return redactor_for_output("/", stays=False).struct(noted)

    return _tool_answer(work)


async def explain(
    text: Annotated[
        str, Field(max_length=4096, description="A finding's code or name, an error message, an Xid, an exit code, or: agents")
    ],
) -> CallToolResult:
    """Explain a finding, an error message or an exit code: what it means, how to check by hand and how to fix it."""
    return _tool_answer(lambda: pages.document_of_answer(look_up(text, open_matrix())))


def _file_requirements(requirements: list[str], files: list[str]) -> RequestedPackages | None:
    """Return what the files ask for; None if none is named."""
    if not requirements and not files:
        raise UsageError("Give requirements or requirement_files.")
    return read_requirement_files(files) if files else None


def _redacted_report(examination: Examination, command: str) -> msgspec.Struct:
    return redacted_report(examination, command, "/", named=False)


def _tool_answer(work: Callable[[], msgspec.Struct]) -> CallToolResult:
    """Return the document that `work` makes and what was left out of it, or the error document."""
    try:
        parts = bounded_document(work())
    except GpudoctorError as problem:
        return _tool_failure("usage", str(problem), USAGE)
    except Exception as problem:  # noqa: BLE001 -- a defect of ours must not end the server
        return _tool_failure("internal", crash_sentence(problem), CRASHED)
    return CallToolResult(content=[TextContent(text=part) for part in parts])


def _tool_failure(kind: str, sentence: str, exit_code: int) -> CallToolResult:
    return CallToolResult(content=[TextContent(text=error_document(kind, sentence, exit_code).decode())], is_error=True)
