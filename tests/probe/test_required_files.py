"""Packages that a framework requires, at any depth: what is gone of them is named exactly if a real import of the framework fails."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gpudoctor.children.own.xray import disk
from gpudoctor.children.own.xray.disk import Disk
from gpudoctor.children.own.xray.python_files import Hole, hole
from gpudoctor.children.own.xray.required_files import recorded_files, refuses
from gpudoctor.elf.system import FileTree
from gpudoctor.frameworks.spec import FrameworkSpec
from tests.machines.elf_library import Library

SPEC = FrameworkSpec(name="torch", title="PyTorch", distributions=("torch",))
PACKAGES: dict[str, tuple[tuple[str, ...], dict[str, str]]] = {
    "torch": (
        ("near_by (>=1)", "guarded", "lazy ; python_version >= '3'", "never; extra == 'x'"),
        {
            "torch/__init__.py": "from near import thing, TEXT\ntry:\n    import guarded\nexcept ImportError:\n    pass\n",
            "torchgen/__init__.py": "",
            "torch/use.py": "import torchgen, lazy\n",
        },
    ),
    "near_by": (
        ("far<2,>=1", "nvidia-cublas-cu12", "windows; sys_platform == 'win32'"),
        {
            "near/__init__.py": 'TEXT = """\nfrom near import unused\n"""\nfrom . import thing\nfrom far.deep import x\n',
            "near/thing.py": "import one_file\n",
            "near/unused.py": "",
            "near/tests/__init__.py": "raise RuntimeError\n",
            "one_file.py": "",
        },
    ),
    "far": (("furthest",), {"far/__init__.py": "", "far/deep/__init__.py": "from far.deep.last import x\n", "far/deep/last.py": "x = 1\n"}),
    "furthest": (("torch>=9",), {"furthest.py": ""}),
    "guarded": ((), {"guarded/__init__.py": "from guarded import inner\n", "guarded/inner.py": ""}),
    "lazy": ((), {"lazy.py": ""}),
}
"""By name: what a distribution requires, and its files."""


def planted(site: Path) -> Path:
    for name, (requires, files) in PACKAGES.items():
        for path, text in files.items():
            (site / path).parent.mkdir(parents=True, exist_ok=True)
            (site / path).write_text(text)
        metadata = site / f"{name}-1.0.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text("Name: x\n" + "".join(f"Requires-Dist: {line}\n" for line in requires) + "\nRequires-Dist: no\n")
        (metadata / "RECORD").write_text("".join(f"{path},sha256=0,{len(text)}\n" for path, text in files.items()) + "../../bin/x.py,,\n")
    return site


def seen(*sites: Path | str) -> Hole | None:
    path = tuple(map(str, sites))
    home = next(f"{site}/torch" for site in path if Path(site, "torch").is_dir())
    return hole(Disk(FileTree("/", []), path, ()), home, SPEC, frozenset())


def imported(*sites: Path) -> bool:
    told = f"import sys; sys.path[:0] = {[str(site) for site in sites]!r}; import torch"
    return subprocess.run((sys.executable, "-I", "-B", "-c", told), capture_output=True, check=False).returncode == 0


FILES = [path for name, (_, files) in PACKAGES.items() if name != "torch" for path in files]


@pytest.mark.parametrize("file", FILES)
def test_a_lost_file_is_named_exactly_if_the_import_fails(tmp_path: Path, file: str) -> None:
    planted(tmp_path)
    assert imported(tmp_path)
    assert seen(tmp_path) is None
    (tmp_path / file).unlink()
    found = seen(tmp_path)
    assert (found is None) is imported(tmp_path)
    if found is not None:
        owner = next(name for name, (_, files) in PACKAGES.items() if file in files)
        assert (found.path, found.owner) == (str(tmp_path / file), owner.replace("_", "-"))


@pytest.mark.parametrize("metadata", [True, False], ids=["metadata left", "uninstalled"])
@pytest.mark.parametrize("name", [name for name in PACKAGES if name != "torch"])
def test_a_lost_package_is_named_exactly_if_the_import_fails(tmp_path: Path, name: str, metadata: bool) -> None:
    planted(tmp_path)
    for top in {path.partition("/")[0] for path in PACKAGES[name][1]}:
        shutil.rmtree(tmp_path / top) if (tmp_path / top).is_dir() else (tmp_path / top).unlink()
    if not metadata:
        shutil.rmtree(tmp_path / f"{name}-1.0.dist-info")
    found = seen(tmp_path)
    direct = not metadata and name == "near_by"  # its caller knows what the framework itself lacks
    fails = found is not None and bool(found.path or found.asked_by)
    assert fails is not (imported(tmp_path) or direct)
    if not metadata and fails and found is not None:
        assert (found.path, found.owner) == ("", "near-by")


def test_an_absent_package_that_no_import_asks_for_is_named_without_an_asker(tmp_path: Path) -> None:
    planted(tmp_path)
    (tmp_path / "furthest.py").unlink()
    shutil.rmtree(tmp_path / "furthest-1.0.dist-info")
    assert imported(tmp_path)
    assert seen(tmp_path) == Hole("furthest", "", "missing", "its package is not installed", "", "far")


def test_what_an_earlier_folder_has_is_imported_from_there(tmp_path: Path) -> None:
    planted(tmp_path / "late")
    (tmp_path / "early").mkdir()
    shutil.move(tmp_path / "late/near", tmp_path / "early/near")
    assert imported(tmp_path / "early", tmp_path / "late")
    assert seen(tmp_path / "early", tmp_path / "late") is None
    assert not imported(tmp_path / "late")
    assert seen(tmp_path / "late") is not None


@pytest.mark.parametrize(("file", "extension"), [("near/thing.py", "pyc"), ("far/deep/last.py", "pyc")])
def test_a_compiled_file_stands_for_its_source(tmp_path: Path, file: str, extension: str) -> None:
    planted(tmp_path)
    (tmp_path / file).rename((tmp_path / file).with_suffix(f".{extension}"))
    assert seen(tmp_path) is None


def test_a_folder_that_this_user_may_not_read_is_not_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    planted(tmp_path)
    monkeypatch.setattr(
        Disk, "names", lambda _, folder: [] if folder.endswith("far/deep") else sorted(p.name for p in Path(folder).iterdir())
    )
    monkeypatch.setattr(Disk, "problem", lambda _, path: (path, "unreadable", "Permission denied") if path.endswith("far/deep") else None)
    assert seen(tmp_path) is None


def with_extension(site: Path, tag: str) -> Path:
    """far/deep/last is an extension module, which links a library in the folder of its wheel's own libraries."""
    planted(site)
    (site / "far/deep/last.py").unlink()
    library = site / "far.libs/libblas-1a2b.so.3.0"
    Library(library.name).put(library)
    module = site / f"far/deep/last.{tag}.so"
    Library(module.name, (library.name, "libc.so.6")).put(module)
    rows = f"far/__init__.py,,0\nfar/deep/__init__.py,,28\nfar/deep/{module.name},,9\nfar.libs/{library.name},,9\nfar.libs/libother.so,,9\n"
    Library("libother.so").put(site / "far.libs/libother.so")
    (site / "far-1.0.dist-info/RECORD").write_text(rows)
    return library


def test_a_lost_library_counts_if_an_imported_module_links_it(tmp_path: Path) -> None:
    library = with_extension(tmp_path, "abi3")
    assert seen(tmp_path) is None
    (tmp_path / "far.libs/libother.so").unlink()
    assert seen(tmp_path) is None
    library.unlink()
    found = seen(tmp_path)
    assert found is not None
    assert (found.path, found.asked_by) == (str(library), f"{tmp_path}/far/deep/last.abi3.so")


@pytest.mark.parametrize(
    ("tag", "fails"), [("cpython-311-x86_64-linux-gnu", False), ("cpython-312-x86_64-linux-gnu", True), ("abi3", False)]
)
def test_an_extension_module_for_another_python_is_of_no_use(tmp_path: Path, tag: str, fails: bool) -> None:
    with_extension(tmp_path, tag)
    found = seen(tmp_path, "/usr/lib/python3.11")
    assert (found is not None) is fails
    if found is not None:
        assert (found.kind, found.why, found.owner) == ("another-python", "compiled for Python 3.12", "far")


def test_the_files_of_a_record_are_read_at_any_place() -> None:
    record = 'a/b.py,sha256=x,12\r\nc.so,,\n"odd,name.py",,1\n../../bin/d.py,,2\n/abs.py,,3\nlib.libs/libx.so.1.2,sha256=y,4\nd.pyi,,5\ne/f.h,,6\nlast.py,,7'
    assert recorded_files(record) == [("a/b.py", "12"), ("c.so", ""), ("lib.libs/libx.so.1.2", "4"), ("last.py", "7")]


@pytest.mark.parametrize(
    ("file", "text", "kind"),
    [
        ("one_file.py", "", "empty"),
        ("one_file.py", "x = (", "truncated"),
        ("one_file.py", "y = 2", ""),
        ("near/__init__.py", "", "empty"),
        ("near/fast.abi3.so", "\x7fELF", "truncated"),
        ("near/fast.abi3.so", "", "empty"),
    ],
)
def test_what_an_import_starts_at_is_compared_with_the_record(tmp_path: Path, file: str, text: str, kind: str) -> None:
    planted(tmp_path)
    Library("fast").put(tmp_path / "near/fast.abi3.so")
    (tmp_path / "near/thing.py").write_text("import one_file\nfrom near import fast\n")
    (tmp_path / "one_file.py").write_text("x = 1  # as published\n")
    with (tmp_path / "near_by-1.0.dist-info/RECORD").open("a") as record:
        record.write(f"near/fast.abi3.so,,{(tmp_path / 'near/fast.abi3.so').stat().st_size}\n")
    whole = (tmp_path / "near_by-1.0.dist-info/RECORD").read_text().replace("one_file.py,sha256=0,0", "one_file.py,sha256=0,22")
    (tmp_path / "near_by-1.0.dist-info/RECORD").write_text(whole)
    assert seen(tmp_path) is None
    (tmp_path / file).unlink()
    (tmp_path / file).write_text(text)
    found = seen(tmp_path)
    assert (found.kind if found else "") == kind
    assert found is None or (found.path, found.owner) == (f"{tmp_path}/{file}", "near-by")


def test_an_extension_module_for_another_machine_is_of_no_use(tmp_path: Path) -> None:
    planted(tmp_path)
    (tmp_path / "near/thing.py").write_text("from near import fast\n")
    name = "near/fast.cpython-311-riscv64-linux-gnu.so"
    (tmp_path / name).write_text("")
    with (tmp_path / "near_by-1.0.dist-info/RECORD").open("a") as record:
        record.write(f"{name},,0\n")
    found = seen(tmp_path)
    assert found is not None
    assert (found.path, found.why) == (f"{tmp_path}/{name}", "compiled for riscv64")


@pytest.mark.parametrize(("version", "refused"), [("0.9", True), ("1.0", False)])
@pytest.mark.parametrize(
    ("text", "works"),
    [
        ("TEXT = 1\n", True),
        ("from far.deep import *\n", False),  # not followed
        ("def __getattr__(name):\n    return name\n", True),
        ("OTHER = 1\n", False),
    ],
)
def test_a_name_that_a_refused_version_lacks_is_named(tmp_path: Path, version: str, refused: bool, text: str, works: bool) -> None:
    planted(tmp_path)
    (tmp_path / "near_by-1.0.dist-info").rename(tmp_path / f"near_by-{version}.dist-info")
    (tmp_path / "near/__init__.py").write_text(f"{text}from . import thing\nfrom far.deep import x\n")
    assert imported(tmp_path) is works
    found = seen(tmp_path)
    if not refused or "OTHER" not in text:
        assert found is None
        return
    assert found is not None
    assert (found.kind, found.module, found.pin) == ("lacks-name", "near.TEXT", "near-by==0.9")
    assert found.refusal == ("near-by==0.9", "near-by>=1", "torch==1.0")


@pytest.mark.parametrize(("text", "works"), [("TEXT = thing = 1\n", True), ("thing = 1\n", False), ("TEXT = thing = (", False)])
def test_a_file_that_shadows_a_required_package_is_named_if_the_import_fails(tmp_path: Path, text: str, works: bool) -> None:
    planted(tmp_path / "late")
    (tmp_path / "early").mkdir()
    (tmp_path / "early/near.py").write_text(text)
    assert imported(tmp_path / "early", tmp_path / "late") is works
    found = seen(tmp_path / "early", tmp_path / "late")
    assert (found and (found.kind, found.path, found.pin)) == (
        None if works else ("shadowed-package", f"{tmp_path}/early/near.py", "near-by==1.0")
    )


@pytest.mark.parametrize(("numpy", "strings", "kind"), [
    ("2.1.3", "numpy.core._multiarray_umath", "another-numpy"),
    ("2.1.3", "numpy._core._multiarray_umath numpy.core._multiarray_umath", ""),
    ("1.26.4", "numpy.core._multiarray_umath", ""),
    ("2.1.3", "nothing of it", ""),
])  # fmt: skip
def test_a_module_that_is_compiled_for_numpy_1_is_named_under_numpy_2(tmp_path: Path, numpy: str, strings: str, kind: str) -> None:
    planted(tmp_path)
    (tmp_path / f"numpy-{numpy}.dist-info").mkdir()
    (tmp_path / f"numpy-{numpy}.dist-info/METADATA").write_text("Name: numpy\n")
    (tmp_path / "near/thing.py").write_text("from near import fast\n")
    (tmp_path / "near/fast.abi3.so").write_text(strings)
    with (tmp_path / "near_by-1.0.dist-info/RECORD").open("a") as record:
        record.write(f"near/fast.abi3.so,,{len(strings)}\n")
    head = (tmp_path / "near_by-1.0.dist-info/METADATA").read_text()
    (tmp_path / "near_by-1.0.dist-info/METADATA").write_text(
        head.replace("Requires-Dist: far", "Requires-Dist: numpy>=1\nRequires-Dist: far")
    )
    found = seen(tmp_path)
    assert (found and (found.kind, found.path, found.pin)) == ((kind, f"{tmp_path}/near/fast.abi3.so", "near-by==1.0") if kind else None)


@pytest.mark.parametrize(
    ("bounds", "version", "refused"),
    [
        (">=4.10.0", "4.9.1", True),
        (">=4.10.0", "4.10", False),
        ("<2", "2.0.0", True),
        ("<2", "1.99", False),
        ("<6.0.0dev,>=3.20.3,!=4.21.*", "5.29.6", False),
        ("<6.0.0dev,>=3.20.3", "3.19.6", True),
        ("==3.2.0", "3.2", False),
        ("==3.*", "2.1", False),  # left to the rules
        ("<=0.6.0,>=0.6.0", "0.6.0", False),
        (">1", "1.0.1", False),
        ("~=1.2", "1.1", False),
        ("", "1", False),
        (">=1", "unknown", False),
    ],
)
def test_what_refuses_a_version(bounds: str, version: str, refused: bool) -> None:
    assert refuses(bounds, version) is refused


ZEROED = ("zeroed", "filled with zeros")


def with_zeros(file: Path) -> None:
    status = file.stat()
    file.write_bytes(bytes(status.st_size))
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))


@pytest.mark.parametrize("compiled", [False, True], ids=["", "compiled before"])
@pytest.mark.parametrize(
    "files", [["near/__init__.py"], ["torch/__init__.py"], ["near/__init__.py", "far/deep/last.py"], ["near/unused.py"]], ids=str
)
def test_files_of_zeros_are_named_exactly_if_the_import_fails(
    tmp_path: Path, files: list[str], compiled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk, "_INSTALLATION_SECONDS", -60.0)
    planted(tmp_path)
    (tmp_path / "near/unused.py").write_text("pass\n")
    if compiled:
        subprocess.run((sys.executable, "-m", "compileall", "-q", str(tmp_path)), check=True)
    for file in files:
        with_zeros(tmp_path / file)
    found = seen(tmp_path, f"/usr/lib/python3.{sys.version_info[1]}")
    assert (found is None) is imported(tmp_path)
    if found is not None:
        assert (found.kind, found.why) == ZEROED
        assert found.path.removeprefix(f"{tmp_path}/") in files


def test_a_file_that_takes_no_room_on_disk_is_read(tmp_path: Path) -> None:
    planted(tmp_path)
    file = tmp_path / "torch/__init__.py"
    size = len(file.read_text()) + 2000
    record = tmp_path / "torch-1.0.dist-info/RECORD"
    record.write_text(record.read_text().replace(f"torch/__init__.py,sha256=0,{size - 2000}", f"torch/__init__.py,sha256=0,{size}"))
    file.unlink()
    with file.open("wb") as sparse:
        sparse.truncate(size)
    if file.stat().st_blocks > 1:
        pytest.skip("this file system stores zeros")
    found = seen(tmp_path)
    assert found is not None
    assert (found.path, found.kind, found.why) == (str(file), *ZEROED)


def test_an_extension_module_of_zeros_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk, "_INSTALLATION_SECONDS", -60.0)
    with_extension(tmp_path, "abi3")
    extension = tmp_path / "far/deep/last.abi3.so"
    assert seen(tmp_path) is None
    with_zeros(extension)
    found = seen(tmp_path)
    assert found is not None
    assert (found.path, found.kind, found.why) == (str(extension), *ZEROED)


@pytest.mark.parametrize("start", [True, False], ids=["a package", "without __init__.py"])
def test_a_folder_beside_a_module_is_imported_in_its_place(tmp_path: Path, start: bool) -> None:
    planted(tmp_path)
    home = tmp_path / "torch"
    (home / "__init__.py").write_text("from torch.use import lazy\n")
    record = tmp_path / "torch-1.0.dist-info/RECORD"
    record.write_text(
        f"torch/__init__.py,sha256=0,{len('from torch.use import lazy') + 1}\ntorch/use.py,sha256=0,{len(PACKAGES['torch'][1]['torch/use.py'])}\n"
    )
    (home / "use").mkdir()
    if start:
        (home / "use/__init__.py").touch()
    found = seen(tmp_path)
    assert (found is None) is imported(tmp_path)
    assert (found is not None) is start
    if found is not None:
        assert (found.path, found.kind) == (str(home / "use.py"), "shadowed")


@pytest.mark.parametrize("listed", [True, False])
def test_a_program_that_the_import_looks_for_is_named_if_its_record_lists_it(tmp_path: Path, listed: bool) -> None:
    planted(tmp_path)
    spec = FrameworkSpec(name="torch", title="PyTorch", distributions=("torch",), programs=("torch/bin/manager",))
    record = tmp_path / "torch-1.0.dist-info/RECORD"
    record.write_text(record.read_text() + "torch/bin/manager,sha256=0,9\n" * listed)
    found = hole(Disk(FileTree("/", []), (str(tmp_path),), ()), f"{tmp_path}/torch", spec, frozenset())
    assert (found.path if found else "") == (f"{tmp_path}/torch/bin/manager" if listed else "")
    (tmp_path / "torch/bin").mkdir()
    (tmp_path / "torch/bin/manager").touch()
    assert hole(Disk(FileTree("/", []), (str(tmp_path),), ()), f"{tmp_path}/torch", spec, frozenset()) is None


@pytest.mark.parametrize(
    ("text", "minor", "valid"),
    [
        ("<<<<<<< HEAD\nimport near\n", 11, False),
        ("import near  # and more words than were there before\n", 11, True),
        ("<<<<<<< HEAD\nimport near\n", 99, True),  # our own Python may not know its syntax
    ],
)
def test_a_longer_file_counts_if_it_is_not_valid_python(tmp_path: Path, text: str, minor: int, valid: bool) -> None:
    planted(tmp_path)
    (tmp_path / "near/__init__.py").write_text(text + "from . import thing\n" * 20)
    found = seen(tmp_path, f"/usr/lib/python3.{minor}")
    assert (found is None) is valid
    if found is not None:
        assert (found.kind, found.why) == ("edited", "changed after installation, and no valid Python")
