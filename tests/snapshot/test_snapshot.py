from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import inspect

from gpudoctor import snapshot as snapshots
from gpudoctor.errors import UsageError
from gpudoctor.snapshot import (
    Allocation,
    Cause,
    FoundBy,
    Host,
    LeftAlone,
    Libraries,
    LibraryFile,
    Loads,
    Missing,
    OpenEnum,
    Packages,
    Platform,
    Python,
    Snapshot,
    Stage,
    StageKind,
    StageState,
    Training,
    decode_snapshot,
    encode_snapshot,
    printable_text,
)
from tests.builders import machine, real, training

VERSIONS = Path(__file__).parent / "versions"


def values(kind: Any) -> st.SearchStrategy[Any]:
    """Anything that a field of this type may hold."""
    match kind:
        case inspect.UnionType(types=types):
            return st.one_of(*map(values, types))
        case inspect.StructType(cls=cls, fields=fields):
            return st.builds(cls, **{field.name: values(field.type) for field in fields})
        case inspect.EnumType(cls=cls):
            return st.one_of(st.sampled_from(cls), st.text(max_size=5).map(cls) if issubclass(cls, OpenEnum) else st.nothing())
        case inspect.VarTupleType(item_type=item):
            return st.lists(values(item), max_size=2).map(tuple)
        case inspect.DictType(key_type=key, value_type=value):
            return st.dictionaries(values(key), values(value), max_size=2)
        case inspect.LiteralType(values=words):
            return st.sampled_from(words)
    plain: dict[type, st.SearchStrategy[Any]] = {
        inspect.StrType: st.text(max_size=5),
        inspect.IntType: st.integers(-(2**63), 2**63 - 1),
        inspect.FloatType: st.floats(allow_nan=False, allow_infinity=False),
        inspect.BoolType: st.booleans(),
        inspect.NoneType: st.none(),
    }
    return plain[type(kind)]


@pytest.mark.untraced
@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)  # a snapshot has hundreds of fields
@given(values(inspect.type_info(Snapshot)).map(lambda one: msgspec.structs.replace(one, version=snapshots.VERSION)))
def test_every_snapshot_survives_json(snapshot: Snapshot) -> None:
    data = encode_snapshot(snapshot)
    assert decode_snapshot(data) == snapshot
    assert encode_snapshot(decode_snapshot(data)) == data


@given(st.floats())
def test_numbers_that_are_not_finite_survive(number: float) -> None:
    kept = decode_snapshot(encode_snapshot(machine(smoke=(snapshots.Smoke("x", trainings=(training(accuracy=real(number)),)),)))).smoke
    assert not isinstance(kept, Missing)
    accuracy = kept[0].trainings[0].accuracy
    assert accuracy == (number if math.isfinite(number) else str(number))


def test_the_json_has_no_null() -> None:
    assert "null" not in encode_snapshot(machine()).decode()


def test_an_unknown_word_is_kept() -> None:
    data = encode_snapshot(Snapshot(created="x", host=Host(platform=Platform("plan9")), pci=Missing(Cause("shy"), "would not say")))
    again = decode_snapshot(data)
    assert isinstance(again.host, Host)
    assert again.host.platform == "plan9"
    assert isinstance(again.pci, Missing)
    assert again.pci.cause not in set(Cause)
    assert encode_snapshot(again) == data


def test_omitted_fields_were_not_asked_for() -> None:
    read = decode_snapshot(b'{"version": "1.0", "created": "x", "host": {"type": "host"}}')
    assert isinstance(read.nvml, Missing)
    assert read.nvml.cause is Cause.NOT_ASKED
    assert isinstance(read.host, Host)
    assert isinstance(read.host.kernel, Missing)


@pytest.mark.parametrize("file", sorted(VERSIONS.glob("*.json")), ids=lambda file: file.stem)
def test_every_version_ever_written_stays_readable(file: Path) -> None:
    read = decode_snapshot(file.read_bytes())
    assert isinstance(read.host, Host)
    assert read.version == file.stem


def test_sentences_of_version_1_2_become_fields() -> None:
    read = decode_snapshot((VERSIONS / "1.2.json").read_bytes())
    assert isinstance(read.smoke, tuple)
    assert read.smoke[0].stages == (
        Stage(StageKind.IMPORT, StageState.DONE, 2.5),
        Stage(StageKind.TRAINING, StageState.DONE, 1.5, network="dense", device="GPU:0"),
        Stage(StageKind.TRAINING, StageState.HUNG, error="gave no sign of life for 300 s", network="convolutional", device="GPU:0"),
    )
    assert read.smoke[0].left_alone == (LeftAlone("0000:03:00.0", "in use by 1 other process (pid 7)"),)
    assert isinstance(read.smoke[0].all_reduces, tuple)
    assert read.smoke[0].all_reduces[0].stages == (Stage(StageKind.ALL_REDUCE, StageState.DONE),)
    assert isinstance(read.loads, Loads)
    assert [(stage.stage, stage.network) for stage in read.loads.gpus[0].stages] == [(StageKind.TRAINING, "convolutional")]
    assert isinstance(read.packages, Packages)
    assert [distribution.requirement for distribution in read.packages.distributions] == ["torch>=2.5", ""]
    assert isinstance(read.python, Python)
    assert read.python.named
    assert isinstance(read.allocation, Allocation)
    assert read.allocation.hidden
    assert isinstance(read.libraries, Libraries)
    assert isinstance(read.libraries.frameworks[0].uses, tuple)
    (use,) = read.libraries.frameworks[0].uses
    assert isinstance(use.file, LibraryFile)
    assert use.file.owners == ("nvidia-cudnn-cu12", "nvidia-cudnn-cu13")
    (shadowed,), (beside,) = use.shadows, use.elsewhere
    assert [one.found_by for one in (use, shadowed, beside)] == [FoundBy.LIBRARY_PATH, FoundBy.RUNPATH, FoundBy.WHEEL]
    assert [missing.cause for missing in (read.nvml, read.libcuda) if isinstance(missing, Missing)] == [Cause.UNLOADABLE, Cause.FAILED]
    assert decode_snapshot(encode_snapshot(read)) == read


def test_a_newer_major_version_is_refused_in_one_sentence() -> None:
    with pytest.raises(UsageError, match=r"version 2\.0 .* newer gpudoctor\.$"):
        decode_snapshot(b'{"version": "2.0", "created": "x"}')


def test_a_newer_minor_version_is_read_and_noted() -> None:
    read = decode_snapshot(json.dumps({"version": "1.99", "created": "x", "aura": {"colour": "blue"}}).encode())
    assert "1.99" in read.remarks[0]


@given(st.one_of(st.binary(max_size=40), st.text(max_size=40).map(str.encode), st.just(b'{"version": "1.0"}')))
def test_an_invalid_snapshot_is_a_usage_error(data: bytes) -> None:
    with pytest.raises(UsageError):
        decode_snapshot(data)


def test_a_damaged_section_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="damaged"):
        decode_snapshot(b'{"version": "1.0", "created": "x", "pci": {"type": "pci", "devices": 3}}')


@given(st.binary(max_size=20))
def test_text_with_undecodable_bytes_can_be_written(data: bytes) -> None:
    text = printable_text(data.decode("utf-8", "surrogateescape"))
    assert text.encode().decode("utf-8") == data.decode("utf-8", "backslashreplace")


def test_the_snapshot_is_frozen() -> None:
    for struct in (machine(), training()):
        with pytest.raises(AttributeError):
            struct.created = "now"  # type: ignore[misc, union-attr]
    assert Training.__struct_config__.frozen
