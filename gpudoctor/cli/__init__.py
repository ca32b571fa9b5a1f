"""The command line. Only the module of the named command is imported, and Typer only where there is something to parse."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from types import SimpleNamespace
from typing import NoReturn

from gpudoctor.cli import failure, output
from gpudoctor.exit_codes import USAGE

COMPLETION_VARIABLE = "_GPUDOCTOR_COMPLETE"
"""The variable with which a shell asks for completion."""


def run_and_exit() -> NoReturn:
    """Run the program `gpudoctor`. It exits without Python's shutdown, which would take a tenth of a check's time."""
    os._exit(main())


def main() -> int:
    """Run the command of sys.argv and return its exit code."""
    output.hold_descriptors()
    arguments = sys.argv[1:]

    def body() -> int:
        code = _exit_code_without_typer(arguments)
        return _exit_code_with_typer(arguments) if code is None else code

    code = failure.guarded_exit_code(body, as_json=failure.wants_json(arguments))
    return code if failure.flush_output() else USAGE


def _exit_code_without_typer(arguments: list[str]) -> int | None:
    """Return the exit code of a check or diagnosis whose command line needs no parser; None for any other."""
    command, *words = arguments or [""]
    if command not in {"check", "diagnose"} or COMPLETION_VARIABLE in os.environ:
        return None
    _load_msgspec()
    plain = import_module("gpudoctor.cli.plain_arguments")
    if command == "check":
        given = plain.check_arguments(words)
        return None if given is None else import_module("gpudoctor.cli.examine").examine(given.options, given.config)
    given = plain.diagnose_arguments(words)
    return None if given is None else import_module("gpudoctor.cli.examine_text").examine_text(given.files, given.options)


def _exit_code_with_typer(arguments: list[str]) -> int:
    commands = import_module("gpudoctor.cli.commands")  # 40 ms for Typer
    _load_msgspec()
    return int(commands.run_command_line(arguments))


def _load_msgspec() -> None:
    """Import msgspec without two modules: typing_extensions, which it prefers to typing (3 ms), and platform, which uuid asks for the system (1.5 ms)."""
    stand_ins = {"typing_extensions": None, "platform": SimpleNamespace(system=lambda: os.uname().sysname)}
    needed = {name: module for name, module in stand_ins.items() if name not in sys.modules}
    sys.modules.update(needed)  # type: ignore[arg-type]  # None is how Python marks a module that cannot be imported
    import_module("msgspec")
    for name in needed:
        del sys.modules[name]
