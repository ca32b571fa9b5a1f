"""The distribution's GPU-related packages, from the package manager's own files: running the manager takes seconds."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from importlib import import_module

from gpudoctor.probe import files
from gpudoctor.snapshot import Cause, Missing, SystemPackage, SystemPackages, printable_text

DPKG_STATUS = "/var/lib/dpkg/status"
RPM_DATABASES = ("/usr/lib/sysimage/rpm/rpmdb.sqlite", "/var/lib/rpm/rpmdb.sqlite")
UNREADABLE_RPM_DATABASES = ("/var/lib/rpm/Packages", "/usr/lib/sysimage/rpm/Packages.db", "/var/lib/rpm/Packages.db")
"""Databases of older releases and of SUSE's, in other formats."""
PACMAN_FOLDER = "/var/lib/pacman/local"
NAME_PREFIXES = ("lib", "xserver-xorg-video-", "linux-modules-", "linux-objects-", "kmod-", "akmod-", "dkms-", "xorg-x11-drv-")
"""What may precede the names of `NAME_BEGINNINGS`."""
NAME_BEGINNINGS = (
    "nvidia", "nvml", "cuda", "cudnn", "cudart", "cublas", "cufft", "curand", "cusolver", "cusparse", "nccl", "nvjitlink", "nvrtc", "nvinfer",
    "tensorrt", "datacenter-gpu-manager",
)  # fmt: skip
"""How the names of the driver's and CUDA's packages begin."""
OTHER_PACKAGES = frozenset((
    "docker", "docker-ce", "docker.io", "docker-engine", "moby-engine", "podman", "containerd", "containerd.io", "cri-o", "dkms", "gcc",
    "clang", "python3-dev", "python3-devel", "libc6", "glibc",
))  # fmt: skip
"""Names of compilers, headers and container tools."""
_RELEVANT_BEGINNINGS = (*NAME_BEGINNINGS, *(f"{prefix}{beginning}" for prefix in NAME_PREFIXES for beginning in NAME_BEGINNINGS))
MAX_PACKAGES = 400
MAX_BYTES = 64 << 20
"""Bytes of dpkg's file; a machine with everything installed has eight million."""


def system_packages(root: str) -> SystemPackages | Missing:
    """The packages of the first manager whose files exist."""
    if files.exists(DPKG_STATUS, root):
        return _package_section("dpkg", DPKG_STATUS, dpkg_packages(root))
    for path in RPM_DATABASES:
        if files.exists(path, root):
            return _package_section("rpm", path, _rpm_packages(files.path_in_tree(root, path)))
    for path in UNREADABLE_RPM_DATABASES:
        if files.exists(path, root):
            return SystemPackages("rpm", path, Missing(Cause.UNSUPPORTED, f"{path} is in a format that only rpm itself reads"))
    names = files.list_folder(PACMAN_FOLDER, root)
    if isinstance(names, Missing):
        return Missing(Cause.ABSENT, f"none of {DPKG_STATUS}, {RPM_DATABASES[0]}, {PACMAN_FOLDER} exists")
    split = (name.rsplit("-", 2) for name in names if name.count("-") > 1)
    return _package_section("pacman", PACMAN_FOLDER, ((name, f"{version}-{release}") for name, version, release in split))


def _is_gpu_related(name: str) -> bool:
    return name.startswith(_RELEVANT_BEGINNINGS) or name in OTHER_PACKAGES


def _package_section(manager: str, where: str, found: Iterator[tuple[str, str]] | Missing) -> SystemPackages:
    if isinstance(found, Missing):
        return SystemPackages(manager, where, found)
    try:
        kept = sorted({(name, version) for name, version in found if _is_gpu_related(name)})
    except (OSError, struct.error, LookupError, ValueError) as error:
        return SystemPackages(manager, where, Missing(Cause.FAILED, f"{where}: {error}"))
    return SystemPackages(
        manager, where, tuple(SystemPackage(printable_text(name), printable_text(version)[:80]) for name, version in kept[:MAX_PACKAGES])
    )


def dpkg_packages(root: str) -> Iterator[tuple[str, str]] | Missing:
    """Name and version of each installed package that concerns GPUs."""
    content = files.read_bytes(DPKG_STATUS, root, MAX_BYTES)
    return content if isinstance(content, Missing) else _gpu_stanzas(b"\n" + content)


def _gpu_stanzas(content: bytes) -> Iterator[tuple[str, str]]:
    """The same; only the wanted stanzas of thousands are split into lines."""
    for stanza in content.split(_PACKAGE_LINE)[1:]:
        name = stanza[: stanza.find(b"\n")].decode("ascii", "backslashreplace")
        if _is_gpu_related(name):
            lines = stanza.partition(b"\n\n")[0].decode("utf-8", "backslashreplace").splitlines()
            rows = dict(line.split(": ", 1) for line in lines if ": " in line and not line.startswith(" "))
            if rows.get("Status", "").endswith(" installed") and "Version" in rows:
                yield name, rows["Version"]


_PACKAGE_LINE = b"\nPackage: "


# rpm's header: two counts, the index (tag, type, offset, count), the data (rpm-pkg-format.md of rpm's own documentation)
_VERSION_TAG, _RELEASE_TAG, _EPOCH_TAG = 1001, 1002, 1003
_ENTRY_BYTES = 16


def _rpm_packages(path: str) -> Iterator[tuple[str, str]]:
    """Read only wanted headers, through the index of names. The database is opened as immutable: no lock is taken."""
    try:
        sqlite3 = import_module("sqlite3")  # 1.5 ms, and only RPM's database needs it
    except ImportError:
        raise ValueError("this Python was built without SQLite") from None
    quoted = path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    connection = sqlite3.connect(f"file:{quoted}?mode=ro&immutable=1", uri=True, timeout=0)
    try:
        for name, number in connection.execute("SELECT key, hnum FROM Name").fetchall():
            if isinstance(name, str) and _is_gpu_related(name):
                for (blob,) in connection.execute("SELECT blob FROM Packages WHERE hnum = ?", (number,)):
                    yield name, _rpm_version(blob)
    except sqlite3.Error as error:
        raise ValueError(str(error)) from None
    finally:
        connection.close()


def _rpm_version(blob: bytes) -> str:
    """Epoch, version and release from a package's header, as `rpm -q` writes them. Raises struct.error, IndexError or ValueError if damaged."""
    entries, _ = struct.unpack_from(">II", blob)
    data = 8 + entries * _ENTRY_BYTES
    found: dict[int, str] = {}
    for number in range(min(entries, 4096)):
        tag, _, offset, _ = struct.unpack_from(">IIII", blob, 8 + number * _ENTRY_BYTES)
        if tag in {_VERSION_TAG, _RELEASE_TAG}:
            start = data + offset
            found[tag] = blob[start : blob.index(b"\0", start)].decode("utf-8", "backslashreplace")
        elif tag == _EPOCH_TAG:
            found[tag] = str(struct.unpack_from(">I", blob, data + offset)[0])
    epoch = f"{found[_EPOCH_TAG]}:" if _EPOCH_TAG in found else ""
    return f"{epoch}{found[_VERSION_TAG]}-{found[_RELEASE_TAG]}" if _VERSION_TAG in found and _RELEASE_TAG in found else ""
