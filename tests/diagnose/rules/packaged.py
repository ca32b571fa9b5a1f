"""Environments of packages, and small tables, for tests of single rules."""

from __future__ import annotations

from typing import Any

import msgspec

from gpudoctor.diagnose import diagnose
from gpudoctor.findings import Finding, Level, OutcomeKind, Policy
from gpudoctor.frameworks import framework_of
from gpudoctor.snapshot import Cause, Distribution, Fact, Framework, Host, Missing, Nvml, NvmlGpu, Packages, Platform, Python, Snapshot
from tests.builders import machine
from tests.matrix.samples import matrix

UNSTATED = Missing(Cause.NOT_STATED, "not stated")


WINDOWS, MAC = Host(platform=Platform.WINDOWS, architecture="x86_64"), Host(platform=Platform.MACOS, architecture="arm64")


LINUX, ARM = Host(platform=Platform.LINUX, architecture="x86_64"), Host(platform=Platform.LINUX, architecture="aarch64")


GPU = Nvml(gpus=(NvmlGpu(0, address=UNSTATED, name="NVIDIA A100-SXM4-80GB", compute_capability="8.0"),))


TABLES = matrix(
    sources="wheels,Wheels,,2026-01-02",
    tensorflow="""
tensorflow,2.10.1,linux_x86_64,3.8 3.9 3.10,cuda,11.2,8.1,,,,,,,wheels,
tensorflow,2.10.1,win_amd64,3.8 3.9 3.10,cuda,11.2,8.1,,,,,,,wheels,
tensorflow,2.17.0,linux_aarch64,3.9 3.10 3.11 3.12,cpu,,,,,,1,,,wheels,
tensorflow,2.17.0,linux_x86_64,3.9 3.10 3.11 3.12,cuda,12.3,8.9,,,,1,,,wheels,
tensorflow,2.17.0,win_amd64,3.9 3.10 3.11 3.12,cpu,,,,,,1,,,wheels,
tensorflow,2.17.1,linux_x86_64,3.9 3.10 3.11 3.12,cuda,12.3,8.9,,,,1,,,wheels,
tensorflow,2.21.0,linux_x86_64,3.10 3.11 3.12 3.13,cuda,12.5,9.3,,,,2,,,wheels,
tensorflow-gpu,2.11.0,linux_x86_64,3.8 3.9 3.10,cuda,11.2,8.1,,,,,,,wheels,
tensorflow-gpu,2.12.0,any,,stub,,,,,,,,,wheels,
""",
    torch="""
torch,2.2.2,linux_x86_64,3.11,cuda,12.1,8.9,,,,1,,,wheels,
torch,2.2.2,macos_arm64,3.11,metal,,,,,,1,,,wheels,
torch,2.2.2,win_amd64,3.11,cpu,,,,,,1,,,wheels,
torch,2.8.0,linux_x86_64,3.11,cuda,12.8,9.10,,,,2,cpu cu126,,wheels,
""",
    jax="""
jax,0.8.0,any,3.11,none,,,,,,,,,wheels,
jax-cuda12-plugin,0.8.0,linux_x86_64,3.11,cuda,12.9,9.8,,,,2,,,wheels,
""",
    faults="""
gone-libs,8.6.1,8.6.1,unpublished,,any,wheels,the index lists 9.0 and newer
""",
    bounds="""
jaxlib,compares-plugins,0.5.3,wheels
tensorflow,no-cuda-on-windows,2.11,wheels
torchvision,other-cuda-minor,0.16,wheels
""",
)


def stated(name: str, version: str, *requires: str, **changes: Any) -> Distribution:
    whole = Distribution(name, version, f"stated: {name}", requirement=name, requires=requires or UNSTATED)
    return msgspec.structs.replace(whole, **changes)


def supposed(*distributions: Distribution, host: Host = LINUX, python: str = "3.11", **changes: Any) -> Snapshot:
    """A machine that is only stated: one A100 and these packages."""
    frameworks = tuple(
        Framework(
            name=name,
            distribution=distribution.name,
            version=Fact(distribution.version, distribution.where),
            cuda_build=UNSTATED,
            built_with_cuda=UNSTATED,
        )
        for distribution in distributions
        if (name := framework_of(distribution.name))
    )
    whole = Snapshot(
        created="2026-01-02T03:04:05Z",
        origin="supposed",
        host=host,
        nvml=GPU,
        python=Python(f"python{python}", "--python-version", version=python),
        packages=Packages(distributions),
        frameworks=frameworks,
        toolkits=UNSTATED,
        variables=UNSTATED,
    )
    return msgspec.structs.replace(whole, **changes)


def found(snapshot: Snapshot, **policy: Any) -> list[Finding]:
    return list(diagnose(snapshot, TABLES, Policy(**{"level": None, **policy})).findings)


def roots(snapshot: Snapshot) -> list[tuple[str, str]]:
    return [(finding.name, str(finding.severity)) for finding in found(snapshot) if not finding.because_of]


def outcome(snapshot: Snapshot, name: str) -> OutcomeKind:
    diagnosis = diagnose(snapshot, TABLES, Policy(level=Level.LOOK, only=(name,)))
    return next(one.kind for one in diagnosis.outcomes if one.name == name)


def live(*packages: Distribution, **changes: Any) -> Snapshot:
    return machine(1, packages=Packages(packages), **changes)
