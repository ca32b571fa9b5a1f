"""What a host needs to give containers a GPU: engines, the NVIDIA Container Toolkit, Docker's runtimes, CDI specifications."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from gpudoctor.probe import files
from gpudoctor.probe.driver_files import STEMS
from gpudoctor.snapshot import Cause, CdiSpec, ContainerTools, Fact, Missing, readable

FOLDERS = ("/usr/bin", "/usr/local/bin", "/usr/sbin", "/usr/local/nvidia/toolkit", "/snap/bin")
ENGINES = {"dockerd": "docker", "podman": "podman", "containerd": "containerd"}
TOOLKIT = ("nvidia-ctk", "nvidia-container-runtime", "nvidia-container-cli")
SPECS = ("/etc/cdi", "/var/run/cdi")
DAEMON = "/etc/docker/daemon.json"
ASKING = (
    ("/etc/nvidia-container-runtime/config.toml", r"""^\s*mode\s*=\s*["']cdi["']""", "the NVIDIA runtime's mode is cdi"),
    ("/etc/containerd/config.toml", r"^\s*enable_cdi\s*=\s*true", "enable_cdi is true"),
    ("/etc/containers/containers.conf", r"^[^#\n]*\bnvidia\.com/gpu=", "every container gets nvidia.com/gpu"),
)
"""Files that make containers get their GPUs by CDI, the setting, and what it means."""
QUADLETS = "/etc/containers/systemd"
_QUADLET = r"(?m)^\s*AddDevice\s*=\s*nvidia\.com/gpu="
MOST_QUADLETS = 64
FIELDS = (
    ("1.1.0", r"netDevices|schemata|enableMonitoring"),
    ("0.7.0", r"additionalGids|additionalGIDs|intelRdt"),
    ("0.6.0", r"annotations"),
    ("0.5.0", r"hostPath:\s*[\"']?/dev/"),
)
"""The fields that each version of the specification added, newest first (SPEC.md of the CDI project, "Released versions")."""


def container_tools(root: str) -> ContainerTools | Missing:
    """The section; absent without a container engine."""
    engines = [engine for program, engine in ENGINES.items() if _programs(root, (program,))]
    if not engines:
        return Missing(Cause.ABSENT, f"none of {', '.join(ENGINES)} is in {', '.join(FOLDERS)}")
    daemon = _daemon(root)
    return ContainerTools(
        engines=tuple(engines),
        toolkit=tuple(_programs(root, TOOLKIT)),
        runtime=_runtime(daemon),
        cdi=_specs(root),
        cdi_asked_by=tuple(_asking(root, daemon)),
    )


def _programs(root: str, names: tuple[str, ...]) -> list[str]:
    paths = (f"{folder}/{name}" for folder in FOLDERS for name in names)
    return [path for path in paths if files.exists(path, root)]


def _daemon(root: str) -> dict[str, Any] | Missing:
    text = files.read(DAEMON, root)
    if isinstance(text, Missing):
        return text
    try:
        whole = msgspec.json.decode(text)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        return Missing(Cause.FAILED, f"{DAEMON}: {error}")
    return whole if isinstance(whole, dict) else {}


def _runtime(daemon: dict[str, Any] | Missing) -> bool | Missing:
    if isinstance(daemon, Missing):
        return daemon
    runtimes = daemon.get("runtimes")
    return isinstance(runtimes, dict) and any("nvidia" in name for name in runtimes)


def _asking(root: str, daemon: dict[str, Any] | Missing) -> Iterator[Fact]:
    """The settings that make an engine use CDI for GPUs; support for CDI alone is not enough."""
    features = None if isinstance(daemon, Missing) else daemon.get("features")
    if isinstance(features, dict) and features.get("cdi") is True:
        yield Fact("the feature cdi is on", DAEMON)
    for path, pattern, meaning in ASKING:
        if re.search(pattern, files.text(path, root), re.MULTILINE):
            yield Fact(meaning, path)
    for name in files.entries(QUADLETS, root)[:MOST_QUADLETS]:
        if name.endswith(".container") and re.search(_QUADLET, files.text(f"{QUADLETS}/{name}", root)):
            yield Fact("AddDevice names nvidia.com/gpu", readable(f"{QUADLETS}/{name}"))


def _specs(root: str) -> tuple[CdiSpec, ...]:
    """The specifications of NVIDIA devices, in YAML or JSON; only a few fields are read."""
    found = []
    for folder in SPECS:
        for name in files.entries(folder, root):
            text = files.read(f"{folder}/{name}", root) if name.endswith((".yaml", ".yml", ".json")) else ""
            spec = _spec(readable(f"{folder}/{name}"), text)
            if text and (isinstance(spec.kind, Missing) or spec.kind.startswith("nvidia.com/")):
                found.append(spec)
    return tuple(found)


def _spec(path: str, text: str | Missing) -> CdiSpec:
    if isinstance(text, Missing):
        return CdiSpec(path, text, text)
    kind = re.search(r"""["']?kind["']?\s*:\s*["']?([\w./-]+)""", text)
    versions = tuple(dict.fromkeys(re.findall(rf"(?:{'|'.join(map(re.escape, STEMS))})\.(\d+\.\d+(?:\.\d+)?)", text)))
    declared = re.search(r"""["']?cdiVersion["']?\s*:\s*["']?(\d+\.\d+\.\d+)""", text)
    return CdiSpec(
        path=path,
        kind=kind.group(1) if kind else Missing(Cause.ABSENT, "no field kind"),
        versions=versions,
        declares=declared.group(1) if declared else Missing(Cause.ABSENT, "no field cdiVersion"),
        needs=next((version for version, field in FIELDS if re.search(rf"""^[\s{{-]*["']?(?:{field})""", text, re.MULTILINE)), "0.3.0"),
    )
