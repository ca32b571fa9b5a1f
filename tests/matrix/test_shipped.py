from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest

from gpudoctor import versions
from gpudoctor.frameworks import ADDONS, stack_of
from gpudoctor.matrix import Matrix, consistency
from gpudoctor.matrix.table import Table
from gpudoctor.matrix.tables import (
    ALL_TABLES,
    BOUNDS,
    CHIPS,
    CUDA,
    CUDNN,
    DRIVER_PACKAGES,
    DRIVERS,
    GPUS,
    RELEASE_TABLES,
    SOURCE_TABLE,
    SXIDS,
    TABLE_OF,
    TORCH_BUILDS,
    XIDS,
)
from gpudoctor.versions import Version
from scripts.refresh.common import dump_table
from tests.shipped import shared_matrix

COMPAT = Path(__file__).resolve().parents[2] / "compat"


@pytest.fixture(scope="module")
def shipped() -> Matrix:
    return shared_matrix()


@pytest.mark.parametrize("table", ALL_TABLES, ids=lambda table: table.name)
def test_parse_and_dump_give_the_same_bytes(shipped: Matrix, table: Table[Any]) -> None:
    assert dump_table(table, shipped.rows(table)) == (COMPAT / f"{table.name}.csv").read_bytes()


@pytest.mark.parametrize("table", ALL_TABLES, ids=lambda table: table.name)
def test_rows_are_sorted_and_unique(shipped: Matrix, table: Table[Any]) -> None:
    keys = [table.key(row) for row in shipped.rows(table)]
    assert all(before < after for before, after in pairwise(keys))
    assert keys


def test_the_tables_are_consistent(shipped: Matrix) -> None:
    assert list(consistency.table_contradictions(shipped)) == []


def test_every_csv_is_a_known_table() -> None:
    assert {path.stem for path in COMPAT.glob("*.csv")} == {table.name for table in ALL_TABLES}


def test_the_columns_are_the_fields_of_the_rows() -> None:
    for table in ALL_TABLES:
        assert list(table.columns) == [field.name for field in msgspec.structs.fields(cast("type[msgspec.Struct]", table.row))]


def test_the_readme_explains_every_column() -> None:
    text = (COMPAT / "README.md").read_text(encoding="utf-8")
    tables: tuple[Table[Any], ...] = (CUDA, CUDNN, DRIVERS, DRIVER_PACKAGES, *RELEASE_TABLES.values(), TORCH_BUILDS, GPUS, CHIPS, XIDS)
    for table in tables:
        for column in set(table.columns) - {"source", "note"}:
            assert column in text, (table.name, column)


def test_sources_name_no_package_index(shipped: Matrix) -> None:
    wheels = [source for source in shipped.rows(SOURCE_TABLE) if source.id.endswith("-wheels")]
    assert {source.id for source in wheels} >= {f"{distribution}-wheels" for distribution in TABLE_OF}
    assert [source.url for source in wheels] == [""] * len(wheels)


def test_a_cuda_row_states_its_cuda(shipped: Matrix) -> None:
    for table in (RELEASE_TABLES["tensorflow"], RELEASE_TABLES["torch"]):
        for row in shipped.rows(table):
            cuda = row.accelerator == "cuda"
            untested = row.release < Version(1, 0) or row.platform.startswith("macos_")
            names_none = row.distribution == "tensorflow-gpu" and untested and not row.platform.startswith("linux_")
            assert (row.built_with_cuda is not None) == (cuda and not names_none), row
            assert (row.sass is not None) == cuda, row.release
            assert row.pythons or row.accelerator == "stub", row


def test_a_branch_supports_the_cuda_of_its_exact_driver(shipped: Matrix) -> None:
    for branch in shipped.rows(DRIVERS):
        assert branch.cuda_served is not None
        floor = shipped.driver_floor(branch.cuda_served)
        assert floor is not None
        if floor.exact is not None:
            assert floor.exact.major == branch.branch


def test_every_floor_is_in_a_branch_that_supports_its_cuda(shipped: Matrix) -> None:
    for row in shipped.rows(CUDA):
        if row.driver_linux is None:
            assert row.note == "no source states its driver"
            continue
        branch = shipped.driver(row.driver_linux)
        assert branch is not None
        assert branch.cuda_served is not None
        assert branch.cuda_served.short == row.release.short


@pytest.mark.parametrize(
    ("cuda", "os", "exact", "minor"),
    [
        ("9.0", "linux", "384.81", None),
        ("10.0", "linux", "410.48", None),
        ("10.2", "windows", "441.22", None),
        ("11.0", "linux", "450.51.05", "450.36.06"),
        ("11.2", "linux", "460.27.03", "450.80.02"),
        ("11.8", "linux", "520.61.05", "450.80.02"),
        ("11.8", "windows", "520.06", "452.39"),
        ("12.0", "linux", "525.60.13", "525.60.13"),
        ("12.4", "linux", "550.54.14", "525.60.13"),
        ("12.4.1", "linux", "550.54.15", "525.60.13"),
        ("12.4.127", "linux", "550.54.14", "525.60.13"),
        ("12.5.1", "windows", "555.85", "528.33"),
        ("12.3.2", "linux", "545.23.08", "525.60.13"),
        ("12.8.2", "windows", "572.61", "528.33"),
        ("12.7", "linux", None, "525.60.13"),
        ("12.99", "windows", None, "528.33"),
        ("13.0", "linux", "580.65.06", "580"),
        ("13.2", "windows", "595", "580"),
        ("13.4", "linux", "615", "580"),
        ("13.4.3", "linux", "615", "580"),
        ("13.5", "linux", None, "580"),
    ],
)
def test_driver_floors(shipped: Matrix, cuda: str, os: str, exact: str | None, minor: str | None) -> None:
    wanted = versions.parse_version(cuda)
    assert wanted is not None
    floor = shipped.driver_floor(wanted, os)
    assert floor is not None
    assert (floor.exact and str(floor.exact), floor.minor_version_floor and str(floor.minor_version_floor)) == (exact, minor)
    assert all(shipped.source(name) for name in floor.source)


@pytest.mark.parametrize(("cuda", "os"), [("7.5", "linux"), ("10.3", "linux"), ("99.0", "linux"), ("12.4", "macos")])
def test_an_unknown_cuda_has_no_floor(shipped: Matrix, cuda: str, os: str) -> None:
    wanted = versions.parse_version(cuda)
    assert wanted is not None
    assert shipped.driver_floor(wanted, os) is None


@pytest.mark.parametrize(
    ("driver", "branch", "served"),
    [
        ("384.81", 384, "9.0"),
        ("470.57.02", 470, "11.4"),
        ("470.256.02", 470, "11.4"),
        ("474.44", 470, "11.4"),
        ("525.60.13", 525, "12.0"),
        ("550.54.14", 550, "12.4"),
        ("551.78", 550, "12.4"),
        ("555.58.02", 555, "12.5"),
        ("565.57.01", 565, "12.7"),
        ("580.65.06", 580, "13.0"),
        ("616.41", 615, "13.4"),
    ],
)
def test_drivers(shipped: Matrix, driver: str, branch: int, served: str) -> None:
    version = versions.parse_version(driver)
    assert version is not None
    row = shipped.driver(version)
    assert row is not None
    assert (row.branch, str(row.cuda_served)) == (branch, served)


@pytest.mark.parametrize("driver", ["375.26", "430.40", "545", "620.1", "999.0"])
def test_a_driver_outside_the_known_branches_is_unknown(shipped: Matrix, driver: str) -> None:
    version = versions.parse_version(driver)
    assert version is not None
    row = shipped.driver(version)
    assert row is None or row.branch == version.major


@pytest.mark.parametrize(
    ("wheel", "accelerator", "built_with", "code"),
    [
        ("tensorflow-gpu==1.11.0", "cuda", ("9.0", "7"), ("sm_70", 6)),
        ("tensorflow-gpu==1.4.1", "cuda", ("8.0", "6"), ("sm_61", 6)),
        ("tensorflow==1.3.0", "cpu", None, None),
        ("tensorflow-gpu==1.14.0", "cuda", ("10.0", "7"), ("sm_37", 6)),
        ("tensorflow-gpu==1.15.5", "cuda", ("10.0", "7"), ("sm_70", 6)),
        ("tensorflow==1.14.0", "cpu", None, None),
        ("tensorflow==1.15.0", "cuda", ("10.0", "7"), ("sm_61", 6)),
        ("tensorflow==2.12.0", "cuda", ("11.8", "8.6"), ("sm_35", 1)),
        ("tensorflow==2.15.0.post1", "cuda", ("12.2", "8"), ("sm_80", 1)),
        ("tensorflow==2.16.1", "cuda", ("12.3", "8"), ("sm_90", 1)),
        ("tensorflow==2.21.0", "cuda", ("12.5.1", "9"), ("sm_60", 1)),
        ("tensorflow-cpu==2.21.0", "cpu", None, None),
        ("torch==1.0.0", "cuda", ("9.0.176", "None"), ("sm_70", 1)),
        ("torch==1.7.1", "cuda", ("10.2", "None"), ("sm_75", 0)),
        ("torch==2.0.1", "cuda", ("11.7", "8.5.0.96"), ("sm_37", 0)),
        ("torch==2.3.1", "cuda", ("12.1", "8.9.2.26"), ("sm_90", 0)),
        ("torch==2.14.1", "cuda", ("13.0", "9.24.0.43"), ("sm_120", 0)),
    ],
)
def test_releases(shipped: Matrix, wheel: str, accelerator: str, built_with: tuple[str, str] | None, code: tuple[str, int] | None) -> None:
    distribution, _, release = wheel.partition("==")
    row = shipped.resolve(distribution, release).row
    assert row is not None
    assert row.accelerator == accelerator
    assert (row.built_with_cuda and (str(row.built_with_cuda), str(row.cudnn))) == built_with
    assert row.sass is None or row.ptx is None or code in {(name, len(row.ptx)) for name in row.sass}
    assert (row.sass is None) == (code is None)


def test_the_and_cuda_extra_requires_its_cudnn(shipped: Matrix) -> None:
    row = shipped.resolve("tensorflow", "2.16.1").row
    assert row is not None
    assert 'nvidia-cudnn-cu12==8.9.7.29;extra=="and-cuda"' in row.requires


def test_every_distribution_has_rows(shipped: Matrix) -> None:
    for distribution, table in TABLE_OF.items():
        assert any(row.distribution == distribution for row in shipped.rows(table))


@pytest.mark.parametrize(
    ("typed", "name", "capability"),
    [
        ("GTX 1080", "NVIDIA GeForce GTX 1080", "6.1"),
        ("gtx1080ti", "NVIDIA GeForce GTX 1080 Ti", "6.1"),
        ("GeForce GTX 1080 Ti", "NVIDIA GeForce GTX 1080 Ti", "6.1"),
        ("4090", "NVIDIA GeForce RTX 4090", "8.9"),
        ("rtx 4090 24gb", "NVIDIA GeForce RTX 4090", "8.9"),
        ("A100 40GB PCIe", "NVIDIA A100-PCIE-40GB", "8.0"),
        ("H100 80GB PCIe", "NVIDIA H100 PCIe", "9.0"),
        ("a100 80gb", "NVIDIA A100-SXM4-80GB", "8.0"),
        ("A100-SXM4-80GB", "NVIDIA A100-SXM4-80GB", "8.0"),
        ("NVIDIA A100 80 GB PCIe", "NVIDIA A100 80GB PCIe", "8.0"),
        ("Tesla T4", "Tesla T4", "7.5"),
        ("NVIDIA T4", "Tesla T4", "7.5"),
        ("tesla v100-sxm2-32gb", "Tesla V100-SXM2-32GB", "7.0"),
        ("k80", "Tesla K80", "3.7"),
        ("H100", "NVIDIA H100 80GB HBM3", "9.0"),
        ("RTX 6000 Ada", "NVIDIA RTX 6000 Ada Generation", "8.9"),
        ("rtx_a6000", "NVIDIA RTX A6000", "8.6"),
        ("RTX 5090", "NVIDIA GeForce RTX 5090", "12.0"),
    ],
)
def test_gpus(shipped: Matrix, typed: str, name: str, capability: str) -> None:
    product = shipped.gpu(typed)
    assert product is not None
    assert (product.name, str(product.compute_capability)) == (name, capability)


@pytest.mark.parametrize("typed", ["", "nvidia", "RTX 6000", "4060 max-q", "rtx 4090 48gb", "radeon vii", "gb"])
def test_other_names_are_unknown(shipped: Matrix, typed: str) -> None:
    assert shipped.gpu(typed) is None


def test_near_names_of_a_miss(shipped: Matrix) -> None:
    assert shipped.similar_gpu_names("GTX 1081 Ti")[0] == "NVIDIA GeForce GTX 1080 Ti"
    assert len(shipped.similar_gpu_names("rtx 4099")) == 4
    assert shipped.similar_gpu_names("zzzz") == ()


def test_every_gpu_is_found_by_its_own_name_and_aliases(shipped: Matrix) -> None:
    for product in shipped.rows(GPUS):
        for name in (product.name, *product.aliases, product.name.upper(), product.name.removeprefix("NVIDIA ")):
            assert shipped.gpu(name) == product


def test_the_date_is_the_newest_reading(shipped: Matrix) -> None:
    assert shipped.date >= "2026-11-21"
    source = shipped.source("torch-wheels")
    assert source is not None
    assert source.read <= shipped.date
    assert shipped.source("nobody") is None


@pytest.mark.parametrize(
    ("device", "architecture", "capability"),
    [
        ("1b80", "Pascal", "6.1"),
        ("1db5", "Volta", "7.0"),
        ("1eb8", "Turing", "7.5"),
        ("20b2", "Ampere", "8.0"),
        ("2204", "Ampere", "8.6"),
        ("2684", "Ada Lovelace", "8.9"),
        ("2330", "Hopper", "9.0"),
        ("2b85", "Blackwell", "12.0"),
        ("0fc0", "Kepler", "3.0"),
    ],
)
def test_a_device_id_gives_the_generation(shipped: Matrix, device: str, architecture: str, capability: str) -> None:
    chip = shipped.chip(device)
    assert chip is not None
    assert (chip.architecture, str(chip.compute_capability)) == (architecture, capability)


def test_an_unlisted_id_is_not_guessed(shipped: Matrix) -> None:
    assert shipped.chip("ffff") is None
    assert shipped.chip("0040") is None


def test_an_xid_is_explained(shipped: Matrix) -> None:
    lost = shipped.xid(79)
    assert lost is not None
    assert (lost.mnemonic, lost.action) == ("ROBUST_CHANNEL_GPU_HAS_FALLEN_OFF_THE_BUS", "RESTART_BM")
    assert shipped.xid(1) is None


@pytest.mark.parametrize(("code", "severity"), [(11012, "non-fatal"), (20034, "fatal"), (22003, "always-fatal"), (10001, "notable")])
def test_an_sxid_of_a_switch_has_its_severity(shipped: Matrix, code: int, severity: str) -> None:
    row = shipped.sxid(code)
    assert row is not None
    assert row.severity == severity


def test_every_sxid_has_a_known_severity(shipped: Matrix) -> None:
    assert {row.severity for row in shipped.rows(SXIDS)} == {"non-fatal", "fatal", "always-fatal", "notable"}
    assert shipped.sxid(1) is None


def test_every_bound_is_documented_and_used(shipped: Matrix) -> None:
    text = (COMPAT / "README.md").read_text(encoding="utf-8").partition("## bounds.csv")[2].partition("\n## ")[0]
    for row in shipped.rows(BOUNDS):
        assert f"| {row.bound} |" in text
        assert row.version == shipped.bound(row.package, row.bound)
        assert stack_of(row.package) or row.package in {"cudnn", "pip", "triton", "xla", *ADDONS}
    assert shipped.bound("jaxlib", "adapts-ptx") is shipped.bound("numpy", "adapts-ptx") is None
