"""Finds the row of a framework's table that applies to an installed version, and how exactly it matches."""

from __future__ import annotations

import enum
import re
from collections.abc import Sequence
from typing import Any

import msgspec

from gpudoctor import versions
from gpudoctor.frameworks import NVIDIA_PACKAGES, spec_of, stack_of
from gpudoctor.matrix.rows import FrameworkRelease, TorchBuild
from gpudoctor.versions import Version

_FINAL_RELEASE = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})*)(?:\.post([0-9]{1,9}))?")


class MatchKind(enum.Enum):
    """How a version matched a row."""

    EXACT = "exact"
    SAME_MINOR = "same-minor"
    BRACKETED = "bracketed"
    NONE = "none"


class MatchedRow(msgspec.Struct, frozen=True):
    """The row that applies to a version and how it was found; without one, why, as a clause.

    A row found by SAME_MINOR or BRACKETED belongs to a neighbour: it is right about accelerator, CUDA, cuDNN and architectures, which all
    neighbours share, but not about the release's own Python versions and pins.
    """

    how: MatchKind
    row: FrameworkRelease | None = None
    why: str = ""
    nvidia_known: bool = True
    """Whether `row` has the build's requirements for NVIDIA's packages."""


def match_row(rows: Sequence[FrameworkRelease], version: str, builds: Sequence[TorchBuild] = ()) -> MatchedRow:
    """Matches `version` with the rows of one distribution and platform, sorted by release; `builds` are its other official ones.

    Pre-releases, vendors' builds and versions outside the rows match nothing: their own files are read instead. A nightly without a local
    version matches if the release that it precedes and the one before that agree. A development release has a row only if the project publishes nothing else.
    """
    public, _, local = version.strip().partition("+")
    release = final_release(public) or next((row.release for row in rows if row.release.text == public), None)
    if release is None:
        return (None if local else _nightly_match(rows, public)) or _no_match(f"{version} is not a final release")
    if not rows:
        return _no_match("no release for this platform is known")
    if release > rows[-1].release:
        return _no_match(f"{version} is newer than {rows[-1].release}, the newest known release")
    how, row = _nearest_row(rows, release)
    if row is None:
        return _no_match(f"{version} is {_gap_text(rows, release)}")
    same = [build for build in builds if (build.local, build.platform) == (local, row.platform) and build.release[:2] == row.release[:2]]
    built = _row_for_build(row, local, same[0] if same else None, exact=how is MatchKind.EXACT)
    if built is None:
        return _no_match(f"the tables do not list the build +{local} of {release}")
    known = built is row or built.accelerator != "cuda" or any(build.nvidia is not None for build in same)
    return MatchedRow(how, built, nvidia_known=known)


def _nightly_match(rows: Sequence[FrameworkRelease], public: str) -> MatchedRow | None:
    """Return what holds for a nightly, 2.20.0.dev20250314; None if the releases around it differ."""
    base, _, date = public.partition(".dev")
    release = final_release(base) if date.isdecimal() else None
    place = next((place for place, row in enumerate(rows) if row.release == release), 0) if release else 0
    around = rows[place - 1 : place + 1] if place else ()
    return MatchedRow(MatchKind.BRACKETED, around[0]) if around and _is_same_build(around) else None


def final_release(text: str) -> Version | None:
    """A final or post release as numbers ("0.12.0.1" and "0.12.0.post1" are 0.12.0 build 1); None for anything else."""
    public, post = match.groups() if (match := _FINAL_RELEASE.fullmatch(text)) else ("", None)
    found = versions.parse_version(public)
    if found is None or public.count(".") > (2 if post else 3):
        return None
    return found._replace(build=int(post), text=text) if post else found._replace(text=text)


def _no_match(why: str) -> MatchedRow:
    return MatchedRow(MatchKind.NONE, why=why)


def _nearest_row(rows: Sequence[FrameworkRelease], release: Version) -> tuple[MatchKind, FrameworkRelease | None]:
    below = [row for row in rows if row.release <= release]
    if below and below[-1].release == release:
        return MatchKind.EXACT, below[-1]
    siblings = [row for row in rows if row.release[:2] == release[:2]]
    if siblings and below and below[-1] in siblings:  # an earlier release than all siblings may be built in another way
        return MatchKind.SAME_MINOR, below[-1] if _is_same_build(siblings) else None
    neighbours = [*below[-1:], *rows[len(below) : len(below) + 1]]
    return MatchKind.BRACKETED, neighbours[0] if len(neighbours) == 2 and _is_same_build(neighbours) else None


def _gap_text(rows: Sequence[FrameworkRelease], release: Version) -> str:
    """Return where a release without a row is among those with one."""
    above = next(row.release for row in rows if row.release > release)
    below = next((row.release for row in reversed(rows) if row.release < release), None)
    return f"between {below} and {above}, where releases differ" if below else f"older than {above}, the oldest known release"


def _is_same_build(rows: Sequence[FrameworkRelease]) -> bool:
    return len({(row.accelerator, row.built_with_cuda, row.cudnn, row.sass, row.ptx) for row in rows}) == 1


def _row_for_build(row: FrameworkRelease, local: str, build: TorchBuild | None, *, exact: bool) -> FrameworkRelease | None:
    """The row adapted to this local version's build; for a build in no table only its CUDA version is known, from its name.

    A page that does not list a build does not prove that there is none.
    """
    if not local:
        return row
    cuda = _cuda_of_tag(local)
    if not spec_of(stack_of(row.distribution) or "").wheel_index or (cuda is None and local != "cpu"):
        return None
    if (cuda and cuda.short) == (row.built_with_cuda and row.built_with_cuda.short):
        return row
    if not exact:
        return None
    other: dict[str, Any] = {
        "accelerator": "cuda" if cuda else "cpu",
        "built_with_cuda": cuda,
        "requires": _common_requirements(row) if cuda else (),
    }
    if row.distribution in spec_of(stack_of(row.distribution) or "").companions:
        # the default build of torchvision 0.11.0 pins torch==1.10.0+cu102; another build pins its own torch
        other["requires"] = tuple(text.partition("+")[0] if "==" in text and ";" not in text else text for text in row.requires)
    other |= dict.fromkeys(("cudnn", "sass", "ptx"))
    if build is not None:
        other |= {"cudnn": build.cudnn, "sass": build.sass, "ptx": build.ptx, "source": (*row.source, *build.source), "note": build.note}
        other["requires"] = (*(build.nvidia or ()), *other["requires"])
    return msgspec.structs.replace(row, **other)


def _common_requirements(row: FrameworkRelease) -> tuple[str, ...]:
    """Return what the builds of a release for any CUDA require: all but NVIDIA's packages, which are of one CUDA."""
    return tuple(text for text in row.requires if not text.startswith(NVIDIA_PACKAGES))


def _cuda_of_tag(local: str) -> Version | None:
    """The CUDA version in a local version: "cu118" is 11.8, "cu92" 9.2."""
    digits = local.removeprefix("cu")
    if digits == local or not (digits.isascii() and digits.isdigit()) or len(digits) not in {2, 3}:
        return None
    return versions.parse_version(f"{digits[:-1]}.{digits[-1]}")
