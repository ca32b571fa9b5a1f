"""Our parser of requirements, compared with packaging's."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from gpudoctor.derive import specifiers
from gpudoctor.snapshot.distributions import normalise_distribution

number = st.integers(0, 30).map(str)
release = st.lists(number, min_size=1, max_size=4).map(".".join)
ending = st.sampled_from(["", "", "", "rc1", "a0", "b2", ".post1", ".post0", ".dev3", "rc1.dev2", ".post2.dev1", "-1", "alpha", ".rev3"])
public = st.builds("{}{}".format, release, ending)
local = st.sampled_from(["", "", "", "+cu121", "+cpu", "+cuda12.cudnn89"])
version = st.builds("{}{}".format, public, local)
bound = st.one_of(
    st.builds("{}{}".format, st.sampled_from([">=", "<="]), public),
    st.builds("{}{}".format, st.sampled_from(["<", ">"]), release),  # packaging's own releases differ where a bound is no final release
    st.builds("{}{}".format, st.sampled_from(["==", "!="]), version),
    st.builds("{}{}.*".format, st.sampled_from(["==", "!="]), release),
    st.builds("~={}.{}{}".format, number, number, ending),
)
specifier = st.lists(bound, max_size=3).map(",".join)


@given(version, specifier)
def test_a_specifier_allows_what_packaging_allows(version: str, specifier: str) -> None:
    assert specifiers.satisfies(version, specifier) is SpecifierSet(specifier).contains(version, prereleases=True)


@pytest.mark.parametrize(("version", "specifier"), [("local build", ">=1"), ("1.0", ">=one"), ("1.0", "===1.0"), ("1.0", "~=1")])
def test_an_invalid_specifier_has_no_answer(version: str, specifier: str) -> None:
    assert specifiers.satisfies(version, specifier) is None


python_bound = st.one_of(
    bound,
    st.builds("{}3.{}.{}".format, st.sampled_from([">=", "<=", "==", "!=", "~=", "<", ">", "==="]), st.integers(8, 12), st.integers(0, 20)),
    st.builds("{}3.{}".format, st.sampled_from([">=", "<=", "==", "!=", "~=", "<", ">"]), st.integers(8, 12)),
)


@given(st.integers(8, 12), st.lists(python_bound, max_size=4).map(",".join))
def test_a_specifier_allows_a_python_if_it_allows_one_of_its_patch_releases(minor: int, specifier: str) -> None:
    patches = (SpecifierSet(specifier).contains(f"3.{minor}.{patch}", prereleases=True) for patch in range(100))
    assert specifiers.allows_some(f"3.{minor}", specifier) is any(patches)


@given(st.text(max_size=30), st.text(max_size=30))
def test_garbage_has_no_answer_and_does_not_crash(text: str, other: str) -> None:
    specifiers.satisfies(text, other)
    specifiers.allows_some("3.10", other)
    specifiers.parse_requirement(text)
    specifiers.marker_holds(text, {"python_version": "3.11"}, ())
    specifiers.are_contradictory((text, other))


@pytest.mark.parametrize(
    "text",
    [
        "numpy<2.2.0,>=1.26.0",
        'nvidia-cudnn-cu12<10.0,>=9.3.0.75;extra=="and-cuda"',
        'nvidia_cudnn_cu12 (==9.1.0.70) ; platform_system == "Linux" and platform_machine == "x86_64"',
        'jax-cuda12-plugin[with-cuda]==0.8.0;extra=="cuda12"',
        "torch",
    ],
)
def test_a_requirement_is_read_as_packaging_reads_it(text: str) -> None:
    ours, theirs = specifiers.parse_requirement(text), Requirement(text)
    assert ours is not None
    assert (ours.name, set(ours.extras)) == (normalise_distribution(theirs.name), theirs.extras)
    assert SpecifierSet(ours.specifier) == theirs.specifier
    assert bool(ours.marker) == (theirs.marker is not None)


@pytest.mark.parametrize("text", ["", "torch @ https://example.org/torch.whl", "torch==", "<2", "torch 2.0"])
def test_requirements_without_versions_are_none(text: str) -> None:
    assert specifiers.parse_requirement(text) is None


LINUX = {"sys_platform": "linux", "platform_machine": "x86_64", "python_version": "3.11", "platform_system": "Linux"}
comparison = st.sampled_from(
    [
        'python_version<"3.9"',
        'python_version >= "3.11"',
        "python_version~='3.10'",
        '"3.11"==python_version',
        'sys_platform!="win32"',
        'sys_platform=="linux"',
        'platform_machine in "x86_64 aarch64"',
        'platform_machine not in "arm64"',
        'extra=="and-cuda"',
        "extra == 'cuda12'",
    ]
)
marker = st.recursive(
    comparison,
    lambda inner: st.one_of(
        st.builds("({})".format, inner), st.builds("{} and {}".format, inner, inner), st.builds("{} or {}".format, inner, inner)
    ),
    max_leaves=6,
)


@given(marker, st.sampled_from(["", "and-cuda", "cuda12"]))
def test_markers_hold_as_packagings_do(text: str, extra: str) -> None:
    assert specifiers.marker_holds(text, LINUX, (extra,)) is Marker(text).evaluate({**LINUX, "extra": extra})


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ('sys_platform=="win32"', None),
        ('sys_platform=="win32"or python_version>="3.11"', True),
        ('sys_platform=="win32"and python_version<"3"', False),
        ('python_version>="3.11"and', None),
        ("python_version", None),
        ('python_version>="3.11")', None),
        ('os_name<"posix"', None),
        ('extra>"a"', None),
    ],
)
def test_an_unknown_part_only_matters_if_it_decides_the_marker(text: str, answer: bool | None) -> None:
    assert specifiers.marker_holds(text, {"python_version": "3.11", "os_name": "posix"}, ()) is answer


@pytest.mark.parametrize(
    ("together", "contradiction"),
    [
        ((">=1.26,<2.2", ">=2.0"), False),
        ((">=2.0", "<2"), True),
        (("==12.4.5.8", "==12.5.3.2"), True),
        (("==12.4.*", ">=12.4.1"), False),
        (("<2", "!=1.5"), False),
        ((">=1,!=1", ">=1"), False),
        ((">1", "<1"), True),
        ((">1", "<=2"), False),
        ((), False),
    ],
)
def test_specifiers_contradict_if_no_version_satisfies_all(together: tuple[str, ...], contradiction: bool) -> None:
    assert specifiers.are_contradictory(together) is contradiction


@pytest.mark.parametrize(
    ("version", "specifier", "older"),
    [("5.29.5", "<8,>=6.31.1", True), ("8.1", "<8,>=6.31.1", False), ("9.1.0.70", "==9.3.0.75", True), ("9.4", "==9.3.0.75", False)],
)
def test_older_than_allowed_differs_from_newer(version: str, specifier: str, older: bool) -> None:
    assert specifiers.satisfies(version, specifier) is False
    assert specifiers.is_below(version, specifier) is older
