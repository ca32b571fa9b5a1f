"""Libraries that exist but cannot be loaded, parent folders on sys.path, and a crash of our own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from gpudoctor.check.model import CheckOptions
from gpudoctor.check.run import examine_machine
from gpudoctor.findings import Level, Policy, Verdict
from gpudoctor.snapshot import Cause, Damage, DamageKind, Missing
from tests.machines import packages
from tests.machines.build import UNSET
from tests.probe.places import plant
from tests.probe.test_libraries import by_name, cuda_wheels, framework, library, taken, tensorflow, wheel, xray
from tests.seams import Cuda, Nvml, PciCard, Tree, environ_with

ROOT = Path(__file__).resolve().parents[2]
CUDART = "nvidia/cuda_runtime/lib/libcudart.so.12"
SYSTEMS_PYTHON = Path("/usr/bin/python3")


def pointer(path: Path) -> None:
    path.write_text(
        "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n"
    )


def truncated(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:700])


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def dangling(path: Path) -> None:
    path.unlink()
    path.symlink_to(f"{path.name}.82")


def text(path: Path) -> None:
    path.write_text("<html>404 Not Found</html>\n" * 9)


DAMAGES: dict[DamageKind, Callable[[Path], None]] = {
    DamageKind.LFS_POINTER: pointer,
    DamageKind.TRUNCATED: truncated,
    DamageKind.EMPTY: emptied,
    DamageKind.DANGLING_LINK: dangling,
    DamageKind.NOT_ELF: text,
}


@pytest.mark.parametrize("kind", DAMAGES)
def test_a_damaged_library_is_named_with_its_package(tmp_path: Path, kind: DamageKind) -> None:
    cuda_wheels(tmp_path)
    home = tensorflow(tmp_path)
    DAMAGES[kind](tmp_path / CUDART)
    use = by_name(xray(tmp_path, framework("tensorflow", home)))["libcudart.so.12"]
    assert isinstance(use.file, Missing)
    (damage,) = use.damaged
    assert (damage.kind, damage.owner) == (kind, "nvidia-cuda-runtime-cu12")
    assert os.path.normpath(damage.path) == str(tmp_path / CUDART)


@pytest.mark.parametrize("kind", DAMAGES)
def test_a_damaged_file_of_the_framework_itself_is_named(tmp_path: Path, kind: DamageKind) -> None:
    cuda_wheels(tmp_path)
    home = tensorflow(tmp_path)
    DAMAGES[kind](home / "libtensorflow_framework.so.2")
    (damage,) = xray(tmp_path, framework("tensorflow", home)).frameworks[0].broken
    assert damage.kind is kind
    assert Path(damage.path).name == "libtensorflow_framework.so.2"


def test_a_missing_linked_library_is_named(tmp_path: Path) -> None:
    cuda_wheels(tmp_path)
    home = tensorflow(tmp_path)
    gone = library(tmp_path / "gone/libgone.so.3", soname="libgone.so.3")
    made = home / "libtensorflow_framework.so.2"
    library(made, needs=(gone,), soname=made.name)
    assert xray(tmp_path, framework("tensorflow", home)).frameworks[0].broken == (
        Damage("libgone.so.3", DamageKind.MISSING, "in no folder that the loader searches", asked_by=str(made)),
    )


def test_a_noexec_mount_is_named(tmp_path: Path) -> None:
    site = tmp_path / "site"
    cuda_wheels(site)
    home = tensorflow(site)
    saved = tmp_path / "answer"
    script = (
        "import sys; sys.path.insert(0, sys.argv[1]); from pathlib import Path\n"
        "from tests.probe.test_libraries import *\n"
        "(use,) = [u for u in by_name(xray(Path(sys.argv[2]), framework('tensorflow', Path(sys.argv[3])))).values() if u.component == 'cudart']\n"
        "Path(sys.argv[4]).write_text(use.damaged[0].kind)\n"
    )
    there = site / "nvidia/cuda_runtime/lib"
    mount = 'cp "$1/libcudart.so.12" "$1.so" && mount -t tmpfs -o noexec none "$1" && cp "$1.so" "$1/libcudart.so.12" && shift && exec "$@"'
    words = [sys.executable, "-c", script, str(ROOT), str(site), str(home), str(saved)]
    done = subprocess.run(["unshare", "-m", "sh", "-c", mount, "sh", str(there), *words], capture_output=True, check=False)
    if b"mount" in done.stderr or b"unshare" in done.stderr:
        pytest.skip("needs a mount name space")
    assert done.returncode == 0, done.stderr.decode()
    assert saved.read_text() == "noexec"


@pytest.mark.parametrize("above", ["parent", "root", "twice"])
def test_a_parent_folder_on_sys_path_changes_nothing(tmp_path: Path, above: str) -> None:
    """`export PYTHONPATH=$PYTHONPATH:/foo` adds the current directory, which may be any parent folder."""
    site = tmp_path / "lib/site-packages"
    cuda_wheels(site)
    path = {"parent": [tmp_path / "lib", site], "root": [Path("/"), site], "twice": [tmp_path, tmp_path / "lib", site]}[above]
    uses = by_name(xray(path, framework("tensorflow", tensorflow(site))))
    assert taken(uses["libcudart.so.12"]).owner == "nvidia-cuda-runtime-cu12"


CPU_BUILD = "torch==2.6.0+cpu --index-url https://download.pytorch.org/whl/cpu"


class Machine:
    """One GPU, the program, and the program with a defect in its X-ray."""

    def __init__(self, place: Path) -> None:
        for name in ("program", "defective"):
            shutil.copytree(ROOT / "gpudoctor", place / name / "gpudoctor", ignore=shutil.ignore_patterns("__pycache__"))
            (place / name / "compat").symlink_to(ROOT / "compat")
        disk = place / "defective/gpudoctor/children/own/xray/disk.py"
        disk.write_text(disk.read_text().replace("site, named = self._wheels_of_file(path, component)", "site, named = {}[path]"))
        nvml = Nvml(gpus=1)
        root = Tree(pci=[PciCard.of(card) for card in nvml.cards], kernel_driver="580.65.06").build(place / "root")
        base = {name: value for name, value in os.environ.items() if name not in UNSET} | {"PATH": os.defpath}
        self.place, self.root = place, root
        self.variables = environ_with(nvml, Cuda(gpus=nvml.gpus), directory=place / "driver", base=base)

    def run(self, *words: str, program: str = "program", environ: Mapping[str, str] | None = None) -> tuple[int, dict[str, Any]]:
        line = [sys.executable, "-m", "gpudoctor", *words, "--root", str(self.root), "--format", "json"]
        variables = {**self.variables, **(environ or {})}
        done = subprocess.run(line, env=variables, cwd=self.place / program, capture_output=True, check=False)
        assert done.stdout, done.stderr.decode()
        return done.returncode, json.loads(done.stdout)


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    return Machine(tmp_path_factory.mktemp("machine"))


@pytest.fixture(scope="module")
def healthy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return packages.environment(tmp_path_factory.mktemp("e") / "environment", (packages.torch("2.6.0+cu124", "12.4"),))


@pytest.fixture
def copied(tmp_path: Path, healthy: Path) -> tuple[Path, Path]:
    """An environment with PyTorch, and its folder of packages."""
    environment = tmp_path / "environment"
    shutil.copytree(healthy, environment, symlinks=True)
    return environment, next(environment.glob("lib/python*/site-packages"))


@pytest.mark.parametrize("words", [["check", "--no-smoke"], ["check", "--level", "touch"], ["smoke"], ["xray"]], ids=" ".join)
def test_a_crash_of_the_xray_is_exit_4_in_every_command(machine: Machine, healthy: Path, words: list[str]) -> None:
    code, report = machine.run(*words, "--python", str(healthy), program="defective")
    if words == ["xray"]:
        assert report["libraries"]["frameworks"][0]["uses"]["cause"] == Cause.CRASHED
        assert code == 4
        return
    assert code == (1 if report["verdict"] == "broken" else 4)  # the stub cannot be trained with
    assert (report["verdict"] == "broken") == (words == ["smoke"])
    assert [one["what"] for one in report["not_judged"]] == ["libraries of torch 2.6.0+cu124"]
    assert "KeyError" in report["not_judged"][0]["reason"]


def test_the_same_without_the_crash_is_ready(machine: Machine, healthy: Path) -> None:
    code, report = machine.run("check", "--no-smoke", "--python", str(healthy))
    assert (code, report["verdict"], report["not_judged"]) == (0, "ready", [])


@pytest.mark.skipif(not SYSTEMS_PYTHON.exists(), reason=f"needs {SYSTEMS_PYTHON}")
def test_an_environment_of_the_systems_python_is_examined_beside_another_machines_tree(machine: Machine, tmp_path: Path) -> None:
    environment = tmp_path / "environment"
    subprocess.run([SYSTEMS_PYTHON, "-m", "venv", "--without-pip", environment], check=True)
    packages.torch("2.6.0+cu124", "12.4").install(next(environment.glob("lib/python*/site-packages")))
    code, report = machine.run("check", "--no-smoke", "--python", str(environment))
    assert (code, report["verdict"], report["not_judged"]) == (0, "ready", [])


@pytest.mark.parametrize("level", ["look", "touch"])
def test_a_framework_without_its_compiled_files_is_broken(machine: Machine, copied: tuple[Path, Path], level: str) -> None:
    environment, site = copied
    shutil.rmtree(site / "torch/lib")
    code, report = machine.run("check", "--level", level, "--python", str(environment))
    assert (code, report["verdict"]) == (1, "broken")
    assert [one["name"] for one in report["findings"] if not one["because_of"]] == ["framework-files-damaged"]


@pytest.mark.parametrize("lost", [False, True])
def test_the_import_of_a_build_without_cuda_is_followed_to_train_on_the_cpu(tmp_path: Path, lost: bool) -> None:
    environment = packages.environment(tmp_path / "environment", (packages.torch("2.6.0+cpu", None),))
    site = next(environment.glob("lib/python*/site-packages"))
    plant(site, {"torch/__init__.py": "from torch._C import *\nimport torch._tensor\n", "torch/_tensor.py": ""})
    library(site / "torch/_C.cpython-311-x86_64-linux-gnu.so")
    (site / "torch-2.6.0.dist-info/RECORD").write_text("torch/__init__.py,sha256=0,44\ntorch/_tensor.py,sha256=0,0\n")
    if lost:
        (site / "torch/_tensor.py").unlink()
    policy, root = Policy(level=Level.LOOK, allow_cpu=True), Tree().build(tmp_path / "root")
    found = examine_machine(CheckOptions(policy=policy, python=str(environment), root=str(root))).diagnosis
    assert found.verdict is (Verdict.BROKEN if lost else Verdict.READY)
    commands = [fix.command for one in found.findings if one.name == "framework-files-damaged" for fix in one.fixes]
    assert [command.partition("--no-deps ")[2] for command in commands] == [CPU_BUILD] * lost


def test_a_parent_folder_on_pythonpath_does_not_hide_a_deleted_library(machine: Machine, copied: tuple[Path, Path]) -> None:
    environment, site = copied
    wheel(site, "nvidia_cuda_runtime_cu12", "12.4.127")
    (site / CUDART).unlink()
    for above in (site.parent, environment, "/"):
        code, report = machine.run("check", "--no-smoke", "--python", str(environment), environ={"PYTHONPATH": str(above)})
        assert (code, report["verdict"]) == (1, "broken")
        (found,) = [one for one in report["findings"] if one["code"] == "GD401"]
        assert "--force-reinstall --no-deps nvidia-cuda-runtime-cu12==12.4.127" in found["fixes"][0]["command"]


@pytest.mark.parametrize("kind", DAMAGES)
def test_a_damaged_library_is_broken_and_its_package_is_reinstalled(machine: Machine, copied: tuple[Path, Path], kind: DamageKind) -> None:
    environment, site = copied
    wheel(site, "nvidia_cuda_runtime_cu12", "12.4.127")
    DAMAGES[kind](site / CUDART)
    code, report = machine.run("check", "--no-smoke", "--python", str(environment))
    assert (code, report["verdict"]) == (1, "broken")
    (found,) = [one for one in report["findings"] if not one["because_of"]]
    assert found["name"] == "cuda-library-damaged"
    assert found["fixes"][0]["kind"] == "fix"
    assert "--force-reinstall --no-deps nvidia-cuda-runtime-cu12==12.4.127" in found["fixes"][0]["command"]


def test_the_page_names_what_is_damaged(copied: tuple[Path, Path]) -> None:
    environment, site = copied
    truncated(site / CUDART)
    emptied(site / "torch/lib/libtorch_cuda.so")
    line = [sys.executable, "-m", "gpudoctor", "xray", "--python", str(environment)]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert done.returncode == 0
    page = " ".join(done.stdout.split())
    assert "libcudart.so.12 DAMAGED" in page
    assert "libcudart.so.12: truncated" in page
    assert "libtorch_cuda.so: an empty file; the import fails" in page


def test_a_lost_file_of_the_frameworks_other_package_belongs_to_that_package(tmp_path: Path) -> None:
    files = {"jax": "jax/__init__.py", "jaxlib": "jaxlib/__init__.py"}
    for name, file in files.items():
        text = "import jaxlib\n" if name == "jax" else "x = 1\n"
        plant(tmp_path, {file: text, f"{name}-0.6.0.dist-info/RECORD": f"{file},sha256=0,{len(text)}\n"})
    (tmp_path / files["jaxlib"]).unlink()
    (damage,) = xray(tmp_path, framework("jax", tmp_path / "jax")).frameworks[0].broken
    assert (damage.path, damage.owner) == (str(tmp_path / files["jaxlib"]), "jaxlib")
