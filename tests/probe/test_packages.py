"""The metadata of installed packages, their installers, and other environments."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from gpudoctor.probe.frameworks import frameworks
from gpudoctor.probe.inventory import ProbeScope
from gpudoctor.probe.other_environments import frameworks_elsewhere
from gpudoctor.probe.packages import installed_packages
from gpudoctor.snapshot import Cause, Distribution, Missing
from tests.probe.places import look, plant

METADATA = """Metadata-Version: 2.1
Name: torch
Version: 2.6.0
Requires-Python: >=3.9.0
Requires-Dist: filelock
Requires-Dist: nvidia-cublas-cu12==12.4.5.8; platform_system == "Linux" and platform_machine == "x86_64"
Requires-Dist: triton (==3.2.0) ; platform_system == "Linux"
Requires-Dist: numpy
Requires-Dist: sympy
Requires-Dist: opt-einsum>=3.3; extra == "opt-einsum"

Requires-Dist: protobuf<2 is what a line of the description may begin with
"""


def only(site: Path, **changes: str) -> Distribution:
    (found,) = installed_packages([str(site)], **changes).distributions
    return found


def test_gpu_requirements_are_read_as_written(tmp_path: Path) -> None:
    plant(tmp_path, {"torch-2.6.0.dist-info/METADATA": METADATA})
    assert only(tmp_path).requires == (
        'nvidia-cublas-cu12==12.4.5.8; platform_system == "Linux" and platform_machine == "x86_64"',
        'triton (==3.2.0) ; platform_system == "Linux"',
        "numpy",
    )


def test_what_a_framework_requires_and_nothing_on_the_path_has_is_told(tmp_path: Path) -> None:
    plant(tmp_path / "a", {"torch-2.6.0.dist-info/METADATA": METADATA})
    assert only(tmp_path / "a").lacks == ("filelock", 'triton (==3.2.0) ; platform_system == "Linux"', "numpy", "sympy")
    plant(
        tmp_path / "b", {"triton-3.2.0.dist-info/METADATA": "", "filelock.py": "", "sympy.py": "", "numpy-2.1-py3.11.egg-info/PKG-INFO": ""}
    )
    (torch, *_) = installed_packages([str(tmp_path / "a"), str(tmp_path / "b")]).distributions
    assert torch.lacks == ()


RECORDS = {
    "numpy": "numpy/__init__.py,sha256=0,9\nnumpy/core/__init__.py,,\nnumpy.libs/libopenblas.so,,\n../../../bin/f2py,,\n",
    "sympy": "isympy.py,,\nsympy/__init__.py,,\n",
    "filelock": "filelock.py,,\nfilelock-1.dist-info/RECORD,,\n",
    "triton": "triton/_C/libtriton.so,,\ntriton/__init__.py,,\n",
}


def with_files(site: Path) -> None:
    """The framework's requirements, each with the files in its RECORD."""
    plant(site, {"torch-2.6.0.dist-info/METADATA": METADATA})
    for name, record in RECORDS.items():
        paths = [line.partition(",")[0] for line in record.splitlines() if not line.startswith("..")]
        plant(site, {**dict.fromkeys(paths, "x"), f"{name}-1.dist-info/RECORD": record})


def torch_in(*sites: Path) -> Distribution:
    return next(found for found in installed_packages(map(str, sites)).distributions if found.name == "torch")


@pytest.mark.parametrize(
    ("gone", "hollow"),
    [
        ("numpy/*.py", ("numpy==1", "numpy")),
        ("filelock.py", ("filelock==1", "filelock")),
        ("triton/*", ('triton==1; platform_system == "Linux"', "triton")),
        ("numpy/core/*", None),
        ("sympy/*", ("sympy==1", "sympy")),
        ("isympy.py", None),
        ("numpy.libs/*", None),
    ],
)
def test_a_requirement_whose_files_are_gone_is_told(tmp_path: Path, gone: str, hollow: tuple[str, str] | None) -> None:
    with_files(tmp_path)
    assert torch_in(tmp_path).hollow == ()
    for path in tmp_path.glob(gone):
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    found = torch_in(tmp_path)
    assert found.lacks == ()
    assert [(one.requirement, *one.modules) for one in found.hollow] == ([hollow] if hollow else [])


@pytest.mark.parametrize("state", ["in another folder", "compiled", "no RECORD", "editable", "another copy's metadata"])
def test_what_may_be_elsewhere_is_not_gone(tmp_path: Path, state: str) -> None:
    site, other = tmp_path / "a", tmp_path / "b"
    with_files(site)
    shutil.rmtree(site / "numpy")
    files = {
        "in another folder": {"b/numpy/__init__.py": ""},
        "compiled": {"a/numpy/__init__.pyc": ""},
        "editable": {"a/numpy-1.dist-info/RECORD": "__editable__.numpy-1.pth,,\nnumpy-1.dist-info/RECORD,,\n"},
        "another copy's metadata": {"b/numpy-2.dist-info/METADATA": ""},
    }
    plant(tmp_path, files.get(state, {}))
    if state == "no RECORD":
        (site / "numpy-1.dist-info/RECORD").unlink()
    assert torch_in(site, other).hollow == ()


def test_requirements_are_only_read_for_frameworks(tmp_path: Path) -> None:
    plant(tmp_path, {"numpy-2.0.2.dist-info/METADATA": METADATA})
    found = only(tmp_path)
    assert isinstance(found.requires, Missing)
    assert found.requires.cause is Cause.NOT_ASKED
    assert isinstance(found.installer, Missing)
    assert found.installer.cause is Cause.NOT_ASKED


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00", b"Requires-Dist:\n", b"Requires-Dist: ==\nRequires-Dist: \xc3\xa9\n"])
def test_damaged_metadata_requires_nothing(tmp_path: Path, content: bytes) -> None:
    plant(tmp_path, {"torch-2.6.0.dist-info/METADATA": content})
    assert only(tmp_path).requires == ()


def test_absent_metadata_is_missing(tmp_path: Path) -> None:
    (tmp_path / "torch-2.6.0.dist-info").mkdir()
    found = only(tmp_path).requires
    assert isinstance(found, Missing)
    assert found.cause is Cause.ABSENT


def test_a_long_description_is_not_read(tmp_path: Path) -> None:
    plant(tmp_path, {"torch-2.6.0.dist-info/METADATA": METADATA + "x" * 4_000_000})
    requires = only(tmp_path).requires
    assert isinstance(requires, tuple)
    assert len(requires) == 3


def test_in_a_conda_environment_installers_are_read(tmp_path: Path) -> None:
    site = tmp_path / "lib/python3.11/site-packages"
    plant(site, {"torch-2.6.0.dist-info/INSTALLER": "pip\n", "torch-2.6.0.dist-info/METADATA": METADATA})
    names = (
        "pytorch-2.5.1-py3.11_cuda12.4_cudnn9.1.0_0",
        "numpy-1.26.4-py311h64a7726_0",
        "cudnn-8.9.2.26-cuda11_0",
        "openssl-3.3.1-h4ab18f5_0",
    )
    plant(tmp_path / "conda-meta", {f"{name}.json": "{}" for name in names} | {"history": "", "torch-note.txt": ""})
    found = installed_packages([str(site)], str(tmp_path))
    assert found.distributions[0].installer == "pip"
    assert found.conda == ("cudnn-8.9.2.26-cuda11_0", "numpy-1.26.4-py311h64a7726_0", "pytorch-2.5.1-py3.11_cuda12.4_cudnn9.1.0_0")


def test_outside_conda_there_is_nothing_of_conda(tmp_path: Path) -> None:
    for prefix, cause in (("", Cause.ABSENT), (str(tmp_path / "none"), Cause.ABSENT)):
        conda = installed_packages([], prefix).conda
        assert isinstance(conda, Missing)
        assert conda.cause is cause


def test_a_file_before_the_package_shadows_it(tmp_path: Path) -> None:
    plant(tmp_path / "project", {"torch.py": ""})
    plant(tmp_path / "site", {"torch/version.py": "", "torch/__init__.py": "", "jax/version.py": "", "jax/__init__.py": "", "jax.py": ""})
    hidden, jax = frameworks([str(tmp_path / "project"), str(tmp_path / "site")], ())
    assert (hidden.name, hidden.shadow) == ("torch", f"{tmp_path}/project/torch.py")
    assert isinstance(jax.shadow, Missing)  # in one folder the package comes before the file
    (after,) = frameworks([str(tmp_path / "site"), str(tmp_path / "project")], ())[:1]
    assert isinstance(after.shadow, Missing)


SITE = "lib/python3.11/site-packages"


def test_frameworks_of_other_environments_are_found(tmp_path: Path) -> None:
    for place in ("venv", "conda", "home/.local", "usr"):
        plant(tmp_path / place, {f"{SITE}/torch-2.6.0.dist-info/METADATA": ""})
    plant(tmp_path / "usr", {"bin/python3": "", "lib/python3/dist-packages/tensorflow-2.18.0.dist-info/METADATA": ""})
    environ = {
        "VIRTUAL_ENV": str(tmp_path / "venv"),
        "CONDA_PREFIX": str(tmp_path / "conda"),
        "HOME": str(tmp_path / "home"),
        "PATH": os.pathsep.join(("relative", str(tmp_path / "usr/bin"), str(tmp_path / "none"))),
    }
    found = frameworks_elsewhere(environ, "", [str(tmp_path / "venv" / SITE)], "/")
    assert {(distribution.name, distribution.where.removeprefix(f"{tmp_path}/")) for distribution in found} == {
        ("torch", f"conda/{SITE}"),
        ("torch", f"home/.local/{SITE}"),
        ("torch", f"usr/{SITE}"),
        ("tensorflow", "usr/lib/python3/dist-packages"),
    }
    named = frameworks_elsewhere(environ, "", [], str(tmp_path))
    assert {distribution.where.removeprefix(f"{tmp_path}/") for distribution in named} == {f"venv/{SITE}", f"conda/{SITE}"}


def test_what_the_examined_environment_has_for_another_python_is_found(tmp_path: Path) -> None:
    plant(tmp_path / "venv", {"lib/python3.9/site-packages/torch-2.6.0.dist-info/METADATA": ""})
    (other,) = frameworks_elsewhere(
        {"PATH": ""}, str(tmp_path / "venv/bin/python"), [str(tmp_path / "venv/lib/python3.12/site-packages")], "/none"
    )
    assert other == Distribution("torch", "2.6.0", f"{tmp_path}/venv/lib/python3.9/site-packages")


def test_the_examined_environment_is_not_another_by_another_path(tmp_path: Path) -> None:
    plant(tmp_path / "venv", {f"{SITE}/torch-2.6.0.dist-info/METADATA": ""})
    (tmp_path / "link").symlink_to("venv")
    assert frameworks_elsewhere({"VIRTUAL_ENV": str(tmp_path / "link")}, "", [str(tmp_path / "venv" / SITE)], "/none") == ()


def test_other_environments_are_only_searched_without_a_framework_here(tmp_path: Path) -> None:
    plant(tmp_path / "venv", {f"{SITE}/torch-2.6.0.dist-info/METADATA": ""})
    environ = {"PATH": os.defpath, "HOME": str(tmp_path), "VIRTUAL_ENV": str(tmp_path / "venv")}
    snapshot, _ = look(ProbeScope(python="/usr/bin/python3", root=str(tmp_path)), environ)
    assert not isinstance(snapshot.python, Missing)
    assert snapshot.python.elsewhere == (Distribution("torch", "2.6.0", f"{tmp_path}/venv/{SITE}"),)
