"""Plans from the tables: the newest that works, by the rules and by brute force, and the reasons."""

from __future__ import annotations

import re
import time

import msgspec
import pytest

from gpudoctor.diagnose import crashed_diagnosis
from gpudoctor.errors import UsageError
from gpudoctor.findings import MACHINE, Outcome, OutcomeKind, Verdict
from gpudoctor.matrix.rows import PythonSpan
from gpudoctor.matrix.tables import PYTHONS
from gpudoctor.plan import Combination, check_combination
from gpudoctor.plan.assumed_machine import NOT_STATED, assumed_machine
from gpudoctor.plan.checker import ASSUMED_POLICY
from gpudoctor.plan.proposal import proposed_plan
from gpudoctor.plan.search import ReleaseSearch
from tests.plan.planned import CASES, MATRIX, OLD_CUDNN, TENSORFLOW, TORCH, asked, assumed, combination, every_build, pins, planned
from tests.seams.every import every


@pytest.mark.parametrize(("gpu", "driver", "asked", "expected"), CASES)
def test_the_plan_is_the_newest_that_compat_accepts(gpu: str, driver: str, asked: str, expected: str) -> None:
    began = time.process_time()
    plan = planned(gpu, driver, asked)
    assert time.process_time() - began < 5
    assert pins(plan) == expected.split()
    assert plan.exit_code == (0 if expected else 1)
    if plan.environment is not None:
        stated = combination(gpu, driver, *pins(plan), python=plan.environment.python)
        assert check_combination(stated, ASSUMED_POLICY).diagnosis.verdict.value == plan.environment.verdict
    newer = [one for one in every_build(asked, gpu) if plan.environment is None or one[0] > _release(expected)]
    working = [text for _, text, python in newer if _works(gpu, driver, text, python)]
    assert working == []


def _release(pin: str) -> tuple[int, ...]:
    numbers = [int(part) for part in pin.split(maxsplit=1)[0].partition("==")[2].partition("+")[0].split(".")]
    return (*numbers, 0)[:4]


def _works(gpu: str, driver: str, text: str, python: str) -> bool:
    return check_combination(combination(gpu, driver, text, python=python), ASSUMED_POLICY).diagnosis.verdict in {
        Verdict.READY,
        Verdict.DEGRADED,
    }


def test_a_newer_driver_is_named_beside_the_best_without_it() -> None:
    plan = planned("RTX 5090", "570.124.06", TORCH)
    assert pins(plan) == ["torch==2.13.0+cu129"]
    assert plan.with_driver is not None
    assert plan.with_driver.words == "driver 580 or newer"
    assert [pin.requirement for pin in plan.with_driver.environment.pins] == ["torch==2.15.0"]
    assert plan.environment is not None
    assert plan.environment.older_because[0].startswith("torch 2.15.0: Driver 570.124.06 (CUDA 12.8) is too old for CUDA 13.2")


def test_a_gpu_that_the_driver_dropped_needs_an_older_branch() -> None:
    plan = planned("Tesla K80", "580.65.06", TORCH)
    assert (plan.exit_code, plan.environment) == (1, None)
    assert "branch 580 supports compute capability 5.0 and newer" in plan.headline
    assert plan.with_driver is not None
    assert plan.with_driver.words == "a driver of branch 470"


def test_a_contradiction_names_the_requirement_the_fact_and_what_works() -> None:
    plan = planned("RTX 5090", "580.65.06", "tensorflow>=2.18,<=2.21.0")
    assert plan.exit_code == 1
    assert plan.headline.startswith("No build of tensorflow>=2.18,<=2.21.0 works on this machine: tensorflow 2.20.0 has no kernels for")
    assert plan.headline.endswith("which has kernels for this GPU: https://catalog.ngc.nvidia.com/orgs/nvidia/containers/tensorflow.")


def test_a_platform_without_builds_is_named() -> None:
    headline = planned("GB10", "580.95.05", TENSORFLOW).headline
    assert "tensorflow 2.21.0 has no CUDA wheel on the package index for Linux (aarch64), only for Linux (x86_64)." in headline


TOGETHER = [
    ("GTX 1080", "535.104.05", (TORCH, "torchvision<=0.29.2"), ["torch==2.15.0+cu126", "torchvision==0.29.2+cu126"]),
    ("GTX 1080", "535.104.05", ("torchvision<=0.29.2",), ["torchvision==0.29.2+cu126", "torch==2.15.0+cu126"]),
    ("RTX 5090", "570.124.06", ("torchvision<=0.29.2",), ["torchvision==0.28.0+cu129", "torch==2.13.0+cu129"]),
    ("a100", "580.65.06", (TORCH, TENSORFLOW), ["torch==2.15.0+cu130", "tensorflow[and-cuda]==2.20.0"]),
    ("a100", "580.65.06", ("torch==2.9.1+cu126",), ["torch==2.9.1+cu126"]),
    ("a100", "580.65.06", ("jax[cuda12]<=0.12.0.1",), ["jax[cuda12]==0.12.0.1"]),
    ("T4", "580.65.06", ("torch==2.2.0", "numpy==2.1.0"), []),
    ("a100", "580.65.06", (TORCH, "torchaudio<=2.11.0"), ["torch==2.15.0+cu130", "torchaudio==2.11.0+cu130"]),
    ("a100", "550.54.14", (TORCH, "torchaudio<=2.11.0"), ["torch==2.15.0+cu126", "torchaudio==2.11.0+cu126"]),
    ("a100", "580.65.06", (TORCH, "transformers"), ["torch==2.15.0", "transformers"]),
    ("a100", "580.65.06", ("tensorflow<2.14",), ["tensorflow==2.13.1"]),
    ("GTX 1080", "580.65.06", ("onnxruntime-gpu<=1.31.1",), ["onnxruntime-gpu[cuda,cudnn]==1.26.0", "nvidia-cudnn-cu12==9.10.2.21"]),
    ("GTX 1080", "535.104.05", (TORCH, "triton<=3.9.0"), ["torch==2.15.0+cu126", "triton==3.9.0"]),
    ("v100-sxm2", "550.54.14", ("jax[cuda12]<=0.12.0.1", "numpy<2"), ["jax[cuda12]==0.7.1", "numpy<2", OLD_CUDNN]),
]
"""GPU, driver, what was asked for, the pins; none: nothing works."""


@pytest.mark.parametrize(("gpu", "driver", "asked", "expected"), TOGETHER)
def test_packages_that_must_match(gpu: str, driver: str, asked: tuple[str, ...], expected: list[str]) -> None:
    assert pins(planned(gpu, driver, *asked)) == expected


def test_a_build_that_cannot_be_checked_does_not_hide_an_older_one_that_works() -> None:
    plan = planned("RTX 5090", "570.124.06", "bitsandbytes<=0.50.2", TORCH)
    assert (plan.exit_code, pins(plan)) == (0, ["bitsandbytes==0.50.2", "torch==2.13.0+cu129"])


def test_beside_an_unchecked_add_on_the_framework_is_one_that_works() -> None:
    plan = planned("RTX 5090", "570.124.06", "flash-attn<=2.8.3.post2", TORCH)
    assert (plan.exit_code, pins(plan)) == (3, ["flash-attn==2.8.3.post2", "torch==2.13.0+cu129"])
    assert plan.environment is not None
    assert [one.partition(" was")[0] for one in plan.environment.not_checked if " was not checked" in one] == ["flash-attn 2.8.3.post2"]


@pytest.mark.parametrize("build", ["+cu999", "+cu118", "+mine"])
def test_a_build_that_no_table_lists_is_unknown_and_not_broken(build: str) -> None:
    plan = planned("T4", "535.104.05", f"torch==2.9.1{build}")
    assert (plan.exit_code, plan.environment) == (3, None)
    assert plan.headline.startswith(f"torch 2.9.1{build} was not checked: ")
    assert plan.headline.endswith("The newest that works is torch 2.9.1 for CUDA 12.8.")


@pytest.mark.parametrize("pinned", ["gpflow==1.5.1", "xgboost==0.90"])
def test_a_pin_from_before_the_tables_is_kept_and_unknown(pinned: str) -> None:
    plan = planned("A100", "550.54.15", pinned, "torch==2.5.1")
    assert plan.exit_code == 3
    assert plan.environment is not None
    assert any(one.startswith(f"{pinned.replace('==', ' ')} was not checked") for one in plan.environment.not_checked)


@pytest.mark.parametrize("name", ["numba", "numba-cuda", "jax-cuda12-plugin", "jaxlib"])
def test_packages_without_a_framework_are_not_ready(name: str) -> None:
    plan = planned("T4", "535.104.05", name)
    assert plan.exit_code == 3
    assert plan.environment is not None
    assert "training was not checked: no framework is among these packages." in plan.environment.not_checked


def test_a_bound_of_a_file_is_told_with_the_requirement() -> None:
    question = msgspec.structs.replace(asked("T4", "535.104.05", "torch==2.9.1"), constraints=("torch<2.5",))
    with pytest.raises(UsageError, match=re.escape("No release of torch in the tables satisfies 'torch==2.9.1,<2.5': they list")):
        proposed_plan(question, MATRIX)


def test_a_gpu_too_old_for_every_build_is_told() -> None:
    plan = planned("GTX 680", "470.256.02", "sglang<=0.5.23")
    assert (plan.exit_code, plan.environment) == (1, None)
    assert plan.headline.startswith("No release of sglang<=0.5.23 works on this machine: ")


def test_a_package_that_no_table_lists_is_planned_and_named() -> None:
    plan = planned("L4", "580.65.06", TORCH, "torchsparse")
    assert plan.exit_code == 3
    assert pins(plan) == ["torch==2.15.0", "torchsparse"]
    assert plan.environment is not None
    assert "torchsparse" in plan.environment.not_checked[0]


def test_cuda_that_pip_does_not_install_is_named() -> None:
    plan = planned("L4", "580.65.06", "tensorflow<2.14")
    assert plan.environment is not None
    assert (plan.exit_code, plan.environment.not_checked) == (
        3,
        ("tensorflow 2.13.1 needs CUDA 11.8 and cuDNN 8.6 on the system; pip does not install them.",),
    )


def test_the_python_of_the_machine_is_kept_if_there_are_wheels_for_it() -> None:
    for preferred, expected in (("3.12", "3.12"), ("3.8", "3.13"), ("", "3.13")):
        plan = planned("L4", "580.65.06", "tensorflow==2.20.0", preferred=preferred)
        assert plan.environment is not None
        assert plan.environment.python == expected


def test_the_commands_name_the_index_of_the_build() -> None:
    plan = planned("L4", "550.54.14", TORCH, python="3.12")
    assert plan.environment is not None
    made = plan.environment.commands
    assert made.uv.endswith("torch==2.15.0+cu126 --torch-backend=cu126")
    assert made.pip.endswith("torch==2.15.0+cu126 --extra-index-url https://download.pytorch.org/whl/cu126")
    assert "python=3.12 pip &&" in made.conda


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (("gradio",), "No table lists gradio"),
        (("torch>=99",), "torch>=99"),
        (("torch==2.5.1", "torch==2.6.0"), "contradict each other"),
        (("pytorch",), "did you mean torch"),
        (("not a requirement!",), "is not a requirement"),
    ],
)
def test_what_cannot_be_planned_is_refused_in_one_sentence(asked: tuple[str, ...], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        planned("L4", "580.65.06", *asked)


def test_a_plan_that_a_crashed_rule_did_not_check_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    crashed = Outcome(code="GD1", name="rule", subject=MACHINE, kind=OutcomeKind.CRASHED, reason="gpudoctor crashed in rule")
    monkeypatch.setattr("gpudoctor.plan.checker.diagnose", lambda *_: crashed_diagnosis((), (crashed,)))
    with pytest.raises(RuntimeError, match="gpudoctor crashed in rule"):
        planned("V100", "550.54.14", "torch")


@pytest.mark.parametrize("wanted", [("torch<2.6",), ("torch", "tensorflow"), ("tensorflow", "jax[cuda12]"), ("vllm<0.10", "numpy<2.3")])
@pytest.mark.parametrize(("gpu", "driver"), [("RTX 5090", "570.124.06"), ("V100", "550.54.14"), ("L4", "535.104.05")])
def test_what_a_search_says_no_driver_makes_work_works_with_no_driver(gpu: str, driver: str, wanted: tuple[str, ...]) -> None:
    found = proposed_plan(asked(gpu, driver, *wanted), MATRIX)
    anew = ReleaseSearch(found.wishes, msgspec.structs.replace(assumed(gpu, driver), kernel_driver=NOT_STATED), MATRIX)
    refused = [chosen for chosen in found.search.answers.refused if not anew.answers.of(chosen).conclusion.works]
    assert refused == list(found.search.answers.refused)


@pytest.mark.parametrize(("gpu", "driver"), [("RTX 5090", "570.124.06"), ("GTX 1080", "535.104.05")])
@pytest.mark.parametrize("wanted", ["torch<2.6", "tensorflow<2.20"])
def test_what_is_refused_for_a_build_like_another_is_refused_by_itself(gpu: str, driver: str, wanted: str) -> None:
    found = proposed_plan(asked(gpu, driver, wanted), MATRIX)
    for rejected in found.search.answers.rejected:
        assert not ReleaseSearch(found.wishes, assumed(gpu, driver), MATRIX).answers.of((rejected.candidate,)).conclusion.works


@pytest.mark.parametrize(
    ("gpu", "driver", "wanted", "works"),
    [
        (
            "v100-sxm2",
            "550.54.14",
            "sglang<=0.5.23",
            True,
        ),  # before 0.4.4 it allows several releases of FlashInfer, and all need a newer GPU
        ("GTX 1080", "535.104.05", "sglang<=0.5.23", False),
    ],
)
def test_where_no_release_of_a_required_package_runs_no_framework_is_tried(gpu: str, driver: str, wanted: str, works: bool) -> None:
    found = proposed_plan(asked(gpu, driver, wanted), MATRIX)
    assert not found.search.gave_up
    assert (found.plan.environment is not None) is works
    assert found.search.checked_sets < 100, "each of 160 releases with each of 55 builds of PyTorch before"


def test_what_states_its_oldest_gpu_itself_is_not_refused_for_what_it_requires() -> None:
    """vLLM runs on Volta without FlashInfer, which it requires and which refuses Volta."""
    newest = pins(planned("v100-sxm2", "550.54.14", "vllm<=0.19.1"))
    assert newest[0] == "vllm==0.19.1"
    assert pins(planned("v100-sxm2", "550.54.14", "vllm<=0.19.1", "flashinfer-python")) == []


def test_what_has_no_gpu_code_follows_from_the_framework_that_it_needs() -> None:
    names = ("lightning", "timm", "accelerate", "scipy", "pandas", "sentence-transformers", "numpy<2")
    plan = proposed_plan(asked("RTX 3090", "535.104.05", *names), MATRIX).plan
    assert plan.exit_code == 0, plan.headline
    assert any(pin.startswith("torch==") for pin in pins(plan))


def unsupported(*requirements: str, python: str) -> bool:
    """Whether a package has no wheel for a Python version, by the rule."""
    found = check_combination(combination("L4", "580.65.06", *requirements, python=python), ASSUMED_POLICY).diagnosis
    return any(cause.name == "python-version-unsupported" for cause in found.root_causes)


SPANS: tuple[PythonSpan, ...] = MATRIX.rows(PYTHONS)


@every("span", SPANS)
def test_a_release_outside_the_span_of_a_python_version_is_broken_and_one_inside_is_not(span: PythonSpan) -> None:
    name, python, last = span.distribution, span.python.text, span.last or span.first
    assert not any(unsupported(f"{name}=={release}", python=python) for release in (span.first, last))
    assert not any(unsupported(f"{name}{bound}", python=python) for bound in (f">={span.first}", f"<={last}", ""))
    assert unsupported(f"{name}<{span.first}", python=python)
    assert unsupported(f"{name}==0.0.0", python=python)
    assert unsupported(f"{name}=={last}.1", python=python) == (span.last is not None)


def test_a_python_version_that_no_table_knows_is_not_judged() -> None:
    found = check_combination(combination("L4", "580.65.06", "numpy==1.26.4", python="3.16"), ASSUMED_POLICY).diagnosis
    assert "no table lists which of its releases have wheels for Python 3.16" in {unchecked.reason for unchecked in found.unchecked}


@pytest.mark.parametrize("name", ["flash-attn", "mamba-ssm", "causal-conv1d", "torch-scatter"])
def test_what_is_built_against_torch_is_installed_after_it_without_isolation(name: str) -> None:
    found = planned("A100", "580.65.06", "torch", name).environment
    assert found is not None
    for command in (found.commands.uv, found.commands.pip, found.commands.conda):
        first, tools, second = command.split(" && ")[1:]
        assert " torch==" in first
        assert name not in first + tools
        assert re.search(rf"install(?: --python \S+)? --no-build-isolation {name}==\S+$", second)
    assert any(f"{name} " in one and "needs nvcc" in one for one in found.not_checked)


@pytest.mark.parametrize(
    ("framework", "expected"),
    [("tensorflow", ["tensorflow==2.19.1", "tensorflow-metal==1.2.0"]), ("jax", ["jax==0.5.0", "jax-metal==0.1.1"])],
)
def test_a_plan_for_a_mac_has_the_plugin_for_its_gpu(framework: str, expected: list[str]) -> None:
    question = msgspec.structs.replace(
        asked("", "", framework), machine=assumed_machine(Combination(requirements=(framework,), os="macos"), MATRIX)
    )
    plan = proposed_plan(question, MATRIX).plan
    assert (pins(plan), plan.exit_code) == (expected, 0)
    assert plan.environment is not None
    stated = Combination(requirements=tuple(expected), os="macos", python=plan.environment.python)
    assert check_combination(stated, ASSUMED_POLICY).diagnosis.verdict is Verdict.READY
    without = assumed_machine(Combination(requirements=(framework,), os="macos", gpus=("none",)), MATRIX)
    assert "metal" not in " ".join(pins(proposed_plan(msgspec.structs.replace(question, machine=without), MATRIX).plan))
