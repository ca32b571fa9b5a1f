"""What a fix installs, compat must not call broken: on every recorded machine, and on machines that people have."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator
from itertools import product

import pytest

from gpudoctor.derive import specifiers
from gpudoctor.findings import Diagnosis, Fix, Severity, SubjectKind, Verdict
from gpudoctor.findings.actions import Action
from gpudoctor.matrix_files import open_matrix
from gpudoctor.plan import examine
from gpudoctor.plan.judge import POLICY, Judge
from gpudoctor.plan.machine import machine
from gpudoctor.plan.this_machine import examined, python_of
from tests.machines import store
from tests.machines.diagnoses import diagnosis
from tests.plan.planned import EXPECTED, combination, planned
from tests.seams.every import every

MATRIX = open_matrix()
FAULTY = (
    "torch==1.13.1",
    "torch==2.6.0",
    "torch==2.15.0",
    "tensorflow==2.18.0",
    "tensorflow[and-cuda]==2.21.0",
    "jax==0.6.0",
    "jax[cuda13]==0.10.0",
)


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
        found = Judge(examined(snapshot, MATRIX), MATRIX)(fix.installs, fix.python or python_of(snapshot))
        assert not found.refused, (fix, found.refused)
        installed = {one.name for one in map(specifiers.requirement, fix.installs) if one is not None}
        others = [one for one in found.findings if one.subject.kind is SubjectKind.FRAMEWORK and one.subject.key not in installed]
        broken = [one.message for one in found.findings if one.severity is Severity.ERROR and one not in others]
        assert broken == [], (fix, "what others are installed is not for this fix to say")


@pytest.mark.parametrize(("gpu", "driver"), EXPECTED)
def test_of_an_assumed_machine(gpu: str, driver: str) -> None:
    judge = Judge(machine(combination(gpu, driver, "torch"), MATRIX), MATRIX)
    tried = 0
    for requirement in FAULTY if gpu != "none" else ():
        for fix in installs(examine(combination(gpu, driver, requirement, python="3.11"), POLICY).diagnosis):
            found = judge(fix.installs, fix.python or "3.11")
            assert found.verdict is not Verdict.BROKEN, (fix, found.why)
            tried += 1
    assert tried or gpu == "none"


ADDED = (
    "xformers",
    "vllm",
    "bitsandbytes",
    "torchvision",
    "sglang",
    "onnxruntime-gpu",
    "tensorflow",
    "jax",
    "cupy-cuda12x",
    "faiss-gpu-cu12",
)
BESIDE = ("torch", "torchvision", "tensorflow", "numpy==1.26.4", "numpy==2.3.4")
LED_ASTRAY = [
    ("L4", "580.65.06", ("xformers==0.0.33", "torch==2.8.0"), "3.12"),
    ("H100", "550.54.14", ("bitsandbytes==0.46.1",), "3.10"),
    ("GTX 1080", "535.104.05", ("sglang==0.5.16", "torch==2.12.0"), "3.11"),
    ("RTX 5090", "570.124.06", ("xformers==0.0.29.post1",), "3.11"),
]
"""Where a fix once led to another error."""


def drawn(count: int) -> Iterator[tuple[str, str, tuple[str, ...], str]]:
    """Combinations of releases from the tables, drawn at random."""
    draw = random.Random(15)
    for _ in range(count):
        (gpu, driver), python = draw.choice([one for one in EXPECTED if one[1]]), draw.choice(("3.9", "3.11", "3.13"))
        asked = [draw.choice(ADDED), *draw.sample(BESIDE, draw.randint(0, 1))]
        rows = {name: MATRIX.releases(name) for name in asked}
        yield gpu, driver, tuple(f"{name}=={draw.choice(rows[name][-40:]).release}" if rows[name] else name for name in asked), python


def test_a_fix_of_compat_leads_to_no_other_error() -> None:
    tried = 0
    for gpu, driver, requirements, python in (*LED_ASTRAY, *drawn(60)):
        found = examine(combination(gpu, driver, *requirements, python=python), POLICY, fixes=True).diagnosis
        before = errors(found)
        for finding in found.root_causes:
            for fix in (one for one in installs(found) if one in finding.fixes):
                parsed = {one.name: one.text for one in map(specifiers.requirement, (*requirements, *fix.installs)) if one is not None}
                texts = fix.installs if "what works here" in fix.title else tuple(parsed.values())
                after = examine(combination(gpu, driver, *texts, python=fix.python or python), POLICY).diagnosis
                assert not errors(after) - (before - Counter([finding.code])), (gpu, driver, requirements, python, fix)
                tried += 1
    assert tried > 20


def errors(found: Diagnosis) -> Counter[str]:
    """How many errors each rule found."""
    return Counter(one.code for one in found.root_causes if one.severity is Severity.ERROR)


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
        roots = examine(combination(gpu, driver, requirement, python=python), POLICY).diagnosis.root_causes
        titles = [fix.title for finding in roots for fix in finding.fixes if _NOTHING_WORKS.search(fix.title)]
        if not titles:
            continue
        claims += 1
        found = planned(gpu, driver, re.split(r"[=\[]", requirement)[0]).environment
        assert found is None or found.verdict == "unknown", (gpu, driver, requirement, python, titles)
    assert claims
