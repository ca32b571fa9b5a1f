"""`gpudoctor xray`: which library would be loaded and why, for the frameworks of an environment or for single files."""

from __future__ import annotations

import os

import msgspec

from gpudoctor.cli import output
from gpudoctor.cli.deliver import look, on_terminal, redactor
from gpudoctor.errors import UsageError
from gpudoctor.process import Supervisor
from gpudoctor.snapshot import Cause, Libraries, Missing
from gpudoctor.snapshot.gaps import gaps
from gpudoctor.snapshot.xray import Environment, Files

PATIENCE = 120.0
"""Seconds for all of it."""
UNKNOWN, CRASHED = 3, 4
"""Exit codes: the libraries could not be looked at; a probe of ours has a defect."""


class XrayOptions(msgspec.Struct, frozen=True):
    """The part of a check's options that the inventory needs."""

    python: str | None
    root: str = "/"
    identify: bool = False
    cwd: str | None = None


def carry_out(files: tuple[str, ...], python: str | None, *, as_json: bool, root: str = "/", cwd: str | None = None) -> int:
    """Show the X-ray. Raises UsageError where an interpreter or a file cannot be read; what is missing on the machine is an answer."""
    from gpudoctor.probe.xray_run import of_environment, of_files  # noqa: PLC0415 -- loaded when it runs

    places = tuple(_file(path) for path in files)
    with Supervisor(deadline=_deadline()) as supervisor:
        asked = XrayOptions(python, root, cwd=cwd)
        seen: Environment | Files = of_files(supervisor, asked, places) if places else of_environment(supervisor, asked)
    seen = redactor(root, stays=not as_json and on_terminal()).struct(seen)
    if as_json:
        from gpudoctor.report import document  # noqa: PLC0415 -- one of two

        output.write(document.xray(seen))
        return _exit_code(seen)
    from gpudoctor.report import libraries  # noqa: PLC0415 -- loads rich

    shown = look(no_color=False)
    text = libraries.files(seen, shown) if isinstance(seen, Files) else libraries.environment(seen, shown)
    output.write(text.encode("ascii" if shown.plain else "utf-8", "backslashreplace"))
    return _exit_code(seen)


def _exit_code(seen: Environment | Files) -> int:
    """4 where our own code crashed, 3 where a framework's libraries or a file could not be examined, else 0."""
    if any(gap.cause is Cause.CRASHED for gap in gaps(seen)):
        return CRASHED
    causes = {gap.cause for gap in (_unseen(seen.libraries) if isinstance(seen, Environment) else [seen.unread])}
    return UNKNOWN if causes - {Cause.ABSENT, Cause.NOT_ASKED} else 0


def _unseen(libraries: Libraries | Missing) -> list[Missing]:
    if isinstance(libraries, Missing):
        return [libraries]
    return [*(gap for one in libraries.frameworks for gap in (one.uses, one.code) if isinstance(gap, Missing)), libraries.incomplete]


def _deadline() -> float:
    import time  # noqa: PLC0415

    return time.monotonic() + PATIENCE


def _file(path: str) -> str:
    place = os.path.abspath(path)
    if not os.path.isfile(place):
        raise UsageError(f"{path}: there is no such file; name a shared library or a program.")
    return place
