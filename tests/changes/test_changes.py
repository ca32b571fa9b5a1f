"""Differences between recorded machines: mirrored, complete, and one line for one change."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import msgspec

from gpudoctor.changes import compare_examinations
from gpudoctor.changes.change_lines import lines_of_changes
from gpudoctor.changes.fields_read import FieldsRead, recorded_runs
from gpudoctor.changes.matching import GPU_TYPES, ITEM_KEYS
from gpudoctor.changes.walk import SnapshotWalk
from gpudoctor.derive import MachineView
from gpudoctor.diagnose import diagnose
from gpudoctor.diagnose.engine import run_rules
from gpudoctor.diagnose.rule_choice import choose_rules
from gpudoctor.diagnose.rules import RULES
from gpudoctor.errors import UsageError
from gpudoctor.examination import Examination
from gpudoctor.findings import Diagnosis
from gpudoctor.report.diff import Diff
from gpudoctor.snapshot import VERSION, Snapshot, decode_snapshot, encode_snapshot
from gpudoctor.snapshot.values import Observed
from gpudoctor.snapshot.volatile import VOLATILE
from tests.machines.diagnoses import diagnosis
from tests.machines.store import NAMES, RECORDED, policy, recorded
from tests.seams.every import every
from tests.shipped import shared_matrix

MATRIX = shared_matrix()
Place = tuple[str | int, ...]
EVERY_FACT = ("healthy-eight", "libraries-in-order")
"""Here every fact is changed, elsewhere some."""


@cache
def examination(name: str) -> Examination:
    return examination_of(recorded(name), name, diagnosis(name))


def examined(snapshot: Snapshot, name: str) -> Examination:
    return examination_of(snapshot, name, diagnose(snapshot, MATRIX, policy(name)))


def examination_of(snapshot: Snapshot, name: str, found: Diagnosis) -> Examination:
    return Examination(snapshot=snapshot, diagnosis=found, policy=policy(name), matrix_date=MATRIX.date)


def diff(before: Examination, after: Examination, **options: Any) -> Diff:
    return compare_examinations(before, after, MATRIX, ("a", "b"), **options)


def edited(name: str, change: Callable[[bytes], bytes]) -> Examination:
    return examined(decode_snapshot(change(RECORDED.snapshot(name))), name)


def replaced(name: str, old: str, new: str) -> Examination:
    return edited(name, lambda told: told.replace(old.encode(), new.encode()))


def told(found: Diff) -> list[str]:
    return [change.line for change in found.counted]


NEIGHBOURS = list(zip(NAMES[::4], NAMES[1::4], strict=False))
"""Pairs of machines that share much: each with the next one by name."""


@every("name", NAMES)
def test_a_machine_does_not_differ_from_itself(name: str) -> None:
    found = diff(examination(name), examination(name), golden=True)
    assert (found.causes, found.facts, found.exit_code) == ((), (), 0)


@every("pair", NEIGHBOURS)
def test_the_way_back_is_the_mirror_image(pair: tuple[str, str]) -> None:
    one, other = pair
    there, back = diff(examination(one), examination(other)), diff(examination(other), examination(one))
    opposite = {"appeared": "gone", "gone": "appeared", "changed": "changed"}
    assert {(fact.what, fact.before, fact.after, fact.kind, fact.volatile, fact.not_compared) for fact in there.facts} == {
        (fact.what, fact.after, fact.before, opposite[fact.kind], fact.volatile, fact.not_compared) for fact in back.facts
    }
    assert len(there.facts) == len(back.facts)
    assert {(cause.id, cause.before, cause.after, cause.kind) for cause in there.causes} == {
        (cause.id, cause.after, cause.before, opposite[cause.kind]) for cause in back.causes
    }


def facts_in(value: Any, place: Place = ()) -> Iterator[Place]:
    """The places of the facts in a snapshot; a list of words is one fact."""
    if isinstance(value, dict) and value.get("type") == "missing":
        return
    if isinstance(value, dict):
        for key, inner in value.items():
            if key not in {"type", "version", "created", "origin", "remarks", "text_log"} or (key == "version" and place):
                yield from facts_in(inner, (*place, key))
    elif isinstance(value, list) and any(isinstance(item, dict) for item in value):
        for number, item in enumerate(value):
            yield from facts_in(item, (*place, number))
    else:
        yield place


def other_value(value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1000
    return f"{value}-other" if isinstance(value, str) else [*value, "other"]


def changed(plain: Any, place: Place) -> Snapshot | None:
    """The snapshot with another value at one place; None where no other value is allowed."""
    *way, last = place
    holder = plain
    for step in way:
        holder = holder[step]
    before = holder[last]
    holder[last] = other_value(before)
    try:
        return decode_snapshot(msgspec.json.encode(plain))
    except UsageError:  # the field takes certain words alone
        return None
    finally:
        holder[last] = before


@every("name", NAMES)
def test_one_changed_fact_is_one_line(name: str) -> None:
    plain = msgspec.json.decode(encode_snapshot(recorded(name))) | {"version": VERSION}
    places = list(facts_in(plain))
    chosen = places if name in EVERY_FACT else random.Random(name).sample(places, min(12, len(places)))
    for place in chosen:
        after = changed(plain, place)
        if after is None:
            continue
        found = lines_of_changes(SnapshotWalk(recorded(name), after).differences(), {})
        assert [line.leader.path for line in found] == [found[0].leader.path] if found else False, place


@every("name", NAMES[::5])
def test_rules_find_the_same_on_a_watched_machine(name: str) -> None:
    record = FieldsRead()
    plainly = run_rules(choose_rules(RULES, policy(name)), MachineView(recorded(name), MATRIX, policy(name)))
    assert recorded_runs(recorded(name), MATRIX, policy(name), record) == plainly
    assert record.read


def test_a_driver_upgrade_is_one_line() -> None:
    after = edited(
        "healthy-eight", lambda told: told.replace(b"550.163.01", b"580.65.06").replace(b'"cuda_served":"12.4"', b'"cuda_served":"13.0"')
    )
    assert told(diff(examination("healthy-eight"), after)) == ["driver 550.163.01 → 580.65.06 (CUDA 12.4 → 13.0)"]


def test_a_slower_link_is_one_line() -> None:
    plain = msgspec.json.decode(RECORDED.snapshot("healthy-eight"))
    (nvml,) = (gpu for gpu in plain["nvml"]["gpus"] if gpu["index"] == 3)
    (slot,) = (one for one in plain["pci"]["devices"] if one["address"] == nvml["address"])
    nvml["link_width"] = slot["link_width"] = 4
    found = diff(examination("healthy-eight"), examined(decode_snapshot(msgspec.json.encode(plain)), "healthy-eight"), golden=True)
    assert told(found) == ["GPU 3 (0000:1f:00.0): PCIe link x16 → x4"]
    assert found.facts[0].read_by_rules
    assert found.exit_code == 1


def test_a_lost_gpu_is_one_line() -> None:
    found = diff(examination("healthy-eight"), examination("eight-one-lost"))
    assert found.causes[0].name == "gpu-fell-off-bus"
    assert [line for line in told(found) if not line.startswith("GPU 3 (0000:1f:00.0)")] == []


def test_what_changes_by_itself_does_not_count() -> None:
    plain = msgspec.json.decode(RECORDED.snapshot("healthy-eight"))
    plain["nvml"]["gpus"][0]["temperature"] += 20
    plain["nvml"]["gpus"][1]["memory_free"] -= 1 << 20
    found = diff(examination("healthy-eight"), examined(decode_snapshot(msgspec.json.encode(plain)), "healthy-eight"), golden=True)
    assert (found.counted, found.exit_code, len(found.facts)) == ((), 0, 2)


def test_ignored_fields_do_not_count() -> None:
    after = replaced("healthy-eight", "550.163.01", "580.65.06")
    patterns = ["kernel_driver.*", "nvml.driver_version", "nvml.nvml_version", "libcuda.*", "cuda_files.*"]
    found = diff(examination("healthy-eight"), after, golden=True, ignore=["*"])
    assert (found.facts, found.causes, found.exit_code) == ((), (), 0)
    assert "driver" not in {fact.what for fact in diff(examination("healthy-eight"), after, ignore=patterns).facts}


def test_what_the_second_report_does_not_know_is_no_pass() -> None:
    plain = msgspec.json.decode(RECORDED.snapshot("healthy-eight"))
    plain["kernel_driver"] = {"type": "missing", "cause": "denied", "reason": "no permission"}
    plain["created"] = "2026-01-01T00:00:00Z"
    before = examination("healthy-eight")
    after = Examination(
        snapshot=decode_snapshot(msgspec.json.encode(plain)), diagnosis=before.diagnosis, policy=before.policy, matrix_date=""
    )
    assert diff(before, after, golden=True).exit_code == 3
    assert diff(after, before, golden=True).exit_code == 1


def structs(kind: type[Observed]) -> Iterator[type[Observed]]:
    for subclasse in kind.__subclasses__():
        yield subclasse
        yield from structs(subclasse)


def test_every_list_item_has_a_key_and_every_volatile_field_exists() -> None:
    known = {one.__name__: one for one in structs(Observed) if one.__module__.startswith("gpudoctor.snapshot")}
    assert GPU_TYPES <= {*ITEM_KEYS} <= {*known}
    for kind, fields in ITEM_KEYS.items():
        assert {*fields} <= {*known[kind].__struct_fields__}, kind
    struct: Any
    for struct, names in VOLATILE.items():
        assert names <= {*struct.__struct_fields__}, struct
    assert {item for one in (Snapshot, *known.values()) for item in items_of(one)} <= {*ITEM_KEYS}


def items_of(kind: Any) -> Iterator[str]:
    """The structs in a struct's lists."""
    described: Any = msgspec.inspect.type_info(kind)
    for field in described.fields:
        for part in getattr(field.type, "types", (field.type,)):
            if isinstance(part, msgspec.inspect.VarTupleType) and isinstance(part.item_type, msgspec.inspect.StructType):
                yield part.item_type.cls.__name__


def test_a_moved_library_is_one_line() -> None:
    plain = msgspec.json.decode(encode_snapshot(recorded("libraries-in-order"))) | {"version": VERSION}
    use = next(one for framework in plain["libraries"]["frameworks"] for one in framework["uses"] if one["component"] == "cudnn")
    path = use["file"]["path"]
    use["file"] |= {"path": "/opt/other/libcudnn.so.9", "owner": "system"}
    use["why"] = "LD_LIBRARY_PATH"
    found = diff(examination("libraries-in-order"), examined(decode_snapshot(msgspec.json.encode(plain)), "libraries-in-order"))
    assert told(found) == [f"{use['wanted']}: {path} → /opt/other/libcudnn.so.9"]
