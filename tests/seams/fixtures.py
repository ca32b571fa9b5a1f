"""The fixtures that provide the seams; a seam that this machine cannot provide skips the test."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import pytest

from tests.seams import debian, environments
from tests.seams.build import SeamUnavailable
from tests.seams.imported import imported
from tests.seams.scenario import Cuda, Nvml, environ_with
from tests.seams.trees import Tree


class ShimEnvironment(Protocol):
    def __call__(self, *libraries: Nvml | Cuda) -> dict[str, str]: ...


@contextmanager
def _or_skip() -> Iterator[None]:
    try:
        yield
    except SeamUnavailable as reason:
        pytest.skip(str(reason))


@pytest.fixture(scope="module")
def unmeasured() -> Iterator[None]:
    """Start programs without coverage, which takes longer than a check: for files whose tests start hundreds of them, or copies."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("COVERAGE_PROCESS_CONFIG", raising=False)
        yield


@pytest.fixture
def shim_environment(tmp_path: Path) -> ShimEnvironment:
    """`shim_environment(Nvml(gpus=8), Cuda(gpus=8))`: the whole environment of a child that loads them."""

    def provide(*libraries: Nvml | Cuda) -> dict[str, str]:
        with _or_skip():
            return environ_with(*libraries, directory=tmp_path / "shims")

    return provide


@pytest.fixture
def fake_nvml(shim_environment: ShimEnvironment) -> Callable[..., dict[str, str]]:
    """`fake_nvml(gpus=8, calls={...})`: the environment with our NVML alone."""
    return lambda **scenario: shim_environment(Nvml(**scenario))


@pytest.fixture
def fake_cuda(shim_environment: ShimEnvironment) -> Callable[..., dict[str, str]]:
    """`fake_cuda(gpus=8, calls={...})`: the environment with our libcuda alone."""
    return lambda **scenario: shim_environment(Cuda(**scenario))


@pytest.fixture
def driver_libraries() -> Iterator[Callable[[str], debian.DriverLibraries]]:
    """`driver_libraries("550")`: NVIDIA's own libraries; the test fails if they created /dev/nvidiactl."""
    before = debian.CONTROL_NODE.exists()

    def provide(branch: str) -> debian.DriverLibraries:
        with _or_skip():
            return debian.driver_libraries(branch)

    yield provide
    if not before and debian.CONTROL_NODE.exists():
        debian.CONTROL_NODE.unlink()
        pytest.fail(f"{debian.CONTROL_NODE} was created: NVIDIA's libraries ran with CAP_MKNOD")


@pytest.fixture(scope="session")
def framework_python() -> Callable[[str], Path]:
    """`framework_python("torch")`: the interpreter of an environment that holds it."""

    def provide(framework: str) -> Path:
        with _or_skip():
            return environments.framework_python(framework)

    return provide


@pytest.fixture(scope="session")
def imported_tensorflow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """An interpreter with TensorFlow, for tests that are not about its start; see tests/seams/imported.py."""
    with imported(Path(sys.executable), tmp_path_factory.mktemp("imported"), "tensorflow", "keras") as python:
        yield python


@pytest.fixture(scope="session")
def transformers() -> Path:
    """A folder with transformers, for the PYTHONPATH of the environment with torch."""
    with _or_skip():
        return environments.transformers()
    raise AssertionError


@pytest.fixture(scope="session")
def scikit_learn() -> Path:
    """A folder with scikit-learn, for the search path."""
    with _or_skip():
        return environments.scikit_learn()
    raise AssertionError


@pytest.fixture(scope="session")
def tensorflow_1_python() -> Path:
    """The interpreter of an environment that holds TensorFlow 1.15."""
    with _or_skip():
        return environments.tensorflow_1_python()
    raise AssertionError


@pytest.fixture
def machine_tree(tmp_path: Path) -> Callable[..., Path]:
    """`machine_tree(pci=[PciCard()], kernel_driver="550.163.01")`: the root of that Tree."""

    def provide(**machine: Any) -> Path:
        with _or_skip():
            return Tree(**machine).build(tmp_path / "root")

    return provide
