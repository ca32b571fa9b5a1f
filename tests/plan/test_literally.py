"""What the commands of a fix do, word for word, is what the fix was checked for."""

from __future__ import annotations

import re
import shlex

from gpudoctor.derive.specifiers import parse_requirement
from gpudoctor.findings import Fix
from gpudoctor.plan import Combination, check_combination
from gpudoctor.plan.applied_fixes import combination_after, ways_to_fix
from gpudoctor.plan.checker import ASSUMED_POLICY
from tests.plan.drawn import drawn
from tests.seams.every import every

_OF_PIP = {"-m", "-y", "pip", "install", "uninstall", "ensurepip", "--upgrade"}
_BUILD_TOOLS = {"setuptools", "wheel", "packaging", "ninja"}
_WITH_VALUE = ("--index-url", "--extra-index-url")


def by_name(texts: tuple[str, ...]) -> dict[str, str]:
    return {wanted.name: wanted.text for wanted in map(parse_requirement, texts) if wanted is not None}


def carried_out(combination: Combination, fixes: tuple[Fix, ...]) -> tuple[dict[str, str], str | None]:
    """The packages, and the Python, of the environment that is used after the commands of these fixes."""
    packages, python = by_name(combination.requirements), combination.python
    for command in (part for fix in fixes for part in re.split(r" && |; ", fix.command)):
        words = shlex.split(command.replace("\\", "/"))
        if "venv" in words:
            packages, python = {}, re.sub(r"^(?:py -|python)", "", command.partition(" -m ")[0])
        elif "pip" in words:
            at = words.index("pip")
            skipped = _OF_PIP | _BUILD_TOOLS
            named = [word for place, word in enumerate(words[at:], at) if word not in skipped and words[place - 1] not in _WITH_VALUE]
            changed = by_name(tuple(word for word in named if not word.startswith("--")))
            packages = {name: text for name, text in packages.items() if name not in changed}
            packages |= changed if words[at + 1] == "install" else {}
    return packages, python


STATED = [
    Combination(requirements=("keras==2.3.1", "torch==2.4.0")),
    Combination(requirements=("keras==2.3.1", "torch==2.4.0"), python="3.8"),
    Combination(requirements=("diffrax==0.7.0",), python="3.8"),
    Combination(requirements=("torch==1.10.1", "jax[cuda13]==0.10.0")),
    Combination(requirements=("torch==2.3.0", "pandas==2.0.3", "rich", "jax==0.10.0"), python="3.13", driver="470.256.02"),
    Combination(requirements=("tensorflow==1.15.0", "rich"), python="3.11", gpus=("A100",)),
    Combination(requirements=("cudf-cu13==26.2.0",), python="3.14", os="macos"),
    Combination(requirements=("super-gradients==3.5.0",), driver="580.65.06", gpus=("v100-sxm2",), python="3.13t"),
]
"""Where a command once created an environment without the packages that were asked for, or for a Python without wheels of them."""


@every("combination", [*STATED, *drawn(40, seed=20)])
def test_of_every_fix_of_compat(combination: Combination) -> None:
    for finding in check_combination(combination, ASSUMED_POLICY, fixes=True).diagnosis.findings:
        for fixes in ways_to_fix(finding.fixes):
            wanted = combination_after(combination, fixes)
            if any(fix.command for fix in fixes) and wanted != combination:
                packages, python = carried_out(combination, fixes)
                if finding.name == "package-not-installable":  # what was never installed needs no removal
                    packages = {name: text for name, text in packages.items() if not any(name in fix.removes for fix in fixes)}
                assert packages == by_name(wanted.requirements), [fix.command for fix in fixes]
                assert python == wanted.python, [fix.command for fix in fixes]
