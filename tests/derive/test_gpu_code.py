from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudoctor.derive import EffectiveCode, Fit, MachineView
from gpudoctor.derive.cuda import EffectiveCuda
from gpudoctor.derive.driver import Driver
from gpudoctor.derive.gpu_code import code_text, compiles_ptx, effective_code, fit_of_code, parse_architecture
from gpudoctor.findings import Policy
from gpudoctor.matrix import Matrix
from gpudoctor.snapshot import (
    NOT_ASKED,
    Cause,
    CudaDevice,
    FrameworkLibraries,
    GpuCode,
    Libcuda,
    Libraries,
    Missing,
    Nvml,
    NvmlGpu,
)
from tests.builders import ABSENT, SUCCESS, address, machine, tensorflow, torch
from tests.matrix.samples import matrix, release, version
from tests.shipped import shared_matrix

DESKTOP = [
    (3, 5),
    (3, 7),
    (5, 0),
    (5, 2),
    (6, 0),
    (6, 1),
    (7, 0),
    (7, 5),
    (8, 0),
    (8, 6),
    (8, 9),
    (9, 0),
    (10, 0),
    (10, 3),
    (12, 0),
    (12, 1),
]
JETSON = [(5, 3), (6, 2), (7, 2), (8, 7), (10, 1), (11, 0)]
ANY = st.sampled_from(DESKTOP + JETSON)


def code(sass: str | None, ptx: str | None = "") -> EffectiveCode:
    return EffectiveCode(
        sass=None if sass is None else tuple(f"sm_{word}" for word in sass.split()),
        ptx=None if ptx is None else tuple(f"compute_{word}" for word in ptx.split()),
        where="test",
    )


@pytest.mark.parametrize(
    ("sass", "ptx", "capability", "fit"),
    [
        ("80", "", "8.0", Fit.NATIVE),
        ("80", "", "8.9", Fit.NATIVE),
        ("86", "", "8.0", Fit.TOO_OLD),
        ("50 60", "", "6.1", Fit.NATIVE),
        ("37 50", "", "3.5", Fit.TOO_OLD),
        ("50 70 80 86", "", "6.1", Fit.TOO_OLD),
        ("70 80", "", "9.0", Fit.TOO_NEW),
        ("70 80", "80", "9.0", Fit.PTX),
        ("70 80", "90", "8.9", Fit.NATIVE),
        ("60 70", "90", "5.2", Fit.TOO_OLD),
        ("90a", "", "9.0", Fit.NATIVE),
        ("90a", "", "10.0", Fit.TOO_NEW),
        ("90", "90a", "10.0", Fit.TOO_NEW),
        ("100a", "", "10.3", Fit.TOO_NEW),
        ("100f", "", "10.3", Fit.NATIVE),
        ("100f", "", "12.0", Fit.TOO_NEW),
        ("103f", "", "10.0", Fit.TOO_OLD),
        ("90", "100f", "10.3", Fit.PTX),
        ("120f", "", "12.1", Fit.NATIVE),
        ("75 90 100 120", "", "11.0", Fit.TOO_NEW),
        ("86", "", "8.7", Fit.UNKNOWN),
        ("87", "", "8.9", Fit.UNKNOWN),
        ("86", "80", "8.7", Fit.PTX),
        ("87", "", "8.7", Fit.NATIVE),
        (None, "80", "8.0", Fit.UNKNOWN),
        ("80", None, "8.6", Fit.NATIVE),
        ("80", None, "9.0", Fit.UNKNOWN),
        ("", "", "8.0", Fit.UNKNOWN),
        ("", "70", "8.0", Fit.PTX),
    ],
)
def test_how_code_fits_a_gpu(sass: str | None, ptx: str | None, capability: str, fit: Fit) -> None:
    assert fit_of_code(code(sass, ptx), version(capability)) is fit


def words(prefix: str) -> st.SearchStrategy[tuple[str, ...]]:
    build = st.builds(lambda place, suffix: f"{prefix}_{place[0]}{place[1]}{suffix}", ANY, st.sampled_from(["", "", "a", "f"]))
    return st.lists(build, max_size=4).map(tuple)


@given(place=st.sampled_from(DESKTOP), sass=st.sets(st.sampled_from(DESKTOP)), ptx=st.sets(st.sampled_from(DESKTOP)))
def test_desktop_code_runs_by_the_documented_rule(place: tuple[int, int], sass: set[tuple[int, int]], ptx: set[tuple[int, int]]) -> None:
    holds = EffectiveCode(sass=tuple(f"sm_{a}{b}" for a, b in sass), ptx=tuple(f"compute_{a}{b}" for a, b in ptx), where="")
    found = fit_of_code(holds, version(f"{place[0]}.{place[1]}"))
    if not sass and not ptx:
        assert found is Fit.UNKNOWN
    elif any(major == place[0] and minor <= place[1] for major, minor in sass):
        assert found is Fit.NATIVE
    elif min(ptx, default=(99, 0)) <= place:
        assert found is Fit.PTX
    else:
        left_out = any(one > place and (one[0] == place[0] or place[0] < 10) for one in sass | ptx)
        assert found is (Fit.TOO_NEW if min(sass | ptx) <= place and not left_out else Fit.TOO_OLD)


@given(place=ANY, sass=words("sm"), ptx=words("compute"), more=words("sm"))
def test_more_code_never_loses_a_gpu(place: tuple[int, int], sass: tuple[str, ...], ptx: tuple[str, ...], more: tuple[str, ...]) -> None:
    capability = version(f"{place[0]}.{place[1]}")
    before = fit_of_code(EffectiveCode(sass=sass, ptx=ptx, where=""), capability)
    after = fit_of_code(EffectiveCode(sass=sass + more, ptx=ptx, where=""), capability)
    fine = {Fit.NATIVE, Fit.PTX}
    assert after in fine or before not in fine
    assert not (before is Fit.NATIVE and after is not Fit.NATIVE)


@given(place=ANY, other=ANY)
def test_code_for_one_gpu_only_runs_there(place: tuple[int, int], other: tuple[int, int]) -> None:
    holds = EffectiveCode(sass=(f"sm_{place[0]}{place[1]}a",), ptx=(f"compute_{place[0]}{place[1]}a",), where="")
    assert (fit_of_code(holds, version(f"{other[0]}.{other[1]}")) is Fit.NATIVE) is (place == other)


@given(st.text(max_size=12))
def test_any_text_is_an_architecture_or_none(word: str) -> None:
    found = parse_architecture(word)
    assert found is None or word.startswith(("sm_", "compute_"))


@pytest.mark.parametrize("word", ["sm_", "sm_x", "sm_9", "sm_9999", "gfx90a", "sm_90b", "sm_a", "lto_80"])
def test_invalid_architectures_are_ignored(word: str) -> None:
    assert parse_architecture(word) is None


def xrayed(sass: tuple[str, ...], ptx: tuple[str, ...] = ()) -> Libraries:
    return Libraries(frameworks=(FrameworkLibraries(framework="torch", code=GpuCode(sass, ptx), code_where="libtorch_cuda.so"),))


def test_files_come_first_and_disagreements_are_kept() -> None:
    row = release("2.3.1", sass=("sm_50", "sm_80"), ptx=())
    found = effective_code(torch(), xrayed(("sm_80", "sm_90")), row)
    assert isinstance(found, EffectiveCode)
    assert (found.sass, found.where) == (("sm_80", "sm_90"), "libtorch_cuda.so")
    (other,) = found.others
    assert "matrix: torch 2.3.1" in other.where
    assert (other.sass, other.ptx) == (("sm_50", "sm_80"), ())


def test_sources_that_agree_are_no_disagreement() -> None:
    found = effective_code(torch(), xrayed(("sm_80", "sm_50")), release("2.3.1", sass=("sm_50", "sm_80"), ptx=None))
    assert isinstance(found, EffectiveCode)
    assert found.others == ()


def test_tensorflows_own_list_means_machine_code_and_ptx_by_compute() -> None:
    found = effective_code(tensorflow(architectures=("sm_60", "sm_80", "compute_90")), NOT_ASKED, None)
    assert isinstance(found, EffectiveCode)
    assert (found.sass, found.ptx) == (("sm_60", "sm_80", "sm_90"), ("compute_90",))


@pytest.mark.parametrize("listed", [("gfx90a",), ABSENT, ()], ids=["ROCm", "absent", "empty"])
def test_without_a_source_the_code_is_unknown(listed: tuple[str, ...] | Missing) -> None:
    found = effective_code(tensorflow(architectures=listed), NOT_ASKED, None)
    assert isinstance(found, Missing)
    assert found.cause is Cause.NOT_STATED


def test_code_for_a_person() -> None:
    assert code_text(code("80 90", "90")) == "sm_80 sm_90, PTX compute_90"
    assert code_text(code(None, None)) == "machine code not known, PTX not known"
    assert code_text(code("", "")) == "no machine code, no PTX"


CUDAS = matrix(
    cuda="""
    12.0,525.60.13,527.41,525.60.13,527.41,sm_90,8.0,12,,,guide
    12.5,555.42.02,555.85,525.60.13,528.33,sm_90,8.5,13,,,guide
    12.6,560.28.03,560.76,525.60.13,528.33,sm_90,8.5,13,,,guide
    """
)


def built(cuda: str) -> EffectiveCuda:
    return EffectiveCuda(version=version(cuda), where="", cudnn=ABSENT, floor=ABSENT, exact_floor=ABSENT)


@pytest.mark.parametrize(
    ("served", "cuda", "compiled"),
    [("12.6", "12.5.1", True), ("12.5", "12.5.1", True), ("12.5", "12.6", True), ("12.0", "12.5", False), ("12.0", "99.0", False)],
    ids=["newer", "same", "older, same language", "older language", "not known"],
)
def test_a_driver_compiles_ptx_no_newer_than_its_own(served: str, cuda: str, compiled: bool) -> None:
    assert compiles_ptx(Driver(version("550.1"), "", version(served)), built(cuda), CUDAS) is compiled


def test_an_unknown_driver_cuda_is_inconclusive() -> None:
    assert isinstance(compiles_ptx(Driver(version("550.1"), "", ABSENT), built("12.5"), CUDAS), Missing)


TABLES = {"torch": "torch,2.6.0,linux_x86_64,3.12,cuda,12.4,,sm_80,none,,,,,torch-wheels"}


def facts(tables: Matrix, **changes: Any) -> MachineView:
    return MachineView(machine(frameworks=(torch(),), **changes), tables, Policy())


def gpus(*capabilities: str | Missing, name: str = "NVIDIA A100-SXM4-80GB") -> Nvml:
    return Nvml(
        init=SUCCESS,
        gpus=tuple(NvmlGpu(n, address=address(n), name=name, compute_capability=capability) for n, capability in enumerate(capabilities)),
    )


def fits(found: MachineView) -> list[Fit]:
    met = found.frameworks[0].gpu_fits_or_missing
    assert not isinstance(met, Missing)
    return [meeting.fit for meeting in met]


def test_each_gpu_is_compared_by_its_own_capability() -> None:
    assert fits(facts(matrix(**TABLES), nvml=gpus("8.6", "9.0"))) == [Fit.NATIVE, Fit.TOO_NEW]


def test_an_unreported_capability_comes_from_the_gpus_name() -> None:
    assert fits(facts(shared_matrix(), nvml=gpus(ABSENT))) == [Fit.NATIVE]
    assert fits(facts(shared_matrix(), nvml=gpus(ABSENT, name="NVIDIA of tomorrow"))) == [Fit.UNKNOWN]


def test_a_hidden_gpu_is_not_compared() -> None:
    seen = tuple(CudaDevice(n, address=address(n), compute_capability="8.0") for n in range(2))
    masked = facts(
        matrix(**TABLES),
        nvml=gpus("8.0", "8.0"),
        libcuda=Libcuda(init=SUCCESS, devices=seen[:1]),
        libcuda_unmasked=Libcuda(init=SUCCESS, devices=seen),
    )
    assert fits(masked) == [Fit.NATIVE]


def test_a_build_without_cuda_has_no_code() -> None:
    found = MachineView(machine(frameworks=(torch(cuda_build=False),)), matrix(**TABLES), Policy()).frameworks[0].gpu_fits_or_missing
    assert isinstance(found, Missing)
    assert found.cause is Cause.ABSENT


def test_another_framework_only_helps_with_code_for_a_gpu() -> None:
    tables = {
        "torch": "torch,2.6.0,linux_x86_64,3.12,cuda,12.4,,sm_50,none,,,,,torch-wheels",
        "tensorflow": "tensorflow,2.18.0,linux_x86_64,3.12,cuda,12.5.1,,sm_80,none,,,,,tensorflow-wheels",
        "cuda": "12.4,550.54.14,,525.60.13,,,,,,,guide\n12.5,555.42.02,,525.60.13,,,,,,,guide",
    }
    both = MachineView(machine(nvml=gpus("8.0"), frameworks=(tensorflow(), torch())), matrix(**tables), Policy())
    assert both.driver
    assert not both.another_can_train("tensorflow")
    assert both.another_can_train("torch")
