"""What a host needs to give containers a GPU: engines, the NVIDIA Container Toolkit, Docker's runtimes, CDI specifications."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from gpudoctor.probe import files
from gpudoctor.probe.driver_files import DRIVER_STEMS
from gpudoctor.snapshot import Cause, CdiSpec, ContainerTools, Fact, Missing, printable_text

PROGRAM_FOLDERS = ("/usr/bin", "/usr/local/bin", "/usr/sbin", "/usr/local/nvidia/toolkit", "/snap/bin")
ENGINE_BY_PROGRAM = {"dockerd": "docker", "podman": "podman", "containerd": "containerd"}
TOOLKIT_PROGRAMS = ("nvidia-ctk", "nvidia-container-runtime", "nvidia-container-cli")
CDI_FOLDERS = ("/etc/cdi", "/var/run/cdi")
DOCKER_CONFIGURATION = "/etc/docker/daemon.json"
CDI_SETTINGS = (
    ("/etc/nvidia-container-runtime/config.toml", r"""^\s*mode\s*=\s*["']cdi["']""", "the NVIDIA runtime's mode is cdi"),
    ("/etc/containerd/config.toml", r"^\s*enable_cdi\s*=\s*true", "enable_cdi is true"),
    ("/etc/containers/containers.conf", r"^[^#\n]*\bnvidia\.com/gpu=", "every container gets nvidia.com/gpu"),
)
"""Files that make containers get their GPUs by CDI, the setting, and what it means."""
QUADLET_FOLDER = "/etc/containers/systemd"
_QUADLET_DEVICE = r"(?m)^\s*AddDevice\s*=\s*nvidia\.com/gpu="
MAX_QUADLETS = 64
CDI_FIELD_VERSIONS = (
    ("1.1.0", r"netDevices|schemata|enableMonitoring"),
    ("0.7.0", r"additionalGids|additionalGIDs|intelRdt"),
    ("0.6.0", r"annotations"),
    ("0.5.0", r"hostPath:\s*[\"']?/dev/"),
)
"""The fields that each version of the specification added, newest first (SPEC.md of the CDI project, "Released versions")."""


def container_tools(root: str) -> ContainerTools | Missing:
    """The section; absent without a container engine."""
    engines = [engine for program, engine in ENGINE_BY_PROGRAM.items() if _installed_programs(root, (program,))]
    if not engines:
        return Missing(Cause.ABSENT, f"none of {', '.join(ENGINE_BY_PROGRAM)} is in {', '.join(PROGRAM_FOLDERS)}")
    daemon = _docker_settings(root)
    return ContainerTools(
        engines=tuple(engines),
        toolkit=tuple(_installed_programs(root, TOOLKIT_PROGRAMS)),
        runtime=_has_nvidia_runtime(daemon),
        cdi=_cdi_specs(root),
        cdi_asked_by=tuple(_cdi_settings(root, daemon)),
    )


def _installed_programs(root: str, names: tuple[str, ...]) -> list[str]:
    paths = (f"{folder}/{name}" for folder in PROGRAM_FOLDERS for name in names)
    return [path for path in paths if files.exists(path, root)]


def _docker_settings(root: str) -> dict[str, Any] | Missing:
    text = files.read_text(DOCKER_CONFIGURATION, root)
    if isinstance(text, Missing):
        return text
    try:
        whole = msgspec.json.decode(text)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        return Missing(Cause.FAILED, f"{DOCKER_CONFIGURATION}: {error}")
    return whole if isinstance(whole, dict) else {}


def _has_nvidia_runtime(daemon: dict[str, Any] | Missing) -> bool | Missing:
    if isinstance(daemon, Missing):
        return daemon
    runtimes = daemon.get("runtimes")
    return isinstance(runtimes, dict) and any("nvidia" in name for name in runtimes)


def _cdi_settings(root: str, daemon: dict[str, Any] | Missing) -> Iterator[Fact]:
    """The settings that make an engine use CDI for GPUs; support for CDI alone is not enough."""
    features = None if isinstance(daemon, Missing) else daemon.get("features")
    if isinstance(features, dict) and features.get("cdi") is True:
        yield Fact("the feature cdi is on", DOCKER_CONFIGURATION)
    for path, pattern, meaning in CDI_SETTINGS:
        if re.search(pattern, files.text_or_empty(path, root), re.MULTILINE):
            yield Fact(meaning, path)
    for name in files.entries_or_empty(QUADLET_FOLDER, root)[:MAX_QUADLETS]:
        if name.endswith(".container") and re.search(_QUADLET_DEVICE, files.text_or_empty(f"{QUADLET_FOLDER}/{name}", root)):
            yield Fact("AddDevice names nvidia.com/gpu", printable_text(f"{QUADLET_FOLDER}/{name}"))


def _cdi_specs(root: str) -> tuple[CdiSpec, ...]:
    """The specifications of NVIDIA devices, in YAML or JSON; only a few fields are read."""
    found = []
    for folder in CDI_FOLDERS:
        for name in files.entries_or_empty(folder, root):
            text = files.read_text(f"{folder}/{name}", root) if name.endswith((".yaml", ".yml", ".json")) else ""
            spec = _cdi_spec(printable_text(f"{folder}/{name}"), text)
            if text and (isinstance(spec.kind, Missing) or spec.kind.startswith("nvidia.com/")):
                found.append(spec)
    return tuple(found)


def _cdi_spec(path: str, text: str | Missing) -> CdiSpec:
    if isinstance(text, Missing):
        return CdiSpec(path, text, text)
    kind = re.search(r"""["']?kind["']?\s*:\s*["']?([\w./-]+)""", text)
    versions = tuple(dict.fromkeys(re.findall(rf"(?:{'|'.join(map(re.escape, DRIVER_STEMS))})\.(\d+\.\d+(?:\.\d+)?)", text)))
    declared = re.search(r"""["']?cdiVersion["']?\s*:\s*["']?(\d+\.\d+\.\d+)""", text)
    return CdiSpec(
        path=path,
        kind=kind.group(1) if kind else Missing(Cause.ABSENT, "no field kind"),
        versions=versions,
        declares=declared.group(1) if declared else Missing(Cause.ABSENT, "no field cdiVersion"),
        needs=next(
            (version for version, field in CDI_FIELD_VERSIONS if re.search(rf"""^[\s{{-]*["']?(?:{field})""", text, re.MULTILINE)), "0.3.0"
        ),
    )
