"""The documents gpudoctor.plan/1 and gpudoctor.index/1: an environment that works on a machine, and the package index for it."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from gpudoctor.report.model import Tool


def _text(meaning: str, *examples: object) -> msgspec.Meta:
    return msgspec.Meta(description=meaning, examples=list(examples) or None)


class Assumption(msgspec.Struct, frozen=True):
    """One fact about the machine that was planned for."""

    what: Annotated[str, _text("The fact.", "GPU", "driver", "Python", "machine")]
    value: Annotated[str, _text("Its value.", "NVIDIA L4, compute capability 8.9")]
    where: Annotated[str, _text("The option that stated it, or where it was read.", "--driver", "NVML")]


class Pin(msgspec.Struct, frozen=True):
    """One package of the environment."""

    requirement: Annotated[str, _text("The requirement, PEP 508.", "numpy==2.3.1")]
    reason: Annotated[str, _text("Why this release.")]


class Commands(msgspec.Struct, frozen=True):
    """The commands that create the environment, one for each tool."""

    uv: Annotated[str, _text("uv makes the environment and gets Python if it is not there.")]
    pip: Annotated[str, _text("Needs this version of Python.")]
    conda: Annotated[str, _text("conda provides Python, pip the packages.")]


class Environment(msgspec.Struct, frozen=True, kw_only=True):
    """A set of releases."""

    verdict: Annotated[str, _text("Open: what the rules say of it on this machine.", "ready", "degraded", "unknown")]
    name: Annotated[str, _text("Its frameworks in words.", "torch 2.9.1 for CUDA 12.6")]
    python: Annotated[str, _text("The Python version.", "3.12")]
    python_reason: Annotated[str, _text("Why this version.")]
    pins: Annotated[tuple[Pin, ...], _text("What was searched for, then what it needs.")]
    index: Annotated[str, _text("The package index of the framework's build; empty: the default index has it.")] = ""
    torch_backend: Annotated[str, _text("The value of uv's --torch-backend for that index; empty: none is needed.", "cu126")] = ""
    warnings: Annotated[tuple[str, ...], _text("What makes it degraded, in sentences.")] = ()
    not_checked: Annotated[tuple[str, ...], _text("What no table or rule could check, in sentences.")] = ()
    older_because: Annotated[tuple[str, ...], _text("Why newer releases were not chosen, in sentences.")] = ()
    locked: Annotated[
        tuple[str, ...], _text("Every package that the resolver would install; empty if it was not asked.", "numpy==2.3.1")
    ] = ()
    download_bytes: Annotated[int | None, _text("What there is to download; null: unknown.")] = None
    commands: Commands


class MachineChange(msgspec.Struct, frozen=True):
    """Another driver, and the environment that it allows."""

    driver: Annotated[str, _text("The oldest driver that is enough, or the branch of an older one.", "570.26", "470")]
    environment: Environment
    older: Annotated[bool, _text("Whether it is an older driver: newer ones do not support the GPU.")] = False

    @property
    def words(self) -> str:
        """The driver in words."""
        return f"a driver of branch {self.driver}" if self.older else f"driver {self.driver} or newer"


class Verification(msgspec.Struct, frozen=True, kw_only=True):
    """What `gpudoctor check` found in the environment, made on this machine."""

    verdict: Annotated[str, _text("Open: the verdict of the check.", "ready")]
    summary: Annotated[str, _text("The check's answer in one line.")]
    devices: Annotated[tuple[str, ...], _text("What it trained on.", ["CPU"])]
    folder: Annotated[str, _text("The environment, if it was kept.")] = ""
    seconds: Annotated[float, _text("How long installation and check took.")] = 0.0


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """The newest environment that satisfies what was asked on a machine."""

    schema: Annotated[Literal["gpudoctor.plan/1"], _text("The form of this document.")] = "gpudoctor.plan/1"
    tool: Tool
    exit_code: Annotated[int, _text("0 found, 1 nothing works on this machine, 3 something could not be checked.")]
    headline: Annotated[str, _text("The answer in one sentence.")]
    requirements: Annotated[tuple[str, ...], _text("What was asked for.")]
    machine: Annotated[tuple[Assumption, ...], _text("What was planned for.")]
    environment: Annotated[Environment | None, _text("null: nothing works on this machine as it is.")] = None
    contradiction: Annotated[
        tuple[str, ...], _text("The smallest part of the requirements that nothing satisfies on this machine.", "flash-attn")
    ] = ()
    nearest: Annotated[Environment | None, _text("What works instead: with other releases, another Python or fewer packages.")] = None
    with_driver: Annotated[MachineChange | None, _text("What another driver allows; null: nothing newer.")] = None
    resolver: Annotated[str, _text("Open: what chose the other packages.", "uv", "tables")] = "tables"
    resolver_note: Annotated[str, _text("Why the resolver was not used or what it found, in a sentence.")] = ""
    verification: Annotated[Verification | None, _text("What --verify found; null: not asked for.")] = None
    seconds: Annotated[float, _text("How long planning took.")] = 0.0


class Index(msgspec.Struct, frozen=True, kw_only=True):
    """The package index with the newest build of a framework that works on a machine."""

    schema: Annotated[Literal["gpudoctor.index/1"], _text("The form of this document.")] = "gpudoctor.index/1"
    tool: Tool
    exit_code: Annotated[int, _text("0 found, 1 nothing works on this machine, 3 something could not be checked.")]
    requirement: Annotated[str, _text("The pinned requirement that the index has, such as torch==2.15.0+cu126.")] = ""
    index: Annotated[str, _text("The address of the index; empty if nothing works.")] = ""
    torch_backend: Annotated[str, _text("The value of uv's --torch-backend for it.", "cu126", "cpu")] = ""
    why: Annotated[str, _text("Why nothing works, or what was not checked, in a sentence.")] = ""
