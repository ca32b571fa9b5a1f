from __future__ import annotations

import pynvml
import pytest

from gpudoctor.derive.fabric import CONFIGURATIONS, fabric_flaws, fabric_of, has_nvlink_5
from gpudoctor.derive.gpus import Gpu
from gpudoctor.snapshot import Fabric, NvmlGpu
from tests.builders import ABSENT, address

MASK = "NVML_GPU_FABRIC_HEALTH_MASK_"
PARTS = {
    "DEGRADED_BW": "reduced bandwidth",
    "ROUTE_RECOVERY": "route recovery in progress",
    "ROUTE_UNHEALTHY": "unhealthy route",
    "ACCESS_TIMEOUT_RECOVERY": "access timeout recovery in progress",
}


def number(name: str) -> int:
    return int(getattr(pynvml, f"{MASK}{name}"))


def bits(part: str, value: int) -> int:
    return value << number(f"SHIFT_{part}")


def of(mask: int, **more: object) -> tuple[str, ...]:
    return fabric_flaws(Fabric("completed", 0, 0, health=mask, **more))  # type: ignore[arg-type]


@pytest.mark.parametrize(("part", "words"), PARTS.items())
def test_the_health_mask_is_decoded_like_nvidias_binding(part: str, words: str) -> None:
    assert of(bits(part, number(f"{part}_TRUE"))) == (words,)
    assert of(bits(part, number(f"{part}_FALSE"))) == ()
    assert of(bits(part, number(f"{part}_NOT_SUPPORTED"))) == ()


def test_each_wrong_configuration_has_a_description() -> None:
    prefix = f"{MASK}INCORRECT_CONFIGURATION_"
    named = {int(value) for name, value in vars(pynvml).items() if name.startswith(prefix)}
    assert named == {number("INCORRECT_CONFIGURATION_NOT_SUPPORTED"), number("INCORRECT_CONFIGURATION_NONE"), *CONFIGURATIONS}
    for value in named:
        found = of(bits("INCORRECT_CONFIGURATION", value))
        assert found == ((f"incorrect configuration ({CONFIGURATIONS[value]})",) if value in CONFIGURATIONS else ())
    assert of(bits("INCORRECT_CONFIGURATION", 15)) == ("incorrect configuration (code 15)",)


def test_several_problems_at_once() -> None:
    every = sum(bits(part, 1) for part in PARTS) | bits("INCORRECT_CONFIGURATION", 5)
    assert of(every) == (*PARTS.values(), "incorrect configuration (not enough NVLinks)")
    assert of(bits("PARTITION_ASSIGNED", 2) | bits("GFM_STATE", 2)) == ()


def test_a_summary_without_a_reason_and_a_registration_that_failed() -> None:
    assert of(0, summary="unhealthy") == ("health unhealthy",)
    assert of(1, summary="unhealthy") == ("reduced bandwidth",)
    assert of(0, summary="healthy") == ()
    assert fabric_flaws(Fabric("completed", 999, 0)) == ("registration failed with NVML error 999",)
    assert fabric_flaws(Fabric("in-progress", 999, 0)) == ()


def gpu(**nvml: object) -> Gpu:
    facts = NvmlGpu(0, **nvml)  # type: ignore[arg-type]
    return Gpu(key=address(0), pci=ABSENT, proc=ABSENT, node=ABSENT, nvml=facts, cuda=ABSENT, cuda_unmasked=ABSENT)


def test_the_generation_of_links_by_their_version_or_the_gpus() -> None:
    assert has_nvlink_5(gpu(nvlink_version="5.0"))
    assert not has_nvlink_5(gpu(nvlink_version="4.0", compute_capability="10.0"))
    assert has_nvlink_5(gpu(nvlink_version=ABSENT, compute_capability="10.3"))
    assert not has_nvlink_5(gpu(compute_capability="9.0"))
    assert not has_nvlink_5(gpu())


def test_a_gpu_with_an_nvml_state_is_attached() -> None:
    assert fabric_of(gpu(fabric=Fabric("not-supported", 0, 0))) is None
    assert fabric_of(gpu(fabric=ABSENT)) is None
    assert fabric_of(gpu(fabric=Fabric("not-started", 0, 0))) is not None
