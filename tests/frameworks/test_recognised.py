"""Every framework of the catalogue is recognised by the probe, the plan, the tables, requirements and the report."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from gpudoctor.derive import MachineView
from gpudoctor.diagnose.advice.releases import pick_release
from gpudoctor.findings import Policy, Verdict
from gpudoctor.frameworks import CATALOGUE, FrameworkSpec
from gpudoctor.matrix import Matrix
from gpudoctor.plan import Combination, check_combination
from tests.cli.command import LOOK, document, environment, run
from tests.probe.places import Content, plant
from tests.shipped import shared_matrix

VERSION = "1.2.3"
POLICY = Policy(level=None)
every = pytest.mark.parametrize("spec", CATALOGUE, ids=lambda spec: spec.name)


def package(spec: FrameworkSpec) -> dict[str, Content]:
    """The files of an installed package that states its version as the spec says, and nothing about its build."""
    own = {file: "".join(f"{name} = '{VERSION}'\n" for name in names) for file, names in spec.version_files.values()}
    folder = spec.distributions[0].replace("-", "_")
    return {f"{folder}-{VERSION}.dist-info/METADATA": "", f"{spec.name}/__init__.py": "", **own}


@pytest.fixture(scope="module")
def shipped() -> Matrix:
    return shared_matrix()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of packages with every framework of the catalogue installed."""
    folder = tmp_path_factory.mktemp("site")
    for spec in CATALOGUE:
        plant(folder, package(spec))
    return folder


def test_a_check_finds_each_and_compares_requirements(site: Path) -> None:
    required = [word for spec in CATALOGUE for word in ("--require", f"{spec.name}>=9999")]
    env = environment(PYTHONPATH=str(site))
    report = document("report", run(*LOOK, *required, "--format", "json", env=env).stdout)
    found = {one["name"]: (one["distribution"], one["version"]["value"], one["location"]) for one in report["snapshot"]["frameworks"]}
    assert found == {spec.name: (spec.distributions[0], VERSION, f"{site}/{spec.name}") for spec in CATALOGUE}
    text = run(*LOOK, *required, env=env).stdout.decode()
    assert all(f"{spec.name}>=9999" in text for spec in CATALOGUE)
    assert VERSION in text


@every
def test_a_plan_treats_it_as_a_framework(spec: FrameworkSpec, shipped: Matrix) -> None:
    name, newest = next((name, rows[-1]) for name in spec.distributions if (rows := shipped.releases(name, "linux_x86_64")))
    seen = check_combination(Combination(requirements=(f"{name}=={newest.release}",), gpus=("H100",)), POLICY).snapshot
    assert isinstance(seen.frameworks, tuple)
    assert [(framework.name, framework.distribution) for framework in seen.frameworks] == [(spec.name, name)]


@every
def test_the_tables_show_its_releases(spec: FrameworkSpec, shipped: Matrix) -> None:
    name = next(name for name in spec.distributions if shipped.releases(name))
    shown = run("matrix", "framework", name)
    assert shown.returncode == 0
    assert str(shipped.releases(name)[-1].release) in shown.stdout.decode()


@every
def test_the_release_of_a_fix_is_ready_in_a_plan(spec: FrameworkSpec, shipped: Matrix) -> None:
    combination = Combination(requirements=(spec.distributions[0],), gpus=("H100",), driver="580.65.06", python="3.12")
    found = pick_release(MachineView(check_combination(combination, POLICY).snapshot, shipped, POLICY), spec.name)
    assert (found is not None) == spec.trains
    if found is not None:
        diagnosis = check_combination(msgspec.structs.replace(combination, requirements=found.requirements), POLICY).diagnosis
        assert (diagnosis.verdict, diagnosis.findings) == (Verdict.READY, ())
