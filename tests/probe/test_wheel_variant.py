"""variant.json of an installed wheel (PEP 825)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gpudoctor.probe.packages import installed_packages
from gpudoctor.snapshot import Missing, Variant

NVIDIA = {"nvidia": {"cuda_version_lower_bound": ["12.8"], "sm_arch": ["90_real", "120_real"]}, "x86_64": {"level": ["v3"]}}


def installed(site: Path, text: str) -> Variant | Missing:
    folder = site / "torch-2.9.1.dist-info"
    folder.mkdir()
    (folder / "variant.json").write_text(text)
    (found,) = installed_packages([str(site)]).distributions
    return found.variant


def test_label_and_properties(tmp_path: Path) -> None:
    told = {"$schema": "https://variants-schema.wheelnext.dev/v0.0.3.json", "default-priorities": {"namespace": ["nvidia"]}}
    assert installed(tmp_path, json.dumps({**told, "variants": {"cu128": NVIDIA}})) == Variant(
        "cu128",
        (
            "nvidia :: cuda_version_lower_bound :: 12.8",
            "nvidia :: sm_arch :: 90_real",
            "nvidia :: sm_arch :: 120_real",
            "x86_64 :: level :: v3",
        ),
    )


def test_the_null_variant_has_no_properties(tmp_path: Path) -> None:
    assert installed(tmp_path, '{"variants": {"null": {}}}') == Variant("null", ())


@pytest.mark.parametrize(
    "text", ["", "[]", "{", '{"variants": {}}', '{"variants": {"a": {}, "b": {}}}', '{"variants": {"a": [1]}}', "\xff" * 9]
)
def test_other_content_is_not_read(tmp_path: Path, text: str) -> None:
    found = installed(tmp_path, text)
    assert isinstance(found, Missing)
    assert found.reason.endswith("does not describe one variant")


def test_names_outside_the_standard_are_left_out(tmp_path: Path) -> None:
    assert installed(tmp_path, json.dumps({"variants": {"x": {"A B": {"c": ["1"]}, "d": {"e": ["1 :: 2", "3"]}}}})) == Variant(
        "x", ("d :: e :: 3",)
    )
