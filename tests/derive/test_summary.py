"""The summary of a machine agrees with the observations, and keeps unknown apart from absent."""

from __future__ import annotations

from gpudoctor.findings.summary import FrameworkBuild, GpuModel
from gpudoctor.snapshot import TEXT, Cause, Missing
from tests.machines.diagnoses import diagnosis
from tests.machines.store import NAMES, recorded
from tests.seams.every import every


@every("name", NAMES)
def test_every_machine_is_summed_up(name: str) -> None:
    seen, found = recorded(name), diagnosis(name)
    summary = found.summary
    stated = [row.model for row in found.ladder if row.model or seen.origin != TEXT]
    assert sum(gpu.count for gpu in summary.gpus or ()) == len(stated)
    assert {gpu.model for gpu in summary.gpus or ()} == set(stated)
    frameworks = () if isinstance(seen.frameworks, Missing) else seen.frameworks
    assert [build.name for build in summary.frameworks or ()] == [framework.name for framework in frameworks]
    assert (summary.frameworks is None) == isinstance(seen.frameworks, Missing)
    module = seen.kernel_driver if isinstance(seen.kernel_driver, Missing) else seen.kernel_driver.version
    assert summary.driver != "" or (isinstance(module, Missing) and module.cause is Cause.ABSENT)


def test_a_machine_in_order() -> None:
    summary = diagnosis("healthy-eight").summary
    assert summary.gpus == (GpuModel("NVIDIA A100-SXM4-80GB", 8, 80 << 30),)
    assert summary.frameworks == (FrameworkBuild("tensorflow", "2.18.0", "12.5.1", "9"),)
    assert (summary.driver, summary.cuda, summary.python, summary.environment) == ("550.163.01", "12.4", "3.11.7", "venv")
    assert (summary.platform, summary.os, summary.container) == ("linux", "debian 12", "")


def test_absent_is_empty_and_not_known_is_none() -> None:
    assert (diagnosis("driver-not-loaded").summary.driver, diagnosis("driver-not-loaded").summary.cuda) == ("", None)
    assert diagnosis("wsl-without-dxg").summary.driver is None
    assert diagnosis("wsl-without-dxg").summary.gpus is None
    assert diagnosis("laptop-without-nvidia").summary.gpus == ()
    assert diagnosis("no-framework").summary.frameworks == ()
    assert diagnosis("node-alone").summary.frameworks is None


def test_a_build_without_cuda_says_so() -> None:
    cpu_build, rocm_build = (diagnosis(name).summary.frameworks for name in ("tensorflow-cpu-installed", "radeon-with-rocm-build"))
    assert cpu_build
    assert rocm_build
    assert (cpu_build[0].cuda, cpu_build[0].rocm) == ("", False)
    assert (rocm_build[0].cuda, rocm_build[0].rocm) == ("", True)
