"""Environments in unplanned shapes: the X-ray predicts what a real import maps, and none without a needed library is ready."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import pytest

from gpudoctor.snapshot import FrameworkLibraries
from tests.environments import small_torch
from tests.environments.small_torch import differences, really
from tests.machines.build import UNSET
from tests.machines.elf_library import Library
from tests.probe.test_xray_of_damage import pointer, truncated
from tests.seams import Cuda, Nvml, PciCard, Tree, environ_with, warm


@dataclass
class Shape:
    """An environment: how its Python is started, and where NVIDIA's packages are."""

    python: Path
    cuda: Path
    environ: dict[str, str] = field(default_factory=dict)
    cwd: Path = Path("/")


def venv(place: Path) -> Path:
    """Returns its folder of packages."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", "--symlinks", os.fsencode(place)], check=True)
    return next(place.glob("lib/python*/site-packages"))


def plain(place: Path) -> Shape:
    site = venv(place / "e")
    small_torch.cuda(site)
    small_torch.torch(site)
    return Shape(place / "e/bin/python", site)


def unnamed(place: Path) -> Shape:
    """A torch whose files point to no NVIDIA folder: it preloads."""
    site = venv(place / "e")
    small_torch.cuda(site)
    small_torch.torch(site, "2.5.1", finds=False)
    return Shape(place / "e/bin/python", site)


def empty_entry(place: Path) -> Shape:
    """PYTHONPATH=:/foo, started in a folder above the packages."""
    made = plain(place)
    return Shape(made.python, made.cuda, {"PYTHONPATH": ":/foo"}, made.cuda.parent)


def dot(place: Path) -> Shape:
    made = plain(place)
    return Shape(made.python, made.cuda, {"PYTHONPATH": "."}, made.cuda.parent.parent)


def target(place: Path) -> Shape:
    """`pip install --target`."""
    venv(place / "e")
    small_torch.cuda(place / "target")
    small_torch.torch(place / "target", "2.4.0", finds=False)
    return Shape(place / "e/bin/python", place / "target", {"PYTHONPATH": f"{place}/target"})


def two_targets(place: Path) -> Shape:
    """torch in one folder of PYTHONPATH, NVIDIA's packages in the other, and older versions of both after them."""
    made = plain(place)
    small_torch.torch(place / "one", "2.3.0", finds=False)
    small_torch.cuda(place / "two")
    return Shape(made.python, place / "two", {"PYTHONPATH": f"{place}/one:{place}/two"})


def editable_by_path(place: Path) -> Shape:
    site = venv(place / "e")
    small_torch.cuda(site)
    home = small_torch.torch(place / "source", finds=False)
    shutil.move(home.parent / "torch-2.6.0.dist-info", site)
    (site / "__editable__.torch-2.6.0.pth").write_text(f"{place}/source\n")
    return Shape(place / "e/bin/python", site)


def finder_text(home: Path) -> str:
    """The finder that setuptools writes for an editable install (PEP 660) of the torch in `home`. Made in a child: setuptools may warn."""
    asking = "import sys\nfrom setuptools.command.editable_wheel import _finder_template\nprint(_finder_template('torch', {'torch': sys.argv[1]}, {}))"
    return subprocess.run([sys.executable, "-c", asking, str(home)], capture_output=True, text=True, check=True).stdout


def editable_by_finder(place: Path) -> Shape:
    site = venv(place / "e")
    small_torch.cuda(site)
    home = small_torch.torch(place / "source", finds=False)
    shutil.move(home.parent / "torch-2.6.0.dist-info", site)
    text = finder_text(home)
    assert str(home) in text
    (site / "__editable___torch_2_6_0_finder.py").write_text(text)
    (site / "__editable__.torch-2.6.0.pth").write_text(
        "import __editable___torch_2_6_0_finder; __editable___torch_2_6_0_finder.install()\n"
    )
    return Shape(place / "e/bin/python", site)


def toolkit(place: Path) -> Path:
    folder = place / "toolkit/lib64"
    for name in ("libcublas.so.12", "libcudart.so.12", "libnvJitLink.so.12"):
        Library(name).put(folder / name)
    return folder


def wrapper(place: Path) -> Shape:
    """A script that sets LD_LIBRARY_PATH and starts Python."""
    made = unnamed(place)
    script = place / "python"
    script.write_text(f'#!/bin/sh\nexport LD_LIBRARY_PATH={toolkit(place)}\nexec {made.python} "$@"\n')
    script.chmod(0o755)
    return Shape(script, made.cuda)


def unsetting_wrapper(place: Path) -> Shape:
    """The reverse: it unsets LD_LIBRARY_PATH."""
    made = plain(place)
    script = place / "python"
    script.write_text(
        f'#!/bin/sh\nLD_LIBRARY_PATH="${{LD_LIBRARY_PATH#*toolkit/lib64}}"\nexport LD_LIBRARY_PATH\nexec {made.python} "$@"\n'
    )
    script.chmod(0o755)
    return Shape(script, made.cuda, {"LD_LIBRARY_PATH": str(toolkit(place))})


def sitecustomize(place: Path) -> Shape:
    made = plain(place)
    (made.cuda / "sitecustomize.py").write_text(f"import ctypes\nctypes.CDLL('{toolkit(place)}/libcublas.so.12')\n")
    return made


def pth_that_opens(place: Path) -> Shape:
    made = plain(place)
    (made.cuda / "cuda.pth").write_text(f"import ctypes; ctypes.CDLL('{toolkit(place)}/libnvJitLink.so.12')\n")
    return made


def preloaded(place: Path) -> Shape:
    made = plain(place)
    return Shape(made.python, made.cuda, {"LD_PRELOAD": f"{toolkit(place)}/libcublas.so.12"})


def library_path(place: Path) -> Shape:
    made = unnamed(place)
    return Shape(made.python, made.cuda, {"LD_LIBRARY_PATH": str(toolkit(place))})


def undecodable(place: Path) -> Shape:
    made = unnamed(place / "plain")
    folder = place / os.fsdecode(b"caf\xe9 \xff")
    (place / "plain").rename(folder)
    python, cuda = (folder / path.relative_to(place / "plain") for path in (made.python, made.cuda))
    return Shape(python, cuda)


def undecodable_pythonpath(place: Path) -> Shape:
    venv(place / "e")
    site = place / os.fsdecode(b"t\xfcr")
    small_torch.cuda(site)
    small_torch.torch(site)
    return Shape(place / "e/bin/python", site, {"PYTHONPATH": str(site)})


def leftovers(place: Path) -> Shape:
    """Metadata of older releases, left by an interrupted upgrade."""
    made = plain(place)
    for old in ("nvidia_cudnn_cu12-8.9.7.29", "nvidia_cublas_cu12-11.1.1", "torch-2.1.0"):
        shutil.copytree(made.cuda / "torch-2.6.0.dist-info", made.cuda / f"{old}.dist-info")
    return made


SHAPES: tuple[Callable[[Path], Shape], ...] = (
    plain, unnamed, empty_entry, dot, target, two_targets, editable_by_path, editable_by_finder, wrapper, unsetting_wrapper, sitecustomize,
    pth_that_opens, preloaded, library_path, undecodable, undecodable_pythonpath, leftovers,
)  # fmt: skip
STATES: dict[str, tuple[str, Callable[[Path], None] | None]] = {
    "present": ("", None),
    "cufft-deleted": ("nvidia/cufft/lib/libcufft.so.11", Path.unlink),
    "cublas-deleted": ("nvidia/cublas/lib/libcublas.so.12", Path.unlink),
    "cusparse-truncated": ("nvidia/cusparse/lib/libcusparse.so.12", truncated),
    "cudnn-a-pointer": ("nvidia/cudnn/lib/libcudnn.so.9", pointer),
}


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    place = tmp_path_factory.mktemp("machine")
    nvml = Nvml(gpus=1)
    root = Tree(pci=[PciCard.of(card) for card in nvml.cards], kernel_driver="580.65.06").build(place / "root")
    base = {name: value for name, value in os.environ.items() if name not in UNSET} | {"PATH": os.defpath}
    return root, environ_with(nvml, Cuda(gpus=nvml.gpus), directory=place / "driver", base=base)


def check(machine: tuple[Path, dict[str, str]], shape: Shape) -> dict[str, Any]:
    root, base = machine
    variables = base | shape.environ
    if "LD_LIBRARY_PATH" in shape.environ:
        variables["LD_LIBRARY_PATH"] = f"{shape.environ['LD_LIBRARY_PATH']}:{base.get('LD_LIBRARY_PATH', '')}"
    command = ("check", "--no-smoke", "--root", str(root), "--format", "json", "--python", os.fsencode(shape.python))
    done = warm.gpudoctor(*command, env=variables, cwd=shape.cwd)
    assert done.stdout, done.stderr.decode()
    report: dict[str, Any] = json.loads(done.stdout)
    return report


@pytest.mark.usefixtures("unmeasured")
@pytest.mark.timeout(300)
@pytest.mark.parametrize("make", SHAPES, ids=lambda make: make.__name__)
def test_the_xray_agrees_with_a_real_import(machine: tuple[Path, dict[str, str]], tmp_path: Path, make: Callable[[Path], Shape]) -> None:
    shape = make(tmp_path)
    for name, (file, change) in STATES.items():
        path = shape.cuda / file
        kept = path.read_bytes() if change else b""
        if change:
            change(path)
        error, mapped = really(shape.python, {"PATH": os.defpath, **shape.environ}, shape.cwd)
        report = check(machine, shape)
        libraries = report["snapshot"]["libraries"]
        (seen,) = libraries["frameworks"]
        found = differences(msgspec.convert(seen, FrameworkLibraries), error, mapped)
        assert found == [], f"{name}: {found}"
        blamed = {one["code"] for one in report["findings"] if one["severity"] == "error"} & {
            "GD401",
            "GD402",
            "GD403",
            "GD404",
            "GD419",
            "GD618",
        }
        assert (report["verdict"] in {"broken", "unknown"}) is bool(error), f"{name}: {report['verdict']}, {error or 'it imports'}"
        assert bool(blamed) is bool(error), f"{name}: {blamed}"
        if change:
            path.unlink(missing_ok=True)
            path.write_bytes(kept)
