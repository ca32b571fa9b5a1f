"""`gpudoctor mcp`, asked by a client of the SDK over standard input and output."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from jsonschema import Draft202012Validator

from gpudoctor.cli.document_limit import MAX_BYTES
from gpudoctor.report.schema import document_schema
from tests.seams import Nvml, PciCard, Tree, seen_by_child

if TYPE_CHECKING:  # the SDK takes a second to import, and every worker collects this file
    from mcp.types import CallToolResult, ListToolsResult

LOG = "RuntimeError: CUDA error: no kernel image is available for execution on the device\n"
SECRET = "hf_" + "a" * 30
TOOLS = {"check", "diagnose", "envs", "compat", "plan", "explain"}
CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "check": ("check", {}),
    "check of a node": ("check", {"node": True}),
    "check of no Python": ("check", {"python": "/nowhere"}),
    "text": ("diagnose", {"text": f"{LOG}HF_TOKEN={SECRET}\n"}),
    "missing file": ("diagnose", {"files": ["/nowhere/log"]}),
    "neither text nor file": ("diagnose", {}),
    "too much text": ("diagnose", {"text": "a" * ((20 << 20) + 1)}),
    "standard input": ("diagnose", {"files": ["-"]}),
    "envs": ("envs", {}),
    "compat": ("compat", {"requirements": ["torch==2.8.0"], "gpus": ["GTX 1080"], "driver": "470.57.02"}),
    "an option in place of a requirement": ("compat", {"requirements": ["--help"]}),
    "no requirement": ("compat", {"requirements": []}),
    "plan": ("plan", {"requirements": ["torch"], "gpus": ["NVIDIA L4"], "driver": "550.163.01"}),
    "explain": ("explain", {"text": "GD203"}),
    "explain all": ("explain", {"text": "CUDA"}),
    "explain agents": ("explain", {"text": "agents"}),
    "explain nothing": ("explain", {"text": "qqqq"}),
}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> tuple[ListToolsResult, dict[str, CallToolResult]]:
    from mcp import Client, StdioServerParameters  # noqa: PLC0415

    nvml = Nvml(gpus=8)
    root = Tree(pci=[PciCard.of(card) for card in nvml.cards]).build(tmp_path_factory.mktemp("tree") / "root")
    command = StdioServerParameters(command=sys.executable, args=["-m", "gpudoctor", "mcp"], env=seen_by_child(root), cwd="/")
    log = tmp_path_factory.mktemp("logs") / "training.log"
    log.write_text(LOG)
    wanted = tmp_path_factory.mktemp("project") / "requirements.txt"
    wanted.write_text("torch==2.8.0\n")
    of_files: dict[str, tuple[str, dict[str, Any]]] = {
        "file": ("diagnose", {"files": [str(log)]}),
        "text and file": ("diagnose", {"text": "Driver Version: 470.57.02", "files": [str(log)]}),
        "compat of a file": ("compat", {"requirement_files": [str(wanted)], "gpus": ["GTX 1080"]}),
        "plan of a file": ("plan", {"requirement_files": [str(wanted)], "gpus": ["GTX 1080"], "driver": "535.104.05"}),
    }

    async def session() -> tuple[ListToolsResult, dict[str, CallToolResult]]:
        async with Client(command) as client:
            tools = await client.list_tools()
            return tools, {name: await client.call_tool(tool, arguments) for name, (tool, arguments) in {**CALLS, **of_files}.items()}

    return asyncio.run(session())


def texts(answer: CallToolResult) -> list[str]:
    from mcp.types import TextContent  # noqa: PLC0415

    assert all(isinstance(part, TextContent) for part in answer.content)
    return [part.text for part in answer.content if isinstance(part, TextContent)]


def document(answer: CallToolResult) -> Any:
    return json.loads(texts(answer)[0])


def test_every_tool_is_read_only_and_described(served: tuple[ListToolsResult, dict[str, CallToolResult]]) -> None:
    tools = {tool.name: tool for tool in served[0].tools}
    assert set(tools) == TOOLS
    for tool in tools.values():
        assert tool.description
        assert tool.annotations is not None
        assert tool.annotations.read_only_hint is True
        assert all(parameter.get("description") or "enum" in str(parameter) for parameter in tool.input_schema["properties"].values())


@pytest.mark.parametrize("name", ["check", "check of a node", "text", "file", "text and file", "compat", "compat of a file"])
def test_a_report_keeps_to_its_schema_and_size(served: tuple[ListToolsResult, dict[str, CallToolResult]], name: str) -> None:
    answer = served[1][name]
    assert not answer.is_error
    Draft202012Validator(document_schema("report")).validate(document(answer))
    assert len(texts(answer)[0].encode()) <= MAX_BYTES


def test_check_looks_at_this_machine_without_touching_its_gpus(served: tuple[ListToolsResult, dict[str, CallToolResult]]) -> None:
    report = document(served[1]["check of a node"])
    assert (report["verdict"], report["policy"]["level"], report["policy"]["node"]) == ("broken", "look", True)
    assert report["findings"]


def test_text_and_file_have_the_same_diagnosis_without_secrets(served: tuple[ListToolsResult, dict[str, CallToolResult]]) -> None:
    found = [[finding["code"] for finding in document(served[1][name])["findings"]] for name in ("text", "file")]
    assert found[0] == found[1] != []
    assert SECRET not in "".join(texts(served[1]["text"]))


def test_compat_and_plan_answer_for_a_stated_machine(served: tuple[ListToolsResult, dict[str, CallToolResult]]) -> None:
    assert document(served[1]["compat"])["exit_code"] == 1
    planned = document(served[1]["plan"])
    Draft202012Validator(document_schema("plan")).validate(planned)
    assert planned["schema"] == "gpudoctor.plan/1"
    of_file = document(served[1]["plan of a file"])
    assert [pin["requirement"] for pin in of_file["environment"]["pins"]] == ["torch==2.8.0+cu126"]


def test_explain_finds_pages_and_the_guide(served: tuple[ListToolsResult, dict[str, CallToolResult]]) -> None:
    assert [page["code"] for page in document(served[1]["explain"])["rules"]] == ["GD203"]
    assert document(served[1]["explain agents"])["guide"].startswith("# For agents\n")


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("check of no Python", "--python /nowhere"),
        ("missing file", "/nowhere/log cannot be read"),
        ("neither text nor file", "Give text or files."),
        ("too much text", "more than 20 MB"),
        ("standard input", "Standard input is empty"),
        ("an option in place of a requirement", "--help"),
        ("explain nothing", "No page explains"),
    ],
)
def test_wrong_arguments_get_one_sentence(served: tuple[ListToolsResult, dict[str, CallToolResult]], name: str, sentence: str) -> None:
    answer = served[1][name]
    assert answer.is_error
    read = document(answer)
    Draft202012Validator(document_schema("error")).validate(read)
    assert read["exit_code"] == 2
    assert sentence in read["error"]["message"]


def test_envs_lists_environments(served: tuple[ListToolsResult, dict[str, CallToolResult]]) -> None:
    Draft202012Validator(document_schema("envs")).validate(document(served[1]["envs"]))


def test_arguments_against_the_tool_s_schema_are_refused_and_the_server_goes_on(
    served: tuple[ListToolsResult, dict[str, CallToolResult]],
) -> None:
    assert served[1]["no requirement"].is_error
    assert not served[1]["explain"].is_error


def test_without_the_sdk_the_install_command_is_named() -> None:
    program = (
        "import sys; sys.modules['mcp'] = None; sys.argv = ['gpudoctor', 'mcp']; from gpudoctor.cli import run_and_exit; run_and_exit()"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert "pip install 'gpudoctor-cli[mcp]'" in done.stderr


@pytest.mark.parametrize("closed", ["<&-", ">&-"])
def test_closed_streams_are_refused_in_a_sentence(closed: str) -> None:
    command = ["sh", "-c", f'exec "$0" -m gpudoctor mcp {closed}', sys.executable]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("size", ["9" * 5000, "²", "0"])
def test_an_absurd_size_of_the_terminal_stops_no_server(size: str) -> None:
    command = [sys.executable, "-m", "gpudoctor", "mcp"]
    done = subprocess.run(command, env={**os.environ, "COLUMNS": size, "LINES": size}, input=b"", capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
