"""Machines whose frameworks the X-ray examined, and a check of one rule on them."""

from __future__ import annotations

from typing import Any

import msgspec

from gpudoctor.diagnose import diagnose
from gpudoctor.findings import Finding, Level, OutcomeKind, Policy
from gpudoctor.snapshot import (
    Asking,
    Cause,
    Compiler,
    Distribution,
    Extension,
    Fact,
    FoundBy,
    Framework,
    FrameworkLibraries,
    Libraries,
    LibraryFile,
    LibraryUse,
    Missing,
    Packages,
    Place,
    Snapshot,
    Toolkit,
    Variables,
)
from tests.builders import ABSENT, machine, tensorflow, torch
from tests.diagnose.rules.asking import MATRIX

SITE = "/env/lib/python3.12/site-packages"


NOWHERE = Missing(Cause.ABSENT, "it is in none of the searched places")


JAX = Framework(
    name="jax", distribution="jax", version=Fact("0.4.38", "dist-info"), cuda_build=True, built_with_cuda=Fact("12.6", "plugin")
)


def use(component: str, wanted: str, path: str = "", **changes: Any) -> LibraryUse:
    """One that is opened by name, found at `path` by LD_LIBRARY_PATH, or nowhere."""
    release = wanted.partition(".so.")[2]
    version = changes.pop("version", release)
    owner = changes.pop("owner", ABSENT)
    owners = changes.pop("owners", ())
    found = LibraryFile(path, version=Fact(version, "file name") if version else ABSENT, owner=owner, owners=owners)
    file = found if path else NOWHERE
    whole = LibraryUse(
        component=component, wanted=wanted, asked_by=f"{SITE}/tensorflow/libtensorflow_framework.so.2", asking=Asking.OPENED, vital=True, file=file,
        why="LD_LIBRARY_PATH" if path else "",
        found_by=FoundBy.LIBRARY_PATH if path else FoundBy.OTHER,
    )  # fmt: skip
    return msgspec.structs.replace(whole, **changes)


def own(folder: str, name: str) -> Place:
    """The copy of NVIDIA's package, which the framework's RUNPATH names."""
    return Place(f"{SITE}/nvidia/{folder}/lib/{name}", "DT_RUNPATH of libtensorflow_framework.so.2", FoundBy.RUNPATH)


def environment(
    *uses: LibraryUse, framework: Framework | None = None, path: str = "", wheels: str = "", gpus: int = 1, **changes: Any
) -> Snapshot:
    """A healthy machine with these uses; `wheels` are distributions as "name version" lines."""
    other = framework or tensorflow()
    installed = tuple(Distribution(name, version, SITE) for name, version in (line.split() for line in wheels.splitlines()))
    extensions = changes.pop("extensions", ())
    sections: dict[str, Any] = {
        "frameworks": (other,),
        "libraries": Libraries(frameworks=(FrameworkLibraries(framework=other.name, uses=uses or (use("cudart", "libcudart.so.12", "/l/libcudart.so.12"),)),), extensions=extensions),
        "variables": Variables({"LD_LIBRARY_PATH": path} if path else {}),
        "packages": Packages(installed),
        "toolkits": (),
        "compilers": (),
    }  # fmt: skip
    return machine(gpus, **(sections | changes))


CUBLAS = "nvidia-cublas-cu12 12.5.3.2"


OPT = "/opt/cuda/lib64"


def xla(part: str, path: str = "", version: str = "", **changes: Any) -> LibraryUse:
    wanted, asking = ("libdevice.10.bc", Asking.READ) if part == "libdevice" else ("ptxas", Asking.STARTED)
    return use(part, wanted, path, version=version, asking=asking, vital=False, **changes)


def toolkit(release: str, *named_by: str, nvcc: bool = True) -> Toolkit:
    path = f"/usr/local/cuda-{release}"
    there = f"{path}/bin/nvcc" if nvcc else ABSENT
    return Toolkit(path=path, named_by=named_by, toolkit_cuda=Fact(f"{release}.1", f"{path}/version.json"), nvcc=there)


def gcc(name: str, version: str, path: str = "") -> Compiler:
    return Compiler(name=name, path=path or f"/usr/bin/{name}", version=Fact(version, "file name"))


def building(*toolkits: Toolkit, compilers: tuple[Compiler, ...] = (), **variables: str) -> Snapshot:
    return environment(framework=torch(), toolkits=toolkits, compilers=compilers, variables=Variables(variables))


def add_on(**changes: Any) -> Extension:
    whole = Extension(distribution="flash-attn", version="2.7.4", framework="torch", path=f"{SITE}/flash_attn_2_cuda.so")
    return msgspec.structs.replace(whole, **changes)


def with_add_ons(*addons: Extension, framework: Framework | None = None) -> Snapshot:
    return environment(framework=framework or torch(), extensions=addons)


def findings(snapshot: Snapshot, name: str, **policy: Any) -> list[Finding]:
    """The findings of a check of this rule alone."""
    return list(diagnose(snapshot, MATRIX, Policy(level=Level.LOOK, only=(name,), **policy)).findings)


def only(snapshot: Snapshot, name: str) -> Finding:
    """The one finding of a check of this rule alone."""
    (found,) = findings(snapshot, name)
    return found


def outcome(snapshot: Snapshot, name: str) -> OutcomeKind:
    """The one outcome of a check of this rule alone."""
    (one,) = diagnose(snapshot, MATRIX, Policy(level=Level.LOOK, only=(name,))).outcomes
    return one.kind
