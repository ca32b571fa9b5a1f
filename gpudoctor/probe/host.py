"""The operating system, the kind of machine, and the user who runs the check."""

from __future__ import annotations

import os
from collections.abc import Mapping

from gpudoctor.probe import files
from gpudoctor.snapshot import NOT_ASKED, Cause, Host, Missing, Platform

TEGRA_RELEASE = "/etc/nv_tegra_release"
MODEL_FILES = ("/proc/device-tree/model", "/sys/firmware/devicetree/base/model")


def host(root: str, environ: Mapping[str, str], *, identify: bool) -> Host:
    """The host as the tree `root` shows it; host and user names only with `identify`."""
    kernel = _word_of_file(root, "/proc/sys/kernel/osrelease", os.uname().release)
    release = _os_release(root)
    return Host(
        platform=_host_platform(root, kernel),
        architecture=_word_of_file(root, "/proc/sys/kernel/arch", os.uname().machine),  # a file since Linux 6.1
        kernel=kernel,
        distribution=_field_of_release(release, "ID"),
        distribution_version=_field_of_release(release, "VERSION_ID"),
        distribution_like=_field_of_release(release, "ID_LIKE"),
        uid=os.geteuid(),
        gids=tuple(sorted({os.getegid(), *os.getgroups()})),
        hostname=_word_of_file(root, "/proc/sys/kernel/hostname", os.uname().nodename) if identify else NOT_ASKED,
        username=username(root, environ) if identify else NOT_ASKED,
        tegra=_tegra_release(root),
    )


def _tegra_release(root: str) -> str | Missing:
    """From "# R36 (release), REVISION: 4.3, ..."."""
    text = files.read_text(TEGRA_RELEASE, root, 1024)
    if isinstance(text, Missing):
        return text
    major, revision = text.partition("# R")[2].split(" ", 1)[0], text.partition("REVISION:")[2].partition(",")[0].strip()
    said = f"{major}.{revision}"
    return said if said.replace(".", "").isdecimal() else Missing(Cause.FAILED, f"{TEGRA_RELEASE} contains {text[:60]!r}")


def _word_of_file(root: str, path: str, live: str) -> str | Missing:
    """The content of a one-word file, or the running kernel's answer if the tree is the running machine's."""
    word = files.read_word(path, root)
    return live if isinstance(word, Missing) and files.is_live(root) else word


def _host_platform(root: str, kernel: str | Missing) -> Platform:
    """WSL is named in the kernel's release; version 1 emulates 4.4.0 and has no kernel of its own, which version 2 calls standard."""
    release = kernel.lower() if isinstance(kernel, str) else ""
    if "microsoft" in release:
        return Platform.WSL2 if "microsoft-standard" in release or "wsl2" in release else Platform.WSL1
    if files.exists("/dev/dxg", root) and files.is_folder("/usr/lib/wsl/lib", root):
        return Platform.WSL2  # with a kernel that the user built
    if files.exists(TEGRA_RELEASE, root):
        return Platform.JETSON
    for path in MODEL_FILES:
        model = files.text_or_empty(path, root, 4096).lower()
        if "jetson" in model or "tegra" in model:
            return Platform.JETSON
    return Platform.LINUX


def _os_release(root: str) -> dict[str, str] | Missing:
    """os-release(5) from the first of its two places."""
    text = files.read_text("/etc/os-release", root)
    if isinstance(text, Missing):
        text = files.text_or_empty("/usr/lib/os-release", root) or text
    if isinstance(text, Missing):
        return text
    pairs = (line.partition("=") for line in text.splitlines() if "=" in line and not line.startswith("#"))
    return {key.strip(): value.strip().strip("\"'") for key, _, value in pairs}


def _field_of_release(release: dict[str, str] | Missing, key: str) -> str | Missing:
    if isinstance(release, Missing):
        return release
    return release.get(key) or Missing(Cause.ABSENT, f"os-release has no {key}")


def names_by_id(root: str, table: str) -> dict[int, str]:
    """Names by number from /etc/passwd or /etc/group; the C library's look-up could wait for a directory server."""
    rows = [line.split(":") for line in files.lines_or_empty(f"/etc/{table}", root, 1 << 20)]
    return {int(row[2]): row[0] for row in reversed(rows) if len(row) > 3 and row[2].isascii() and row[2].isdecimal() and len(row[2]) < 12}


def username(root: str, environ: Mapping[str, str]) -> str | Missing:
    """The examining user's name."""
    found = names_by_id(root, "passwd").get(os.geteuid()) or environ.get("USER") or environ.get("LOGNAME")
    return found or Missing(Cause.ABSENT, f"neither /etc/passwd nor the environment has a name for user {os.geteuid()}")
