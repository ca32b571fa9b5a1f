"""The whole program trains for real while NVML watches: TensorFlow plays the GPU, our NVML shows what the test says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gpudoctor.probe.telemetry import SILENCE_SECONDS
from tests.machines.build import diagnosed, examine
from tests.machines.recipes.loads import at_work
from tests.seams import Nvml
from tests.smoke.playing import plays

HOST_PIDS = Path("/proc/self/ns/pid").stat().st_ino == 0xEFFFFFFC


@pytest.fixture
def examined(tmp_path: Path, imported_tensorflow: Path) -> Callable[..., dict[str, Any]]:
    def report(patch: str = plays(), calls: dict[str, str] | None = None) -> dict[str, Any]:
        recipe = at_work("")
        nvml, cuda = recipe.libraries
        library = Nvml(gpus=nvml.gpus, calls=calls or {})
        whole = type(recipe)(**{**vars(recipe), "libraries": (library, cuda), "patch": patch})
        _, made = examine(whole, tmp_path, target=imported_tensorflow)
        named = [entry for entry in Path("/proc").glob("[0-9]*") if str(tmp_path).encode() in environment_of(entry)]
        assert named == []
        return made

    return report


def environment_of(process: Path) -> bytes:
    try:
        return (process / "environ").read_bytes()
    except OSError:
        return b""


def test_nvml_can_contradict_a_framework(examined: Callable[..., dict[str, Any]]) -> None:
    """If NVML's process ids are not ours, as in most containers, its list proves nothing, and nothing is reported."""
    report = examined(plays(loads=False))
    (load,) = report["snapshot"]["loads"]["gpus"]
    assert (load["memory_most"], load["utilization"]) == (0, 0)
    assert diagnosed(report)["roots"] == ["smoke-ran-on-cpu"] * HOST_PIDS
    assert (report["ladder"][0]["steps"][-1]["state"] == "failed") is HOST_PIDS


def test_hanging_samples_do_not_affect_training(examined: Callable[..., dict[str, Any]]) -> None:
    """However fast the machine, training goes on for longer than the silence after which sampling counts as hung."""
    report = examined(plays(opens_in=1.2 * SILENCE_SECONDS), {"nvmlDeviceGetPowerUsage": "after 2 stuck"})
    assert report["verdict"] == "ready"
    loads = report["snapshot"]["loads"]
    assert "did not respond" in (loads["cut"] if loads["type"] == "loads" else loads["reason"])
    assert {stage["state"] for stage in report["snapshot"]["smoke"][0]["stages"]} == {"done"}


@pytest.mark.parametrize(("code", "verdict", "root"), [(15, "broken", "gpu-fell-off-bus"), (11, "degraded", "gpu-not-responding")])
def test_an_alarm_during_training_is_found(code: int, verdict: str, root: str, examined: Callable[..., dict[str, Any]]) -> None:
    report = examined(calls={"nvmlDeviceGetPowerUsage": f"after 2 return {code}"})
    (load,) = report["snapshot"]["loads"]["gpus"]
    assert [alarm["code"] for alarm in load["alarms"]] == [code]
    assert (report["verdict"], diagnosed(report)["roots"]) == (verdict, [root])
