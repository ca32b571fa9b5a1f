"""Simulates the dynamic loader: which file a soname resolves to, why, what that shadows, and where it searched (ld.so(8), glibc's dl-load.c).

Not simulated: audit libraries, the folders tls/ and haswell/ of glibc before 2.37, link-map namespaces, setuid programs, and musl's
loader, which follows other rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from gpudoctor.elf.cache import Cache
from gpudoctor.elf.file import Elf
from gpudoctor.elf.search import PathTokens, SearchFolders, split_path_list
from gpudoctor.elf.system import CannotLoad, FileSystem

MAX_OBJECTS = 4096
"""Libraries in one process; beyond that nothing more is loaded."""
CACHE_FILE = "/etc/ld.so.cache"


class SearchSource(NamedTuple):
    """How a file was found: a keyword, empty if it does not matter, and the full description."""

    by: str
    words: str


class LoadedObject:
    """A file in the simulated process. `caller` is the object that asked for it first."""

    __slots__ = ("caller", "elf", "origin", "path", "way")

    def __init__(self, elf: Elf, path: str, caller: LoadedObject | None, way: SearchSource) -> None:
        self.elf = elf
        self.path = path
        self.origin = path.rpartition("/")[0] or "/"
        self.caller = caller
        self.way = way

    @property
    def name(self) -> str:
        """The last part of its path."""
        return self.path.rpartition("/")[2]


class Lookup:
    """The result of one lookup. If `found` is None, `problem` says what stopped the search; without a problem it ran to its end."""

    __slots__ = ("already", "asked_by", "damaged", "found", "looked_in", "problem", "refused", "shadows", "wanted", "way")

    def __init__(self, wanted: str, asked_by: LoadedObject | None) -> None:
        self.wanted = wanted
        self.asked_by = asked_by
        self.found: LoadedObject | None = None
        self.way = SearchSource("", "")
        self.already = False
        """The library was already in the process, and nothing was searched."""
        self.problem = ""
        self.looked_in: list[str] = []
        self.refused: list[tuple[str, str]] = []
        self.damaged: list[tuple[str, CannotLoad]] = []
        """The refused files that no process could load: empty, truncated, unreadable."""
        self.shadows: list[tuple[str, SearchSource]] = []


class OpenResult:
    """The result of one dlopen or program start: the request first, then its needs in the loader's order."""

    __slots__ = ("resolutions",)

    def __init__(self) -> None:
        self.resolutions: list[Lookup] = []

    @property
    def missing(self) -> list[Lookup]:
        """What was not found; the dlopen then fails and loads nothing."""
        return [resolution for resolution in self.resolutions if resolution.found is None]


class LoaderSetting:
    """The environment of a process; lists as the environment variables spell them."""

    __slots__ = ("cache", "defaults", "library_path", "platform", "preload")

    def __init__(
        self, defaults: Iterable[str], cache: Cache | None = None, library_path: str = "", preload: str = "", platform: str = ""
    ) -> None:
        self.defaults = tuple(defaults)
        """The loader's built-in folders, in order; $LIB is the first."""
        self.cache = cache or Cache()
        self.library_path = library_path
        self.preload = preload
        self.platform = platform
        """The value of $PLATFORM; if empty, the program's machine."""


class Loader:
    """One simulated process."""

    def __init__(self, files: FileSystem, setting: LoaderSetting) -> None:
        self._files = files
        self._setting = setting
        self.objects: list[LoadedObject] = []
        self._by_identity: dict[tuple[int, int], LoadedObject] = {}
        self._by_name: dict[str, LoadedObject] = {}
        self._tokens = PathTokens("", "")
        self.main: LoadedObject | None = None

    def start(self, program: str, *, follow: Iterable[str] | None = None) -> OpenResult:
        """Start `program` with LD_PRELOAD and the needs of both. `follow` as in `open`. Raises CannotLoad if it cannot start."""
        elf = self._files.elf(program)
        if elf is None:
            raise CannotLoad("no such file", fatal=True)
        lib = next(iter(self._setting.defaults), "").strip("/")
        self._tokens = PathTokens(lib, self._setting.platform or elf.machine)
        self.main = self._take(elf, program, None, SearchSource("", "the program"))
        opening = OpenResult()
        roots = [self.main]
        for wanted in self._setting.preload.replace(":", " ").split():
            lookup = self._resolve(wanted, self.main, shadows=False)
            opening.resolutions.append(lookup)
            if lookup.found is not None and not lookup.already:
                lookup.found.way = lookup.way = SearchSource("", "LD_PRELOAD")
                roots.append(lookup.found)
        self._needs(roots, opening, None if follow is None else frozenset(follow), shadows=False)
        return opening

    def open(self, wanted: str, caller: LoadedObject, *, skip: Iterable[str] = (), shadows: bool = False) -> OpenResult:
        """dlopen(`wanted`) by code in `caller`, with all its needs; `skip` names needs to ignore.

        With `shadows` the search goes on after the first match. If anything is missing the process stays as it was.
        """
        before = len(self.objects)
        names = dict(self._by_name)
        opening = OpenResult()
        lookup = self._resolve(wanted, caller, shadows=shadows)
        opening.resolutions.append(lookup)
        if lookup.found is not None and not lookup.already:
            self._needs([lookup.found], opening, None, shadows=shadows, skip=frozenset(skip))
        if opening.missing:
            for lost in self.objects[before:]:
                self._by_identity.pop(lost.elf.identity, None)
            del self.objects[before:]
            self._by_name = names
        return opening

    def _needs(
        self,
        roots: list[LoadedObject],
        opening: OpenResult,
        follow: frozenset[str] | None,
        *,
        shadows: bool,
        skip: frozenset[str] = frozenset(),
    ) -> None:
        """Load the needs breadth first, as the loader does."""
        waiting = list(roots)
        for library in waiting:
            for wanted in library.elf.needed:
                if wanted in skip or (follow is not None and wanted not in follow):
                    continue
                resolution = self._resolve(wanted, library, shadows=shadows)
                opening.resolutions.append(resolution)
                if resolution.found is not None and not resolution.already:
                    waiting.append(resolution.found)
            if len(self.objects) >= MAX_OBJECTS:
                return

    def loaded(self, name: str) -> LoadedObject | None:
        """The object known by `name`: its soname, or a name under which it was found."""
        return self._by_name.get(name)

    def _resolve(self, wanted: str, caller: LoadedObject, *, shadows: bool) -> Lookup:
        result = Lookup(wanted, caller)
        there = self.loaded(wanted)
        if there is not None:
            result.found, result.already = there, True
            by = f" by {there.caller.name}" if there.caller not in {None, self.main} else ""
            result.way = SearchSource(there.way.by, f"already loaded{by}: {there.way.words}")
            return result
        try:
            self._search(result, wanted, caller, shadows=shadows)
        except CannotLoad as refused:
            result.problem = refused.reason
        if result.found is not None:
            self._by_name.setdefault(wanted, result.found)
        return result

    def _search(self, result: Lookup, wanted: str, caller: LoadedObject, *, shadows: bool) -> None:
        if "/" in wanted:
            path = self._tokens.expand(wanted, caller.origin)
            result.looked_in.append(path.rpartition("/")[0])
            self._try(result, path, caller, SearchSource("", "its path"))
            return
        seen: set[str] = set()
        for way, folders in self._lists(caller):
            try:
                for folder in folders:
                    if folder in seen and result.found is not None:
                        continue
                    seen.add(folder)
                    self._visit_folder(result, f"{folder}/{wanted}", folder, caller, way)
                    if result.found is not None and not shadows:
                        return
            except CannotLoad as refused:
                if refused.fatal:
                    raise
            if way is _LAST_LIST and not caller.elf.no_defaults:
                self._search_cache(result, wanted, caller)
                if result.found is not None and not shadows:
                    return

    def _search_cache(self, result: Lookup, wanted: str, caller: LoadedObject) -> None:
        if result.found is None:
            result.looked_in.append(CACHE_FILE)
        path = self._setting.cache.get(wanted)
        if path is not None:
            try:
                self._try(result, path, caller, SearchSource("", CACHE_FILE))
            except CannotLoad as refused:
                if refused.fatal:
                    raise

    def _visit_folder(self, result: Lookup, path: str, folder: str, caller: LoadedObject, way: SearchSource) -> None:
        if result.found is None:
            result.looked_in.append(folder)
            self._try(result, path, caller, way)
            return
        if path == result.found.path:
            return
        try:
            elf = self._files.elf(path)
        except CannotLoad:
            return
        if elf is not None and self._fits(elf) and elf.identity != result.found.elf.identity:
            result.shadows.append((path, way))

    def _try(self, result: Lookup, path: str, caller: LoadedObject, way: SearchSource) -> None:
        """Load `path` if possible; otherwise record it as refused."""
        if result.found is not None:
            return self._visit_folder(result, path, "", caller, way)
        try:
            elf = self._files.elf(path)
        except CannotLoad as refused:
            result.refused.append((path, refused.reason))
            result.damaged.append((path, refused))
            if refused.fatal or refused.ends_list:
                raise
            return None
        if elf is None:
            return None
        if not self._fits(elf):
            result.refused.append((path, f"{elf.bits}-bit {elf.machine}"))
            return None
        result.way = way
        there = self._by_identity.get(elf.identity)
        if there is not None:  # another name of a file already loaded
            result.found, result.already = there, True
        else:
            result.found = self._take(elf, path, caller, way)
        return None

    def _take(self, elf: Elf, path: str, caller: LoadedObject | None, way: SearchSource) -> LoadedObject:
        library = LoadedObject(elf, path, caller, way)
        self.objects.append(library)
        self._by_identity[elf.identity] = library
        self._by_name.setdefault(path, library)
        if elf.soname:
            self._by_name.setdefault(elf.soname, library)
        return library

    def _fits(self, elf: Elf) -> bool:
        main = self.main
        return main is None or (elf.bits == main.elf.bits and elf.machine == main.elf.machine and elf.little == main.elf.little)

    def _lists(self, caller: LoadedObject) -> Iterator[tuple[SearchSource, Iterable[str]]]:
        """The lists of folders in the loader's order with their names; the cache comes after _LAST_LIST."""
        if caller.elf.runpath is None:
            library: LoadedObject | None = caller
            chain = []
            while library is not None and library not in chain:
                chain.append(library)
                library = library.caller
            if self.main is not None and self.main not in chain:
                chain.append(self.main)
            for library in chain:
                if library.elf.rpath:
                    yield SearchSource("rpath", f"DT_RPATH of {library.name}"), self._folders(library.elf.rpath, library)
        if self._setting.library_path and self.main is not None:
            yield SearchSource("ld-library-path", "LD_LIBRARY_PATH"), self._folders(self._setting.library_path, self.main)
        if caller.elf.runpath:
            yield SearchSource("runpath", f"DT_RUNPATH of {caller.name}"), self._folders(caller.elf.runpath, caller)
        yield _LAST_LIST, ()
        if not caller.elf.no_defaults:
            yield SearchSource("", "a default folder"), self._folders(":".join(self._setting.defaults), caller)

    def _folders(self, text: str, owner: LoadedObject) -> SearchFolders:
        return SearchFolders(self._files, self._tokens, split_path_list(text), owner.origin)


_LAST_LIST = SearchSource("", "the lists of the process")
