"""`gpudoctor xray`: shows which libraries would be loaded and why, for an environment's frameworks or for single files."""

from __future__ import annotations

import os

from gpudoctor.cli import options, system
from gpudoctor.cli.formats import TextOrJson
from gpudoctor.cli.program import app
from gpudoctor.cli.show import show_result
from gpudoctor.errors import UsageError
from gpudoctor.exit_codes import CRASHED, UNKNOWN
from gpudoctor.probe.inventory import ProbeScope
from gpudoctor.probe.xray_run import run_xray
from gpudoctor.regular_files import file_beginning
from gpudoctor.report import document, libraries
from gpudoctor.report.page import PageLook
from gpudoctor.snapshot import Cause, Libraries, Missing
from gpudoctor.snapshot.gaps import missing_values
from gpudoctor.snapshot.xray import EnvironmentXray, FilesXray

PATIENCE_SECONDS = 120.0
"""Seconds for the whole examination."""
_ELF_MAGIC = b"\x7fELF"


@app.command()
def xray(
    files: options.Files = None,
    python: options.Python = None,
    cwd: options.Cwd = None,
    format: options.XrayFormat = TextOrJson.TEXT,
    root: options.Root = None,
) -> int:
    """Show which CUDA libraries each framework would load, why, and which GPUs they have kernels for. Loads nothing.

    With FILE, a shared library or program: show what it needs, what it would load, and its GPU code.
    """
    system.require_linux("xray")
    if files and cwd is not None:
        raise UsageError("--cwd says which files beside your script shadow modules; leave it out with FILE.")
    scope = ProbeScope(python=python, root=root or "/", cwd=cwd)
    seen = run_xray(scope, tuple(map(_elf_path, files or ())), PATIENCE_SECONDS)
    show_result(seen, format, _xray_text, document.encode_xray, root=scope.root)
    return _exit_code_of_xray(seen)


def _xray_text(seen: EnvironmentXray | FilesXray, shown: PageLook) -> str:
    return libraries.files_page(seen, shown) if isinstance(seen, FilesXray) else libraries.environment_page(seen, shown)


def _exit_code_of_xray(seen: EnvironmentXray | FilesXray) -> int:
    """Return 4 if our own code crashed, 3 if a framework's libraries or a file could not be examined, else 0."""
    if any(gap.cause is Cause.CRASHED for gap in missing_values(seen)):
        return CRASHED
    if isinstance(seen, FilesXray) and any(file.problem for file in seen.files):
        return UNKNOWN
    causes = {gap.cause for gap in (_library_gaps(seen.libraries) if isinstance(seen, EnvironmentXray) else [seen.unread])}
    return UNKNOWN if causes - {Cause.ABSENT, Cause.NOT_ASKED} else 0


def _library_gaps(libraries: Libraries | Missing) -> list[Missing]:
    if isinstance(libraries, Missing):
        return [libraries]
    return [
        *(gap for framework in libraries.frameworks for gap in (framework.uses, framework.code) if isinstance(gap, Missing)),
        libraries.incomplete,
    ]


def _elf_path(path: str) -> str:
    """Return the absolute path of an ELF file. Raises UsageError for anything else."""
    place = os.path.abspath(path)
    try:
        begins = file_beginning(place, len(_ELF_MAGIC))
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}; name a shared library or a program.") from None
    if begins != _ELF_MAGIC:
        raise UsageError(f"{path} is not an ELF file; name a shared library (.so) or a compiled program.")
    return place
