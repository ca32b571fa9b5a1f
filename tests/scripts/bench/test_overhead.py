"""scripts/bench/overhead: its comparison of two runs, and that child and plain script do the same, which it asks itself of every framework."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.scripts.programs import SCRIPTS, script

overhead = script("bench/overhead")

LOSSES = [2.115726184844971, 1.3882787346839904, 0.6087729692459106, 0.20937950611114503, 0.08681755475699901, 0.03786703739315271]
"""Of TensorFlow 2.21's convolutional network."""


def answers(stages: tuple[str, ...] = overhead.STAGES, losses: Any = LOSSES, networks: tuple[str, ...] = ("dense", "convolutional")) -> str:
    """The answer of a child that trained both networks to these losses."""
    trained = [{"event": "training", "network": network, "losses": losses, "accuracy": 0.996} for network in networks]
    events = [*({"event": "end", "stage": stage} for stage in stages), *trained, {"event": "done"}]
    return "\n".join(["@importing TensorFlow", *map(json.dumps, events)])


def printed(factor: float = 1.0) -> str:
    """The output of a plain script, after a line of the framework's, that trained both to these multiples of the losses."""
    told = {"losses": [loss * factor for loss in LOSSES], "accuracy": 0.996, "difference": 0.0}
    return "a word\n" + json.dumps({"version": "2.21.0", "error": 2.5e-7, "networks": {"dense": told, "convolutional": told}})


def test_the_same_work_in_another_order_of_summing_is_the_same() -> None:
    assert overhead.same(answers(), printed(1 + 1e-6)) == "2.21.0"


@pytest.mark.parametrize(
    ("child", "plain", "words"),
    [
        (answers(stages=(*overhead.STAGES, "copies")), printed(), "the child's stages are import, .*, copies"),
        (answers(losses=LOSSES[:-1]), printed(), "the convolutional network: the child gives"),
        (answers(losses=["nan"] * 6), printed(), "the convolutional network"),
        (answers(networks=("dense",)), printed(), "the convolutional network: the child gives .0.0., the plain script"),
        (answers(), printed(1.01), "the convolutional network: the child gives"),
    ],
)
def test_different_work_is_not_compared(child: str, plain: str, words: str) -> None:
    with pytest.raises(overhead.NotComparableError, match=words):
        overhead.same(child, plain)


def test_ratios_are_per_round_without_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    child, plain, order = iter([50.0, 2.0, 6.0, 3.0]), iter([1.0, 2.0, 5.0, 2.0]), []

    def run(name: str, seconds: Any, said: str) -> Callable[..., tuple[float, str]]:
        def once(*_: object) -> tuple[float, str]:
            order.append(name)
            return next(seconds), said

        return once

    monkeypatch.setattr(overhead, "run_child", run("child", child, answers()))
    monkeypatch.setattr(overhead, "run_plain", run("plain", plain, printed()))
    row = overhead.compared("tensorflow", Path("python"), 3)
    assert (row.version, row.child, row.plain, row.ratios) == ("2.21.0", (2.0, 6.0, 3.0), (2.0, 5.0, 2.0), [1.0, 1.2, 1.5])
    assert order == ["plain", "child", "child", "plain"] * 2
    assert overhead.table([row]).splitlines()[-1] == "| tensorflow 2.21.0 | 3 | 3.00 | 2.00 | 1.200 | 1.000 to 1.500 | missed |"


def test_a_run_that_fails_is_no_measurement() -> None:
    with pytest.raises(overhead.NotComparableError, match=r"-c ended with 3: no such thing"):
        overhead.measured([sys.executable, "-c", "import sys; print('no such thing', file=sys.stderr); sys.exit(3)"])


def test_an_unknown_framework() -> None:
    command: list[str | Path] = [sys.executable, SCRIPTS / "bench" / "overhead", "mxnet"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "no framework is called mxnet" in done.stderr


def test_child_and_plain_script_do_the_same() -> None:
    (ours, said), (plain, told) = (run("tensorflow", Path(sys.executable)) for run in (overhead.run_child, overhead.run_plain))
    assert overhead.same(said, told)
    assert 0 < ours < 3 * plain  # other tests run beside; the figure itself is for a quiet machine
