"""A child that runs beside others: it is stopped by name, and its answer need not be kept."""

from __future__ import annotations

import sys

from gpudoctor.process import ANSWER_PLACEHOLDER, ChildEnd, ChildSpec, Supervisor


def speaker(name: str, code: str, **changes: object) -> ChildSpec:
    script = f"import os, sys, time\nsay = lambda text: os.write(int(sys.argv[1]), text)\n{code}"
    return ChildSpec(name=name, argv=(sys.executable, "-c", script, ANSWER_PLACEHOLDER), **changes)  # type: ignore[arg-type]


def test_one_is_stopped_and_the_other_goes_on() -> None:
    with Supervisor() as supervisor:
        supervisor.start(speaker("one", "time.sleep(60)"))
        supervisor.start(speaker("other", "time.sleep(0.3); say(b'done\\n')"))
        supervisor.stop(["one", "nobody"])
        assert supervisor.wait(["one"])["one"].end is ChildEnd.STOPPED
        assert supervisor.wait(["other"])["other"].lines == (b"done",)


def test_an_unkept_answer_may_be_endless() -> None:
    heard: list[int] = []
    with Supervisor() as supervisor:
        flood = "for _ in range(320): say(b'x' * 65535 + b'\\n')"
        supervisor.start(speaker("flood", flood, keep=False), lambda line: heard.append(len(line)))
        outcome = supervisor.wait(["flood"])["flood"]
    assert (outcome.trouble, outcome.lines) == ("", ())
    assert heard == [65535] * 320
