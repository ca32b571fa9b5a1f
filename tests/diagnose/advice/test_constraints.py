from __future__ import annotations

from typing import Any

import msgspec
import pytest

from gpudoctor.derive import MachineView
from gpudoctor.diagnose.advice.constraints import Constraints, constraints
from gpudoctor.diagnose.advice.releases import is_release_working
from gpudoctor.findings import Policy
from gpudoctor.snapshot import Host, Platform
from tests.diagnose.rules.planned import CUDNN, branches, supposed
from tests.matrix.samples import matrix, release, version

PTX_ONLY = {"sass": ("sm_80",), "ptx": ("compute_80",), "requires": (), "cudnn": None}
CUDAS = "12.4,550.54.14,551.61,525.60.13,528.33,,,,,,guide\n13.0,580.65.06,,580.65.06,,,,,,,guide"
SERVED = branches((535, "12.2", "5.0", "9.0"), (550, "12.4", "5.0", "9.0"), (580, "13.0", "7.5", "12.1"))
TABLES = matrix(cudnn=CUDNN, cuda=CUDAS, drivers=SERVED)


def of(gpu: str = "8.0", driver: str | None = None, **sections: Any) -> Constraints:
    """The constraints of a machine with one GPU of this compute capability."""
    return constraints(MachineView(supposed(gpus=(gpu,), driver=driver, **sections), TABLES, Policy()))


@pytest.mark.parametrize(
    ("gpu", "fields", "runs"),
    [
        ("7.0", {"requires": ("numpy", "nvidia-cudnn-cu12==9.11.0.98")}, False),
        ("7.0", {"requires": ('nvidia-cudnn-cu12==9.11.0.98;platform_system=="Linux"',)}, False),
        ("7.0", {"requires": ("nvidia-cudnn-cu12==9.10.2.21",), "cudnn": version("9.11.0.98")}, True),
        ("7.0", {"requires": ("nvidia-cudnn-cu12>=9.11.0.98",)}, True),
        ("7.0", {"requires": ("nvidia-cudnn-cu12==9.11",)}, True),
        ("7.0", {"cudnn": version("9.11.0")}, False),
        ("7.0", {"cudnn": version("9.11")}, True),
        ("7.0", {"cudnn": version("9.11.0"), "built_with_cuda": None}, True),
        ("7.0", {"cudnn": version("9.11.0"), "built_with_cuda": version("13.0")}, True),
        ("8.0", {"requires": ("nvidia-cudnn-cu12==9.11.0.98",)}, True),
        ("6.1", {"cudnn": version("9.10.2.21")}, False),
    ],
)
def test_the_cudnn_of_a_release_must_have_kernels_too_where_it_is_known(gpu: str, fields: dict[str, Any], runs: bool) -> None:
    row = release("2.8.0", **{"sass": ("sm_60", "sm_70", "sm_80"), "requires": (), "cudnn": None} | fields)
    assert of(gpu).has_kernels_for_gpus(row) is runs


@pytest.mark.parametrize(
    ("python", "pythons", "accepts", "fits"),
    [
        ("3.11", ("3.11", "3.12"), "", True),
        ("3.13", ("3.11", "3.12"), "", False),
        ("", ("3.11", "3.12"), "", True),
        ("3.13", (), "", True),
        ("3.11", ("3.11",), "==2.8.*", True),
        ("3.11", ("3.11",), "<2.8", False),
        ("3.13", ("3.11",), "==2.8.*", False),
        ("3.11", ("3.11",), "unreadable", True),
    ],
)
def test_a_release_needs_a_wheel_for_this_python_and_an_accepted_version(
    python: str, pythons: tuple[str, ...], accepts: str, fits: bool
) -> None:
    machine = MachineView(supposed(python=python), TABLES, Policy())
    assert constraints(machine, accepts).is_installable(release("2.8.0", pythons=pythons)) is fits


WSL, WINDOWS = Host(platform=Platform.WSL2, architecture="x86_64"), Host(platform=Platform.WINDOWS, architecture="x86_64")


@pytest.mark.parametrize(
    ("driver", "cuda", "host", "runs"),
    [
        ("525.60.13", "12.4", None, True),  # minor version compatibility
        ("520.61.05", "12.4", None, False),
        ("528.33", "12.4", WINDOWS, True),
        ("527.41", "12.4", WINDOWS, False),
        ("535.54.03", "12.4", WSL, True),
        ("550.54.14", "13.0", WSL, False),
        ("580.65.06", "12.4", WSL, True),
        ("415.27", "13.0", WSL, True),  # no table says what this driver supports
        (None, "13.0", None, True),
        ("470.57.02", None, None, True),
        ("470.57.02", "99.0", None, True),
    ],
)
def test_the_driver_must_be_as_new_as_the_cuda_needs(driver: str | None, cuda: str | None, host: Host | None, runs: bool) -> None:
    sections: dict[str, Any] = {} if host is None else {"host": host}
    assert of(driver=driver, **sections).is_cuda_supported(version(cuda) if cuda else None) is runs


@pytest.mark.parametrize(
    ("driver", "gpu", "host", "supports"),
    [
        ("550.54.14", "8.0", None, True),
        ("550.54.14", "12.0", None, False),
        ("580.65.06", "12.0", None, True),
        ("580.65.06", "7.0", None, False),
        ("550.54.14", "7.0", None, True),
        ("415.27", "8.0", None, False),  # a branch that the tables lack counts by its number
        ("580.65.06", "7.0", WSL, True),
        (None, "12.0", None, True),
    ],
)
def test_the_driver_must_support_every_gpu(driver: str | None, gpu: str, host: Host | None, supports: bool) -> None:
    sections: dict[str, Any] = {} if host is None else {"host": host}
    assert of(gpu, driver, **sections).driver_supports_gpus is supports


@pytest.mark.parametrize(
    ("driver", "cuda", "accepts_ptx", "runs"),
    [
        ("550.54.14", "12.4", True, True),
        ("550.54.14", "12.4", False, False),
        ("535.54.03", "12.4", True, False),  # it does not compile the PTX of a newer CUDA
        ("580.65.06", "12.4", True, True),
        ("415.27", "12.4", True, False),
        ("550.54.14", None, True, False),
        (None, "12.4", True, True),
    ],
)
def test_code_that_the_driver_compiles_is_enough_only_where_it_is_accepted(
    driver: str | None, cuda: str | None, accepts_ptx: bool, runs: bool
) -> None:
    here = msgspec.structs.replace(of("9.0", driver), accepts_ptx=accepts_ptx)
    assert here.has_kernels_for_gpus(release("2.8.0", **PTX_ONLY, built_with_cuda=version(cuda) if cuda else None)) is runs


@pytest.mark.parametrize(
    ("fields", "works"),
    [({}, True), ({"pythons": ("3.9",)}, False), ({"built_with_cuda": version("13.0")}, False), ({"sass": ("sm_90",)}, False)],
)
def test_a_release_works_if_python_driver_and_gpu_all_fit(fields: dict[str, Any], works: bool) -> None:
    machine = MachineView(supposed(driver="550.54.14"), TABLES, Policy())
    assert is_release_working(machine, release("2.8.0", **fields)) is works
