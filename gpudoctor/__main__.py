"""The program `gpudoctor`, also as `python -m gpudoctor`."""

from __future__ import annotations

import gc
import os
import sys

from gpudoctor.crash import crash_sentence

_STOPPED = 130
"""The exit code after SIGINT, as a shell has it."""
_CRASHED = 4
"""The same as in gpudoctor/exit_codes.py, which may be what cannot be imported."""


def main() -> None:
    """Run the command line. What takes long to import is imported where SIGINT ends it without a traceback.

    A check takes a tenth of a second, half of it imports: garbage collection would add a tenth to those.
    """
    try:
        gc.disable()
        _remove_current_directory()
        _put_standard_library_first()
        from gpudoctor.cli import run_and_exit  # noqa: PLC0415

        run_and_exit()
    except KeyboardInterrupt as stop:  # before the command's own handling, as a module was imported, or after it
        os._exit(128 + stop.args[0] if stop.args else _STOPPED)
    except Exception as crash:  # noqa: BLE001 -- of what handles every other crash
        _write_sentence(crash_sentence(crash))
        os._exit(_CRASHED)


def _write_sentence(sentence: str) -> None:
    try:  # noqa: SIM105 -- contextlib takes a millisecond outside of what handles SIGINT
        os.write(2, f"gpudoctor: {sentence}\n".encode("ascii", "backslashreplace"))
    except OSError:
        pass


def _remove_current_directory() -> None:
    """Remove from sys.path what `python -m` and PYTHONPATH take from the current directory: a msgspec.py there must not run here."""
    try:
        here = os.getcwd()
    except OSError:
        return  # Python leaves out a directory that is gone
    needed = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    if sys.path[:1] == [here] != [needed]:  # of `python -m`; an installed gpudoctor has the folder of its script there
        del sys.path[0]
    named = os.environ.get("PYTHONPATH")
    absolute = {os.path.abspath(folder): os.path.isabs(folder) for folder in named.split(os.pathsep)} if named else {}
    unwanted = {folder for folder, was_absolute in absolute.items() if folder == here or not was_absolute}
    installed = (f"{sys.prefix}/lib", f"{sys.base_prefix}/lib")
    sys.path[:] = [folder for folder in sys.path if folder not in unwanted or folder == needed or folder.startswith(installed)]


def _put_standard_library_first() -> None:
    """Move PYTHONPATH and the script's folder behind the standard library on sys.path: a types.py there must not shadow Python's own."""
    library = os.path.dirname(os.__file__)
    standard = [folder for folder in sys.path if folder in {library, f"{library}/lib-dynload"}]
    sys.path[:] = [*standard, *(folder for folder in sys.path if folder not in standard)]


if __name__ == "__main__":
    main()
