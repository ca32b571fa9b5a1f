"""`gpudoctor mcp`: gpudoctor's answers for agents, over the Model Context Protocol on standard input and output."""

from __future__ import annotations

import os
import sys
from importlib import import_module

from gpudoctor.cli.program import app
from gpudoctor.errors import UsageError


@app.command()
def mcp() -> int:
    """Serve check, diagnose, compat, plan and explain to an agent over the Model Context Protocol, on standard input and output.

    Read-only. How an agent uses gpudoctor: gpudoctor explain agents
    """
    try:
        agent_tools = import_module("gpudoctor.cli.agent_tools")
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("gpudoctor"):
            raise
        raise UsageError(
            f"The MCP server needs the package {error.name.partition('.')[0]}, which is not installed; install it: pip install 'gpudoctor-cli[mcp]'."
        ) from None
    if sys.stdin is None or sys.stdout is None:
        raise UsageError("An agent is served over standard input and output, and one of them is closed; the agent's program opens both.")
    for name in ("COLUMNS", "LINES"):  # the server's log has no terminal, and rich would crash on a size that is no number
        os.environ.pop(name, None)
    agent_tools.mcp_server().run("stdio")
    return 0
