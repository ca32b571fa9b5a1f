"""What a fix installs, compat must not call broken: on every recorded machine, and on machines that people have."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest

from gpudoctor.derive import specifiers
from gpudoctor.derive.same_package import distributions_sharing_package
from gpudoctor.findings import Diagnosis, Finding, Fix, Policy, Severity, SubjectKind, Verdict
from gpudoctor.findings.actions import Action
from gpudoctor.plan import Combination, check_combination
from gpudoctor.plan.applied_fixes import combination_after, ways_to_fix
from gpudoctor.plan.assumed_machine import assumed_machine
from gpudoctor.plan.checker import ASSUMED_POLICY, Checker
from gpudoctor.plan.examined_machine import examined_machine, python_of_snapshot
from gpudoctor.plan.repair import first_error_cause
from tests.machines import store
from tests.machines.diagnoses import diagnosis
from tests.plan.drawn import drawn
from tests.plan.planned import EXPECTED, combination, planned
from tests.plan.test_questions import QUESTIONS
from tests.plan.test_questions import asked as combination_of
from tests.seams.every import every
from tests.shipped import shared_matrix

MATRIX = shared_matrix()
FAULTY = (
    "torch==1.13.1",
    "torch==2.6.0",
    "torch==2.15.0",
    "tensorflow==2.18.0",
    "tensorflow[and-cuda]==2.21.0",
    "jax==0.6.0",
    "jax[cuda13]==0.10.0",
)


def first_error(found: Diagnosis) -> Finding:
    """The first root cause of a broken diagnosis."""
    error = first_error_cause(found)
    assert error is not None
    return error


def installs(found: Diagnosis) -> Iterator[Fix]:
    """The fixes that install releases for the machine as it is, not as it would be after the driver update that is the step before."""
    for finding in found.root_causes:
        for before, fix in zip((None, *finding.fixes), finding.fixes, strict=False):
            with_a_driver = before is not None and before.action is Action.UPDATE_DRIVER and before.kind is fix.kind
            if fix.installs and not with_a_driver:
                yield fix


@every("name", store.NAMES)
def test_of_a_recorded_machine(name: str) -> None:
    snapshot = store.recorded(name)
    for fix in installs(diagnosis(name)):
        found = Checker(examined_machine(snapshot, MATRIX), MATRIX)(fix.installs, fix.python or python_of_snapshot(snapshot))
        assert not found.refused, (fix, found.refused)
        installed = {requirement.name for requirement in map(specifiers.parse_requirement, fix.installs) if requirement is not None}
        others = [
            finding for finding in found.findings if finding.subject.kind is SubjectKind.FRAMEWORK and finding.subject.key not in installed
        ]
        broken = [finding.message for finding in found.findings if finding.severity is Severity.ERROR and finding not in others]
        assert broken == [], (fix, "what others are installed is not for this fix to say")


@pytest.mark.parametrize(("gpu", "driver"), EXPECTED)
def test_of_an_assumed_machine(gpu: str, driver: str) -> None:
    checker = Checker(assumed_machine(combination(gpu, driver, "torch"), MATRIX), MATRIX)
    tried = 0
    for requirement in FAULTY if gpu != "none" else ():
        for fix in installs(check_combination(combination(gpu, driver, requirement, python="3.11"), ASSUMED_POLICY).diagnosis):
            found = checker(fix.installs, fix.python or "3.11")
            assert found.verdict is not Verdict.BROKEN, (fix, found.why)
            tried += 1
    assert tried or gpu == "none"


LED_ASTRAY = [
    Combination(requirements=("xformers==0.0.33", "torch==2.8.0"), gpus=("L4",), driver="580.65.06", python="3.12"),
    Combination(requirements=("bitsandbytes==0.46.1",), gpus=("H100",), driver="550.54.14", python="3.10"),
    Combination(requirements=("sglang==0.5.16", "torch==2.12.0"), gpus=("GTX 1080",), driver="535.104.05", python="3.11"),
    Combination(requirements=("xformers==0.0.29.post1",), gpus=("RTX 5090",), driver="570.124.06", python="3.11"),
    Combination(requirements=("torch==1.12.1",), gpus=("A100",), driver="535.104.05", python="3.11"),
    Combination(requirements=("cudf-cu12==24.12.0",), gpus=("RTX 4090",), driver="560.94", os="windows"),
    Combination(requirements=("tensorflow==1.15.5",), gpus=("V100",), driver="470.256.02", python="3.7"),
    Combination(requirements=("jax==0.5.2", "jax-cuda12-plugin==0.5.2"), gpus=("A100",), driver="550.54.15", python="3.12"),
    Combination(requirements=("tensorflow-gpu==2.12.0",), gpus=("A100",), driver="535.104.05", python="3.10"),
    Combination(
        requirements=("jax==0.8.0", "jaxlib==0.8.0", "jax-cuda12-plugin==0.7.2"), gpus=("A100",), driver="550.54.15", python="3.12"
    ),
    Combination(requirements=("transformers==5.0.0", "huggingface-hub<1.0", "torch==2.8.0"), gpus=("A100",), driver="550.54.15"),
    Combination(requirements=("torch==2.5.1",), gpus=("RTX 3090",), driver="535.104.05", cuda_compat="12.8"),
    Combination(requirements=("flax==0.7.2",), gpus=("H100",), driver="515.65.01", python="3.7"),
    Combination(requirements=("faiss-gpu-cu11==1.13.1", "jax[cuda12]==0.12.0"), gpus=("H100",), driver="515.65.01", python="3.13"),
    Combination(requirements=("tensorflow[and-cuda]==2.14.1",), os="macos", python="3.13t"),
    *(Combination(requirements=("torch==2.8.0",), gpus=("A100",), driver="570.124.06", libc=libc) for libc in ("ubuntu-18.04", "alpine")),
    Combination(requirements=("jax[cuda12]==0.8.0",), gpus=("A100",), driver="570.124.06", libc="glibc-2.17"),
    Combination(requirements=("torch==2.4.1", "tensorflow[and-cuda]==2.21.0"), gpus=("RTX 3090",), driver="550.54.14"),
    Combination(requirements=("torch==2.6.0", "tensorflow==2.18.0"), gpus=("A100",), driver="550.54.14"),
    Combination(requirements=("torch==2.6.0", "tensorflow==2.18.0", "nvidia-cublas-cu12==12.1.3.1"), gpus=("A100",)),
    Combination(requirements=("torch==2.6.0", "xformers==0.0.29.post3"), gpus=("RTX 5080",), driver="570.124.06"),
]
"""Where a fix once led to another error, changed nothing, or made packages overwrite each other's files."""
UNFIXED = [
    Combination(requirements=("torch==2.10.0", "tensorflow[and-cuda]==2.16.1"), gpus=("L4",), driver="510.108", libc="ubuntu-18.04"),
    Combination(requirements=("torch==2.8.0",), gpus=("Jetson AGX Orin",)),
    Combination(requirements=("torch",), gpus=("Jetson Nano",)),
]
"""Where the fix is no release that the tables can check: an environment for each framework, NVIDIA's build for a Jetson."""


def after(combination: Combination, finding: Finding, policy: Policy = ASSUMED_POLICY) -> Diagnosis | None:
    """The diagnosis after a finding's fix; None if that is only a sentence."""
    changed = combination_after(combination, next(iter(ways_to_fix(finding.fixes)), ()))
    return None if changed == combination else check_combination(changed, policy).diagnosis


def test_after_the_first_fix_of_compat_nothing_is_broken() -> None:
    """Only where no change is known may an error remain, and the report has named it."""
    cured = left = 0
    for asked in (*LED_ASTRAY, *drawn(44, seed=15)):
        found = check_combination(asked, ASSUMED_POLICY, fixes=True).diagnosis
        if found.verdict is not Verdict.BROKEN:
            continue
        first = first_error(found)
        then = after(asked, first)
        works = then is not None and then.verdict is not Verdict.BROKEN
        cured, left = cured + works, left + (not works)
        assert works or asked not in LED_ASTRAY, asked
        assert then is None or is_no_worse(found, then, first), (asked, first.fixes)
        assert works or then is None or not errors(then) - (errors(found) - Counter([first.code])), (asked, first.fixes)
        steps = next(iter(ways_to_fix(first.fixes)), ())
        for step in steps if works and len(steps) > 1 else ():
            rest = combination_after(asked, [other for other in steps if other is not step])
            assert check_combination(rest, ASSUMED_POLICY).diagnosis.verdict is Verdict.BROKEN, (asked, step, "is not needed")
    assert cured > 4 * left, (cured, left)


def is_no_worse(before: Diagnosis, then: Diagnosis, fixed: Finding) -> bool:
    """Whether a fix leaves nothing unchecked that was, unless it says so, and no packages that overwrite each other's files."""
    said = any("could not be checked in full" in fix.title for fix in fixed.fixes)
    unchecked = {one.package or one.what for one in then.unchecked} - {one.package or one.what for one in before.unchecked}
    return (said or not unchecked) and len(overwriting(then)) <= len(overwriting(before))


def overwriting(found: Diagnosis) -> list[str]:
    """What is said of packages that contain the same files."""
    return [
        finding.message
        for finding in found.findings
        if finding.severity is Severity.WARNING and "contain the same files" in finding.message
    ]


@pytest.mark.parametrize("asked", UNFIXED, ids=lambda one: " ".join(one.requirements))
def test_what_cannot_be_checked_is_no_fix_where_another_way_is_known(asked: Combination) -> None:
    steps = ways_to_fix(first_error(check_combination(asked, ASSUMED_POLICY, fixes=True).diagnosis).fixes)
    assert [fix.installs for fix in steps[0]] == [()] * len(steps[0])
    assert re.search(r"NVIDIA's build|its own environment", steps[0][-1].title)


NEAREST = [
    (
        ("tensorflow==2.16.1", "tf-keras==2.15.0"),
        {"gpus": ("T4",), "driver": "535.104.05", "system_cuda": "12.3", "system_cudnn": "8.9"},
        "tf-keras==2.16.0",
    ),
    (("torch==2.4.0",), {"gpus": ("RTX 4070 laptop",), "driver": "560.94", "os": "windows"}, "torch==2.4.1+cu124"),
]
"""Where the fix was another Python, although another package or the next patch release is enough."""


@pytest.mark.parametrize(("requirements", "stated", "expected"), NEAREST)
def test_the_smallest_change_comes_first(requirements: tuple[str, ...], stated: dict[str, Any], expected: str) -> None:
    asked = Combination(requirements=requirements, **stated)
    steps = ways_to_fix(first_error(check_combination(asked, ASSUMED_POLICY, fixes=True).diagnosis).fixes)[0]
    assert [(fix.installs, fix.python) for fix in steps] == [((expected,), "")]


BROKEN = [question for question in QUESTIONS if question["cause"] not in {"", "unknown"} and " " not in question["cause"]]
TRIED = 60
"""Questions whose fix is tried, others in each run: each is planned twice, half a second together."""


@every("question", random.sample(BROKEN, min(TRIED, len(BROKEN))))
def test_the_first_fix_of_a_question_turns_its_answer(question: dict[str, str]) -> None:
    """A fix that changes nothing says so: another GPU, NVIDIA's build for a Jetson, a container."""
    combination, policy = combination_of(question), Policy(level=None)
    first = first_error(check_combination(combination, policy, fixes=True).diagnosis)
    then = after(combination, first, policy)
    assert then is None or then.verdict is not Verdict.BROKEN, (first.name, first.fixes)
    nothing = re.compile(r"^Use |NVIDIA's build|^Leave a package out")
    assert then is not None or nothing.search(first.fixes[0].title), first.fixes


UNGENTLE = [
    Combination(requirements=("whisperx==3.4.2", "torch==2.6.0"), gpus=("A100",), driver="580.65.06", python="3.11"),
    Combination(requirements=("whisperx", "torch==2.6.0"), gpus=("A100",), driver="580.65.06", python="3.11"),
    Combination(requirements=("torch==2.12.0", "jax[cuda12]==0.8.2"), gpus=("A100",), driver="580.65.06", python="3.12"),
]
"""Where the fix of a warning once broke what worked: it changed cuDNN against the pin of another package."""


@every("combination", [*UNGENTLE, *drawn(25, seed=18)])
def test_after_the_fix_of_a_warning_it_is_gone_and_nothing_new_is_broken(combination: Combination) -> None:
    found = check_combination(combination, ASSUMED_POLICY, fixes=True).diagnosis
    for finding in found.root_causes:
        then = after(combination, finding) if finding.severity is Severity.WARNING else None
        if then is not None:
            assert not errors(then) - errors(found), (finding.message, finding.fixes)
            assert finding.message not in [cause.message for cause in then.root_causes], finding.fixes


def test_a_driver_that_works_is_kept_where_other_releases_agree() -> None:
    asked = Combination(requirements=("torch==2.4.1", "tensorflow[and-cuda]==2.21.0"), gpus=("RTX 3090",), driver="550.54.14")
    steps = ways_to_fix(first_error(check_combination(asked, ASSUMED_POLICY, fixes=True).diagnosis).fixes)[0]
    assert [fix.driver for fix in steps] == [""]


def test_no_other_fix_of_compat_leads_to_an_error_that_was_not_named() -> None:
    tried = 0
    for asked in drawn(25, seed=16):
        found = check_combination(asked, ASSUMED_POLICY, fixes=True).diagnosis
        for finding in found.root_causes if found.verdict is Verdict.BROKEN else ():
            then = after(asked, finding)
            if then is not None:
                assert not errors(then) - (errors(found) - Counter([finding.code])), (asked, finding.fixes)
                assert is_no_worse(found, then, finding), (asked, finding.fixes)
                tried += 1
    assert tried > 20


def errors(found: Diagnosis) -> Counter[str]:
    """How many errors each rule found."""
    return Counter(cause.code for cause in found.root_causes if cause.severity is Severity.ERROR)


_NOTHING_WORKS = re.compile(r"no (?:published|CUDA build|release of)")
CORRECTED = [
    ("RTX 5090", "570.124.06", "tensorflow[and-cuda]==2.20.0", "3.11"),
    ("GTX 1080", "550.54.14", "xformers==0.0.31", "3.13"),
    ("P100", "418.226.00", "torch==2.11.0", "3.11"),
]
"""Where a fix once said that no build works although the planner found one."""


def sampled() -> list[tuple[str, str, str, str]]:
    """GPUs, drivers, requirements and Python versions, drawn at random."""
    gpus = ("K80", "GTX 1080", "v100-sxm2", "T4", "a100", "L4", "h100", "B200", "RTX 5090")
    drivers = ("450.248.02", "470.256.02", "535.183.01", "570.124.06", "580.65.06")
    requirements = (*FAULTY, "vllm==0.33.0", "xformers==0.0.31", "paddlepaddle-gpu==3.0.0")
    return random.Random(15).sample(list(product(gpus, drivers, requirements, ("3.9", "3.11", "3.13"))), 20)


def test_no_fix_says_that_nothing_works_where_the_planner_finds_a_release() -> None:
    claims = 0
    for gpu, driver, requirement, python in (*CORRECTED, *sampled()):
        roots = check_combination(combination(gpu, driver, requirement, python=python), ASSUMED_POLICY).diagnosis.root_causes
        titles = [fix.title for finding in roots for fix in finding.fixes if _NOTHING_WORKS.search(fix.title)]
        if not titles:
            continue
        claims += 1
        found = planned(gpu, driver, re.split(r"[=\[]", requirement)[0]).environment
        assert found is None or found.verdict == "unknown", (gpu, driver, requirement, python, titles)
    assert claims


def name_of(requirement: str) -> str:
    """The distribution that a requirement names."""
    return re.split(r"[\[=]", requirement)[0]


WINDOWS = ("tensorflow==2.15.0", "tensorflow==2.18.0", "jax[cuda12]==0.5.3", "jax==0.6.0", "cudf-cu12==24.12.0", "vllm==0.9.0")


@pytest.mark.parametrize("requirement", WINDOWS)
def test_what_follows_wsl_is_for_a_shell_of_linux(requirement: str) -> None:
    asked = Combination(requirements=(requirement,), gpus=("RTX 4090",), driver="560.94", python="3.11", os="windows")
    found = check_combination(asked, ASSUMED_POLICY, fixes=True).diagnosis
    steps = next(iter(ways_to_fix(first_error(found).fixes)))
    assert steps[0].os == "wsl", steps
    assert not any(re.search(r"\bpy -|\\", fix.command) for fix in steps[1:]), steps
    assert not steps[1:] or any(name_of(requirement) in fix.command for fix in steps[1:]), "the environment in WSL is empty"


@pytest.mark.parametrize("first", ["tensorflow==2.10.1", "tensorflow[and-cuda]==2.15.1"])
@pytest.mark.parametrize("second", ["tensorflow-cpu==2.10.1", "tensorflow-cpu==2.15.1", "tensorflow-gpu==2.10.0"])
def test_of_two_planned_copies_the_one_with_cuda_is_kept(first: str, second: str) -> None:
    for named in ((first, second), (second, first)):
        combination = Combination(requirements=named, gpus=("A100",), driver="535")
        causes = check_combination(combination, Policy(level=None)).diagnosis.findings
        copies = [cause for cause in causes if cause.name == "two-copies-of-framework"]
        (fix,) = copies[0].fixes
        assert "uninstall" not in fix.command
        left = combination_after(combination, (fix,)).requirements
        assert len(left) == 1
        assert "-cpu" not in left[0]


@pytest.mark.parametrize(
    ("with_gpu", "other"),
    [
        (with_gpu, other)
        for with_gpu in ("onnxruntime-gpu", "faiss-gpu-cu12", "xgboost")
        for other in distributions_sharing_package(with_gpu)
        if other != with_gpu
    ],
)
def test_two_planned_distributions_of_one_import_package_are_named(with_gpu: str, other: str) -> None:
    for named in ((with_gpu, other), (other, with_gpu)):
        found = check_combination(Combination(requirements=("torch", *named), gpus=("A100",), driver="580"), Policy(level=None)).diagnosis
        copies = next(finding for finding in found.findings if finding.name == "two-copies-of-framework")
        assert len(combination_after(Combination(requirements=named), copies.fixes).requirements) == 1
        alone = check_combination(Combination(requirements=("torch", with_gpu), gpus=("A100",), driver="580"), Policy(level=None)).diagnosis
        assert "two-copies-of-framework" not in {finding.name for finding in alone.findings}


@pytest.mark.parametrize("name", ["tensorflow", "tensorflow-macos", "jax"])
def test_on_a_mac_the_fix_leads_to_a_release_that_the_plugin_supports(name: str) -> None:
    releases = [str(row.release) for row in MATRIX.releases(name, "macos_arm64" if name != "jax" else "")]
    for release in releases[:: len(releases) // 8 or 1]:
        found = check_combination(Combination(requirements=(f"{name}=={release}",), os="macos"), Policy(level=None), fixes=True).diagnosis
        cause = next((finding for finding in found.root_causes if finding.name == "metal-plugin-missing"), None)
        if cause is not None:
            after = combination_after(Combination(requirements=(f"{name}=={release}",), os="macos"), cause.fixes[:1])
            assert check_combination(after, Policy(level=None)).diagnosis.verdict is Verdict.READY, (release, cause.fixes)
