"""Where CUDA libraries are on disk, on the loader's path or not, their owners and their versions, without loading any."""

from __future__ import annotations

import math
import os
import re
from struct import Struct

from gpudoctor.children.own.xray.components import WHEELS, component
from gpudoctor.elf import file
from gpudoctor.elf.system import FileTree, closed_folder

TOOLKITS = ("/usr/local", "/opt")
SYSTEM = (
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/usr/local/lib",
    "/usr/lib/wsl/lib",
    "/usr/local/nvidia/lib64",
)
MOST_PLACES = 64
HEADERS = {
    "cudnn": ("cudnn_version.h", ("CUDNN_MAJOR", "CUDNN_MINOR", "CUDNN_PATCHLEVEL")),
    "nccl": ("nccl.h", ("NCCL_MAJOR", "NCCL_MINOR", "NCCL_PATCH")),
}
_HEADER_BYTES = 8192
MODULES = (".py", ".so")
DANGLING = -1
"""The size of a link to a file that does not exist."""
GARBLED = -2
"""The size of a file whose beginning no import can read."""
ZEROS = ("zeroed", "filled with zeros")
_PYTHON_FOLDER = re.compile(r"/python3\.(\d+)$")
_RECORD_BYTES = 8 << 20
_HEAD_BYTES = 64
_INSTALLATION_SECONDS = 5.0
"""Seconds between the last files that an installer writes."""
_PYC_HEADER = Struct("<4sIII")
"""Magic number, flags, time and size of the source (PEP 552): with flag 1 alone, an unchecked hash."""
_WORD = 0xFFFFFFFF
_ONE_BLOCK = 1
"""st_blocks of a file of zeros: none on XFS and ext4, one with the compression of ZFS and Btrfs."""


class Disk:
    """The folders below a root that may have CUDA libraries; each is listed once."""

    def __init__(self, system: FileTree, path: tuple[str, ...], prefixes: tuple[str, ...]) -> None:
        """`path` is the target's sys.path, `prefixes` are its own and conda's."""
        self._place = system.place
        self.real = system.real
        self.path = tuple(folder.rstrip("/") for folder in path if folder.startswith("/"))
        self.python = next((found[1] for folder in self.path if (found := _PYTHON_FOLDER.search(folder))), "")
        """The minor version of the examined Python, by the folder of its standard library; empty if unknown."""
        self._prefixes = prefixes
        self._listed: dict[str, list[str]] = {}
        self._wheels: dict[str, dict[str, list[str]]] = {}
        self._folders: list[tuple[str, str]] | None = None
        self._files: dict[str, list[tuple[str, str]]] | None = None

    def names(self, folder: str) -> list[str]:
        """The content of a folder in the file system's order, like glob; nothing if it cannot be read."""
        if folder not in self._listed:
            try:
                self._listed[folder] = os.listdir(self._place(folder))
            except (OSError, ValueError):
                self._listed[folder] = []
        return self._listed[folder]

    def exists(self, path: str) -> bool:
        """Whether `path` exists."""
        return os.path.exists(self._place(path))

    def problem(self, path: str) -> tuple[str, str, str] | None:
        """Why this user cannot open a file or folder: the path that is to blame, a kind of damage and its words; None if it can be opened."""
        place = self._place(path)
        try:
            os.close(os.open(place, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC))
        except PermissionError as error:
            return closed_folder(place)[len(place) - len(path) :], "unreadable", str(error.strerror)
        except OSError as error:
            if os.path.islink(place):
                return path, "dangling-link", f"a link to {os.readlink(place)}, which does not exist"
            return path, "missing", str(error.strerror)
        return None

    def text(self, path: str, limit: int = 1 << 20) -> str:
        """The beginning of a text file; empty if it cannot be read."""
        return self.data(path, limit).decode("utf-8", "replace")

    def data(self, path: str, limit: int) -> bytes:
        """The beginning of a file; empty if it cannot be read."""
        try:
            descriptor = os.open(self._place(path), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except (OSError, ValueError):
            return b""
        try:
            return os.read(descriptor, limit)
        except OSError:
            return b""
        finally:
            os.close(descriptor)

    def size(self, path: str) -> int | None:
        """The bytes of a file; None if it cannot be looked at."""
        try:
            return os.stat(self._place(path)).st_size
        except (OSError, ValueError):
            return None

    def unloadable(self, path: str) -> tuple[str, str] | None:
        """Why no process here can load an extension module: a kind of damage and its words; None if one can, or it cannot be read."""
        try:
            elf = file.read_elf_file(self._place(path))
        except OSError:
            return None
        except file.NotElf as refused:
            return refused.kind, refused.reason
        return None if elf.machine == os.uname().machine else ("not-elf", f"compiled for {elf.machine}")

    def sizes(self, folder: str, installed: float = math.inf) -> dict[str, int] | None:
        """The sizes of the modules in a folder by name, DANGLING for a link to nothing, GARBLED for a file that `garbled` has something to say of, and 0 for everything else there, which takes no time.

        Those are read that take no room on disk or that were changed after `installed`, in seconds since 1970.

        Empty if there is no such folder, None if it cannot be read.
        """
        try:
            with os.scandir(self._place(folder)) as entries:
                return {
                    entry.name: self._size_of_entry(entry, folder, installed) if entry.name.endswith(MODULES) else 0 for entry in entries
                }
        except (FileNotFoundError, NotADirectoryError):
            return {}
        except (OSError, ValueError):
            return None

    def _size_of_entry(self, entry: os.DirEntry[str], folder: str, installed: float) -> int:
        try:
            status = entry.stat()
        except OSError:
            return DANGLING
        size = status.st_size
        if status.st_ctime < installed and status.st_blocks > _ONE_BLOCK:  # nearly all; a call for each would take too long
            return size
        return GARBLED if _is_suspect(status, installed) and self.garbled(f"{folder}/{entry.name}") else size

    def garbled(self, path: str) -> tuple[str, str] | None:
        """A kind of damage and its words for a module that begins with zeros, as after a power failure, or a Python file that is no text."""
        data = self.data(path, _HEAD_BYTES)
        if data and not any(data):
            return ZEROS
        if not path.endswith(".py") or (b"\0" not in data and _is_text(data)):
            return None
        return "garbled", "not a text file"

    def size_and_suspicion(self, path: str, installed: float) -> tuple[int | None, bool]:
        """The bytes of a file, None if it cannot be looked at, and whether it may be filled with zeros, as in `sizes`."""
        try:
            status = os.stat(self._place(path))
        except (OSError, ValueError):
            return None, False
        return status.st_size, _is_suspect(status, installed)

    def time_of_change(self, path: str) -> float:
        """When a file was last written, linked or renamed, in seconds since 1970; infinite if it cannot be looked at."""
        try:
            return os.stat(self._place(path)).st_ctime
        except (OSError, ValueError):
            return math.inf

    def is_compiled(self, path: str, python: str) -> bool:
        """Whether Python 3.`python` imports a .py file from its __pycache__ without reading it: the header there has its time and size."""
        folder, _, name = path.rpartition("/")
        header = self.data(f"{folder}/__pycache__/{name[:-3]}.cpython-3{python}.pyc", _PYC_HEADER.size)
        if len(header) < _PYC_HEADER.size or not any(header):
            return False
        _, flags, time, size = _PYC_HEADER.unpack(header)
        try:
            status = os.stat(self._place(path))
        except (OSError, ValueError):
            return False
        return flags in {1, 0} and (flags == 1 or (time, size) == (int(status.st_mtime) & _WORD, status.st_size & _WORD))

    def needed(self, path: str) -> tuple[str, ...]:
        """The libraries that a file links; none if it cannot be read."""
        try:
            return tuple(file.read_elf_file(self._place(path)).needed)
        except (OSError, file.NotElf):
            return ()

    def start(self, folder: str, name: str) -> str:
        """The file that an import of a module runs if it takes it from a folder; empty if it has none that is Python."""
        names = self.names(folder)
        if name in names and "__init__.py" in self.names(f"{folder}/{name}"):
            return f"{folder}/{name}/__init__.py"
        return f"{folder}/{name}.py" if f"{name}.py" in names else ""

    def finds(self, module: str) -> bool:
        """Whether a module is in a folder of sys.path; true if something else than these folders may have it.

        Of a package with an __init__.py this is not known below it: it may make modules itself.
        """
        folders = list(self.path)
        if any(not self.names(folder) and self.exists(folder) for folder in folders) or any(map(self._has_finder, folders)):
            return True
        for part in module.split("."):
            entries = [f"{folder}/{name}" for folder in folders for name in self.names(folder) if name.partition(".")[0] == part]
            files = [entry for entry in entries if entry.endswith((".py", ".so", ".pyc"))]
            packages = [entry for entry in entries if entry.endswith(f"/{part}")]
            if files or any(name.startswith("__init__.") for package in packages for name in self.names(package)):
                return True
            folders = packages
        return bool(folders)

    def _has_finder(self, folder: str) -> bool:
        """Whether an editable installation in a folder finds modules elsewhere."""
        return any(name.startswith(("__editable__", "_editable_")) or name.endswith(".egg-link") for name in self.names(folder))

    def wheels(self, site: str) -> dict[str, list[str]]:
        """Versions of NVIDIA's distributions in a folder by normalised name, from the names of their metadata."""
        if site not in self._wheels:
            found: dict[str, list[str]] = {}
            for entry in sorted(self.names(site)):
                if entry.startswith(("nvidia_", "nvidia-")) and entry.endswith(".dist-info"):
                    name, _, version = entry[: -len(".dist-info")].rpartition("-")
                    found.setdefault(name.replace("_", "-").lower(), []).append(version)
            self._wheels[site] = found
        return self._wheels[site]

    def folders(self) -> list[tuple[str, str]]:
        """Every folder that may have CUDA libraries, and its owner."""
        if self._folders is None:
            self._folders = [
                *self._wheel_folders(),
                *self._conda_folders(),
                *self._toolkit_folders(),
                *((folder, "system") for folder in SYSTEM),
            ][:MOST_PLACES]
        return self._folders

    def _wheel_folders(self) -> list[tuple[str, str]]:
        return [
            (f"{site}/nvidia/{part}/lib", "wheel")
            for site in self.path
            for part in sorted(self.names(f"{site}/nvidia"))
            if self.names(f"{site}/nvidia/{part}/lib")
        ]

    def _conda_folders(self) -> list[tuple[str, str]]:
        return [(f"{prefix}/lib", "conda") for prefix in dict.fromkeys(self._prefixes) if self.exists(f"{prefix}/conda-meta")]

    def _toolkit_folders(self) -> list[tuple[str, str]]:
        libs = ("lib64", "lib", f"targets/{os.uname().machine}-linux/lib", "extras/CUPTI/lib64")
        homes = [f"{place}/{name}" for place in TOOLKITS for name in sorted(self.names(place)) if name.startswith("cuda")]
        return [(f"{home}/{lib}", "toolkit") for home in homes for lib in libs if self.exists(f"{home}/{lib}")]

    def elsewhere(self, wanted: str, besides: str) -> list[tuple[str, str]]:
        """The files named like `wanted` apart from the version at the end, each once with its folder's owner; without the file `besides`."""
        if self._files is None:
            self._files = self._libraries_by_component()
        seen = {self.real(besides)} if besides else set()
        found = []
        for path, kind in self._files.get(wanted.partition(".so")[0], ()):
            real = self.real(path)
            if real not in seen:
                seen.add(real)
                found.append((path, kind))
        return sorted(found, key=lambda file: file[0].rpartition("/")[2] != wanted)

    def _libraries_by_component(self) -> dict[str, list[tuple[str, str]]]:
        index: dict[str, list[tuple[str, str]]] = {}
        for folder, kind in self.folders():
            for name in self.names(folder):
                if name.startswith(("libcu", "libnv", "libnccl")):
                    stem, dot, suffix = name.partition(".so.")
                    if dot and suffix and component(name) is not None:
                        index.setdefault(stem, []).append((f"{folder}/{name}", kind))
        for files in index.values():
            files.sort(key=lambda file: (file[0].rpartition("/")[0], len(file[0])))
        return index

    def owners(self, path: str, component: str) -> list[str]:
        """The distribution that owns a file, or those that may; "conda", "toolkit", "driver" or "system"; empty if unknown."""
        owner = "driver" if component == "cuda" else self._place_owner(path)
        return self._wheels_of_file(path, component)[1] or ([owner] if owner else [])

    def owners_by_record(self, path: str) -> list[str]:
        """The distributions whose RECORD lists a file of a package; it is read of all in that folder, so only for a file that is damaged."""
        for site in self.path:
            inside = path[len(site) + 1 :] if path.startswith(f"{site}/") else ""
            infos = [entry for entry in self.names(site) if entry.endswith(".dist-info")] if inside else []
            owning = [entry for entry in infos if f"\n{inside}," in f"\n{self.text(f'{site}/{entry}/RECORD', _RECORD_BYTES)}"]
            if owning:
                return [entry.partition("-")[0].replace("_", "-").replace(".", "-").lower() for entry in sorted(owning)]
        return []

    def _place_owner(self, path: str) -> str:
        if any(path.startswith(f"{prefix}/lib/") and self.exists(f"{prefix}/conda-meta") for prefix in self._prefixes):
            return "conda"
        if any(path.startswith(f"{place}/cuda") for place in TOOLKITS):
            return "toolkit"
        return "system" if path.startswith(("/usr/", "/lib")) else ""

    def _wheels_of_file(self, path: str, component: str) -> tuple[str, list[str]]:
        """The installed wheels that install such a file there, and the folder with their metadata.

        Several if those of two CUDA versions share a folder and RECORD does not decide.
        """
        plain = os.path.normpath(path)
        for site in self.path:
            if plain.startswith(f"{site}/nvidia/"):
                part = plain[len(site) + 8 :].partition("/")[0]
                stem = f"nvidia-{WHEELS.get(component, component)}"
                installed = self.wheels(site)
                if part.startswith("cu") and part[2:].isdecimal():
                    return site, [name for name in (stem, f"{stem}-{part}") if name in installed][:1]
                named = [name for name in installed if name.startswith(f"{stem}-cu") and name[len(stem) + 3 :].isdecimal()]
                return site, named if len(named) < 2 else self._wheels_with_file(site, plain, sorted(named))
        return "", []

    def _wheels_with_file(self, site: str, path: str, named: list[str]) -> list[str]:
        """The wheels whose RECORD has the file with its present size: of two that share a folder, the one installed last."""
        return [name for name in named if self._versions_with_file(site, name, path)] or named

    def _versions_with_file(self, site: str, name: str, path: str) -> list[str]:
        """The versions of a wheel whose RECORD has the file with its present size: an older one's metadata may remain."""
        try:
            size = str(os.stat(self._place(path)).st_size)
        except OSError:
            return []
        inside = os.path.normpath(path)[len(site) + 1 :]
        return [version for version in self.wheels(site)[name] if self._recorded_size(site, name, version, inside) == size]

    def _recorded_size(self, site: str, name: str, version: str, inside: str) -> str:
        """The size of a file in a wheel's RECORD; empty if it has none."""
        text = self.text(f"{site}/{name.replace('-', '_')}-{version}.dist-info/RECORD")
        line = text.partition(f"\n{inside},")[2] or (text[len(inside) + 1 :] if text.startswith(f"{inside},") else "")
        return line.partition("\n")[0].rpartition(",")[2].strip()

    def _version_from_metadata(self, site: str, name: str, path: str) -> tuple[str, str] | str:
        versions = self.wheels(site)[name]
        left = versions if len(versions) == 1 else self._versions_with_file(site, name, path)
        return (left[0], f"the metadata of {name}") if len(left) == 1 else f"metadata of {name} {' and '.join(versions)} is installed"

    def version(self, path: str, component: str, soname: str) -> tuple[str, str] | str:
        """The version and where it is stated; otherwise why it is unknown. A header beside the file outranks metadata, which two wheels may share."""
        if component in HEADERS:
            header, words = HEADERS[component]
            base = os.path.normpath(os.path.dirname(path))
            for folder in (f"{os.path.dirname(base)}/include", "/usr/include", f"/usr/include/{os.uname().machine}-linux-gnu"):
                if folder.startswith("/usr/include") and not path.startswith(("/usr/lib", "/lib")):
                    break
                numbers = defined(self.text(f"{folder}/{header}", _HEADER_BYTES), words)
                if numbers:
                    return numbers, f"{folder}/{header}"
        site, named = self._wheels_of_file(path, component)
        if len(named) == 1:
            return self._version_from_metadata(site, named[0], path)
        if named:
            return f"{' and '.join(named)} share a folder"
        real = self.real(path)
        numbers = real.rpartition("/")[2].partition(".so.")[2]
        if numbers.count(".") > 0:
            return numbers, "the file's name"
        if any(real.startswith(f"{place}/cuda-") for place in TOOLKITS) and component in {"libdevice", "ptxas"}:
            home = "/".join(
                real.split("/")[: 1 + real.split("/").index(next(part for part in real.split("/") if part.startswith("cuda-")))]
            )
            return home.rpartition("cuda-")[2], f"the name of {home}"
        return (soname.partition(".so.")[2], "the soname") if ".so." in soname else "neither metadata nor its name states it"


def _is_text(data: bytes) -> bool:
    """Whether the beginning of a Python file is UTF-8, or of the encoding that it names; a letter may be cut off."""
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return error.start > len(data) - 4 or b"coding" in data
    return True


def _is_suspect(status: os.stat_result, installed: float) -> bool:
    """Whether a file may be filled with zeros: it takes no room on disk, or was changed after its package was installed."""
    takes_none = status.st_blocks <= _ONE_BLOCK and status.st_size > _HEAD_BYTES
    return takes_none or status.st_ctime > installed + _INSTALLATION_SECONDS


def defined(text: str, words: tuple[str, ...]) -> str:
    """The numbers that a header defines under `words`, joined by dots; empty if one is missing."""
    found = []
    for word in words:
        after = text.partition(f"#define {word} ")[2].split(None, 1)
        if not after or not after[0].isdecimal():
            return ""
        found.append(after[0])
    return ".".join(found)
