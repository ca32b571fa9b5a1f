"""NVIDIA's real driver libraries, from Debian's non-free packages: downloaded and unpacked, never installed, and run without a kernel driver.

The archive is the one in this machine's apt configuration; /etc is only read.
"""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.seams.build import SeamUnavailable, locked, preloaded

CONTROL_NODE = Path("/dev/nvidiactl")
KEY_OPTION = re.compile(r"\[([^]]*)\]")


@dataclass(frozen=True)
class Branch:
    """A driver branch: the Debian release that carries it, and its packages for NVML, libcuda and nvidia-smi."""

    release: str
    packages: tuple[str, str, str]


CURRENT: Final = ("libnvidia-ml1", "libcuda1", "nvidia-smi")
BRANCHES: Final[Mapping[str, Branch]] = {
    "470": Branch("bookworm", ("libnvidia-tesla-470-ml1", "libnvidia-tesla-470-cuda1", "nvidia-tesla-470-smi")),
    "535": Branch("bookworm", CURRENT),
    "550": Branch("trixie", CURRENT),
}


def without_mknod(command: Sequence[str]) -> list[str]:
    """The command, unable to create device nodes: as root, NVIDIA's libraries would create /dev/nvidiactl even without a driver."""
    if os.geteuid() != 0:
        return list(command)
    if not shutil.which("setpriv"):
        msg = "needs setpriv (util-linux) to keep /dev/nvidiactl from being created"
        raise SeamUnavailable(msg)
    return ["setpriv", "--bounding-set=-mknod", "--inh-caps=-mknod", *command]


@dataclass(frozen=True)
class DriverLibraries:
    """One branch's libnvidia-ml.so.1 and libcuda.so.1 in `directory`, and its nvidia-smi."""

    branch: str
    version: str
    directory: Path
    smi: Path

    def environ(self, *, base: Mapping[str, str] | None = None, kernel_driver: str | None = None) -> dict[str, str]:
        """A whole environment in which a child loads them; with `kernel_driver`, that version of the kernel module answers (see mismatch.c)."""
        environment = dict(os.environ if base is None else base)
        environment["LD_LIBRARY_PATH"] = ":".join(filter(None, [str(self.directory), environment.get("LD_LIBRARY_PATH")]))
        if kernel_driver is not None:
            environment |= preloaded("mismatch.c", environment) | {"FAKE_KERNEL_DRIVER": kernel_driver}
        return environment


def _one_line_sources(text: str) -> Iterator[tuple[str, str, str]]:
    for line in text.splitlines():
        options = KEY_OPTION.search(line)
        words = KEY_OPTION.sub("", line).split("#")[0].split()
        if len(words) > 3 and words[0] == "deb":
            signed = re.search(r"signed-by=(\S+)", options.group(1)) if options else None
            yield words[1], words[2], signed.group(1) if signed else ""


def _stanza_sources(text: str) -> Iterator[tuple[str, str, str]]:
    for stanza in re.split(r"\n\s*\n", re.sub(r"(?m)^#.*\n?", "", text)):
        fields = {name.lower(): value.split() for name, value in re.findall(r"(?m)^(\S+):[ \t]*(.*)$", stanza)}
        if "deb" in fields.get("types", ()) and "no" not in fields.get("enabled", ()):
            for uri in fields.get("uris", ()):
                yield from ((uri, suite, " ".join(fields.get("signed-by", ()))) for suite in fields.get("suites", ()))


def _machine_release() -> str:
    try:
        text = Path("/etc/os-release").read_text()
    except OSError:
        text = ""
    system = dict(re.findall(r'(?m)^(\w+)="?([^"\n]*)"?$', text))
    if system.get("ID") != "debian" or not shutil.which("apt-get"):
        msg = "needs Debian's package archive: this is no Debian"
        raise SeamUnavailable(msg)
    return str(system["VERSION_CODENAME"])


def sources_for(release: str, configuration: Path = Path("/etc/apt")) -> str:
    """The machine's own Debian sources, as stanzas for `release` and non-free only."""
    own, stanzas = _machine_release(), []
    files = [configuration / "sources.list", *sorted((configuration / "sources.list.d").glob("*"))]
    for file in files:
        if file.suffix not in {".list", ".sources"} or not file.exists():
            continue
        text = file.read_text()
        for uri, suite, key in _stanza_sources(text) if file.suffix == ".sources" else _one_line_sources(text):
            if suite == own or suite.startswith(f"{own}-"):
                stanza = f"Types: deb\nURIs: {uri}\nSuites: {release}{suite.removeprefix(own)}\nComponents: non-free\n"
                stanzas.append(stanza + (f"Signed-By: {key}\n" if key else ""))
    if not stanzas:
        msg = f"needs Debian's package archive: no source for {own} in {configuration}"
        raise SeamUnavailable(msg)
    return "\n".join(stanzas)


def _apt(work: Path, *arguments: str) -> None:
    settings = {
        "Dir::Etc::SourceList": "/dev/null", "Dir::Etc::SourceParts": work / "sources", "Dir::Etc::Preferences": "/dev/null",
        "Dir::Etc::PreferencesParts": "/dev/null", "Dir::State": work / "state", "Dir::State::status": "/dev/null", "Dir::Cache": work / "cache",
        "APT::Sandbox::User": "root", "Acquire::Languages": "none", "Acquire::Retries": "2", "Acquire::http::Timeout": "30",
    }  # fmt: skip
    command = ["apt-get", "-q", *(word for key, value in settings.items() for word in ("-o", f"{key}={value}")), *arguments]
    try:
        done = subprocess.run(command, cwd=work, capture_output=True, text=True, timeout=240, check=False)
    except subprocess.TimeoutExpired:
        done = subprocess.CompletedProcess(command, 1, "", "no answer within 240 s")
    if done.returncode:
        reason = (done.stderr.strip() or done.stdout.strip()).splitlines()[-1:]
        msg = f"needs Debian's package archive: apt-get {arguments[0]}: {''.join(reason)}"
        raise SeamUnavailable(msg)


def _download(branch: Branch, target: Path) -> None:
    """Unpack the branch's packages as `target`, in one rename."""
    work = target.with_name(f"{target.name}.unfinished")
    shutil.rmtree(work, ignore_errors=True)
    for folder in ("sources", "state/lists/partial", "cache/archives/partial", "tree"):
        (work / folder).mkdir(parents=True)
    (work / "sources" / "debian.sources").write_text(sources_for(branch.release))
    _apt(work, "update", "--error-on=any")
    _apt(work, "download", *branch.packages)
    for package in work.glob("*.deb"):
        subprocess.run(["dpkg-deb", "-x", package, work / "tree"], check=True)
    (work / "tree").rename(target)
    shutil.rmtree(work)


@functools.cache
def driver_libraries(name: str) -> DriverLibraries:
    """The libraries of that branch (a key of BRANCHES), from the cache or Debian's archive. Raises SeamUnavailable if it is unreachable."""
    with locked(f"debian-{name}") as cache:
        tree = cache / "debian" / name
        if not tree.exists():
            tree.parent.mkdir(parents=True, exist_ok=True)
            _download(BRANCHES[name], tree)
    found = sorted(tree.glob(f"usr/lib/*/nvidia/*/libnvidia-ml.so.{name}.*"))
    smi = sorted(tree.glob("usr/lib/nvidia/*/nvidia-smi"))
    if not found or not smi:
        msg = f"Debian's {BRANCHES[name].packages[0]} is no longer of branch {name}; remove {tree} and adapt BRANCHES"
        raise RuntimeError(msg)
    return DriverLibraries(name, found[0].name.removeprefix("libnvidia-ml.so."), found[0].parent, smi[0])
