"""The command line. Only the module of the named command is imported, and Typer only where there is something to parse."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from types import SimpleNamespace
from typing import NoReturn

from gpudoctor.cli import failure, output
from gpudoctor.exit_codes import USAGE

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
    commands = import_module("gpudoctor.cli.commands")  # 40 ms for Typer
    _load_msgspec()
    return int(commands.run(arguments))


def _load_msgspec() -> None:
    """Import msgspec without two modules: typing_extensions, which it prefers to typing (3 ms), and platform, which uuid asks for the system (1.5 ms)."""
    stand_ins = {"typing_extensions": None, "platform": SimpleNamespace(system=lambda: os.uname().sysname)}
    needed = {name: module for name, module in stand_ins.items() if name not in sys.modules}
    sys.modules.update(needed)  # type: ignore[arg-type]  # None is how Python marks a module that cannot be imported
    import_module("msgspec")
    for name in needed:
        del sys.modules[name]
