"""The X-ray as text: the libraries of each framework, or what single files need."""

from __future__ import annotations

import posixpath
import string
from collections.abc import Iterable

from gpudoctor.report.page import Page, PageLook
from gpudoctor.snapshot import (
    Cause,
    Extension,
    Fact,
    Framework,
    FrameworkLibraries,
    GpuCode,
    Libraries,
    LibraryFile,
    LibraryUse,
    Missing,
    Place,
    ScriptFolder,
)
from gpudoctor.snapshot.xray import EnvironmentXray, File, FilesXray

_MARK_MEANINGS = {
    "!!": "missing or damaged, and the framework needs it to use the GPU",
    "!": "missing or damaged, but only some features need it",
    "shadows": "also on the loader's path, but found later, so not loaded",
    "refused": "found earlier, but the loader cannot load it",
    "kernels": "GPU code: sm_80 is machine code for compute capability 8.0, compute_90 is PTX that the driver compiles for 9.0 and newer",
}
"""What the marks and words of a page mean; a page explains those that it has."""
_MIN_LONG_FOLDER = 24
"""Letters of a folder that are worth a letter of their own."""


def environment_page(seen: EnvironmentXray, look: PageLook) -> str:
    """Return the page of an environment: each framework's libraries, with file, package and the reason why it is this file."""
    page = Page(look)
    page.paragraph(f"Libraries that {seen.python} would load", style="bold", hang=2)
    for path in seen.script_folder.hides if isinstance(seen.script_folder, ScriptFolder) else ():
        page.paragraph(f"!! {path} shadows the installed package for scripts in that folder", style="bold red", hang=3)
    if isinstance(seen.libraries, Missing):
        page.paragraph(f"Nothing to examine: {seen.libraries.reason}.", hang=2)
        return page.render()
    if seen.libraries.preloaded:
        page.paragraph(f"LD_PRELOAD loads first: {', '.join(seen.libraries.preloaded)}", hang=2)
    short = _FolderShortener(seen)
    for framework in seen.libraries.frameworks:
        _draw_framework(page, framework, next((known for known in seen.frameworks if known.name == framework.framework), None), short)
    if seen.libraries.extensions:
        page.heading("Extensions")
        for extension in seen.libraries.extensions:
            _draw_extension(page, extension, short)
    _draw_legend(page, _used_marks(seen.libraries))
    short.legend(page)
    return page.render()


def _used_marks(libraries: Libraries) -> set[str]:
    """Return the marks and words that the page of these libraries has."""
    uses = [use for framework in libraries.frameworks if not isinstance(framework.uses, Missing) for use in framework.uses]
    lost = {"!!" if use.vital else "!" for use in uses if isinstance(use.file, Missing)}
    broken = {"!!" for framework in libraries.frameworks if framework.broken}
    said = {"shadows": any(use.shadows for use in uses), "refused": any(use.refused for use in uses), "kernels": True}
    return lost | broken | {word for word, is_there in said.items() if is_there}


def _draw_legend(page: Page, words: set[str]) -> None:
    if words:
        page.heading("Legend")
    for word, meaning in _MARK_MEANINGS.items():
        if word in words:
            page.paragraph(meaning, f"{word:<9}", indent=2, hang=9, lead_style="bold")


class _FolderShortener:
    """Replaces long folders that occur often with a letter; the legend explains it."""

    def __init__(self, seen: EnvironmentXray) -> None:
        places = [str(framework.location).rpartition("/")[0] for framework in seen.frameworks if isinstance(framework.location, str)]
        long = [place for place in dict.fromkeys(places) if len(place) > _MIN_LONG_FOLDER]
        self._names = {place: f"<{letter}>" for place, letter in zip(long, string.ascii_uppercase, strict=False)}

    def path(self, path: str) -> str:
        """Return a path without "..", with its folder replaced by a letter."""
        plain = posixpath.normpath(path)
        for place, name in self._names.items():
            if plain.startswith(f"{place}/"):
                return name + plain[len(place) :]
        return plain

    def legend(self, page: Page) -> None:
        """Explain the letters."""
        for place, name in self._names.items():
            page.paragraph(place, f"{name:<9}", indent=2, hang=9, lead_style="bold")


def code_text(found: GpuCode | Missing | None) -> str:
    """Return the architectures in short: sm_75 80 86 + compute_90."""
    if not isinstance(found, GpuCode):
        return "none" if found is None or found.cause is Cause.ABSENT else f"not known ({found.reason})"
    kinds = ((name, [one for one in each if one not in found.few]) for name, each in (("sm", found.sass), ("compute", found.ptx)))
    parts = [f"{name}_{' '.join(one.partition('_')[2] for one in each)}" for name, each in kinds if each]
    few = f"; only a few kernels for {' '.join(found.few)}" if found.few else ""
    return (" + ".join(parts) or "none") + few


def _draw_framework(page: Page, libraries: FrameworkLibraries, known: Framework | None, short: _FolderShortener) -> None:
    said = [libraries.framework]
    if known is not None and isinstance(known.version, Fact):
        said.append(known.version.value)
    built = [
        f"{name} {fact.value}"
        for name, fact in (("CUDA", known.built_with_cuda), ("cuDNN", known.built_with_cudnn))
        if isinstance(fact, Fact)
    ] if known is not None else []  # fmt: skip
    page.heading(" ".join(said) + (f" ({', '.join(built)})" if built else ""))
    where = f", in {short.path(libraries.code_where)}" if libraries.code_where else ""
    page.paragraph(f"kernels: {code_text(libraries.code)}{where}", indent=2, hang=2)
    for damage in libraries.broken:
        page.paragraph(f"{short.path(damage.path)}: {damage.why}; the import fails", "!! ", lead_style="bold red", indent=0, hang=5)
    if isinstance(libraries.uses, Missing):
        page.paragraph(f"libraries: not known ({libraries.uses.reason})", indent=2, hang=2)
        return
    width = max((len(use.wanted) for use in libraries.uses), default=0) + 2
    for use in libraries.uses:
        _draw_use(page, use, width, short)
    if libraries.also_loaded:
        page.paragraph(
            f"also loaded, although nothing here needs them: {', '.join(map(short.path, libraries.also_loaded))}", indent=2, hang=2
        )


def _draw_use(page: Page, use: LibraryUse, width: int, short: _FolderShortener) -> None:
    lost = isinstance(use.file, Missing)
    mark, style = ("!!", "bold red") if lost and use.vital else ("! ", "yellow") if lost else ("  ", "")
    asker = use.asked_by.rpartition("/")[2]
    page.cells([(mark, 3, style), (use.wanted, width, style), (_version_or_fault_text(use), 0, "")])
    if use.damaged:
        page.paragraph(f"{short.path(use.damaged[0].path)}: {use.damaged[0].why}", indent=8, hang=2)
        page.paragraph(f"needed by {asker}", indent=8, hang=2)
    elif isinstance(use.file, Missing):
        why = "" if use.file.cause is Cause.ABSENT else f" ({use.file.reason})"
        page.paragraph(f"needed by {asker}{why}", indent=8, hang=2)
    else:
        owner = f" ({use.file.owner})" if isinstance(use.file.owner, str) else ""
        page.paragraph(f"{short.path(use.file.path)}{owner}", indent=8, hang=2)
        page.paragraph(f"found: {use.why}, needed by {asker}", indent=8, hang=2)
        if isinstance(use.file.code, GpuCode):
            page.paragraph(f"kernels: {code_text(use.file.code)}", indent=8, hang=2)
    _draw_other_copies(page, "shadows", use.shadows, short)
    if not use.damaged:
        _draw_other_copies(page, "refused", use.refused, short)
    if lost:
        _draw_other_copies(page, "on disk, not on the loader's path:", use.elsewhere, short)


def _version_or_fault_text(use: LibraryUse) -> str:
    file = use.file
    if not isinstance(file, LibraryFile):
        word = "damaged" if use.damaged else "missing"
        return word.upper() if use.vital else word
    return file.version.value if isinstance(file.version, Fact) else "version not known"


def _draw_other_copies(page: Page, what: str, found: Iterable[Place], short: _FolderShortener | None = None) -> None:
    for place in found:
        path = short.path(place.path) if short else place.path
        page.paragraph(f"{what} {path} ({place.why})", indent=8, hang=2)


def _draw_extension(page: Page, extension: Extension, short: _FolderShortener) -> None:
    page.paragraph(
        f"{extension.distribution} {extension.version} ({extension.framework}), kernels: {code_text(extension.code)}", indent=2, hang=2
    )
    wanted = (
        f" needs {', '.join(extension.wanted)}"
        if not isinstance(extension.wanted, Missing) and extension.wanted
        else " links no CUDA library"
    )
    page.paragraph(f"{short.path(extension.path)}{wanted}", indent=4, hang=2)


def files_page(seen: FilesXray, look: PageLook) -> str:
    """Return what each file needs, as a process of the interpreter would find it."""
    page = Page(look)
    for file in seen.files:
        page.heading(file.path)
        if file.problem:
            page.paragraph(f"Not read: {file.problem}.", indent=2, hang=2)
            continue
        page.paragraph(", ".join([file.machine, *([f"soname {file.soname}"] if file.soname else [])]), indent=2, hang=2)
        page.paragraph(f"GPU code: {code_text(file.code)}", indent=2, hang=2)
        for name, folders in (("RPATH", file.rpath), ("RUNPATH", file.runpath)):
            if folders:
                page.paragraph(f"{name} {' '.join(dict.fromkeys(folders.split(':')))}", indent=2, hang=4)
        _draw_needs(page, file)
    words = {"kernels" for file in seen.files if isinstance(file.code, GpuCode)}
    _draw_legend(page, words | {"shadows" for file in seen.files if any(need.shadows for need in file.needs)})
    page.gap()
    page.paragraph(f"For a process of {seen.python}; --python names another.", hang=2)
    return page.render()


def _draw_needs(page: Page, file: File) -> None:
    width = max((len(need.wanted) for need in file.needs), default=0) + 2
    for need in file.needs:
        lost = not need.path
        asker = "" if need.direct else f"; {need.asked_by.rpartition('/')[2]} needs it"
        page.cells([("!!" if lost else "  ", 3, "bold red" if lost else ""), (need.wanted, width, ""), ("MISSING" if lost else "", 0, "")])
        if not lost:
            page.paragraph(need.path, indent=8, hang=2)
        found = f"found: {need.why}" if need.why else need.problem or "not found"
        page.paragraph(f"{found}{asker}", indent=8, hang=2)
        _draw_other_copies(page, "shadows", need.shadows)
        if lost:
            _draw_other_copies(page, "on disk, not on the loader's path:", need.elsewhere)
