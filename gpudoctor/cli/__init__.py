"""The command line. Only the module of the named command is imported, and Typer only where there is something to parse."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from types import SimpleNamespace
from typing import TYPE_CHECKING, NoReturn

from gpudoctor.cli import failure, output
from gpudoctor.errors import OutputError
from gpudoctor.exit_codes import USAGE

if TYPE_CHECKING:
    import typer

MODULES = {
    "check": "check",
    "smoke": "smoke",
    "diagnose": "diagnose",
    "ticket": "ticket",
    "diff": "diff",
    "fleet": "fleet_check",
    "compat": "compat",
    "plan": "plan",
    "index": "index",
    "fit": "fit",
    "matrix": "matrix",
    "xray": "xray",
    "envs": "envs",
    "explain": "pages",
    "rules": "pages",
    "schema": "pages",
    "mcp": "mcp",
    "completion": "completion",
}
"""The module of each command, in the order of the help."""

COMPLETE = "_GPUDOCTOR_COMPLETE"
"""The variable with which a shell asks for completion."""


def run() -> NoReturn:
    """Run the program `gpudoctor`. It exits without Python's shutdown, which would take a tenth of a check's time."""
    os._exit(main())


def main() -> int:
    """Run the command of sys.argv and return its exit code."""
    output.hold_descriptors()
    arguments = sys.argv[1:]

    def body() -> int:
        code = _without_typer(arguments)
        return _with_typer(arguments) if code is None else code

    code = failure.guarded(body, as_json=failure.wants_json(arguments))
    return code if failure.flush() else USAGE


def _without_typer(arguments: list[str]) -> int | None:
    """Return the exit code of a check or diagnosis whose command line needs no parser; None for any other."""
    command, *words = arguments or [""]
    if command not in {"check", "diagnose"} or COMPLETE in os.environ:
        return None
    _load_msgspec()
    plain = import_module("gpudoctor.cli.plain")
    if command == "check":
        given = plain.of_check(words)
        return None if given is None else import_module("gpudoctor.cli.examine").examine(given.options, given.config)
    given = plain.of_diagnose(words)
    return None if given is None else import_module("gpudoctor.cli.examine_text").examine_text(given.files, given.options)


def _with_typer(arguments: list[str]) -> int:
    import typer  # noqa: PLC0415 -- 40 ms, see above

    command = typer.main.get_command(program_with(*(arguments or _completed())[:1]))
    try:
        return int(command.main(arguments, prog_name="gpudoctor", standalone_mode=False) or 0)
    except OSError as error:  # Typer printing its help; our own output raises OutputError
        raise OutputError(f"The help could not be written to standard output: {error.strerror}.") from None


def _completed() -> list[str]:
    """Return the words of the line that a shell asks to complete; none unless a shell asks."""
    if COMPLETE not in os.environ:
        return []
    from typer._completion_classes import completion_init  # noqa: PLC0415 -- only for the shell

    completion_init()
    line = os.environ.get("COMP_WORDS") or os.environ.get("_TYPER_COMPLETE_ARGS", "")
    return line.split()[1:]


def program_with(named: str = "") -> typer.Typer:
    """Return the program with the named command, or with all commands if none is named."""
    from gpudoctor.cli.program import app  # noqa: PLC0415 -- loads Typer

    _load_msgspec()
    modules = [MODULES[named]] if named in MODULES else dict.fromkeys(MODULES.values())
    for module in modules:
        import_module(f"gpudoctor.cli.{module}")
    return app


def _load_msgspec() -> None:
    """Import msgspec without two modules: typing_extensions, which it prefers to typing (3 ms), and platform, which uuid asks for the system (1.5 ms)."""
    stand_ins = {"typing_extensions": None, "platform": SimpleNamespace(system=lambda: os.uname().sysname)}
    needed = {name: module for name, module in stand_ins.items() if name not in sys.modules}
    sys.modules.update(needed)  # type: ignore[arg-type]  # None is how Python marks a module that cannot be imported
    import_module("msgspec")
    for name in needed:
        del sys.modules[name]
