"""What people write of drivers: every word of the lists in every kind of sentence, and what a clause only supposes."""

from __future__ import annotations

import itertools

import pytest

from gpudoctor.signatures import hinted_causes, recognised_signatures

NAMES = ("nvidia driver", "NVIDIA graphics driver", "graphic driver", "cuda driver", "GPU driver", "nvidia drivers", "video card driver")
MISSING = (
    "no {} was found",
    "No {} found",
    "there is no {} on the node",
    "I don't have a {}",
    "it cannot find the {}",
    "we have not installed any {}",
    "the {} is not loaded",
    "my {} isn't installed",
    "it complains about a missing {}",
    "the {} is missing",
)
LOGGED = ("ERROR: {} is not running",)
OLD = (
    "the {} is too old",
    "the {} turned out to be outdated",
    "the {} of the lab machine is far too old",
    "we still run an obsolete {}",
    "this release needs a newer {}",
    "the {} on our nodes was really old",
)
SUPPOSED = (
    "if {} then the service stops",
    "Make sure that {}",
    "Please check whether {}",
    "How to tell that {}",
    "errors like {}",
)


def _causes(text: str) -> set[str]:
    return {cause for recognised in recognised_signatures(text) for cause in recognised.signature.causes}


@pytest.mark.parametrize(
    ("cause", "sentence"), [*(("no-driver", one) for one in (*MISSING, *LOGGED)), *(("driver-too-old", one) for one in OLD)]
)
def test_a_sentence_means_the_same_of_a_driver_by_any_name(cause: str, sentence: str) -> None:
    for name in NAMES:
        assert cause in _causes(sentence.format(name)), name


@pytest.mark.parametrize("frame", SUPPOSED)
def test_what_a_clause_only_supposes_is_no_complaint(frame: str) -> None:
    for sentence, name in itertools.product((*MISSING, *OLD), NAMES[:2]):
        said = sentence.format(name)
        assert not _causes(frame.format(said[0].lower() + said[1:])) & {"no-driver", "driver-too-old"}, said


@pytest.mark.parametrize("sentence", ["If I start it, no nvidia driver is found", "I wanted to train but the nvidia driver is missing"])
def test_another_clause_supposes_nothing(sentence: str) -> None:
    assert "no-driver" in _causes(sentence)


@pytest.mark.parametrize(
    "sentence",
    ["the nvidia driver is not too old", "the nvidia driver is installed", "no printer driver was found", "no nvidia driver update helped"],
)
def test_other_sentences_about_drivers_are_no_complaint(sentence: str) -> None:
    assert not _causes(sentence) & {"no-driver", "driver-too-old"}


def test_words_that_are_only_supposed_are_no_hint() -> None:
    assert "scheduler-gpu-not-allocated" in hinted_causes("no GPU was allocated to the job")
    assert "scheduler-gpu-not-allocated" not in hinted_causes("check whether no GPU was allocated to the job")


@pytest.mark.parametrize(
    "error",
    ["No CUDA GPUs are available", "Torch not compiled with CUDA enabled", "CUDA driver version is insufficient for CUDA runtime version"],
)
def test_an_error_that_somebody_may_get_is_none_that_was_logged(error: str) -> None:
    assert recognised_signatures(f"I started the job and got: {error}")
    assert recognised_signatures(f"When I use the GPU: {error}")
    assert not recognised_signatures(f'If you get "{error}", choose another runtime.')
    assert not recognised_signatures(f"In case one sees {error} there is a page in the wiki")


@pytest.mark.parametrize(
    "frame",
    [
        'If you get "{}", they say, update. I get: {}',
        "I don't get the error {}. I get {}",
        'Whenever one sees "Error 7: {}" the wiki helps, and here is mine: {}',
    ],
)
def test_an_error_is_found_behind_one_that_is_only_supposed(frame: str) -> None:
    error = "CUDA driver version is insufficient for CUDA runtime version"
    assert recognised_signatures(frame.format(error, error))
    assert recognised_signatures(frame.format(error, "No CUDA GPUs are available"))
    assert not recognised_signatures(frame.format(error, "nothing"))
