"""The whole inventory: children over our driver libraries and broken targets, with what the parent reads."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from gpudoctor.errors import UsageError
from gpudoctor.probe.inventory import NODE_ONLY, ProbeScope
from gpudoctor.snapshot import Cause, Fact, Framework, Host, Libcuda, Missing, Nvml, Packages, Python, Variables
from tests.probe.places import EMPTY, SHORT, look, plant
from tests.probe.test_frameworks import BUILD, JAX, TORCH_2_8, V2_10
from tests.seams import Cuda
from tests.seams import Nvml as Library
from tests.seams.trees import PciCard, Tree

Shims = Callable[..., dict[str, str]]
OWN = ProbeScope(python=sys.executable)
TARGETS = {
    "exits": "exit 0",
    "fails": "echo no licence >&2; exit 7",
    # a line that begins with @ would be a progress mark
    "garbage": 'while [ "$1" != --answer-fd ]; do shift; done; head -c 5000 /dev/urandom | LC_ALL=C tr -d @ >/dev/fd/$2; head -c 5000 /dev/urandom >&2',
    "garbage answer": 'while [ "$1" != --answer-fd ]; do shift; done; printf "{}\\n[1]\\n{\\"type\\":\\"python\\",\\"path\\":7}\\nnull\\n\\377\\n" >&$2',
    "sleeps": "exec sleep 100",
    "segfaults": "kill -SEGV $$",
}


@pytest.mark.parametrize("name", TARGETS)
def test_a_named_target_that_is_not_a_python_is_a_usage_error(tmp_path: Path, name: str) -> None:
    script = no_python(tmp_path, name)
    with pytest.raises(UsageError, match=f"^--python {script}: not a Python interpreter \\(it .*\\); name an interpreter or the folder"):
        look(ProbeScope(python=script), EMPTY, SHORT)


@pytest.mark.parametrize("program", ["/bin/true", "/bin/ls", "/bin/cat"])
def test_a_system_program_is_not_a_python(program: str) -> None:
    with pytest.raises(UsageError, match="not a Python interpreter"):
        look(ProbeScope(python=program), patience=SHORT)


@pytest.mark.parametrize("name", TARGETS)
def test_a_broken_default_target_only_loses_its_own_sections(
    tmp_path: Path, shim_environment: Shims, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gpudoctor.probe.target.has_framework", lambda _path: False)  # as in an environment of its own
    script = no_python(tmp_path, name)
    environ = shim_environment(Library(gpus=1), Cuda(gpus=1)) | {"VIRTUAL_ENV": str(tmp_path)}
    snapshot, inventory = look(ProbeScope(), environ, SHORT)
    assert isinstance(snapshot.python, Missing)
    assert snapshot.python.cause is (Cause.TIMED_OUT if name == "sleeps" else Cause.FAILED)
    assert script in snapshot.python.reason
    assert snapshot.packages == snapshot.frameworks == snapshot.python
    assert inventory.interpreter is None
    assert isinstance(snapshot.nvml, Nvml)
    if name not in {"garbage answer", "sleeps"}:
        assert isinstance(snapshot.libcuda, Libcuda)
        assert snapshot.libcuda.cuda_served == "12.4"
        assert "queried with gpudoctor's own Python" in snapshot.remarks[0]


def no_python(place: Path, name: str) -> str:
    script = place / "bin/python"
    script.parent.mkdir()
    script.write_text(f"#!/bin/bash\n{TARGETS[name]}\n")
    script.chmod(0o755)
    return str(script)


@pytest.mark.parametrize("path", ["/none/python", "/etc/passwd", "/etc"])
def test_a_named_target_that_cannot_start_is_a_usage_error(path: str) -> None:
    with pytest.raises(UsageError, match=f"--python {path}: "):
        look(ProbeScope(python=path))


def test_without_ctypes_our_own_interpreter_queries_libcuda(tmp_path: Path, fake_cuda: Shims) -> None:
    wrapped = tmp_path / "noctypes"
    wrapped.write_text(
        f'#!/bin/bash\ncase "$*" in *libcuda_probe*) for a; do [[ $a == /* ]] && s=$a; done;\n'
        f"exec {sys.executable} -I -S -c \"import sys, runpy; sys.modules['_ctypes'] = None; sys.argv = sys.argv[1:]; "
        f'runpy.run_path(sys.argv[0], run_name=\'__main__\')" "${{@:4}}";; esac\nexec {sys.executable} "$@"\n'
    )
    wrapped.chmod(0o755)
    snapshot, _ = look(ProbeScope(python=str(wrapped)), fake_cuda(gpus=1))
    assert isinstance(snapshot.python, Python)
    assert isinstance(snapshot.libcuda, Libcuda)
    assert not isinstance(snapshot.libcuda.devices, Missing)
    assert "has no ctypes" in snapshot.remarks[0]


def test_a_non_utf8_environment_is_readable(tmp_path: Path) -> None:
    prefix = tmp_path / os.fsdecode(b"caf\xe9")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "plain")], check=True)
    (tmp_path / "plain").rename(prefix)  # venv itself refuses such a name
    (site,) = prefix.glob("lib/python3*/site-packages")
    plant(site, {"torch-2.8.0.dist-info/METADATA": "", "torch/version.py": TORCH_2_8, "torch/__init__.py": ""})
    snapshot, inventory = look(ProbeScope(python=str(prefix)))
    assert isinstance(snapshot.python, Python)
    assert snapshot.python.executable.endswith("caf\\xe9/bin/python")
    assert inventory.interpreter == str(prefix / "bin/python")
    assert not isinstance(snapshot.frameworks, Missing)
    assert [framework.name for framework in snapshot.frameworks] == ["torch"]


def test_a_folder_with_three_frameworks_built_for_cuda(tmp_path: Path) -> None:
    metadata = ("tensorflow-2.10.0", "torch-2.8.0", "jax-0.6.2", "jaxlib-0.6.2", "jax_cuda12_plugin-0.6.2", "nvidia_cudnn_cu12-9.10.2.21")
    plant(
        tmp_path,
        {
            **{f"{name}.dist-info/METADATA": "" for name in metadata},
            **{f"{name}/__init__.py": "raise SystemExit('imported')" for name in ("tensorflow", "torch", "jax")},
            BUILD: V2_10,
            "torch/version.py": TORCH_2_8,
            "jax/version.py": JAX,
        },
    )
    snapshot, _ = look(OWN, {**EMPTY, "PYTHONPATH": str(tmp_path)})
    assert not isinstance(snapshot.frameworks, Missing)
    assert [(framework.name, framework.built_with_cuda.value) for framework in snapshot.frameworks if isinstance(framework.built_with_cuda, Fact)] == [
        ("tensorflow", "11.2"), ("torch", "12.8"), ("jax", "12"),
    ]  # fmt: skip
    assert isinstance(snapshot.packages, Packages)
    assert ("nvidia-cudnn-cu12", "9.10.2.21") in {
        (distribution.name, distribution.version) for distribution in snapshot.packages.distributions
    }


def test_the_real_tensorflow_of_this_environment() -> None:
    installed = next((path for path in sys.path if Path(path, "tensorflow").is_dir()), None)
    if installed is None:
        pytest.skip("no TensorFlow in this environment")
    snapshot, inventory = look(ProbeScope())
    assert not isinstance(snapshot.frameworks, Missing)
    framework: Framework = snapshot.frameworks[0]
    assert (framework.name, framework.location) == ("tensorflow", f"{installed}/tensorflow")
    assert isinstance(framework.version, Fact)
    assert re.fullmatch(r"2\.\d+\.\d+.*", framework.version.value)
    assert framework.cuda_build in (True, False)
    assert inventory.target.executable == inventory.interpreter == sys.executable
    assert isinstance(snapshot.python, Python)
    assert "beside a framework" in snapshot.python.why


def test_a_recorded_tree_is_examined_with_children_of_this_machine(tmp_path: Path, shim_environment: Shims) -> None:
    library = Library(gpus=2)
    root = Tree(pci=[PciCard.of(card) for card in library.cards], kernel_driver="550.163.01", container="docker").build(tmp_path / "root")
    snapshot, _ = look(ProbeScope(python=sys.executable, root=str(root)), shim_environment(library, Cuda(gpus=2)))
    assert not isinstance(snapshot.pci, Missing)
    addresses = [device.address for device in snapshot.pci.devices]
    assert isinstance(snapshot.nvml, Nvml)
    assert isinstance(snapshot.nvml.gpus, tuple)
    assert addresses == [gpu.address for gpu in snapshot.nvml.gpus]
    assert not isinstance(snapshot.kernel_driver, Missing)
    assert isinstance(snapshot.kernel_driver.version, Fact)
    assert not isinstance(snapshot.container, Missing)
    assert not isinstance(snapshot.device_nodes, Missing)


def test_paths_for_fixes_are_not_shortened(tmp_path: Path) -> None:
    environ = {
        **EMPTY,
        "HOME": str(tmp_path),
        "LD_LIBRARY_PATH": f"{tmp_path}/lib",
        "PYTHONPATH": f"{tmp_path}/site",
        "NVIDIA_API_KEY": "s3cret",
    }
    snapshot, _ = look(OWN, environ)
    assert isinstance(snapshot.variables, Variables)
    assert snapshot.variables.values["LD_LIBRARY_PATH"] == f"{tmp_path}/lib"
    assert isinstance(snapshot.python, Python)
    assert f"{tmp_path}/site" in snapshot.python.path  # type: ignore[operator]
    assert "s3cret" not in repr(snapshot)


def test_created_is_utc_to_the_second() -> None:
    created = look(OWN)[0].created
    assert abs(time.mktime(time.strptime(created, "%Y-%m-%dT%H:%M:%SZ")) - time.mktime(time.gmtime())) < 60


@pytest.mark.parametrize(
    "environ", [{}, {"HOME": "", "PATH": ""}, {"HOME": "/", "LANG": "C", "PATH": "relative::"}, {"HOME": os.fsdecode(b"/\xff")}]
)
def test_empty_environments(environ: dict[str, str]) -> None:
    snapshot, _ = look(OWN, environ)
    assert isinstance(snapshot.python, Python)


def test_the_hot_path_imports_nothing_slow() -> None:
    code = (
        "import sys, time\nfrom gpudoctor.process import Supervisor\nfrom gpudoctor.probe.inventory import Inventory\n"
        "from gpudoctor.probe.inventory import ProbeScope\nbefore = set(sys.modules)\nfrom gpudoctor.probe.observation import finished_snapshot\n"
        "with Supervisor(time.monotonic() + 30) as supervisor:\n    inventory = Inventory(supervisor, ProbeScope())\n    inventory.begin()\n    finished_snapshot(inventory)\n"
        "print(' '.join(set(sys.modules) - before))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": str(Path.cwd())}
    )
    slow = {"rich", "typer", "packaging", "importlib.metadata", "pathlib", "dataclasses", "pynvml", "tensorflow", "json", "asyncio"}
    assert slow & set(done.stdout.split()) == set()


def test_the_machine_alone_needs_no_interpreter() -> None:
    seen, inventory = look(ProbeScope(python="/no/such/interpreter", node=True))
    assert {str(getattr(seen, name)) for name in ("python", "packages", "frameworks", "libraries")} == {str(NODE_ONLY)}
    assert isinstance(seen.host, Host)
    assert inventory.libcuda_interpreter == sys.executable


@pytest.mark.parametrize("name", ["more.zip", "torch-2.6.0-py3.11.egg"])
def test_a_framework_in_an_archive_is_there_and_unknown(tmp_path: Path, name: str) -> None:
    with zipfile.ZipFile(tmp_path / name, "w") as archive:
        archive.writestr("torch/__init__.py", "")
        archive.writestr("torch/version.py", TORCH_2_8)
    snapshot, _ = look(OWN, EMPTY | {"PYTHONPATH": str(tmp_path / name)})
    assert isinstance(snapshot.frameworks, tuple)
    (torch,) = (framework for framework in snapshot.frameworks if framework.name == "torch")
    for fact in (torch.version, torch.location, torch.cuda_build):
        assert isinstance(fact, Missing)
        assert (fact.cause, fact.reason) == (Cause.FAILED, f"torch is inside {tmp_path}/{name}, which gpudoctor does not read")
