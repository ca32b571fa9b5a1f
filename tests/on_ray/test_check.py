"""What is asked of each node, and what its answer comes to."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest

from gpudoctor.on_ray.all_reduce import _trial_of_answers
from gpudoctor.on_ray.check import CheckPlan, _check_tasks, _has_trained_for_links, _missing_report_reason
from gpudoctor.on_ray.cluster import Cluster, NodeAnswer, NodeTask, RayNode

NODES = (RayNode("a" * 56, "gpu1", "10.0.0.1", gpus=8), RayNode("b" * 56, "login", "10.0.0.2"))
WORK = NodeTask(NODES[0], "module", ())
OTHER = NodeTask(NODES[1], "module", ())


def plan(**given: Any) -> CheckPlan:
    values = {"address": "", "arguments": (), "claims": True, "links": False, "python": "", "runtime_env": {}, "timeout": 600.0}
    return CheckPlan(**{**values, **given})


def works(**given: Any) -> list[NodeTask]:
    return _check_tasks(plan(**given), cast("Cluster", SimpleNamespace(nodes=lambda: NODES)))


def test_all_gpus_of_a_node_are_claimed_and_none_for_a_look() -> None:
    assert [work.gpus for work in works()] == [8, 0]
    assert [work.gpus for work in works(claims=False)] == [0, 0]


@pytest.mark.parametrize(("timeout", "limit"), [(600.0, "580"), (30.0, "15")])
def test_a_node_s_own_check_ends_before_the_node_is_given_up(timeout: float, limit: str) -> None:
    words = works(timeout=timeout)[0].arguments
    assert words[words.index("--timeout") + 1] == limit


def test_the_environment_of_ray_tasks_is_examined_unless_another_is_named() -> None:
    assert "{python}" in works()[0].arguments
    assert "/opt/venv" in works(python="/opt/venv")[0].arguments
    assert "--python" not in works(arguments=("--node",))[0].arguments


def test_a_check_that_ends_without_a_report_is_a_result() -> None:
    assert _missing_report_reason(NodeAnswer(WORK, b"{}")) == ""
    assert _missing_report_reason(NodeAnswer(WORK, silence="no answer in 5 s")) == "no answer in 5 s"
    assert _missing_report_reason(NodeAnswer(WORK, b"", -9)) == "gpudoctor ended with status -9 and without a report"
    assert _missing_report_reason(NodeAnswer(WORK, b"", 1, b"Traceback\nImportError: \xff no msgspec\n")).endswith(
        r"(ImportError: \xff no msgspec)"
    )


@pytest.mark.parametrize(
    ("smoke", "able"),
    [
        ([{"framework": "torch", "trainings": [{}]}], True),
        ([{"framework": "torch", "trainings": []}], False),
        ([{"framework": "jax", "trainings": [{}]}], False),
        ({"cause": "not-asked"}, False),
    ],
)
def test_only_nodes_on_which_pytorch_trained_run_an_all_reduce(smoke: object, able: bool) -> None:
    assert _has_trained_for_links(msgspec.json.encode({"snapshot": {"smoke": smoke}})) is able
    assert not _has_trained_for_links(b"\xff{")


def rank(work: NodeTask, **told: Any) -> NodeAnswer:
    return NodeAnswer(work, msgspec.json.encode(told))


def part(name: str, error: float | str = 0.0, size: int = 4096, seconds: float = 1e-3) -> dict[str, object]:
    return {"event": "part", "size": size, "seconds": seconds, "errors": {name: error}}


def test_a_rank_that_fails_says_more_than_one_that_waits_for_it() -> None:
    waiting = rank(WORK, trouble="did not respond for 60 s", hung=True)
    failing = rank(OTHER, trouble="all-reduce failed: Connection refused")
    assert _trial_of_answers(("gpu1", "login"), [waiting, failing]).trouble == "login: all-reduce failed: Connection refused"
    assert _trial_of_answers(("gpu1", "login"), [waiting, NodeAnswer(OTHER, silence="the node left the cluster")]).trouble.startswith(
        "gpu1: did not respond"
    )


@pytest.mark.parametrize("error", [0.5, "nan"])
def test_a_wrong_sum_names_its_node(error: float | str) -> None:
    trial = _trial_of_answers(("gpu1", "login"), [rank(WORK, parts=[part("rank 0", error)]), rank(OTHER, parts=[part("rank 1")])])
    assert trial.trouble == "wrong sums on gpu1"


def test_the_rate_is_that_of_the_largest_size_on_the_slowest_rank() -> None:
    parts = [[part(name), part(name, size=4 << 20, seconds=seconds)] for name, seconds in (("rank 0", 0.1), ("rank 1", 0.2))]
    trial = _trial_of_answers(("gpu1", "login"), [rank(WORK, parts=parts[0]), rank(OTHER, parts=parts[1])])
    assert trial.trouble == ""
    assert trial.rate == pytest.approx((4 << 20) / 0.2)


def test_a_rank_that_says_nothing_is_no_result() -> None:
    trial = _trial_of_answers(("gpu1", "login"), [rank(WORK, parts=[part("rank 0")]), NodeAnswer(OTHER, b"", 1, b"ImportError: torch")])
    assert trial.trouble == "login: gpudoctor ended with status 1 (ImportError: torch)"
    trial = _trial_of_answers(("gpu1", "login"), [rank(WORK, parts=[part("rank 0")]), rank(OTHER)])
    assert trial.trouble == "login: it ended without a result"
