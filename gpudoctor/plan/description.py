"""Describes a chosen set of releases as an environment: pins, reasons and commands."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from gpudoctor import versions
from gpudoctor.derive.specifiers import only_version, parse_requirements
from gpudoctor.findings import Verdict
from gpudoctor.findings.wording import joined_words
from gpudoctor.frameworks import framework_of, spec_of
from gpudoctor.plan.candidates import Candidate
from gpudoctor.plan.choices import Chosen, Wishes
from gpudoctor.plan.commands import COMPILED_NOTE, built_against_framework, install_commands
from gpudoctor.plan.companions import FRAMEWORK_OF_COMPANION
from gpudoctor.plan.resolution import Resolution, ResolvedPackage
from gpudoctor.plan.search import ReleaseSearch
from gpudoctor.plan.withdrawn import withdrawn
from gpudoctor.report.plan import Environment, Pin
from gpudoctor.snapshot.distributions import name_with_extras


def planned_environment(found: Chosen, search: ReleaseSearch, wishes: Wishes, resolution: Resolution | None = None) -> Environment:
    """Return the environment with the reason of each choice, and with the other packages if they were resolved."""
    packages = {package.name: package for package in resolution.packages} if resolution is not None else {}
    pins = (
        *_pins_with_reasons(found, search, wishes, packages),
        *(Pin(constraint.requirement, constraint.reason) for constraint in found.constraints),
    )
    of_index = next((candidate for candidate in found.candidates if candidate.tag and candidate.name not in FRAMEWORK_OF_COMPANION), None)
    tag = of_index.tag if of_index else ""
    index = f"{spec_of(of_index.name).wheel_index}/{tag}" if of_index else ""
    unlisted = tuple(
        _unlisted_note(name, packages.get(name)) for name in search.unlisted if name not in packages or not packages[name].pure
    )
    unlisted += wishes.not_planned
    on_system = {candidate.label: candidate.system for candidate in found.candidates if candidate.system}
    unlisted += tuple(f"{label} needs {what} on the system; pip does not install them." for label, what in on_system.items())
    built = built_against_framework(tuple(pin.requirement for pin in pins), search.matrix)
    unlisted += tuple(f"{COMPILED_NOTE.format(one.replace('==', ' '))}." for one in sorted(built))
    unchecked = (one for one in found.conclusion.unchecked if one.what not in on_system)
    return Environment(
        verdict=str(found.conclusion.verdict.value) if not unlisted else "unknown",
        name=set_name(found),
        python=found.python,
        python_reason=reason_for_python(found, wishes),
        pins=pins,
        index=index,
        torch_backend=tag,
        warnings=(
            *(finding.message for finding in found.conclusion.findings),
            *(f"{text}." for text in withdrawn(_pinned(pins), search.matrix)),
        ),
        not_checked=(*(f"{one.what} was not checked: {one.reason}." for one in unchecked), *unlisted),
        older_because=tuple(_notes_on_newer_releases(found, search)),
        commands=install_commands(
            tuple(pin.requirement for pin in pins), found.python, index, tag, built=built, windows=search.machine.on_windows
        ),
        locked=tuple(f"{package.name}=={package.version}" for package in packages.values()),
        download_bytes=sum(package.size for package in packages.values()) or None,
    )


def _unlisted_note(name: str, package: ResolvedPackage | None) -> str:
    if package is None:
        return f"No table lists {name}; whether it works with these releases was not checked."
    return f"{name} {package.version} has compiled code and no table lists it; whether that runs here was not checked."


def set_name(found: Chosen, also: tuple[str, ...] = ()) -> str:
    """Return a set in words: "torch 2.9.1 for CUDA 12.6", "vllm 0.19.1 with torch 2.10.0 for CUDA 12.8"; companions only if in `also`."""
    addons = [
        candidate.label
        for candidate in found.candidates
        if not framework_of(candidate.name) and (candidate.name not in FRAMEWORK_OF_COMPANION or candidate.name in also)
    ]
    frameworks = [
        f"{candidate.label} {_build_words(candidate, found)}".strip() for candidate in found.candidates if framework_of(candidate.name)
    ]
    return " with ".join(joined_words(words) for words in (addons, frameworks) if words) or joined_words(
        candidate.label for candidate in found.candidates
    )


def is_plural(found: Chosen) -> bool:
    """Return whether the words of a set are a plural."""
    addons = [
        candidate for candidate in found.candidates if not framework_of(candidate.name) and candidate.name not in FRAMEWORK_OF_COMPANION
    ]
    return len(addons or [candidate for candidate in found.candidates if framework_of(candidate.name)]) > 1


def _build_words(candidate: Candidate, found: Chosen) -> str:
    if candidate.cuda is not None:
        return f"for CUDA {candidate.cuda.short if '.' in candidate.cuda.text else candidate.cuda.major}"
    if candidate.metal:
        return "with Metal"
    if found.of(_metal_plugin(candidate)) is not None:
        return ""
    return "for the CPU" if framework_of(candidate.name) and not any("cuda" in extra for extra in candidate.extras) else ""


def _metal_plugin(candidate: Candidate) -> str:
    """Return the plugin with which a framework uses the GPU of a Mac; "" if there is none."""
    return spec_of(framework_of(candidate.name) or "").metal_plugin


def _pinned(pins: Iterable[Pin]) -> Iterator[tuple[str, str]]:
    """Yield the packages that a plan pins, and their versions."""
    for wanted in parse_requirements(pin.requirement for pin in pins):
        if (version := only_version(wanted.specifier)) is not None:
            yield wanted.name, version


def _pins_with_reasons(found: Chosen, search: ReleaseSearch, wishes: Wishes, packages: Mapping[str, ResolvedPackage]) -> Iterator[Pin]:
    """Yield the packages in the order in which they were asked for, then those that they require."""
    bounded = {wanted.name for wanted in parse_requirements(constraint.requirement for constraint in found.constraints)}
    order = [
        *(name for name in wishes.requirements if name not in bounded or found.of(name)),
        *(candidate.name for candidate in found.candidates),
    ]
    for name in dict.fromkeys(order):
        candidate, asked = found.of(name), wishes.requirements.get(name)
        if candidate is not None:
            yield Pin(candidate.requirement, _reason_for_package(candidate.name, found, search, wishes))
        elif asked is not None and name in packages and only_version(asked.specifier) is None:
            yield Pin(f"{name_with_extras(name, asked.extras)}=={packages[name].version}", "the newest that uv finds for these")
        elif asked is not None:
            yield Pin(asked.text, "as stated")


def _reason_for_package(name: str, found: Chosen, search: ReleaseSearch, wishes: Wishes) -> str:
    candidate, asked = found.of(name), wishes.requirements.get(name)
    requirer = next((other.label for other in found.candidates if asked is None and other.name in wishes.requirements), "")
    if requirer:
        return f"{requirer} requires it" if name not in map(_metal_plugin, found.candidates) else "the plugin for the GPU of a Mac"
    if FRAMEWORK_OF_COMPANION.get(name) in {other.name for other in found.candidates}:
        return f"the release for {next(other.label for other in found.candidates if other.name == FRAMEWORK_OF_COMPANION[name])}"
    if asked is not None and only_version(asked.specifier) is not None:
        return "as stated"
    python = ".".join(found.python.split(".")[:2])
    if candidate is not None and search.is_blocked_by_python(candidate, python):
        return f"the newest release with wheels for Python {python}"
    if candidate is not None and candidate.system:
        return "the newest release with CUDA for this platform"
    newest = candidate is not None and search.is_newest(candidate)
    works = () if newest else ("works here",)
    suits = (f"satisfies {asked.text}",) if asked is not None and asked.specifier else ()
    return " that ".join(("the newest release", *filter(None, (" and ".join((*works, *suits)),))))


def reason_for_python(found: Chosen, wishes: Wishes, which: str = "all of these") -> str:
    """Return why this Python was chosen; `which` packages have wheels for it."""
    if wishes.python:
        return "as stated"
    if found.python and found.python == wishes.preferred:
        return "the version on this machine"
    if not found.python:
        return "any"
    here, chosen = versions.parse_version(wishes.preferred), versions.parse_version(found.python)
    unfit = f"; {wishes.preferred} on this machine is too {'old' if here < chosen else 'new'}" if here and chosen else ""
    return f"{which} have wheels for it{unfit}"


def _notes_on_newer_releases(found: Chosen, search: ReleaseSearch) -> Iterator[str]:
    """Yield why newer releases were not chosen: the newest of each package."""
    for candidate in found.candidates:
        listed = search.releases(candidate.name)
        newer = listed[: listed.index(candidate.release)] if candidate.release in listed else []
        rejected = next(
            (other for other in search.answers.rejected if other.candidate.name == candidate.name and other.candidate.release in newer),
            None,
        )
        if rejected is not None:
            yield f"{rejected.candidate.label}: {rejected.conclusion.why}"
        elif candidate.system and not newer and (as_stated := search.checked_as_stated(candidate.name)).verdict is Verdict.BROKEN:
            yield as_stated.why
    clash = next((chosen for chosen in search.clashes if chosen.releases != found.releases), None)
    if clash is not None and not search.answers.rejected:
        yield f"{joined_words(candidate.label for candidate in clash.candidates)}: {clash.conclusion.why}"
