"""What the rules on libraries share: which of the files that a framework asks for it would not get, and where others of that name lie."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from gpudoctor import versions
from gpudoctor.derive import Hardware, MachineView
from gpudoctor.derive.code import xray
from gpudoctor.derive.components import WHEELS, Component, unlike
from gpudoctor.diagnose.rule import need, not_applicable
from gpudoctor.findings import Evidence
from gpudoctor.snapshot import (
    Asking,
    Cause,
    Damage,
    Distribution,
    Fact,
    FoundBy,
    Framework,
    Libraries,
    LibraryFile,
    LibraryUse,
    Missing,
    Place,
)
from gpudoctor.versions import Version

DRIVER = "cuda"
"""The component that comes with the driver; the rules on the driver judge it."""
"""How the X-ray calls the place of a file that one of NVIDIA's packages brought."""
PATH = "LD_LIBRARY_PATH"
_MOST = 4
_WHEEL_OF = {"cublaslt": "cublas"}
"""Whose wheel brings a library that has none of its own."""
_WHEELS = {**WHEELS, "cupti": "nvidia-cuda-cupti"}


def for_a_gpu(hardware: Hardware) -> None:
    """Ends the rule where there is no GPU: what is wrong with CUDA's libraries keeps nobody from the CPU."""
    if not hardware:
        not_applicable("there is no NVIDIA GPU to use CUDA's libraries for")


def all_uses(framework: Framework, machine: MachineView, hardware: Hardware) -> tuple[LibraryUse, ...]:
    """Everything that the X-ray saw a framework want; ends the rule where there is no GPU to use it for, and where nothing was read."""
    for_a_gpu(hardware)
    if framework.cuda_build is False:
        not_applicable(f"{framework.distribution or framework.name} is built without CUDA")
    seen = xray(framework, xrayed(machine))
    if seen is None:
        not_applicable(f"the X-ray found no CUDA build of {framework.name}")
    found = need(seen.uses)
    if not found:
        need(seen.code)
    return found


def xrayed(machine: MachineView) -> Libraries:
    """What the X-ray saw; ends the rule where there was nothing for it to look at."""
    libraries = machine.observed.libraries
    if isinstance(libraries, Missing) and libraries.cause is Cause.ABSENT:
        not_applicable(libraries.reason)
    return need(libraries)


def uses(framework: Framework, machine: MachineView, hardware: Hardware) -> tuple[LibraryUse, ...]:
    """The same without the driver's own library."""
    return tuple(use for use in all_uses(framework, machine, hardware) if use.component != DRIVER)


def unfound(found: Iterable[LibraryUse]) -> tuple[LibraryUse, ...]:
    """Those that a framework does not work without, and that the loader would find nowhere."""
    libraries = (use for use in found if use.vital and use.asking in {Asking.LINKED, Asking.OPENED})
    return tuple(use for use in libraries if isinstance(use.file, Missing) and use.file.cause is Cause.ABSENT)


def damaged(found: Iterable[LibraryUse]) -> tuple[tuple[LibraryUse, Damage], ...]:
    """Those that a framework does not work without, and whose file is there and cannot be loaded."""
    return tuple((use, use.damaged[0]) for use in found if use.vital and isinstance(use.file, Missing) and use.damaged)


def installed_wheels(
    found: Iterable[LibraryUse], framework: Framework, machine: MachineView
) -> tuple[tuple[LibraryUse, Distribution], ...]:
    """Those whose package is installed by its metadata, so that an installer would find nothing to do, each with the package."""
    cuda = machine.effective_cuda(framework)
    stack = machine.stack_or_missing
    if isinstance(cuda, Missing) or isinstance(stack, Missing) or stack.supposed:
        return ()
    pairs = ((use, _WHEEL_OF.get(use.component, use.component)) for use in found)
    named = ((use, _WHEELS.get(part, f"nvidia-{part}")) for use, part in pairs)
    both = ((use, stack.distributions.get(f"{name}-cu{cuda.version.major}") or stack.distributions.get(name)) for use, name in named)
    return tuple((use, one) for use, one in both if one is not None)


def same_name(use: LibraryUse) -> tuple[Place, ...]:
    """Files of just that name on disk, where the loader does not look."""
    return tuple(place for place in use.elsewhere if place.path.rpartition("/")[2] == use.wanted)


def named(found: Iterable[LibraryUse]) -> str:
    """The files for a person, the first few by name."""
    names = list(dict.fromkeys(use.wanted for use in found))
    more = f" and {len(names) - _MOST} more" if len(names) > _MOST else ""
    return f"{', '.join(names[:_MOST])}{more}"


def asked(found: Iterable[LibraryUse]) -> Iterator[Evidence]:
    """Who asks for each file, where the loader would look, and what of another release is on disk."""
    for use in list(found)[:_MOST]:
        yield Evidence(use.wanted, f"asked for by {use.asked_by}", "looked in " + (", ".join(use.looked_in[:4]) or "no folder"))
        others = [place.path for place in use.elsewhere if place not in same_name(use)]
        if others:
            yield Evidence("another release of it", others[0], f"on disk ({use.elsewhere[0].why})")


def folder(path: str) -> str:
    """The folder that a file lies in, without the steps back of a RUNPATH."""
    parts: list[str] = []
    for part in path.split("/")[:-1]:
        if part == ".." and parts:
            parts.pop()
        else:
            parts.append(part)
    return "/".join(parts)


def by_path(use: LibraryUse) -> bool:
    """Whether LD_LIBRARY_PATH led to the file, for this object or for the one that loaded it first."""
    return use.found_by is FoundBy.LIBRARY_PATH


class Copy(msgspec.Struct, frozen=True, kw_only=True):
    """A library of which another copy wins over the one that a framework was given."""

    use: LibraryUse
    path: str
    """The copy that wins."""
    version: Version | Missing
    instead: str
    """The copy that would be taken without it."""
    wanted: Version | None
    """The release that the build wants, or that of the copy it was given; None where neither is known."""
    wanted_where: str
    unlike: str
    """"major", "older", "other", "same", or "" where it cannot be told."""

    @property
    def fatal(self) -> bool:
        """Whether the framework cannot work with it: cuDNN is compared with the build's, and what is linked must define what it needs.

        Of CUDA's other libraries an older minor release mostly does, as long as they are opened by name.
        """
        strict = self.use.component in {"cudnn", "nccl"} or self.use.asking is Asking.LINKED
        return self.unlike == "major" or (self.unlike == "older" and strict)


def copy(use: LibraryUse, instead: str, framework: Framework, machine: MachineView) -> Copy | None:
    """What is known of the copy that a use takes; None where it takes none."""
    if not isinstance(use.file, LibraryFile):
        return None
    version = use.file.version
    parsed = versions.parse(version.value) if isinstance(version, Fact) else None
    given, given_where, wanted, wanted_where = _given(use, framework, machine)
    return Copy(
        use=use,
        path=use.file.path,
        version=parsed if parsed is not None else version if isinstance(version, Missing) else Missing(Cause.FAILED, version.value),
        instead=instead,
        wanted=wanted if wanted is not None else given,
        wanted_where=wanted_where if wanted is not None else given_where,
        unlike=_unlike(parsed, wanted, given),
    )


def _given(use: LibraryUse, framework: Framework, machine: MachineView) -> tuple[Version | None, str, Version | None, str]:
    """The release that the environment's package brings, the one that the build wants, and where each is from."""
    name = _WHEEL_OF.get(use.component, use.component)
    found = machine.component(name, framework) if name in WHEELS else None
    if not isinstance(found, Component):
        return None, "", None, ""
    stack = machine.stack_or_missing
    wheel = None if isinstance(stack, Missing) else stack.distributions.get(found.wheel)
    wanted = found.wanted if isinstance(found.wanted, Version) else None
    return (
        (versions.parse(wheel.version) if wheel else None),
        (f"{wheel.name} in {wheel.where}" if wheel else ""),
        wanted,
        found.wanted_where,
    )


def _unlike(version: Version | None, wanted: Version | None, given: Version | None) -> str:
    reference = wanted if wanted is not None else given
    if version is None or reference is None:
        return ""
    graver = unlike(reference, version)
    other = given if given is not None else reference
    said = min(version.text.count("."), other.text.count("."), 2) + 1
    if graver or said == 1:
        return graver
    return "same" if version[:said] == other[:said] else "other"


def told(one: Copy) -> Iterator[Evidence]:
    """The copies and their releases."""
    yield Evidence(
        f"{one.use.wanted} that would be loaded",
        f"{one.path} ({one.version})" if isinstance(one.version, Version) else one.path,
        one.use.why,
    )
    yield Evidence(f"{one.use.wanted} that would be loaded without it", f"{folder(one.instead)}/{one.use.wanted}", "on disk")
    if one.wanted is not None:
        yield Evidence(f"{one.use.component} that the build wants", str(one.wanted), one.wanted_where)
