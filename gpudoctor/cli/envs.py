"""`gpudoctor envs`: lists the Python environments of this machine, and which of them could train here."""

from __future__ import annotations

import os

from gpudoctor.check.environments import list_environments
from gpudoctor.cli import failure, options, output, system
from gpudoctor.cli.formats import TextOrJson
from gpudoctor.cli.look import look, on_terminal, redactor
from gpudoctor.cli.program import app
from gpudoctor.cli.settings import seconds
from gpudoctor.report import document, environments

_PATIENCE = 60.0
"""Seconds for all environments; fifty take five."""


@app.command()
def envs(
    format: options.EnvsFormat = TextOrJson.TEXT,  # noqa: A002 -- named as the option
    timeout: options.Timeout = None,
    compat: options.Compat = None,
    no_color: options.NoColor = False,  # noqa: FBT002
    root: options.Root = None,
) -> int:
    """List the Python environments of this machine: their frameworks, and whether they could train here. Loads no framework.

    Looks for virtual environments near the current directory and in the usual folders, conda, pixi, pyenv and uv, interpreters on PATH, and
    Jupyter kernels. Each is checked from its files, as `gpudoctor check --level look` does.
    """
    as_json = format is TextOrJson.JSON
    place = root or "/"

    def carry_out() -> int:
        patience = seconds("--timeout", timeout or _PATIENCE)
        system.require_linux("envs")
        found = redactor(place, stays=not as_json and on_terminal()).struct(list_environments(patience, compat, place))
        shown = look(no_color=no_color)
        output.write(document.encode(found) if as_json else shown.encoded(environments.draw(found, shown, os.environ.get("HOME", ""))))
        return 0

    return failure.guarded(carry_out, as_json=as_json)
