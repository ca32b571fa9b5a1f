"""A plan and the X-ray of an environment, in which everything that their pages can say is said."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from gpudoctor.report.build import TOOL
from gpudoctor.report.plan import Assumption, Commands, MachineChange, Pin, Plan, Verification
from gpudoctor.report.plan import Environment as Planned
from gpudoctor.snapshot import (
    NOT_ASKED,
    Cause,
    Damage,
    DamageKind,
    Extension,
    Fact,
    Framework,
    FrameworkLibraries,
    GpuCode,
    Libraries,
    LibraryFile,
    LibraryUse,
    Missing,
    Place,
    ScriptFolder,
)
from gpudoctor.snapshot.libraries import Asking
from gpudoctor.snapshot.xray import EnvironmentXray

_ABSENT: Final = Missing(Cause.ABSENT, "it is not there")
_REFUSED: Final = Missing(Cause.DENIED, "permission denied")
_COMMANDS: Final = Commands("uv pip install 'a<b'", "pip install 'a<b'", "conda create")
_HERE: Final = Planned(
    verdict="degraded",
    name="torch 2.9.1 for CUDA 12.6",
    python="3.12",
    python_reason="the newest that torch 2.9.1 has wheels for",
    pins=(Pin("torch==2.9.1+cu126", "the newest release"), Pin("jax[cuda12]==0.6.0", "as stated"), Pin("numpy<2", "as stated")),
    index="https://download.pytorch.org/whl/cu126",
    torch_backend="cu126",
    warnings=("It is slower.",),
    not_checked=("no table lists somepackage",),
    older_because=("torch 2.10.0 needs driver 570.",),
    locked=("numpy==1.26.4", "filelock==3.1", "sympy==1.13", "torch==2.9.1+cu126"),
    download_bytes=3_456_000_000,
    commands=_COMMANDS,
)
ON_CPU: Final = replace(_HERE, index="", torch_backend="", python="", pins=(Pin("torch==2.9.1", "as stated"),), locked=())
_UNSURE: Final = replace(_HERE, verdict="unknown", name="torch 2.10.0")
PLAN: Final = Plan(
    tool=TOOL,
    exit_code=0,
    headline="torch 2.9.1 for CUDA 12.6 works.",
    requirements=("torch",),
    machine=(
        Assumption("GPU", "none", "--gpu"),
        Assumption("driver", "560.1", "--driver"),
        Assumption("Python", "3.12", "--python"),
        Assumption("machine", "x86_64", ""),
    ),
    environment=_HERE,
    nearest=_UNSURE,
    with_driver=MachineChange(driver="570.26", environment=_UNSURE),
    resolver="uv",
    resolver_note="uv resolved it.",
    verification=Verification(
        verdict="ready", summary="READY trained on 1 of 1 GPU.", devices=("GPU:0",), folder="/home/ann/kept", seconds=61.7
    ),
)
"""Everything that a plan can hold."""


def _use(wanted: str, file: LibraryFile | Missing, **more: object) -> LibraryUse:
    told: dict[str, object] = {"vital": True, "asked_by": "/opt/<e>/lib/libtorch_cuda.so", **more}
    return LibraryUse(component="cudnn", wanted=wanted, asking=Asking.LINKED, file=file, **told)  # type: ignore[arg-type]


_HOME: Final = "/home/ann/environments/of/a/long/path/site-packages"
_EMPTY: Final = Damage(f"{_HOME}/nvidia/../libcudnn.so.9", DamageKind.EMPTY, "an empty file")
_CUT: Final = Damage(f"{_HOME}/nvidia/libnvrtc.so.12.8", DamageKind.TRUNCATED, "cut off after 4 KiB")
XRAY: Final = EnvironmentXray(
    "/opt/venv/bin/python",
    "named with --python",
    (
        Framework(
            "torch",
            "torch",
            Fact("2.8.0", "metadata"),
            location=f"{_HOME}/torch",
            built_with_cuda=Fact("12.8", "x"),
            built_with_cudnn=Fact("9.1", "y"),
        ),
        Framework("jax", "jax", NOT_ASKED, location="/opt/jax"),
    ),
    Libraries(
        frameworks=(
            FrameworkLibraries(
                "torch",
                code=GpuCode(("sm_80", "sm_90", "sm_100"), ("compute_90",), few=("sm_100",)),
                code_where=f"{_HOME}/torch/./lib/libtorch_cuda.so",
                uses=(
                    _use(
                        "libcudnn.so.9",
                        LibraryFile(
                            f"{_HOME}/nvidia/libcudnn.so.9",
                            version=Fact("9.1.0", "x"),
                            owner="nvidia-cudnn-cu12",
                            code=GpuCode((), ("compute_80",)),
                        ),
                        why="DT_RUNPATH of libtorch_cuda.so",
                        shadows=(Place("/usr/lib/libcudnn.so.9", "the loader's cache"),),
                        refused=(Place("/lib32/libcudnn.so.9", "32-bit"),),
                    ),
                    _use("libcublas.so.12", LibraryFile("/usr/lib/libcublas.so.12"), why="already loaded by libx.so"),
                    _use(
                        "libnccl.so.2",
                        _ABSENT,
                        elsewhere=(Place(f"{_HOME}/libnccl.so.2", "on disk"),),
                        refused=(Place("/lib32/libnccl.so.2", "32-bit"),),
                    ),
                    _use("libcupti.so.12", _REFUSED, vital=False),
                    _use("libcufft.so.11", _ABSENT, damaged=(_EMPTY,), refused=(Place("/lib32/libcufft.so", "32-bit"),)),
                    _use("libnvrtc.so.12", _ABSENT, vital=False, damaged=(_EMPTY, _CUT)),
                ),
                also_loaded=(f"{_HOME}/liba.so", "/usr/lib/libb.so"),
                broken=(_EMPTY,),
            ),
            FrameworkLibraries("jax", code=_REFUSED, uses=_REFUSED),
            FrameworkLibraries("paddle", uses=()),
        ),
        extensions=(
            Extension(
                "flash-attn", "2.8", "torch", f"{_HOME}/flash.so", GpuCode((), (), few=("sm_90",)), ("libcudart.so.12", "libcublas.so.12")
            ),
            Extension("xformers", "0.1", "torch", "/opt/x.so", _ABSENT, ()),
        ),
        preloaded=("/usr/lib/libjemalloc.so.2", "libb.so"),
    ),
    ScriptFolder("/home/ann/train", ("/home/ann/train/torch.py", "/home/ann/train/jax.py")),
)
"""Every state of a library: found, shadowing, refused, missing, damaged, of unknown version."""
