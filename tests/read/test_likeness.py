"""What only the words of a text suggest."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections import Counter
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Final

import msgspec
import pytest

from gpudoctor.diagnose.rules import rules_without
from gpudoctor.findings import Confidence, Severity, Verdict
from gpudoctor.matrix import Matrix
from gpudoctor.signatures import likeness as module
from gpudoctor.signatures.likeness import LinearModel, text_likeness, words_and_pairs, words_of
from gpudoctor.snapshot import Likeness
from gpudoctor.typed_values import from_json
from tests.read.learned_from import LEARNED_FROM, OWN_WORDS, digest
from tests.read.test_read import causes_of, judged

_MODELS: Final = module._models()
_TOLD: Final = [json.loads(line) for path in sorted(OWN_WORDS.glob("*.jsonl")) for line in path.read_text(encoding="utf-8").splitlines()]
_SUSPENDED: Final = "Since the suspend my laptop trains on the processor, after a reboot it works again.\n"


def _learn_words() -> ModuleType:
    """Return scripts/learn_words."""
    path = Path(__file__).resolve().parents[2] / "scripts" / "learn_words"
    spec = importlib.util.spec_from_loader("learn_words", SourceFileLoader("learn_words", str(path)))
    assert spec
    assert spec.loader
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    return script


def test_it_was_learned_from_the_texts_that_are_here() -> None:
    assert _MODELS.learned_from == digest(), "run scripts/learn_words"


def test_it_knows_the_names_of_rules() -> None:
    assert set(_MODELS.causes) <= {rule.name for rule in rules_without(frozenset())}


@pytest.mark.parametrize("kind", ["fault", "cause"])
@pytest.mark.usefixtures("scikit_learn")
def test_it_gives_the_probabilities_of_the_library_that_learned_it(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    script, some = _learn_words(), LEARNED_FROM[::9]
    monkeypatch.setattr(script, "_SMALLEST", 0)
    texts = [text for cause, text in some if cause or kind == "fault"]
    answers = [cause if kind == "cause" else bool(cause) for cause, _ in some if cause or kind == "fault"]
    terms = words_and_pairs if kind == "fault" else words_of
    learned = getattr(script, f"{kind}_model")().fit(texts, answers)
    ours = from_json(json.dumps(script.linear(learned)), LinearModel)
    for text, theirs in zip(texts[::20], learned.predict_proba(texts[::20]), strict=True):
        assert ours.shares(terms(text)) == pytest.approx(theirs, abs=0.05)  # weights are rounded


def test_what_only_words_suggest_is_possible_and_proves_nothing(matrix: Matrix) -> None:
    found = judged(_SUSPENDED, matrix)
    assert causes_of(found) == ["uvm-broken-after-suspend"]
    assert (found.verdict, found.exit_code) == (Verdict.UNKNOWN, 3)
    assert [(finding.severity, finding.confidence) for finding in found.findings] == [(Severity.WARNING, Confidence.POSSIBLE)]
    assert {word for evidence in found.findings[0].evidence for word in evidence.value.split(", ")} <= set(words_of(_SUSPENDED))


def test_an_error_message_goes_before_the_words(matrix: Matrix) -> None:
    found = judged(f"{_SUSPENDED}Failed to initialize NVML: Driver/library version mismatch\n", matrix)
    assert causes_of(found) == ["driver-library-mismatch"]


def test_what_facts_exclude_is_not_suggested(matrix: Matrix) -> None:
    assert causes_of(judged(f"{_SUSPENDED}OS: Microsoft Windows 11 Pro\n", matrix)) == []


def test_columns_of_programs_suggest_nothing() -> None:
    assert text_likeness(["Filesystem Size Used Avail Use% Mounted", "shm 64M 0 64M 0% /dev/shm"]) == Likeness()


@pytest.mark.parametrize(
    "line",
    [
        "W tensorflow/compiler/tf2tensorrt/utils/py_utils.cc:38] TF-TRT Warning: Cannot dlopen some TensorRT libraries, so they are not used.",
        "I tensorflow/core/platform/cpu_feature_guard.cc:193] This TensorFlow binary is optimized to use the CPU, and is not the one of the GPU",
        "ERROR: it is not possible to see the GPU in this container",
    ],
)
def test_lines_that_programs_log_suggest_nothing(line: str) -> None:
    assert text_likeness([line]) == Likeness()


def test_people_who_tell_of_a_fault_hear_its_cause_and_others_hear_nothing(matrix: Matrix) -> None:
    """Floors below what is reached: the models have learned these texts, and `scripts/learn_words --measure` says how they do on others."""
    right: Counter[bool] = Counter()
    for cause, text in _TOLD[::6]:
        right[bool(cause)] += causes_of(judged(f"{text}\n", matrix))[:1] == [cause] * bool(cause)
    told = Counter(bool(cause) for cause, _ in _TOLD[::6])
    assert right[True] / told[True] > 0.7
    assert right[False] / told[False] > 0.9


def test_a_log_of_any_length_takes_its_first_and_last_lines() -> None:
    middle = ["epoch 1: the loss is 0.3"] * 100_000
    assert text_likeness([_SUSPENDED, *middle]) == text_likeness([_SUSPENDED, *middle[:299]])
    assert text_likeness([*middle, _SUSPENDED]) == text_likeness([*middle[:299], _SUSPENDED])


def test_the_models_are_small() -> None:
    assert len(msgspec.json.encode(_MODELS)) < 1 << 20
