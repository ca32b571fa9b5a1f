"""Findings about libraries that a framework needs and the loader would not find."""

from collections.abc import Iterable, Iterator

from gpudoctor.derive import FrameworkView
from gpudoctor.derive.libraries import LIBRARY_PATH, folder_of_file, places_of_same_name
from gpudoctor.diagnose.advice.shell import prepend_library_path
from gpudoctor.diagnose.rules.libraries.install_missing import install_missing_libraries
from gpudoctor.findings import Evidence, Fix, Problem, Problems
from gpudoctor.findings.wording import few_names, first_few
from gpudoctor.snapshot import FoundBy, LibraryUse, Place


def missing_library_problem(framework: FrameworkView, lost: tuple[LibraryUse, ...]) -> Problem:
    """Return the finding for libraries that are not installed."""
    they_are = "it is" if _is_one_library(lost) else "they are"
    other = next((place.path for use in lost for place in use.elsewhere), "")
    different = f" ({other} is a different version)" if other else ""
    return Problem(
        message=f"{framework.label} cannot find {_file_names(lost)}: {they_are} not installed{different}.",
        only_for=framework.name,
        evidence=tuple(request_evidence(lost)),
        fixes=install_missing_libraries(framework, lost),
    )


def unsearched_library_problems(framework: FrameworkView, *, in_wheels: bool) -> Problems:
    """Report libraries that are installed where the loader does not look: in NVIDIA's packages, or elsewhere."""
    beside: list[tuple[LibraryUse, Place]] = []
    for use in framework.missing_libraries:
        places = sorted(places_of_same_name(use), key=lambda place: place.found_by is not FoundBy.WHEEL)
        if places and (places[0].found_by is FoundBy.WHEEL) is in_wheels:
            beside.append((use, places[0]))
    if not beside:
        return
    folders = list(dict.fromkeys(folder_of_file(place.path) for _, place in beside))
    uses = [use for use, _ in beside]
    they_are = "it is" if _is_one_library(uses) else "they are"
    owner = "NVIDIA's packages, " if in_wheels else ""
    on_disk = [Evidence(use.wanted, place.path, f"on disk ({place.why})") for use, place in first_few(beside)]
    yield Problem(
        message=f"{framework.label} cannot find {_file_names(uses)}: {they_are} in {owner}{folders[0]}, which is not on the loader's path.",
        only_for=framework.name,
        evidence=(*on_disk, *request_evidence(uses[:1])),
        fixes=(
            Fix(
                f"Add the folder to {LIBRARY_PATH}, for this environment only"
                if len(folders) == 1
                else f"Add the folders to {LIBRARY_PATH}, for this environment only",
                prepend_library_path(*folders),
            ),
        ),
    )


def request_evidence(uses: Iterable[LibraryUse]) -> Iterator[Evidence]:
    """Return what requests each file, where the loader looks, and which other version is on disk."""
    for use in first_few(tuple(uses)):
        looked_in = ", ".join(first_few(use.looked_in)) or "no folder"
        yield Evidence(use.wanted, f"requested by {use.asked_by}", f"looked in {looked_in}")
        others = [place.path for place in use.elsewhere if place not in places_of_same_name(use)]
        if others:
            yield Evidence("a different version", others[0], f"on disk ({use.elsewhere[0].why})")


def _is_one_library(uses: Iterable[LibraryUse]) -> bool:
    return len({use.wanted for use in uses}) == 1


def _file_names(uses: Iterable[LibraryUse]) -> str:
    """Return the first few file names and how many more there are."""
    return few_names(list(dict.fromkeys(use.wanted for use in uses)))
