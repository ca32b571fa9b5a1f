"""`gpudoctor envs`: lists the Python environments of this machine, and which of them could train here."""

from __future__ import annotations

import os

import msgspec

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
    return failure.guarded(
        lambda: _carry_out(
            EnvsOptions(root or "/", seconds("--timeout", timeout or _PATIENCE), compat), as_json=as_json, no_color=no_color
        ),
        as_json=as_json,
    )


class EnvsOptions(msgspec.Struct, frozen=True):
    """What to look at, and how long."""

    root: str
    timeout: float
    compat: str | None


def _carry_out(place: EnvsOptions, *, as_json: bool, no_color: bool) -> int:
    system.require_linux("envs")
    found = redactor(place.root, stays=not as_json and on_terminal()).struct(list_environments(place.timeout, place.compat, place.root))
    if as_json:
        output.write(document.encode(found))
    else:
        shown = look(no_color=no_color)
        output.write(shown.encoded(environments.draw(found, shown, os.environ.get("HOME", ""))))
    return 0
