"""What `gpudoctor xray` shows: an environment's libraries without the rest of a snapshot, or single files."""

import msgspec

from gpudoctor.snapshot.environment import Framework, ScriptFolder
from gpudoctor.snapshot.libraries import GpuCode, Libraries, Place
from gpudoctor.snapshot.values import NOT_ASKED, Missing


class Need(msgspec.Struct, frozen=True):
    """A library that a file needs, directly or indirectly."""

    wanted: str
    asked_by: str
    direct: bool
    path: str
    """Empty if not found."""
    why: str
    problem: str = ""
    looked_in: tuple[str, ...] = ()
    shadows: tuple[Place, ...] = ()
    elsewhere: tuple[Place, ...] = ()


class File(msgspec.Struct, frozen=True, tag_field="type", tag="file"):
    """A file and its needs."""

    path: str
    problem: str = ""
    machine: str = ""
    soname: str = ""
    rpath: str = ""
    runpath: str = ""
    needed: tuple[str, ...] = ()
    code: GpuCode | Missing | None = None
    needs: tuple[Need, ...] = ()


class FilesXray(msgspec.Struct, frozen=True):
    """The X-ray of files, as the interpreter `python` would load them."""

    python: str
    files: tuple[File, ...]
    unread: Missing = NOT_ASKED
    """Why files with a problem were not read, if the file is not to blame."""


class EnvironmentXray(msgspec.Struct, frozen=True):
    """The X-ray of an environment."""

    python: str
    why: str
    """Why this one was examined."""
    frameworks: tuple[Framework, ...]
    libraries: Libraries | Missing
    script_folder: ScriptFolder | Missing = NOT_ASKED
