"""scripts/acceptance/frameworks: which releases it would try, and how it judges training; the environments themselves are made by hand."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from packaging.version import Version

from gpudoctor.snapshot import Stage, StageKind, StageState
from tests.builders import smoke, training
from tests.environments import make
from tests.environments.releases import Release, newest, newest_python, releases
from tests.scripts.programs import SCRIPTS, script
from tests.seams.build import SeamUnavailable

tried = script("acceptance/frameworks")


def program(*arguments: str) -> subprocess.CompletedProcess[str]:
    command: list[str | Path] = [sys.executable, SCRIPTS / "acceptance" / "frameworks", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_the_first_release_and_the_last_of_each_minor_version() -> None:
    rows = releases()
    names = [row.name for row in rows]
    assert {"tensorflow-1.15.0", "tensorflow-2.15.1", "torch-2.1.0", "torch-2.5.1", "jax-0.4.30", "jax-0.4.38"} <= set(names)
    assert len(names) == len(set(names))
    by_name = {row.name: row for row in rows}
    assert "3.13" not in by_name["jax-0.4.30"].pythons  # as jaxlib's wheels have it, not jax's own, which are for any
    assert by_name["torch-2.1.0"].wanted == ("torch==2.1.0", "numpy<2", "packaging")
    assert by_name["torch-2.5.1"].wanted == ("torch==2.5.1", "numpy")
    assert by_name["tensorflow-1.15.0"].wanted == ("tensorflow-cpu==1.15.0", "numpy<2", "protobuf<3.21")
    assert all(python.startswith("3.") for row in rows for python in row.pythons)


def test_list_and_an_unknown_name() -> None:
    listed = program("--list", "jax").stdout.splitlines()
    assert listed[0].split()[0] == "jax-0.4.30"
    assert all(line.startswith("jax-") for line in listed)
    done = program("jax-0.1")
    assert (done.returncode, done.stdout) == (2, "")
    assert "no release is called jax-0.1" in done.stderr


def test_the_newest_installed_python() -> None:
    here = f"{sys.version_info[0]}.{sys.version_info[1]}"
    assert newest_python(("3.5", here, "3.99", "3.99t")) == (here, Path(sys.executable))
    with pytest.raises(SeamUnavailable, match=r"needs Python 3\.99"):
        newest_python(("3.99",))


def test_a_failed_environment_leaves_nothing(tmp_path: Path) -> None:
    """Neither uv's, nor pip's, which is tried where uv is missing or fails."""
    with pytest.raises(SeamUnavailable, match="nothing-here"):
        make.fresh(Path(sys.executable), tmp_path / "new", (str(tmp_path / "nothing-here.whl"),), lasting=True)
    assert list(tmp_path.iterdir()) == []


def test_too_small_a_disk_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(tried.NEEDED, "jax", 1 << 40)
    one = tried.attempt(Release("jax", "0.4.30", ("3.11",)), tmp_path)
    assert "could not be tried**: needs" in tried.line(one)


def test_what_counts_as_trained() -> None:
    healthy = smoke(trainings=(training(None),), kernels=())
    assert tried.flaws(healthy) == []
    assert tried.flaws(msgspec.structs.replace(healthy, networks=("dense", "convolutional"))) == ["1 of 2 networks"]
    assert "loss is nan at step 1" in tried.flaws(msgspec.structs.replace(healthy, trainings=(training(None, losses=("nan",)),)))[0]
    crashed = msgspec.structs.replace(healthy, stages=(Stage(StageKind.IMPORT, StageState.CRASHED, error="was killed by\nSIGSEGV"),))
    assert tried.flaws(crashed) == ["import crashed: was killed by SIGSEGV"]
    row = tried.Tried(Release("jax", "0.4.30", ()), "3.12", "FAILS", "a|b", "odd", 3.21)
    assert tried.line(row) == "| jax 0.4.30 | 3.12 | **FAILS**: a\\|b | odd | 3.2 |"
    assert tried.line(dataclasses.replace(row, result="trains", problem="")) == "| jax 0.4.30 | 3.12 | trains | odd | 3.2 |"


def test_the_newest_release_trains() -> None:
    """TensorFlow's; PyTorch's and JAX's train in tests/smoke/test_engines.py."""
    seen = tried.trained("tensorflow", Path(sys.executable))
    assert tried.flaws(seen) == []
    assert [one.network for one in seen.trainings] == list(seen.networks)
    assert Version(str(seen.version)) >= Version(newest("tensorflow").release)
