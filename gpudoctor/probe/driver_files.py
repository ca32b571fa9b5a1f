"""Where the driver's two libraries are: mounted by a runtime, on disk, in the loader's cache."""

from __future__ import annotations

import os

from gpudoctor.probe import files
from gpudoctor.snapshot import Cause, DriverFile, LoaderCache, Missing, printable_text

DRIVER_SONAMES = ("libcuda.so.1", "libnvidia-ml.so.1")
DRIVER_STEMS = ("libcuda.so", "libnvidia-ml.so")
LOADER_CACHE = "/etc/ld.so.cache"
CACHE_MAGICS = ("glibc-ld.so.cache", "ld.so-1.7.0")
"""How the file begins: since glibc 2.32 in the new format alone, before that after the old one."""


def release_in_name(name: str) -> str | Missing:
    """The driver version at the end of a file name: libcuda.so.550.163.01."""
    tail = os.path.basename(name).partition(".so.")[2]
    if "." in tail and tail.replace(".", "").isdecimal():
        return tail
    return Missing(Cause.ABSENT, f"the name {printable_text(os.path.basename(name))} contains no driver version")


def mounted_libraries(mounts: str | Missing) -> tuple[DriverFile, ...] | Missing:
    """The libraries that are mount points of their own in the text of /proc/self/mountinfo (proc_pid_mountinfo(5))."""
    if isinstance(mounts, Missing):
        return mounts
    found = []
    for line in mounts.splitlines():
        fields = line.split(" ", 5)
        if len(fields) > 5 and os.path.basename(fields[4]).startswith(DRIVER_STEMS):
            own = release_in_name(fields[4])
            found.append(DriverFile(fields[4], own if isinstance(own, str) else release_in_name(fields[3])))
    return tuple(found)


def cached_libraries(root: str) -> LoaderCache | Missing:
    """The loader cache's entries for them: whole paths that end with the name asked for."""
    text = files.read_text(LOADER_CACHE, root, 8 << 20)
    if isinstance(text, Missing):
        return text
    if not text.startswith(CACHE_MAGICS):
        return Missing(Cause.FAILED, f"{LOADER_CACHE} has an unknown format")
    paths: dict[str, None] = {}
    for name in DRIVER_SONAMES:
        at = text.find(f"/{name}\0")
        while at >= 0:
            paths[text[text.rfind("\0", 0, at) + 1 : at] + f"/{name}"] = None
            at = text.find(f"/{name}\0", at + 1)
    return LoaderCache(tuple(paths))
