"""What `gpudoctor mcp` asks of the kernel while it serves an agent: no network, no program but Python, no file changed, none read that was not named."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import GPUDOCTOR, environment
from tests.probe.places import plant
from tests.security.traced import Trace, trace_in, tracing

TEXT = 'File "{place}/unnamed.py", line 3\nRuntimeError: CUDA error: no kernel image is available for execution on the device\n'


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("home")
    plant(place, {"unnamed.py": "", "unnamed.json": "{}", "named.txt": TEXT.format(place=place)})
    return place


@pytest.fixture(scope="module")
def served(place: Path, tmp_path_factory: pytest.TempPathFactory) -> Trace:
    if shutil.which("strace") is None:
        pytest.skip("needs strace (Debian: strace)")
    from mcp import Client, StdioServerParameters  # noqa: PLC0415 -- takes a second, and every worker collects this file

    file = tmp_path_factory.mktemp("traces") / "served.trace"
    strace, *options = tracing(file)
    server = StdioServerParameters(
        command=strace,
        args=[*options, *GPUDOCTOR, "mcp"],
        env=environment(HOME=str(place), PYTHONDONTWRITEBYTECODE="1", COVERAGE_PROCESS_CONFIG=None),
        cwd=place,
    )

    async def session() -> None:
        async with Client(server) as client:
            calls: tuple[tuple[str, dict[str, Any]], ...] = (
                ("check", {}),
                ("diagnose", {"text": TEXT.format(place=place)}),
                ("diagnose", {"files": [str(place / "named.txt")]}),
                ("compat", {"requirements": ["torch==2.8.0"], "gpus": ["NVIDIA L4"]}),
                ("plan", {"requirements": ["torch"], "gpus": ["NVIDIA L4"], "driver": "550.163.01"}),
                ("explain", {"text": "GD203"}),
            )
            for tool, arguments in calls:
                assert not (await client.call_tool(tool, arguments)).is_error, tool

    asyncio.run(session())
    return trace_in(file)


def test_serving_an_agent_opens_no_network(served: Trace) -> None:
    assert served.networks() == []


def test_serving_an_agent_starts_python_only(served: Trace) -> None:
    assert len(served.started()) > 3
    assert {os.path.realpath(program) for program in served.started()} == {os.path.realpath(sys.executable)}


def test_serving_an_agent_changes_no_file(served: Trace) -> None:
    assert served.changed() == []


def test_an_agent_s_server_opens_only_the_file_that_the_agent_names(place: Path, served: Trace) -> None:
    assert {path for path in served.paths() if path.startswith(f"{place}/")} == {f"{place}/named.txt"}
