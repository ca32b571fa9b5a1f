"""Where CUDA libraries are on disk, on the loader's path or not, their owners and their versions, without loading any."""

from __future__ import annotations

import os

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


class Disk:
    """The folders below a root that may have CUDA libraries; each is listed once."""

    def __init__(self, system: FileTree, path: tuple[str, ...], prefixes: tuple[str, ...]) -> None:
        """`path` is the target's sys.path, `prefixes` are its own and conda's."""
        self._place = system.place
        self.real = system.real
        self.path = tuple(folder.rstrip("/") for folder in path if folder.startswith("/"))
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

    def sizes(self, folder: str) -> dict[str, int] | None:
        """The sizes of the modules in a folder by name, DANGLING for a link to nothing, and 0 for everything else there, which takes no time.

        Empty if there is no such folder, None if it cannot be read.
        """
        try:
            with os.scandir(self._place(folder)) as entries:
                return {entry.name: _size_of_entry(entry) if entry.name.endswith(MODULES) else 0 for entry in entries}
        except (FileNotFoundError, NotADirectoryError):
            return {}
        except (OSError, ValueError):
            return None

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


def _size_of_entry(entry: os.DirEntry[str]) -> int:
    try:
        return entry.stat().st_size
    except OSError:
        return DANGLING


def defined(text: str, words: tuple[str, ...]) -> str:
    """The numbers that a header defines under `words`, joined by dots; empty if one is missing."""
    found = []
    for word in words:
        after = text.partition(f"#define {word} ")[2].split(None, 1)
        if not after or not after[0].isdecimal():
            return ""
        found.append(after[0])
    return ".".join(found)
