"""The simulated loader compared with the real one: small programs, compiled here, report the files they really got."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpudoctor.elf.cache import Cache
from gpudoctor.elf.loader import Loader, LoaderSetting, SearchSource
from gpudoctor.elf.system import CannotLoad, FileTree

MAIN = r"""
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
int main(int count, char **words) {
    for (int i = 1; i < count; i++)
        puts(dlopen(words[i], RTLD_NOW) ? "ok" : "no");
    char line[8192];
    FILE *maps = fopen("/proc/self/maps", "r");
    while (fgets(line, sizeof line, maps)) {
        char *path = strchr(line, '/');
        if (path && strstr(path, ".so"))
            fputs(path, stdout);
    }
    return 0;
}
"""
KINDS = {"none": (), "rpath": ("--disable-new-dtags", "-rpath"), "runpath": ("--enable-new-dtags", "-rpath")}
FOLDERS = ("a", "b", "c", "d", "e", "f")


def build(output: Path, source: str, *flags: str) -> Path:
    output.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["gcc", "-x", "c", "-", "-x", "none", "-o", output, *flags], input=source.encode(), check=True)
    return output


def linking(kind: str, folders: str) -> list[str]:
    flags = KINDS[kind]
    return ["-Wl," + ",".join([*flags, folders])] if flags else []


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    """Programs and middle libraries of each kind, and one small library to copy."""
    with tempfile.TemporaryDirectory(prefix="gpudoctor-loader-") as name:
        home = Path(name).resolve()
        leaf = build(home / "store/libx.so.1", "int x(void) { return 1; }", "-shared", "-fPIC", "-Wl,-soname,libx.so.1")
        for kind in KINDS:
            build(home / f"main-{kind}", MAIN, "-ldl", *linking(kind, "$ORIGIN/a:${ORIGIN}/b/"))
            build(
                home / f"libmid-{kind}.so", "int x(void); int mid(void) { return x(); }", "-shared", "-fPIC", str(leaf),
                f"-Wl,-soname,libmid-{kind}.so", *linking(kind, "$ORIGIN/c:relative:/nowhere:$ORIGIN/d"),
            )  # fmt: skip
        yield home


def fill(home: Path, folder: str, what: str) -> None:
    target = home / folder / "libx.so.1"
    target.parent.mkdir(exist_ok=True)
    if target.is_dir() and not target.is_symlink():
        target.rmdir()
    target.unlink(missing_ok=True)
    data = (home / "store/libx.so.1").read_bytes()
    files = {
        "good": data,
        "class": data[:4] + b"\1" + data[5:],
        "machine": data[:18] + b"\xb7\0" + data[20:],
        "text": b"INPUT(libx.so.1)\n" * 20,
        "empty": b"",
        "short": data[:100],
    }
    links = {"loop": "libx.so.1", "link": str(home / "store/libx.so.1"), "dangling": "not-there"}
    if what in files:
        target.write_bytes(files[what])
    elif what in links:
        target.symlink_to(links[what])
    elif what == "folder":
        target.mkdir()


def really(program: Path, wanted: Sequence[str], environ: dict[str, str]) -> tuple[list[str], set[str]]:
    done = subprocess.run([program, *wanted], env=environ, capture_output=True, text=True, check=False, cwd="/")
    lines = done.stdout.split()
    answers = [line for line in lines if line in {"ok", "no"}]
    return answers, {os.path.realpath(line) for line in lines if line.startswith("/")}


def simulated(program: Path, wanted: Sequence[str], environ: dict[str, str]) -> tuple[list[str], set[str]]:
    system = FileTree()
    elf = system.elf(str(program))
    assert elf is not None
    defaults = system.defaults(elf.interpreter, elf.machine, elf.bits)
    setting = LoaderSetting(
        defaults, system.cache(elf.machine, elf.bits), environ.get("LD_LIBRARY_PATH", ""), environ.get("LD_PRELOAD", "")
    )
    loader = Loader(system, setting)
    started = loader.start(str(program))
    assert loader.main is not None
    preloads = setting.preload.split()  # missing ones are skipped
    if [lookup for lookup in started.missing if lookup.asked_by is not loader.main or lookup.wanted not in preloads]:
        return [], set()
    answers = ["no" if loader.open(one, loader.main).missing else "ok" for one in wanted]
    return answers, {os.path.realpath(library.path) for library in loader.objects[1:] if ".so" in library.path}


CONTENTS = st.sampled_from(
    ["nothing", "good", "good", "good", "class", "machine", "text", "empty", "short", "folder", "loop", "link", "dangling"]
)


@settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    contents=st.tuples(*[CONTENTS] * len(FOLDERS)),
    main=st.sampled_from(list(KINDS)),
    wanted=st.lists(st.sampled_from(["libx.so.1", *(f"{{}}/libmid-{kind}.so" for kind in KINDS), "{}/a/libx.so.1", "{}/e/../e/libx.so.1"]), min_size=1, max_size=3),
    told=st.tuples(st.sampled_from(":;"), st.lists(st.sampled_from(["{}/e", "{}/f", "{}/nowhere", "", "{}/e/", "$ORIGIN/f"]), max_size=3)),
    preload=st.sampled_from(["", "", "{}/f/libx.so.1", "libx.so.1", "{}/libmid-rpath.so {}/e/libx.so.1"]),
)  # fmt: skip
def test_agrees_with_the_real_loader(  # noqa: PLR0917 -- hypothesis names them
    place: Path, contents: tuple[str, ...], main: str, wanted: list[str], told: tuple[str, list[str]], preload: str
) -> None:
    for folder, what in zip(FOLDERS, contents, strict=True):
        fill(place, folder, what)
    environ = {"PATH": os.environ["PATH"]}
    if told[1]:
        environ["LD_LIBRARY_PATH"] = told[0].join(told[1]).replace("{}", str(place))
    if preload:
        environ["LD_PRELOAD"] = preload.replace("{}", str(place))
    names = [one.replace("{}", str(place)) for one in wanted]
    program = place / f"main-{main}"
    assert simulated(program, names, environ) == really(program, names, environ)


def loader(home: Path, main: str = "none", **variables: str) -> Loader:
    system = FileTree()
    elf = system.elf(str(home / f"main-{main}"))
    assert elf is not None
    setting = LoaderSetting(system.defaults(elf.interpreter, elf.machine, elf.bits), system.cache(elf.machine, elf.bits), **variables)
    one = Loader(system, setting)
    one.start(str(home / f"main-{main}"))
    return one


def clean(home: Path, **contents: str) -> None:
    for folder in FOLDERS:
        fill(home, folder, contents.get(folder, "nothing"))


LIBRARY_PATH = SearchSource("ld-library-path", "LD_LIBRARY_PATH")


def test_a_result_names_reason_shadowed_files_and_refused_files(place: Path) -> None:
    clean(place, a="machine", b="class", e="good", f="good")
    one = loader(place, "rpath", library_path=f"{place}/e:{place}/f")
    assert one.main is not None
    found = one.open("libx.so.1", one.main, shadows=True).resolutions[0]
    assert found.found is not None
    assert (found.found.path, found.way) == (f"{place}/e/libx.so.1", LIBRARY_PATH)
    assert found.refused == [(f"{place}/a/libx.so.1", "64-bit aarch64"), (f"{place}/b/libx.so.1", "32-bit x86_64")]
    assert found.shadows == [(f"{place}/f/libx.so.1", LIBRARY_PATH)]
    assert found.looked_in == [f"{place}/a", f"{place}/b", f"{place}/e"]


def test_a_failed_search_lists_where_it_looked(place: Path) -> None:
    clean(place)
    one = loader(place, "runpath", library_path=f"{place}/e")
    assert one.main is not None
    missing = one.open("libx.so.1", one.main).resolutions[0]
    assert missing.found is None
    assert missing.looked_in[:4] == [f"{place}/e", f"{place}/a", f"{place}/b", "/etc/ld.so.cache"]
    assert len(missing.looked_in) > 4


def test_a_failed_dlopen_leaves_nothing_behind(place: Path) -> None:
    clean(place)
    one = loader(place)
    assert one.main is not None
    before = list(one.objects)
    assert [lost.wanted for lost in one.open(f"{place}/libmid-none.so", one.main).missing] == ["libx.so.1"]
    assert one.objects == before
    assert one.loaded("libmid-none.so") is None


def test_a_loaded_soname_is_reused_and_names_its_origin(place: Path) -> None:
    clean(place, c="good", f="good")
    one = loader(place, preload=f"{place}/f/libx.so.1")
    assert one.main is not None
    need = one.open(f"{place}/libmid-runpath.so", one.main).resolutions[1]
    assert need.found is not None
    assert (need.found.path, need.already, need.way.words) == (f"{place}/f/libx.so.1", True, "already loaded: LD_PRELOAD")


def test_libraries_for_this_kind_of_processor_come_first(place: Path) -> None:
    clean(place, e="good")
    special = place / "e/glibc-hwcaps/x86-64-v2/libx.so.1"
    special.parent.mkdir(parents=True)
    special.write_bytes((place / "store/libx.so.1").read_bytes())
    environ = {"LD_LIBRARY_PATH": f"{place}/e"}
    try:
        assert simulated(place / "main-none", ["libx.so.1"], environ) == really(place / "main-none", ["libx.so.1"], environ)
    finally:
        special.unlink()
        special.parent.rmdir()
        special.parent.parent.rmdir()


def test_lib_is_the_loaders_own_folder(place: Path) -> None:
    clean(place)
    system = FileTree()
    elf = system.elf(str(place / "main-none"))
    assert elf is not None
    lib = system.defaults(elf.interpreter, elf.machine, elf.bits)[0].strip("/")
    fill(place, ".", "nothing")
    (place / lib).mkdir(parents=True, exist_ok=True)
    fill(place, lib, "good")
    environ = {"LD_LIBRARY_PATH": f"{place}/$LIB"}
    assert simulated(place / "main-none", ["libx.so.1"], environ) == really(place / "main-none", ["libx.so.1"], environ)
    assert str(place / lib / "libx.so.1") in simulated(place / "main-none", ["libx.so.1"], environ)[1]


def test_two_names_of_one_file_are_one_library(place: Path) -> None:
    clean(place, e="link")
    names = [str(place / "store/libx.so.1"), str(place / "e/libx.so.1")]
    one = loader(place)
    assert one.main is not None
    one.open(names[0], one.main)
    again = one.open(names[1], one.main).resolutions[0]
    assert again.already
    assert again.found is not None
    assert again.found.path == names[0]


def test_a_search_path_of_a_hundred_thousand_entries_is_fast(place: Path) -> None:
    clean(place, f="good")
    one = loader(place, library_path=":".join([f"/nowhere/{number % 700}" for number in range(60000)] + [f"{place}/f"]))
    assert one.main is not None
    found = one.open("libx.so.1", one.main).resolutions[0]
    assert found.found is not None
    assert len(found.looked_in) == 701


def test_a_missing_program_is_refused() -> None:
    with pytest.raises(CannotLoad, match="no such file"):
        Loader(FileTree(), LoaderSetting((), Cache())).start("/nowhere/python")


def test_this_machines_programs_agree_with_ldd() -> None:
    for program in ("/bin/ls", "/usr/bin/gcc", "/usr/bin/python3"):
        if not Path(program).exists():
            continue
        real = os.path.realpath(program)
        said = subprocess.run(["ldd", real], capture_output=True, text=True, check=True, env={"PATH": os.environ["PATH"]}).stdout
        expected = {os.path.realpath(line.split("=> ")[1].split(" ")[0]) for line in said.splitlines() if "=> /" in line}
        _, found = simulated(Path(real), [], {})
        assert {path for path in found if "ld-linux" not in path} == {path for path in expected if "ld-linux" not in path}
