"""What an installer would choose: stated versions, otherwise the newest release that everybody accepts and that fits here."""

from __future__ import annotations

from typing import Any

import pytest

from gpudoctor.errors import UsageError
from gpudoctor.findings import Severity, Verdict
from gpudoctor.matrix import Matrix
from gpudoctor.plan.assumed_snapshot import snapshot_of_combination
from gpudoctor.plan.model import Combination
from gpudoctor.snapshot import Distribution, Fact, Framework, Packages, Snapshot
from tests.matrix.samples import release
from tests.plan.samples import NOW, checked, tables, torch, vision

THREE = tables(torch("2.4.1"), torch("2.5.0"), torch("2.5.1"))


def supposed(matrix: Matrix, *requirements: str, **fields: Any) -> Snapshot:
    return snapshot_of_combination(Combination(requirements=requirements, **fields), matrix, NOW)


def taken(matrix: Matrix, *requirements: str, **fields: Any) -> dict[str, Distribution]:
    packages = supposed(matrix, *requirements, **fields).packages
    assert isinstance(packages, Packages)
    return {distribution.name: distribution for distribution in packages.distributions}


@pytest.mark.parametrize(
    ("requirement", "version", "chosen"),
    [
        ("torch", "2.5.1", True),
        ("torch<2.5.1", "2.5.0", True),
        ("torch~=2.4.0", "2.4.1", True),
        ("torch==2.4.*", "2.4.1", True),
        ("torch!=2.5.1", "2.5.0", True),
        ("torch==2.4.1", "2.4.1", False),
        ("torch == 2.5", "2.5.0", False),
        ("Torch==2.5.1+cu118", "2.5.1+cu118", False),
        ("torch==99.0", "99.0", False),
        ("torch==2.6.0rc1", "2.6.0rc1", False),
    ],
)
def test_a_stated_version_is_taken_and_a_range_means_its_newest_release(requirement: str, version: str, chosen: bool) -> None:
    distribution = taken(THREE, requirement)["torch"]
    assert (distribution.version, distribution.chosen) == (version, chosen)
    assert distribution.where == f"stated: {requirement}"


def test_a_range_means_a_release_with_a_matching_wheel() -> None:
    matrix = tables(
        torch("2.4.1", pythons=("3.8", "3.11")),
        torch("2.5.0", pythons=("3.9", "3.11")),
        torch("2.5.1", pythons=("3.9",), platform="win_amd64"),
        torch("2.6.0", pythons=(), accelerator="stub"),
    )
    assert taken(matrix, "torch", python="3.8")["torch"].version == "2.4.1"
    assert taken(matrix, "torch", python="3.9.7")["torch"].version == "2.5.0"
    assert taken(matrix, "torch")["torch"].version == "2.5.0"
    assert taken(matrix, "torch", os="windows")["torch"].version == "2.5.1"
    assert taken(matrix, "torch", os="wsl")["torch"].version == "2.5.0"
    # none fits: the rules must see what the user would get
    assert taken(matrix, "torch<2.6", python="3.6")["torch"].version == "2.5.1"


def test_a_release_that_excludes_a_stated_version_is_skipped() -> None:
    matrix = tables(*THREE.releases("torch"), vision("0.19.1", "torch==2.4.1"), vision("0.20.1", "torch==2.5.1"))
    assert taken(matrix, "torchvision", "torch==2.4.1")["torchvision"].version == "0.19.1"
    assert taken(matrix, "torchvision==0.19.1", "torch")["torch"].version == "2.4.1"
    assert taken(matrix, "torchvision")["torch"] == Distribution("torch", "2.5.1", "torchvision 0.20.1")
    # a stated version stays, whatever another requires
    both = taken(matrix, "torchvision==0.20.1", "torch==2.4.1")
    assert (both["torch"].version, both["torchvision"].version) == ("2.4.1", "0.20.1")


def test_requirements_are_added_with_who_requires_them() -> None:
    matrix = tables(
        torch("2.5.1", "nvidia-cudnn-cu12==9.1.0.70", "nvidia-nccl-cu12==2.21.5", "numpy>=1.26"),
        cudnn=("9.1.0.70", "9.3.0.75"),
    )
    found = taken(matrix, "torch")
    assert found["nvidia-cudnn-cu12"] == Distribution("nvidia-cudnn-cu12", "9.1.0.70", "torch 2.5.1")
    assert found["nvidia-nccl-cu12"].version == "2.21.5"
    assert "numpy" not in found
    assert taken(matrix, "torch", "nvidia-cudnn-cu12==9.3.0.75")["nvidia-cudnn-cu12"].where == "stated: nvidia-cudnn-cu12==9.3.0.75"


def test_a_required_range_means_the_newest_release_that_all_allow() -> None:
    cudnn = ("9.1.0.70", "9.3.0.75", "9.5.1.17", "10.0.0.1")
    row = torch("2.5.1", "nvidia-cudnn-cu12<10,>=9.1")
    chosen = taken(tables(row, cudnn=cudnn), "torch")["nvidia-cudnn-cu12"]
    assert (chosen.version, chosen.chosen, chosen.where) == ("9.5.1.17", True, "torch 2.5.1")
    other = vision("0.20.1", "nvidia-cudnn-cu12<9.5")
    both = taken(tables(row, other, cudnn=cudnn), "torch", "torchvision")["nvidia-cudnn-cu12"]
    assert (both.version, both.where) == ("9.3.0.75", "torch 2.5.1 and torchvision 0.20.1")
    none = vision("0.20.1", "nvidia-cudnn-cu12<9")
    assert "nvidia-cudnn-cu12" not in taken(tables(row, none, cudnn=cudnn), "torch", "torchvision")
    assert "nvidia-cudnn-cu12" not in taken(tables(row), "torch")


def test_unsatisfiable_requirements_are_not_installed() -> None:
    matrix = tables(torch("2.5.1", "nvidia-nccl-cu12==2.21.5"), vision("0.20.1", "nvidia-nccl-cu12==2.20.5"))
    assert set(taken(matrix, "torch", "torchvision")) == {"torch", "torchvision"}
    assert taken(matrix, "torch", "torchvision", "nvidia-nccl-cu12==2.20.5")["nvidia-nccl-cu12"].version == "2.20.5"


def test_a_choice_is_revised_for_a_later_requirement() -> None:
    matrix = tables(
        torch("2.5.1", "nvidia-cudnn-cu12>=9", "torchvision"),
        vision("0.20.1", "nvidia-cudnn-cu12<9.3"),
        cudnn=("9.1.0.70", "9.3.0.75"),
    )
    assert taken(matrix, "torch")["nvidia-cudnn-cu12"].version == "9.1.0.70"


def test_requirements_of_a_revised_choice_are_dropped() -> None:
    matrix = tables(
        torch("2.5.1", "torchvision>=0.19", "torchaudio"),
        vision("0.19.1"),
        vision("0.20.1", "nvidia-nccl-cu12==2.21.5"),
        release("2.5.1", distribution="torchaudio", requires=("torchvision<0.20",)),
    )
    found = taken(matrix, "torch")
    assert {name: distribution.version for name, distribution in found.items()} == {
        "torch": "2.5.1",
        "torchvision": "0.19.1",
        "torchaudio": "2.5.1",
    }


def test_extras_and_markers_decide_what_is_required() -> None:
    matrix = tables(
        torch(
            "2.5.1",
            'nvidia-cudnn-cu12==9.1.0.70;extra=="cuda"',
            'nvidia-nccl-cu12==2.21.5;python_version<"3.11"',
            'cupy==13.0;sys_platform=="win32"',
            'torchvision[image]==0.20.1;extra=="vision"',
            pythons=("3.10", "3.11"),
        ),
        vision("0.20.1", 'scipy==1.11;extra=="image"'),
    )
    assert set(taken(matrix, "torch")) == {"torch"}
    assert set(taken(matrix, "torch[cuda]", python="3.10")) == {"torch", "nvidia-cudnn-cu12", "nvidia-nccl-cu12"}
    assert set(taken(matrix, "torch", os="windows")) == {"torch", "cupy"}
    found = taken(matrix, "torch[vision]", "torchvision")
    assert (found["torchvision"].extras, found["scipy"].where) == (("image",), "torchvision[image] 0.20.1")


def test_the_same_package_stated_twice_is_one() -> None:
    matrix = tables(torch("2.4.1"), torch("2.5.0", 'numpy;extra=="a"', 'scipy;extra=="b"'), torch("2.5.1"))
    distribution = taken(matrix, "torch[a]<2.5.1", "torch[b]>2.4")["torch"]
    assert (distribution.version, distribution.extras) == ("2.5.0", ("a", "b"))
    assert distribution.where == "stated: torch[a]<2.5.1 and torch[b]>2.4"


def test_packages_in_no_table_are_kept_and_reported() -> None:
    snapshot = supposed(tables(torch("2.5.1", "numpy>=1.26")), "torch", "numpy==2.0", "somepackage==1.0", "other", "torch[no-such]")
    assert isinstance(snapshot.packages, Packages)
    assert {distribution.name for distribution in snapshot.packages.distributions} == {"torch", "numpy", "somepackage"}
    assert snapshot.packages.without_release == ("other",)
    assert snapshot.packages.distributions[0].unknown_extras == ("no-such",)


def test_unknown_extras_are_dropped_and_reported() -> None:
    snapshot = supposed(tables(torch("2.5.1", 'nvidia-nccl-cu12==2.21.5;extra=="cuda"')), "torch[cuda,other]")
    assert isinstance(snapshot.packages, Packages)
    assert [(distribution.name, distribution.extras) for distribution in snapshot.packages.distributions] == [
        ("torch", ("cuda",)),
        ("nvidia-nccl-cu12", ()),
    ]
    assert snapshot.packages.distributions[0].unknown_extras == ("other",)


def test_a_false_marker_drops_its_requirement() -> None:
    snapshot = supposed(THREE, "torch", "numpy==1.0; python_version < '3.9'", "scipy==1.0; sys_platform == 'linux'", python="3.11")
    assert isinstance(snapshot.packages, Packages)
    assert {distribution.name for distribution in snapshot.packages.distributions} == {"torch", "scipy"}
    assert snapshot.remarks[0] == "numpy==1.0; python_version < '3.9' is excluded here by its marker"


def test_frameworks_are_only_known_by_release() -> None:
    (framework,) = frameworks(THREE, "torch", "numpy==2.0")
    assert (framework.name, framework.distribution, framework.version) == ("torch", "torch", Fact("2.5.1", "stated: torch"))


def test_without_a_stated_python_the_newest_common_one_is_assumed() -> None:
    old = torch("2.4.1", 'nvidia-nccl-cu12==2.20.5;python_version>="3.12"', pythons=("3.8", "3.11"))
    matrix = tables(old, vision("0.19.1", pythons=("3.8",)), vision("0.20.1", pythons=("3.12", "3.12t")))
    assert {name: distribution.version for name, distribution in taken(matrix, "torch==2.4.1", "torchvision").items()} == {
        "torch": "2.4.1",
        "torchvision": "0.19.1",
    }


def test_a_release_that_excludes_all_of_another_package_is_skipped() -> None:
    matrix = tables(torch("2.4.1", "numpy<2", "torchvision"), vision("0.19.1", "numpy>=1.22"), vision("0.20.1", "numpy>=2"))
    assert taken(matrix, "torch")["torchvision"].version == "0.19.1"


def test_a_framework_required_by_another_is_not_diagnosed() -> None:
    matrix = tables(torch("2.5.1", 'jax==0.6.0;extra=="jax"'), vision("0.20.1", "torch==2.5.1"))
    assert [framework.name for framework in frameworks(matrix, "torch[jax]")] == ["torch"]
    assert [framework.name for framework in frameworks(matrix, "torch[jax]", "jax==0.6.0")] == ["torch", "jax"]
    assert [framework.name for framework in frameworks(matrix, "torchvision")] == ["torch"]


def frameworks(matrix: Matrix, *requirements: str) -> tuple[Framework, ...]:
    found = supposed(matrix, *requirements).frameworks
    assert isinstance(found, tuple)
    return found


@pytest.mark.parametrize(
    ("requirements", "words"),
    [
        (("torch>=9",), "No release of torch in the tables satisfies 'torch>=9': they list 2.4.1 to 2.5.1"),
        (("torch=2",), "'torch=2' is not a requirement"),
        (("torch==",), "is not a requirement"),
        (("torch==two",), "is not a requirement"),
        (("torch>=2.4,<x",), "is not a requirement"),
        (("-torch",), "is not a requirement"),
        (("torch-",), "is not a requirement"),
        (("torch[cuda",), "is not a requirement"),
        (("torch 2.5",), "is not a requirement"),
        (("",), "is not a requirement"),
        (("torch @ file:///x.whl",), "is a file or an address"),
        (("torch.whl",), "is a file or an address"),
        (("./torch-2.5.1-cp311-cp311-linux_x86_64.whl",), "is a file or an address"),
        (("torch==2.5.1", "torch==2.4.1"), "'torch==2.5.1' and 'torch==2.4.1' contradict each other; name torch once."),
        (("torch==2.5.1", "Torch<2.5"), "contradict each other"),
        (("torch==2.5.1,==2.4.1",), "contradicts itself"),
        (("torch==2.5.1,<2",), "contradicts itself"),
        (("torch; sys_platform == 'win32'",), "excludes this Python and system"),
    ],
)
def test_impossible_requirements_are_refused_in_one_sentence(requirements: tuple[str, ...], words: str) -> None:
    with pytest.raises(UsageError) as refused:
        supposed(THREE, *requirements)
    assert words in str(refused.value)
    assert "\n" not in str(refused.value)
    assert str(refused.value).endswith(".")


@pytest.mark.parametrize(
    ("older_needs", "chosen"),
    [("torch>=2.4", {"torchvision": "0.19.0", "torch": "2.4.0"}), ("torch>=2.5", {"torchvision": "0.20.0", "torch": "2.5.0"})],
    ids=["an older one suits", "none suits"],
)
def test_a_choice_gives_way_where_it_excludes_a_stated_version(older_needs: str, chosen: dict[str, str]) -> None:
    matrix = tables(
        release("2.5.0", distribution="torchaudio", requires=("torchvision",)),
        vision("0.19.0", older_needs),
        vision("0.20.0", "torch>=2.5"),
        torch("2.4.0", "numpy"),
        torch("2.5.0", "numpy>=2"),
    )
    found = taken(matrix, "torchaudio==2.5.0", "numpy==1.26.4")
    assert {name: found[name].version for name in chosen} == chosen


@pytest.mark.parametrize(("stated", "release_of_torchaudio"), [("numpy==1.26.4", "2.4.0"), ("numpy==2.1.0", "2.5.0")])
def test_a_choice_gives_way_where_what_it_requires_suits_no_stated_version(stated: str, release_of_torchaudio: str) -> None:
    matrix = tables(
        release("2.4.0", distribution="torchaudio"),
        release("2.5.0", distribution="torchaudio", requires=("torchvision>=0.20",)),
        vision("0.20.0", "numpy>=2"),
    )
    found = taken(matrix, "torchaudio", stated)
    assert found["torchaudio"].version == release_of_torchaudio
    assert ("torchvision" in found) is (release_of_torchaudio == "2.5.0")


def test_a_range_is_taken_at_a_release_whose_own_needs_agree_with_what_a_pin_requires() -> None:
    """JAX 0.4.29 and newer require cuDNN 9 by their plugin, and PyTorch 2.1.2 pins cuDNN 8.9."""
    requirements = ("tensorflow==2.15.0", "torch==2.1.2", "jax[cuda12]>=0.4.20")
    found = checked(*requirements, gpus=("A100",), driver="535", system_cuda="12.2", system_cudnn="8.9")
    assert found.verdict is Verdict.READY


def test_what_a_release_works_with_is_neither_installed_nor_a_reason_to_choose_an_older_one() -> None:
    matrix = tables(*THREE.releases("torch"), vision("0.19.1"), vision("0.20.1", 'torch==2.5.*;extra=="beside"'))
    assert set(taken(matrix, "torchvision")) == {"torchvision"}
    assert taken(matrix, "torchvision", "torch==2.4.1")["torchvision"].version == "0.20.1"


@pytest.mark.parametrize(
    ("requirements", "driver", "taken", "pin"),
    [
        (("transformers<=5.24.0", "torch==2.1.0"), "535.104.05", "transformers 5.24.0", "transformers==4.55.4"),
        (("torchtext", "torch==2.5.0"), "550.54.15", "torchtext 0.18.0", ""),
    ],
)
def test_what_an_installer_takes_beside_a_framework_is_checked(requirements: tuple[str, ...], driver: str, taken: str, pin: str) -> None:
    cause, *others = checked(*requirements, gpus=("A100-SXM4-80GB",), driver=driver, python="3.11").root_causes
    assert all(other.severity is Severity.WARNING for other in others)
    assert cause.name == "package-requirement-conflict"
    assert cause.message.startswith(taken)
    assert not pin or any(pin in fix.installs for fix in cause.fixes)


def test_a_release_is_skipped_that_requires_what_has_no_wheel_for_this_python() -> None:
    matrix = tables(
        torch("2.5.1", pythons=("3.9", "3.10")),
        torch("2.9.0", pythons=("3.10", "3.11")),
        vision("0.20.1", "torch>=2.5", pythons=("3.9", "3.10")),
        vision("0.24.0", "torch>=2.9", pythons=("3.9", "3.10")),
    )
    assert {name: distribution.version for name, distribution in taken(matrix, "torchvision", python="3.9").items()} == {
        "torchvision": "0.20.1",
        "torch": "2.5.1",
    }
    assert taken(matrix, "torchvision", python="3.10")["torchvision"].version == "0.24.0"


def test_releases_from_before_the_tables_may_have_wheels_for_an_older_python() -> None:
    rows = (torch("2.5.1", pythons=("3.9", "3.10")), vision("0.20.1", "torch>=1.4", pythons=("3.8", "3.9")))
    assert set(taken(tables(*rows), "torchvision", python="3.8")) == {"torchvision"}
    bounded = vision("0.20.1", "torch>=2.5.1", pythons=("3.8", "3.9"))
    assert set(taken(tables(rows[0], bounded), "torchvision", python="3.8")) == {"torchvision", "torch"}
    cuda = {"system_cuda": "11.8", "system_cudnn": "8.6"}
    assert checked("tensorflow==2.12.1", gpus=("A100-SXM4-80GB",), driver="520.61.05", python="3.8", **cuda).verdict is Verdict.READY
