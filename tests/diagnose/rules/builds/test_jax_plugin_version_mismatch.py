from __future__ import annotations

import msgspec
import pytest

from gpudoctor.diagnose import diagnose
from gpudoctor.findings import Impact, Policy, Severity
from gpudoctor.snapshot import Distribution, Fact, Framework, Packages
from tests.diagnose.rules.asking import MATRIX, findings_of
from tests.diagnose.rules.packaged import TABLES, found, live, stated, supposed

JAX = (stated("jax", "0.8.0"), stated("jaxlib", "0.8.0"))


@pytest.mark.parametrize(
    ("packages", "words"),
    [
        ((stated("jax", "0.4.38"), stated("jaxlib", "0.5.0")), "jaxlib 0.5.0 is newer than jax 0.4.38"),
        ((*JAX, stated("jax-cuda12-plugin", "0.7.2")), "jax-cuda12-plugin 0.7.2 does not match jaxlib 0.8.0"),
        ((stated("jax", "0.8.0", "jaxlib<=0.8.0,>=0.8.0"), stated("jaxlib", "0.7.0")), "jax 0.8.0 requires jaxlib<=0.8.0,>=0.8.0"),
    ],
)
def test_what_jax_refuses_at_import_is_said(packages: tuple[Distribution, ...], words: str) -> None:
    (finding,) = (one for one in found(supposed(*packages)) if one.name == "jax-plugin-version-mismatch")
    assert words in finding.message
    assert finding.severity is Severity.ERROR


@pytest.mark.parametrize(("jaxlib", "refused"), [("0.5.1", False), ("0.5.3", True)])
def test_a_jaxlib_before_0_5_3_does_not_compare_its_plugins_release(jaxlib: str, refused: bool) -> None:
    packages = (stated("jax", jaxlib), stated("jaxlib", jaxlib), stated("jax-cuda12-plugin", "0.5.0"))
    diagnosis = diagnose(supposed(*packages), TABLES, Policy(level=None))
    assert [finding.name for finding in diagnosis.findings if finding.name == "jax-plugin-version-mismatch"] == [
        "jax-plugin-version-mismatch"
    ] * refused
    assert any("loads it without comparing" in unchecked.reason for unchecked in diagnosis.unchecked) is not refused


@pytest.mark.parametrize("packages", [JAX, (*JAX, stated("jax-cuda12-plugin", "0.8.0")), (stated("jax", "0.8.0"),)])
def test_parts_of_one_release_of_jax_fit(packages: tuple[Distribution, ...]) -> None:
    assert not [finding for finding in found(supposed(*packages)) if finding.name == "jax-plugin-version-mismatch"]


@pytest.mark.parametrize(
    ("packages", "words"),
    [
        ((stated("jax", "0.4.30", "jaxlib>=0.4.27"), stated("jaxlib", "0.4.20")), "jax 0.4.30 requires jaxlib>=0.4.27"),
        (
            (stated("jax", "0.4.30", "jax-cuda12-plugin<=0.4.30"), stated("jax-cuda12-plugin", "0.5.0")),
            "requires jax-cuda12-plugin<=0.4.30",
        ),
        ((stated("jax", "0.8.0", "jax-cuda12-plugin<=0.8.0"), stated("jaxlib", "0.8.0"), stated("jax-cuda12-plugin", "0.9.0")), "requires"),
        ((stated("jax", "0.5.1", "jax-cuda12-plugin<=0.5.1"), stated("jaxlib", "0.5.1"), stated("jax-cuda12-plugin", "0.6.0")), ""),
    ],
    ids=["an old jaxlib", "a plugin without jaxlib", "a plugin that jaxlib compares", "a plugin that jaxlib loads"],
)
def test_only_an_installed_jaxlib_that_compares_its_plugins_refuses_one(packages: tuple[Distribution, ...], words: str) -> None:
    jax = Framework(name="jax", distribution="jax", version=Fact(packages[0].version, "dist-info"))
    refused = [finding for finding in found(live(*packages, frameworks=(jax,))) if finding.name == "jax-plugin-version-mismatch"]
    assert [words in finding.message for finding in refused] == [True] * bool(words)


@pytest.mark.parametrize(
    ("packages", "pins"),
    [
        ((stated("jax", "0.4.38"), stated("jaxlib", "0.5.0")), "--upgrade jax==0.4.38 jaxlib"),
        ((stated("jax", "0.4.38"), stated("jaxlib", "0.5.0"), stated("jax-cuda12-plugin", "0.4.38")), "'jax[cuda12]==0.4.38'"),
        ((stated("jax", "0.4.99"), stated("jaxlib", "0.5.0")), f"--upgrade jax=={MATRIX.releases('jax')[-1].release} jaxlib"),
    ],
    ids=["this release", "with its plugin", "a release that the tables lack"],
)
def test_all_parts_are_installed_in_the_release_of_jax_or_else_the_newest(packages: tuple[Distribution, ...], pins: str) -> None:
    jax = Framework(name="jax", distribution="jax", version=Fact(packages[0].version, "dist-info"))
    (finding,) = findings_of("jax-plugin-version-mismatch", live(*packages, frameworks=(jax,)))
    assert finding.fixes[0].command == f"/env/bin/python -m pip install {pins}"


@pytest.mark.parametrize(("pip", "updated"), [("pip==23.2.1", True), ("pip==23.3", False), ("pipx==1.0", False)])
def test_a_pip_that_skips_what_the_plugins_extra_requires_is_updated_first(pip: str, updated: bool) -> None:
    packages = (stated("jax", "0.4.38"), stated("jaxlib", "0.5.0"), stated("jax-cuda12-plugin", "0.4.38"))
    jax = Framework(name="jax", distribution="jax", version=Fact("0.4.38", "dist-info"))
    machine = live(*packages, frameworks=(jax,))
    assert isinstance(machine.packages, Packages)
    machine = msgspec.structs.replace(machine, packages=msgspec.structs.replace(machine.packages, others=(pip, "six==1.17")))
    (finding,) = findings_of("jax-plugin-version-mismatch", machine)
    first = "/env/bin/python -m pip install --upgrade pip && " if updated else ""
    assert finding.fixes[0].command == f"{first}/env/bin/python -m pip install 'jax[cuda12]==0.4.38'"


def test_a_plugin_that_is_ignored_beside_one_that_matches_is_a_risk() -> None:
    both = (stated("jax", "0.8.0"), stated("jaxlib", "0.8.0"), stated("jax-cuda13-plugin", "0.8.0"), stated("jax-cuda12-plugin", "0.7.2"))
    (finding,) = (one for one in found(supposed(*both)) if one.name == "jax-plugin-version-mismatch")
    assert (finding.severity, finding.impact) == (Severity.WARNING, Impact.AT_RISK)
    assert "ignores it and uses jax-cuda13-plugin 0.8.0" in finding.message
    assert [fix.removes for fix in finding.fixes] == [("jax-cuda12-plugin",)]


def test_a_jaxlib_that_jax_refuses_is_an_error_whatever_plugin_matches_it() -> None:
    parts = (stated("jax", "0.7.2"), stated("jaxlib", "0.8.0"), stated("jax-cuda13-plugin", "0.8.0"), stated("jax-cuda12-plugin", "0.7.2"))
    (finding,) = (one for one in found(supposed(*parts)) if one.name == "jax-plugin-version-mismatch")
    assert finding.severity is Severity.ERROR
    assert finding.message.startswith("jaxlib 0.8.0 is newer than jax 0.7.2")
