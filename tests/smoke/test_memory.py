"""How each engine limits itself to its share of a GPU's memory. The frameworks are simulated here; gpu_acceptance tests the limits for real."""

from __future__ import annotations

from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from tests.smoke.child import Run, load

GIB = 1 << 30
SHARES = {0: (2 * GIB, 8 * GIB), 2: (3 * GIB, 24 * GIB)}


@pytest.fixture
def engine(request: pytest.FixtureRequest, task: ModuleType) -> Any:
    made = load(f"{request.param}_engine").Engine(task)
    made.memory = SHARES
    return made


@pytest.mark.parametrize("engine", ["torch"], indirect=True)
def test_torch_limits_each_device(engine: Any) -> None:
    limits: dict[int, float] = {}
    cuda = SimpleNamespace(init=lambda: None, set_per_process_memory_fraction=lambda share, ordinal: limits.update({ordinal: share}))
    engine._torch = SimpleNamespace(cuda=cuda)
    assert [name for name, _ in engine.open([0, 1, 2])] == ["GPU:0", "GPU:1", "GPU:2"]
    assert limits == {0: 0.25, 2: 0.125}


@pytest.mark.parametrize("engine", ["tensorflow"], indirect=True)
def test_tensorflow_limits_or_grows(engine: Any) -> None:
    done: list[tuple[str, object]] = []
    tensorflow = SimpleNamespace(
        config=SimpleNamespace(
            list_physical_devices=lambda _kind: ["gpu0", "gpu1", "gpu2"],
            list_logical_devices=lambda _kind: [SimpleNamespace(name=f"/device:GPU:{number}") for number in range(3)],
            LogicalDeviceConfiguration=lambda memory_limit: memory_limit,
            set_logical_device_configuration=lambda gpu, parts: done.append((gpu, parts)),
            set_visible_devices=lambda gpus, _kind: done.append(("visible", gpus)),
            experimental=SimpleNamespace(set_memory_growth=lambda gpu, grows: done.append((gpu, grows))),
        )
    )
    engine._config = load("tensorflow_engine").Config(tensorflow)
    engine.open([0, 1, 2])
    assert done == [("gpu0", [2048]), ("gpu1", True), ("gpu2", [3072]), ("visible", ["gpu0", "gpu1", "gpu2"])]
    assert engine.settings["TF_FORCE_GPU_ALLOW_GROWTH"] == "true"


@pytest.mark.index
@pytest.mark.parametrize("settings", [{}, {"XLA_PYTHON_CLIENT_MEM_FRACTION": "0.9"}, {"XLA_CLIENT_MEM_FRACTION": "0.9"}])
def test_jax_is_told_the_smallest_share_before_it_is_imported(settings: dict[str, str], smoke: Any, framework_python: Any) -> None:
    told = """
import sys, os, atexit
@atexit.register
def say():
    shares = {name: os.environ[name] for name in sorted(os.environ) if name.endswith("MEM_FRACTION")}
    sys.stderr.write("SHARES %r\\n" % shares)
"""
    run: Run = smoke(
        "--devices", "0", "--memory", f"0={2 * GIB}/{8 * GIB},2={3 * GIB}/{24 * GIB}",
        framework="jax", interpreter=framework_python("jax"), patch=told, settings=settings,
    )  # fmt: skip
    assert "SHARES {'XLA_PYTHON_CLIENT_MEM_FRACTION': '0.1250'}" in run.errors
    assert run.one("end", stage="import")["set_aside"] == sorted(settings)
    assert run.one("failed", stage="devices")
