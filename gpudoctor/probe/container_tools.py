"""What a host has to give containers a GPU: engines, the NVIDIA Container Toolkit, Docker's runtimes, CDI specifications."""

from __future__ import annotations

import os
import re

import msgspec

from gpudoctor.probe import files
from gpudoctor.probe.driver_files import STEMS
from gpudoctor.snapshot import Cause, CdiSpec, ContainerTools, Missing, readable

FOLDERS = ("/usr/bin", "/usr/local/bin", "/usr/sbin", "/usr/local/nvidia/toolkit", "/snap/bin")
ENGINES = {"dockerd": "docker", "podman": "podman", "containerd": "containerd"}
TOOLKIT = ("nvidia-ctk", "nvidia-container-runtime", "nvidia-container-cli")
SPECS = ("/etc/cdi", "/var/run/cdi")
DAEMON = "/etc/docker/daemon.json"


def container_tools(root: str) -> ContainerTools | Missing:
    """The section; absent where there is no engine."""
    engines = [engine for program, engine in ENGINES.items() if _programs(root, (program,))]
    if not engines:
        return Missing(Cause.ABSENT, f"none of {', '.join(ENGINES)} is in {', '.join(FOLDERS)}")
    return ContainerTools(tuple(engines), tuple(_programs(root, TOOLKIT)), _runtime(root), _specs(root))


def _programs(root: str, names: tuple[str, ...]) -> list[str]:
    paths = (f"{folder}/{name}" for folder in FOLDERS for name in names)
    return [path for path in paths if os.path.exists(files.under(root, path))]


def _runtime(root: str) -> bool | Missing:
    text = files.read(files.under(root, DAEMON))
    if isinstance(text, Missing):
        return text
    try:
        whole = msgspec.json.decode(text)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        return Missing(Cause.FAILED, f"{DAEMON}: {error}")
    runtimes = whole.get("runtimes") if isinstance(whole, dict) else None
    return isinstance(runtimes, dict) and any("nvidia" in name for name in runtimes)


def _specs(root: str) -> tuple[CdiSpec, ...]:
    """The specifications of NVIDIA devices; YAML or JSON, in which only two things are looked for."""
    found = []
    for folder in SPECS:
        inside = files.names(files.under(root, folder))
        for name in () if isinstance(inside, Missing) else inside:
            text = files.read(files.under(root, f"{folder}/{name}")) if name.endswith((".yaml", ".yml", ".json")) else ""
            spec = _spec(readable(f"{folder}/{name}"), text)
            if text and (isinstance(spec.kind, Missing) or spec.kind.startswith("nvidia.com/")):
                found.append(spec)
    return tuple(found)


def _spec(path: str, text: str | Missing) -> CdiSpec:
    if isinstance(text, Missing):
        return CdiSpec(path, text, text)
    kind = re.search(r"""["']?kind["']?\s*:\s*["']?([\w./-]+)""", text)
    versions = tuple(dict.fromkeys(re.findall(rf"(?:{'|'.join(map(re.escape, STEMS))})\.(\d+\.\d+(?:\.\d+)?)", text)))
    return CdiSpec(path, kind.group(1) if kind else Missing(Cause.ABSENT, "it names no kind"), versions)
