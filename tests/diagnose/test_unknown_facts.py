"""No rule crashes where any one fact of a recorded machine is unknown."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from gpudoctor.derive import MachineView
from gpudoctor.diagnose.engine import run_rules
from gpudoctor.diagnose.rules import RULES
from gpudoctor.errors import UsageError
from gpudoctor.findings import OutcomeKind
from gpudoctor.matrix import Matrix
from gpudoctor.snapshot import decode_snapshot
from tests.diagnose.conditions import UNKNOWN
from tests.machines import delta, store
from tests.seams.every import every
from tests.seams.once import once

EACH = 2
"""On how many machines each kind of fact is made unknown."""


def places(value: Any, pointer: str = "") -> Iterator[str]:
    """Yield the places of all known facts."""
    if pointer:
        yield pointer
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in parts:
        if key != "type" and not (isinstance(part, dict) and part.get("type") == "missing"):
            yield from places(part, f"{pointer}/{str(key).replace('~', '~0').replace('/', '~1')}")


def chosen() -> dict[str, list[str]]:
    """Return the places of facts to make unknown, by machine: each fact of a kind on the machines with the fewest so far."""
    holders: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for name in store.NAMES:
        for place in places(msgspec.json.decode(store.RECORDED.snapshot(name))):
            holders[re.sub(r"/\d+(?=/|$)", "/N", place)][name] = place
    taken: defaultdict[str, list[str]] = defaultdict(list)
    for found in sorted(holders.values(), key=len):
        for name in sorted(found, key=lambda name: len(taken[name]))[:EACH]:
            taken[name].append(found[name])
    return {name: taken[name] for name in sorted(taken) if taken[name]}


@pytest.fixture(scope="session")
def to_forget(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """Chosen when a test asks, and once: it takes as long as it takes to collect 4,000 tests."""
    return once(tmp_path_factory, "facts to forget", chosen)


@every("name", store.NAMES)
def test_an_unknown_fact_crashes_no_rule(name: str, to_forget: dict[str, list[str]], matrix: Matrix) -> None:
    for place in to_forget.get(name, []):
        document = msgspec.json.decode(store.RECORDED.snapshot(name))
        delta.apply({place: UNKNOWN}, document)
        try:
            snapshot = decode_snapshot(msgspec.json.encode(document))
        except UsageError:
            continue  # no snapshot leaves it out
        outcomes = [run.outcome for run in run_rules(RULES, MachineView(snapshot, matrix, store.policy(name)))]
        assert [(place, outcome.name, outcome.reason) for outcome in outcomes if outcome.kind is OutcomeKind.CRASHED] == []
