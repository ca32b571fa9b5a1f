from __future__ import annotations

from itertools import chain

from gpudoctor.diagnose.rules import FAMILIES
from gpudoctor.diagnose.rules.of_gpus import OF_GPUS
from gpudoctor.diagnose.rules.of_sections import OF_CUDA_BUILDS, OF_TRAINING, OF_WSL
from gpudoctor.diagnose.usual import USUAL


def test_rules_that_only_some_machines_need_are_not_loaded_with_the_usual_ones() -> None:
    others = {*OF_GPUS, *OF_WSL, *OF_TRAINING, *OF_CUDA_BUILDS}
    assert {rule.name.replace("-", "_") for rule in USUAL} == set(chain.from_iterable(FAMILIES.values())) - others
