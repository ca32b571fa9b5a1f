"""Every framework of the catalogue is complete: its tables, its scripts, its variables, its commands."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import gpudoctor
from gpudoctor.children.own.xray.wanted import loading
from gpudoctor.conditions import parse_condition
from gpudoctor.frameworks import CATALOGUE, TRAINED, FrameworkSpec, Names, framework_of, spec_of, stack_of
from gpudoctor.frameworks.spec import MemoryPool
from gpudoctor.matrix import Matrix
from gpudoctor.matrix.tables import RELEASE_TABLES
from gpudoctor.probe.packages import is_relevant
from gpudoctor.probe.script_folder import SHADOWED_NAMES
from gpudoctor.snapshot.distributions import normalise_distribution
from gpudoctor.snapshot.variable_names import WHOLE
from tests.shipped import shared_matrix

PACKAGE = Path(gpudoctor.__file__).parent
every = pytest.mark.parametrize("spec", CATALOGUE, ids=lambda spec: spec.name)


@pytest.fixture(scope="module")
def shipped() -> Matrix:
    return shared_matrix()


def test_each_module_defines_one_framework() -> None:
    modules = {path.stem for path in (PACKAGE / "frameworks").glob("*.py")} - {"__init__", "spec"}
    assert modules == {spec.name for spec in CATALOGUE}
    assert len(modules) == len(CATALOGUE)


def test_no_name_belongs_to_two_frameworks() -> None:
    for claimed in (
        [spec.title for spec in CATALOGUE],
        [name for spec in CATALOGUE for name in spec.distributions],
        [name for spec in CATALOGUE for name in spec.parts],
        [name for spec in CATALOGUE for name in spec.tabled],
        [name for spec in CATALOGUE for name in spec.mistaken],
        [name for spec in CATALOGUE for name in spec.conda_names],
    ):
        assert len(claimed) == len(set(claimed))
    assert [stack_of(name) for spec in CATALOGUE for name in spec.distributions] == [s.name for s in CATALOGUE for _ in s.distributions]


@every
def test_names_are_normalised(spec: FrameworkSpec) -> None:
    names = (
        *spec.distributions,
        *spec.parts,
        *spec.compiled,
        *spec.related,
        *spec.tabled,
        *spec.companions,
        *spec.stand_ins,
        *spec.mistaken,
    )
    assert spec.name.isidentifier()
    assert spec.distributions
    for name in names:
        assert normalise_distribution(name.rstrip("*")) == name.rstrip("*").rstrip("-")


@every
def test_its_distributions_are_found_by_name(spec: FrameworkSpec) -> None:
    assert spec_of(spec.name) is spec
    assert parse_condition(f"{spec.name}>=1.0").subject == spec.name
    assert spec.name in spec.modules
    assert set(spec.modules) <= set(SHADOWED_NAMES)
    for name in spec.distributions:
        assert framework_of(name) == stack_of(name) == spec.name
        assert is_relevant(name)
    for name in (*spec.parts, *spec.companions):
        assert stack_of(name.rstrip("*") + "x" * name.endswith("*")) == spec.name
    assert any(name in spec.compiled for name in (*spec.distributions, *(part.rstrip("*") for part in spec.parts)))


@every
def test_its_releases_have_a_table(spec: FrameworkSpec, shipped: Matrix) -> None:
    assert (spec.name in RELEASE_TABLES) == bool(spec.tabled)
    for name in spec.tabled:
        assert stack_of(name) == spec.name
        assert shipped.releases(name)
    assert any(shipped.releases(name) for name in spec.distributions)
    required = " ".join(text for name in spec.distributions for row in shipped.releases(name) for text in row.requires)
    if spec.gpu_extra:
        assert f'extra=="{spec.gpu_extra}"' in required
    if spec.plugin is not None:
        for major in spec.plugin.majors:
            assert f'extra=="{spec.plugin.extra}{major}"' in required
            assert shipped.releases(spec.plugin.plugin_for(major))
            assert shipped.releases(spec.plugin.client_for(major))
            assert spec.plugin.major(spec.plugin.plugin_for(major)) == major


@every
def test_its_build_files_are_in_its_package(spec: FrameworkSpec) -> None:
    assert (spec.build is None) != (spec.plugin is None)
    files = [*(spec.build.files if spec.build else ()), *(file for file, _ in spec.version_files.values()), *spec.version_headers]
    assert all(file.partition("/")[0].startswith(spec.modules) for file in files)


@every
def test_it_has_the_scripts_for_its_traits(spec: FrameworkSpec) -> None:
    engine = PACKAGE / "children" / "train" / f"{spec.name}_engine.py"
    assert engine.is_file() == spec.trains == (spec.name in TRAINED)
    assert (PACKAGE / "children" / "own" / "xray" / "wanted" / f"{spec.name}.py").is_file() == spec.xrayed
    if spec.xrayed:
        assert callable(loading(spec.name))
    if spec.trains:
        assert "Engine" in {node.name for node in ast.parse(engine.read_text(encoding="utf-8")).body if isinstance(node, ast.ClassDef)}


@every
def test_variables_that_hide_the_gpu_from_it_are_read(spec: FrameworkSpec) -> None:
    for variable in spec.hidden_by:
        assert variable.name in WHOLE
        assert bool(variable.devices) != bool(list(variable.values))
        assert not variable.hides("")


def test_a_device_list_without_the_gpu_first_hides_it() -> None:
    jax = next(variable for variable in spec_of("jax").hidden_by if variable.name == "JAX_PLATFORMS")
    told = {value: (jax.hides(value), jax.hides_always(value)) for value in ("cpu", "cpu,cuda", "CUDA, cpu", "gpu", "")}
    assert told == {"cpu": (True, True), "cpu,cuda": (True, False), "CUDA, cpu": (False, False), "gpu": (False, False), "": (False, True)}


def test_an_unknown_framework_has_no_traits() -> None:
    assert spec_of("theano") == FrameworkSpec(name="theano", title="theano")
    assert framework_of("theano") is stack_of("theano") is None


def test_a_name_with_a_star_is_a_prefix() -> None:
    names = Names("jaxlib*", "keras")
    assert [name in names for name in ("jaxlib", "jaxlib-nightly", "jax", "keras", "keras-tuner", "")] == [
        True,
        True,
        False,
        True,
        False,
        False,
    ]
    assert "numpy" not in Names()


@pytest.mark.parametrize(
    ("environ", "share"),
    [
        ({}, 0.75),
        ({"OLD": ".9"}, 0.9),
        ({"NEW": "0.5", "OLD": "0.9"}, 0.5),
        ({"NEW": "2"}, 1.0),
        ({"NEW": "most"}, 0.75),
        ({"NEW": ""}, 0.75),
        ({"OLD": "0.5", "ALLOCATOR": "Platform"}, 1.0),
    ],
)
def test_a_memory_pool_has_the_stated_share(environ: dict[str, str], share: float) -> None:
    assert MemoryPool(0.75, ("NEW", "OLD"), ("ALLOCATOR", "platform")).share_in(environ) == share
