"""Requirements among distributions, over small tables and lists of packages."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from gpudoctor.derive import MachineView
from gpudoctor.derive.packages import Stack
from gpudoctor.findings import Policy
from gpudoctor.frameworks import stack_of
from gpudoctor.matrix import Matrix
from gpudoctor.snapshot import Cause, Distribution, Fact, Framework, Host, Missing, Packages, Platform, Python, Snapshot
from tests.builders import ABSENT, torch
from tests.matrix.samples import matrix

NOTHING = matrix()
ROWS = matrix(
    tensorflow="""
tensorflow,2.18.0,linux_x86_64,3.11,cuda,12.5,9.3,,,nvidia-cudnn-cu12==9.3.0.75;extra=="and-cuda",1,,,somewhere,
tensorflow,2.18.0,win_amd64,3.11,cpu,,,,,,,,,somewhere,
""",
)


def snapshot(*distributions: Distribution, origin: str = "live", **changes: Any) -> tuple[Snapshot, Packages]:
    packages = Packages(distributions)
    whole = Snapshot(
        created="2026-01-02T03:04:05Z",
        origin=origin,
        host=Host(platform=Platform.LINUX, architecture="x86_64"),
        python=Python("/env/bin/python", "named", version="3.11.4"),
        packages=packages,
        frameworks=(),
    )
    return msgspec.structs.replace(whole, **changes), packages


def stack(*distributions: Distribution, origin: str = "live", tables: Matrix = NOTHING, **changes: Any) -> Stack:
    return Stack(*snapshot(*distributions, origin=origin, **changes), tables)


def one(name: str, version: str, *requires: str, **changes: Any) -> Distribution:
    whole = Distribution(name, version, "/site", requires=requires)
    return msgspec.structs.replace(whole, **changes)


def unmet(found: Stack) -> list[str]:
    return [f"{violation.demand.text} / {violation.found.version}" for violation in found.violations]


def test_installed_metadata_comes_before_the_matrix() -> None:
    installed = one("tensorflow", "2.18.0", "nvidia-cudnn-cu12==9.1.0.70")
    assert unmet(stack(installed, one("nvidia-cudnn-cu12", "9.1.0.70"), tables=ROWS)) == []
    silent = one("tensorflow", "2.18.0", requires=Missing(Cause.ABSENT, "no METADATA"))
    found = stack(silent, one("nvidia-cudnn-cu12", "9.1.0.70"), tables=ROWS)
    assert unmet(found) == ["tensorflow 2.18.0 requires nvidia-cudnn-cu12==9.3.0.75 / 9.1.0.70"]
    assert found.violations[0].demand.where == "matrix: tensorflow 2.18.0 (somewhere)"
    assert found.violations[0].older


@pytest.mark.parametrize(
    ("requires", "counts"),
    [
        ("numpy<2", True),
        ("numpy<2;python_version>='3.12'", False),
        ("numpy<2;python_version<'3.12'", True),
        ("numpy<2; sys_platform == 'win32'", False),
        ("numpy<2; extra == 'and-cuda'", True),
        ("numpy<2; extra == 'minimum-jaxlib'", False),
        ("numpy<2; implementation_name == 'pypy'", False),
        ("numpy<2; implementation_name == 'cpython'", True),
        ("numpy @ https://example.org/numpy.whl", False),
    ],
)
def test_a_requirement_counts_if_its_marker_holds(requires: str, counts: bool) -> None:
    assert bool(unmet(stack(one("tensorflow", "2.18.0", requires), one("numpy", "2.0.2")))) is counts


def test_an_extra_counts_if_it_was_requested() -> None:
    wanted = one("tensorflow", "2.18.0", "numpy<2;extra=='and-cuda'", where="stated: tensorflow", requirement="tensorflow")
    numpy = one("numpy", "2.0.2", where="stated: numpy", requirement="numpy")
    assert unmet(stack(wanted, numpy, origin="supposed")) == []
    assert unmet(stack(msgspec.structs.replace(wanted, extras=("and-cuda",)), numpy, origin="supposed"))


def test_an_extra_may_require_another_packages_extra() -> None:
    jax = one("jax", "0.8.0", "jax-cuda12-plugin[with-cuda]==0.8.0;extra=='cuda12'", extras=("cuda12",))
    plugin = one("jax-cuda12-plugin", "0.8.0", "nvidia-cudnn-cu12<10.0,>=9.8;extra=='with-cuda'")
    cudnn = one("nvidia-cudnn-cu12", "9.1.0.70", where="stated: nvidia-cudnn-cu12", requirement="nvidia-cudnn-cu12")
    assert unmet(stack(jax, plugin, cudnn, origin="supposed")) == [
        "jax-cuda12-plugin 0.8.0 requires nvidia-cudnn-cu12<10.0,>=9.8 / 9.1.0.70"
    ]
    assert unmet(stack(msgspec.structs.replace(jax, extras=()), plugin, cudnn, origin="supposed")) == []


def test_the_first_copy_on_the_path_counts() -> None:
    twice = (one("numpy", "1.26.4", where="/home/user"), one("numpy", "2.0.2"))
    assert unmet(stack(one("tensorflow", "2.17.0", "numpy<2"), *twice)) == []


@pytest.mark.parametrize("version", ["", "unknown", "local build"])
def test_an_unreadable_version_is_no_violation(version: str) -> None:
    assert unmet(stack(one("tensorflow", "2.17.0", "numpy<2"), one("numpy", version))) == []


def test_versions_left_to_the_installer_must_satisfy_all_bounds() -> None:
    torch = one("torch", "2.2.2", "nvidia-cublas-cu12==12.1.3.1", "nvidia-nccl-cu12==2.19.3")
    tensorflow = one("tensorflow", "2.18.0", "nvidia-cublas-cu12==12.5.3.2", "nvidia-nccl-cu12==2.21.5", "numpy>=1.26")
    implied = one("nvidia-cublas-cu12", "12.1.3.1", where="torch 2.2.2", chosen=True)
    found = stack(torch, tensorflow, implied, origin="supposed")
    assert found.violations == ()
    (contradiction,) = found.requirement_clashes
    assert (contradiction.name, contradiction.likewise) == ("nvidia-cublas-cu12", ("nvidia-nccl-cu12",))
    assert [demand.by.name for demand in contradiction.demands] == ["torch", "tensorflow"]
    assert stack(torch, tensorflow).requirement_clashes == ()


def test_frameworks_named_without_packages_count_too() -> None:
    found = stack(frameworks=(torch(), torch(distribution="", version=ABSENT)))
    assert [distribution.version for distribution in found.distributions.values()] == ["2.6.0+cu124"]


def test_the_platforms_row_is_separate_from_others() -> None:
    wanted = one("tensorflow", "2.18.0")
    here = stack(wanted, tables=ROWS)
    row = here.row(wanted)
    assert row is not None
    assert row.accelerator == "cuda"
    assert list(here.elsewhere(wanted)) == ["win_amd64"]
    windows = stack(wanted, tables=ROWS, host=Host(platform=Platform.WINDOWS, architecture="x86_64"))
    assert windows.row(wanted) is not None
    assert list(windows.elsewhere(wanted)) == ["linux_x86_64"]
    assert here.row(one("tensorflow", "2.18.1")) is None
    assert [row.release.text for _, row in here.built_for_numpy_1] == ["2.18.0"]
    assert stack(wanted, tables=ROWS, host=ABSENT, python=ABSENT).row(wanted) == row


def test_metadata_of_another_platform_is_better_than_none() -> None:
    mac = Host(platform=Platform.MACOS, architecture="arm64")
    wanted = Distribution("tensorflow", "2.18.0", "stated: tensorflow", extras=("and-cuda",), requirement="tensorflow")
    cudnn = Distribution("nvidia-cudnn-cu12", "9.1.0.70", "stated: nvidia-cudnn-cu12", requirement="nvidia-cudnn-cu12")
    assert len(stack(wanted, cudnn, origin="supposed", tables=ROWS, host=mac).violations) == 1


@pytest.mark.parametrize(
    ("name", "framework"),
    [
        ("tensorflow-cpu", "tensorflow"),
        ("tensorflow-directml-plugin", "tensorflow"),
        ("keras", "tensorflow"),
        ("tf-keras", "tensorflow"),
        ("torch", "torch"),
        ("torchaudio", "torch"),
        ("torchmetrics", None),
        ("jaxlib", "jax"),
        ("jax-cuda12-pjrt", "jax"),
        ("numpy", None),
    ],
)
def test_a_distribution_belongs_to_the_stack_of_a_framework(name: str, framework: str | None) -> None:
    assert stack_of(name) == framework


def test_a_framework_without_a_version_is_left_out() -> None:
    assert stack(frameworks=(torch(version=Fact("", "nowhere")),)).distributions["torch"].version == ""


@pytest.mark.parametrize(("installed", "bounds"), [("2.15.0", True), ("2.15.1", False), ("2.15.2", False), ("2.16.0", False)])
def test_only_a_later_patch_bounds_what_a_release_leaves_open(installed: str, bounds: bool) -> None:
    rows = "tf-keras,{},any,3.11,none,,,,,{},,,,somewhere,\n"
    requires = {"2.15.0": "", "2.15.1": "tensorflow<2.16", "2.15.2": "", "2.16.0": ""}
    tables = matrix(others="".join(rows.format(*row) for row in requires.items()))
    found = stack(one("tf-keras", installed), one("tensorflow", "2.17.0"), tables=tables)
    assert bool(found.violations) is bounds


@pytest.mark.parametrize(("by", "counts"), [("torchvision", True), ("keras", False), ("tensorflow", False), ("datasets", False)])
def test_a_framework_is_required_by_another_frameworks_stack(by: str, counts: bool) -> None:
    own = one("tensorflow", "2.18.0", requested=False, requires=("tensorflow",) if by == "tensorflow" else ())
    others = () if by == "tensorflow" else (one(by, "1.0", "tensorflow"),)
    view = MachineView(
        snapshot(own, *others, frameworks=(Framework("tensorflow", "tensorflow", Fact("2.18.0", "METADATA")),))[0], NOTHING, Policy()
    )
    (framework,) = view.frameworks
    assert (framework.required_by is not None) is counts


@pytest.mark.parametrize("stated", [True, False])
def test_a_stated_version_breaks_a_requirement_and_the_requirements_do_not_contradict(stated: bool) -> None:
    where = {"where": "stated: numpy", "requirement": "numpy==2.0.2"} if stated else {"where": "torch 2.2.2", "chosen": True}
    asking = (one("torch", "2.2.2", "numpy<2"), one("tensorflow", "2.18.0", "numpy>=2"))
    found = stack(*asking, one("numpy", "2.0.2", **where), origin="supposed")
    assert bool(found.requirement_clashes) is not stated
