"""The documents gpudoctor.plan/1 and gpudoctor.index/1: an environment that works on a machine, and the package index for it."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from gpudoctor.report.model import Tool
from gpudoctor.schema_fields import FORM, means


class Assumption(msgspec.Struct, frozen=True):
    """One fact about the machine that was planned for."""

    what: Annotated[str, means("The fact.", "GPU", "driver", "Python", "machine")]
    value: Annotated[str, means("Its value.", "NVIDIA L4, compute capability 8.9")]
    where: Annotated[str, means("The option that stated it, or where it was read.", "--driver", "NVML")]
    assumed: Annotated[bool, means("Whether it was neither stated nor read.")] = False


class Pin(msgspec.Struct, frozen=True):
    """One package of the environment."""

    requirement: Annotated[str, means("The requirement, PEP 508.", "numpy==2.3.1")]
    reason: Annotated[str, means("Why this release.")]


class Commands(msgspec.Struct, frozen=True):
    """The commands that create the environment, one for each tool."""

    uv: Annotated[str, means("uv makes the environment and gets Python if it is not there.")]
    pip: Annotated[str, means("Needs this version of Python.")]
    conda: Annotated[str, means("conda provides Python, pip the packages.")]


class Environment(msgspec.Struct, frozen=True, kw_only=True):
    """A set of releases."""

    verdict: Annotated[str, means("Open: what the rules say of it on this machine.", "ready", "degraded", "unknown")]
    name: Annotated[str, means("Its frameworks in words.", "torch 2.9.1 for CUDA 12.6")]
    python: Annotated[str, means("The Python version.", "3.12")]
    python_reason: Annotated[str, means("Why this version.")]
    pins: Annotated[tuple[Pin, ...], means("What was searched for, then what it needs.")]
    index: Annotated[str, means("The package index of the framework's build; empty: the default index has it.")] = ""
    torch_backend: Annotated[str, means("The value of uv's --torch-backend for that index; empty: none is needed.", "cu126")] = ""
    warnings: Annotated[tuple[str, ...], means("What makes it degraded, in sentences.")] = ()
    not_checked: Annotated[tuple[str, ...], means("What no table or rule could check, in sentences.")] = ()
    older_because: Annotated[tuple[str, ...], means("Why newer releases were not chosen, in sentences.")] = ()
    locked: Annotated[
        tuple[str, ...], means("Every package that the resolver would install; empty if it was not asked.", ["numpy==2.3.1"])
    ] = ()
    download_bytes: Annotated[int | None, means("What there is to download; null: unknown.")] = None
    commands: Commands


class MachineChange(msgspec.Struct, frozen=True):
    """Another driver, and the environment that it allows."""

    driver: Annotated[str, means("The oldest driver that is enough, or the branch of an older one.", "570.26", "470")]
    environment: Environment
    older: Annotated[bool, means("Whether it is an older driver: newer ones do not support the GPU.")] = False

    @property
    def words(self) -> str:
        """The driver in words."""
        return f"a driver of branch {self.driver}" if self.older else f"driver {self.driver} or newer"


class Verification(msgspec.Struct, frozen=True, kw_only=True):
    """What `gpudoctor check` found in the environment, made on this machine."""

    verdict: Annotated[str, means("Open: the verdict of the check.", "ready")]
    summary: Annotated[str, means("The check's answer in one line.")]
    devices: Annotated[tuple[str, ...], means("What it trained on.", ["CPU"])]
    folder: Annotated[str, means("The environment, if it was kept.")] = ""
    seconds: Annotated[float, means("How long installation and check took.")] = 0.0


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """The newest environment that satisfies what was asked on a machine."""

    schema: Annotated[Literal["gpudoctor.plan/1"], FORM] = "gpudoctor.plan/1"
    tool: Tool
    exit_code: Annotated[int, means("0 found, 1 nothing works on this machine, 3 something could not be checked.")]
    headline: Annotated[str, means("The answer in one sentence.")]
    requirements: Annotated[tuple[str, ...], means("What was asked for.")]
    machine: Annotated[tuple[Assumption, ...], means("What was planned for.")]
    environment: Annotated[Environment | None, means("null: nothing works on this machine as it is.")] = None
    contradiction: Annotated[
        tuple[str, ...], means("The smallest part of the requirements that nothing satisfies on this machine.", ["flash-attn"])
    ] = ()
    nearest: Annotated[Environment | None, means("What works instead: with other releases, another Python or fewer packages.")] = None
    with_driver: Annotated[MachineChange | None, means("What another driver allows; null: nothing newer.")] = None
    resolver: Annotated[str, means("Open: what chose the other packages.", "uv", "tables")] = "tables"
    resolver_note: Annotated[str, means("Why the resolver was not used or what it found, in a sentence.")] = ""
    verification: Annotated[Verification | None, means("What --verify found; null: not asked for.")] = None
    seconds: Annotated[float, means("How long planning took.")] = 0.0


class Index(msgspec.Struct, frozen=True, kw_only=True):
    """The package index with the newest build of a framework that works on a machine."""

    schema: Annotated[Literal["gpudoctor.index/1"], FORM] = "gpudoctor.index/1"
    tool: Tool
    exit_code: Annotated[int, means("0 found, 1 nothing works on this machine, 3 something could not be checked.")]
    requirement: Annotated[str, means("The pinned requirement that the index has, such as torch==2.15.0+cu126.")] = ""
    index: Annotated[str, means("The address of the index; empty if nothing works.")] = ""
    torch_backend: Annotated[str, means("The value of uv's --torch-backend for it.", "cu126", "cpu")] = ""
    why: Annotated[str, means("Why nothing works, or what was not checked, in a sentence.")] = ""
