"""`gpudoctor envs`: lists the Python environments of this machine, and which of them could train here."""

from __future__ import annotations

import os

from gpudoctor.check.environments import list_environments
from gpudoctor.cli import failure, options, system
from gpudoctor.cli.formats import TextOrJson
from gpudoctor.cli.program import app
from gpudoctor.cli.settings import positive_seconds
from gpudoctor.cli.show import show_result
from gpudoctor.report import environments

_PATIENCE_SECONDS = 60.0
"""Seconds for all environments; fifty take five."""


@app.command()
def envs(
    format: options.EnvsFormat = TextOrJson.TEXT,
    timeout: options.Timeout = None,
    compat: options.Compat = None,
    no_color: options.NoColor = False,
    root: options.Root = None,
) -> int:
    """List the Python environments of this machine: their frameworks, and whether they could train here. Loads no framework.

    Looks for virtual environments near the current directory and in the usual folders, conda, pixi, pyenv and uv, environments and interpreters on PATH, and
    Jupyter kernels. Each is checked from its files, as `gpudoctor check --level look` does.
    """
    place = root or "/"

    def carry_out() -> int:
        patience = positive_seconds("--timeout", timeout or _PATIENCE_SECONDS)
        system.require_linux("envs")
        home = os.environ.get("HOME", "")
        found = list_environments(patience, compat, place)
        show_result(found, format, lambda document, shown: environments.draw(document, shown, home), root=place, no_color=no_color)
        return 0

    return failure.guarded_exit_code(carry_out, as_json=format is TextOrJson.JSON)
