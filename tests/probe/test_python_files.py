"""Packages whose files are gone, cut short or of another release: the X-ray names what a real import fails at, and nothing where it succeeds."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gpudoctor.children.own.xray.disk import Disk
from gpudoctor.children.own.xray.python_files import Hole, asking, hole, imports
from gpudoctor.elf.system import FileTree
from gpudoctor.frameworks.spec import BuildFile, FrameworkSpec

SPEC = FrameworkSpec(name="torch", title="PyTorch", distributions=("torch", "torch-cpu"), version_files={"torch": ("torch/version.py", ())})
FILES = {
    "torch/__init__.py": "import sys, os.path as path  # the first\nfrom torch.a import (\n    b,  # (a comment)\n    c,\n)\nfrom .d.e import f\nimport torch.version\nfrom torch.g.h import i\n",
    "torch/version.py": "__version__ = '1'\n",
    "torch/a/__init__.py": "c = 1\nfrom . import b\n",
    "torch/a/b.py": "from wanted import thing\nfrom ..d import e\n",
    "torch/d/__init__.py": "here = 1\nif False:\n    from torch import never\n",
    "torch/d/e.py": "from . import here as f\ntry:\n    import torch.optional\nexcept ImportError:\n    pass\n",
    "torch/never.py": "",
    "torch/g/__init__.py": "",
    "torch/g/h.py": "i = 1\n",
    "torch/optional.py": "# nothing that anything needs\n",
    "wanted.py": "thing = 1\n",
}


def planted(site: Path, name: str = "torch") -> Path:
    """The package with the RECORD that an installer writes; returns the folder of its metadata."""
    rows = []
    for path, text in FILES.items():
        place = site / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
        rows.append(f"{path},sha256={hashlib.sha256(text.encode()).hexdigest()},{len(text)}")
    metadata = site / f"{name}-2.6.0.dist-info"
    metadata.mkdir()
    (metadata / "RECORD").write_text(
        "\n".join([*rows, f"{metadata.name}/RECORD,,", "../../../bin/torchrun,sha256=0,12", '"torch/odd,name.py",,5'])
    )
    return metadata


def seen(site: Path, *absent: str) -> Hole | None:
    return hole(Disk(FileTree("/", []), (str(site),), ()), f"{site}/torch", SPEC, frozenset(absent))


def imported(site: Path) -> bool:
    command = (sys.executable, "-I", "-B", "-c", f"import sys; sys.path.insert(0, {str(site)!r}); import torch; torch.version.__version__")
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def removed(path: Path) -> None:
    path.unlink()


def emptied(path: Path) -> None:
    path.write_text("")


def cut(path: Path) -> None:
    path.write_text("x = (")


def zeroed(path: Path) -> None:
    path.write_bytes(bytes(3))


def dangling(path: Path) -> None:
    path.unlink()
    path.symlink_to("/nowhere/cache")


def patched(path: Path) -> None:
    path.write_text("# by hand\n" + path.read_text())


def shortened(path: Path) -> None:
    path.write_text(path.read_text().replace("  # the first", ""))


def compiled(path: Path) -> None:
    subprocess.run((sys.executable, "-m", "compileall", "-qb", str(path)), check=True)
    path.unlink()


DAMAGES: tuple[Callable[[Path], None], ...] = (removed, cut, zeroed, dangling, patched, shortened, compiled)


GUARDED = "torch/optional.py"
"""Imported in a `try`, which is not followed: of such files nothing is claimed."""


@pytest.mark.parametrize("file", [path for path in FILES if path.startswith("torch/")])
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_named_exactly_if_the_import_fails(tmp_path: Path, file: str, damage: Callable[[Path], None]) -> None:
    if damage in {cut, zeroed} and not FILES[file]:
        return  # what has no bytes cannot lose any
    planted(tmp_path)
    assert imported(tmp_path)
    assert seen(tmp_path) is None
    damage(tmp_path / file)
    found = seen(tmp_path)
    assert (found is None) is (imported(tmp_path) or file == GUARDED)
    assert found is None or found.path == str(tmp_path / file)


def test_an_empty_file_in_place_of_code_is_named(tmp_path: Path) -> None:
    planted(tmp_path)
    emptied(tmp_path / "torch/a/b.py")
    found = seen(tmp_path)
    assert found is not None
    assert (found.kind, found.asked_by) == ("empty", f"{tmp_path}/torch/a/__init__.py")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("__version__ = '10'\n", "it does not assign cuda and hip"),
        ("__version__ = '1'\ncuda = None\n", "it does not assign hip"),
        ("__version__ = '1'\ncuda: Optional[str] = '12.4'\nhip=None  # by hand\n", ""),
    ],
)
def test_a_file_that_no_longer_states_the_build_is_damaged(tmp_path: Path, text: str, why: str) -> None:
    spec = SPEC._replace(build=BuildFile(files=("torch/version.py",), cuda=("cuda",), hip="hip"))
    disk = Disk(FileTree("/", []), (str(tmp_path),), ())
    planted(tmp_path)
    assert hole(disk, f"{tmp_path}/torch", spec, frozenset()) is None  # as its wheel has it
    (tmp_path / "torch/version.py").write_text(text)
    found = hole(disk, f"{tmp_path}/torch", spec, frozenset())
    assert (found.why if found else "") == why


def test_a_folder_that_is_gone_is_named_by_its_first_file(tmp_path: Path) -> None:
    planted(tmp_path)
    for path in (tmp_path / "torch/d").iterdir():
        path.unlink()
    (tmp_path / "torch/d").rmdir()
    found = seen(tmp_path)
    assert found == Hole(
        "torch.d", f"{tmp_path}/torch/d/__init__.py", "missing", "its package's RECORD lists it", f"{tmp_path}/torch/a/b.py"
    )


def test_a_package_that_is_not_installed_counts_only_if_the_import_asks_for_it(tmp_path: Path) -> None:
    planted(tmp_path)
    assert seen(tmp_path, "sympy") is None
    found = seen(tmp_path, "sympy", "wanted")
    assert found == Hole("wanted", "", "missing", "its package is not installed", f"{tmp_path}/torch/a/b.py")


IMPORTING = FILES["torch/a/b.py"] + "import absl.logging\nfrom google.protobuf import text\nimport zipimport, sys.path\n"


def importing(site: Path) -> None:
    """The package imports modules that are not named as their distributions: of absl-py and protobuf."""
    planted(site)
    (site / "torch/a/b.py").write_text(IMPORTING)
    for path in ("absl/__init__.py", "absl/logging.py", "google/protobuf/__init__.py", "google/protobuf/text.py"):
        (site / path).parent.mkdir(parents=True, exist_ok=True)
        (site / path).write_text("")


@pytest.mark.parametrize(
    ("gone", "module"),
    [
        ("absl", "absl"),
        ("google/protobuf", "google.protobuf"),
        ("google", "google"),
        ("absl/logging.py", ""),
        ("google/protobuf/text.py", ""),
    ],
)
def test_if_a_package_is_absent_a_module_of_any_name_may_be(tmp_path: Path, gone: str, module: str) -> None:
    importing(tmp_path)
    assert seen(tmp_path, "protobuf") is None
    shutil.rmtree(tmp_path / gone) if (tmp_path / gone).is_dir() else (tmp_path / gone).unlink()
    found = seen(tmp_path, "protobuf")
    assert (found and (found.module, found.path, found.asked_by)) == ((module, "", f"{tmp_path}/torch/a/b.py") if module else None)


def test_a_statement_in_a_text_is_no_import(tmp_path: Path) -> None:
    """As in torch/package/package_exporter.py, which writes modules."""
    importing(tmp_path)
    (tmp_path / "torch/__init__.py").write_text(FILES["torch/__init__.py"] + 'MODULE = """\nimport _mock\nfrom absl import logging\n"""\n')
    assert seen(tmp_path, "protobuf") is None
    shutil.rmtree(tmp_path / "absl")
    found = seen(tmp_path, "protobuf")
    assert (found and (found.module, found.asked_by)) == ("absl", f"{tmp_path}/torch/a/b.py")


@pytest.mark.parametrize("other", ["__editable___absl_1_finder.py", "absl.egg-link"])
def test_a_module_that_a_finder_may_have_is_not_known_to_be_absent(tmp_path: Path, other: str) -> None:
    importing(tmp_path)
    shutil.rmtree(tmp_path / "absl")
    (tmp_path / other).write_text("")
    assert seen(tmp_path, "protobuf") is None


def test_a_module_that_an_archive_may_have_is_not_known_to_be_absent(tmp_path: Path) -> None:
    importing(tmp_path)
    shutil.rmtree(tmp_path / "absl")
    (tmp_path / "more.zip").write_text("")
    disk = Disk(FileTree("/", []), (str(tmp_path), f"{tmp_path}/more.zip"), ())
    assert hole(disk, f"{tmp_path}/torch", SPEC, frozenset({"protobuf"})) is None


@pytest.mark.parametrize("state", ["no RECORD", "no metadata", "two wheels", "another package's", "unreadable", "without sizes"])
def test_without_the_one_record_nothing_is_known_to_be_lost(tmp_path: Path, state: str) -> None:
    metadata = planted(tmp_path)
    removed(tmp_path / "torch/a/b.py")
    record = metadata / "RECORD"
    if state == "no RECORD":
        record.unlink()
    elif state == "no metadata":
        record.unlink()
        metadata.rmdir()
    elif state == "two wheels":
        (tmp_path / "torch_cpu-2.6.0.dist-info").mkdir()
        (tmp_path / "torch_cpu-2.6.0.dist-info/RECORD").write_text(record.read_text())
    elif state == "another package's":
        metadata.rename(tmp_path / "torchvision-2.6.0.dist-info")
    elif state == "unreadable":
        record.unlink()
        record.mkdir()
    else:
        record.write_text("\n".join(f"{path},," for path in FILES))
    assert seen(tmp_path) is None


def test_an_extension_module_for_another_python_does_not_replace_the_recorded_one(tmp_path: Path) -> None:
    metadata = planted(tmp_path)
    with (metadata / "RECORD").open("a") as record:
        record.write("\ntorch/_C.cpython-311-x86_64-linux-gnu.so,sha256=0,4")
    (tmp_path / "torch/__init__.py").write_text(FILES["torch/__init__.py"] + "from torch._C import *\n")
    (tmp_path / "torch/_C").mkdir()
    (tmp_path / "torch/_C.cpython-39-x86_64-linux-gnu.so").write_text("ELF")
    found = seen(tmp_path)
    assert found is not None
    assert found.path == f"{tmp_path}/torch/_C.cpython-311-x86_64-linux-gnu.so"


def test_imports_of_each_form_are_read() -> None:
    source = (
        "import a, b.c as d  # x\nfrom e import f; import g\nfrom . import h\nfrom ..i import j as k\nfrom .l import (\n  m, # )\n  n)\n"
        "  import no\nimport 1x\nfrom top.sub import *\n"
    )
    found = list(imports(source, "top.sub", lambda name: name in {"e.f", "top.sub.h", "top.i.j", "top.sub.l.m"}))
    expected = ["a", "b", "b.c", "e", "e.f", "top", "top.sub", "top.sub.h", "top", "top.i", "top.i.j", "top", "top.sub", "top.sub.l"]
    assert found[: len(expected)] == expected
    assert not {"no", "1x"} & set(found)


@pytest.mark.parametrize(("target", "kind"), [("/nowhere/torch", "dangling-link"), ("", "missing")])
def test_a_package_that_is_gone_is_named_without_a_record(tmp_path: Path, target: str, kind: str) -> None:
    (tmp_path / "torch-2.6.0.dist-info").mkdir()
    if target:
        (tmp_path / "torch").symlink_to(target)
    found = seen(tmp_path)
    assert found is not None
    assert (found.path, found.kind) == (f"{tmp_path}/torch", kind)


def test_a_folder_that_only_has_leftovers_is_no_package(tmp_path: Path) -> None:
    (tmp_path / "torch/lib").mkdir(parents=True)
    found = seen(tmp_path)
    assert found is not None
    assert (found.path, found.kind) == (f"{tmp_path}/torch/__init__.py", "missing")
    (tmp_path / "torch/__init__.pyc").touch()
    assert seen(tmp_path) is None


def test_a_folder_that_this_user_may_not_read_is_not_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    planted(tmp_path)

    def refuse(folder: str) -> None:
        raise PermissionError(folder)

    monkeypatch.setattr(os, "scandir", refuse)
    assert seen(tmp_path) is None


@pytest.mark.parametrize("recorded", [True, False])
@pytest.mark.parametrize(
    ("module", "asked_by"),
    [("sys", "torch/__init__.py"), ("queue", "torch/a/b.py"), ("select", "selectors.py"), ("colorsys", None)],
)
def test_a_shadowed_module_counts_if_the_import_asks_for_it(tmp_path: Path, module: str, asked_by: str | None, recorded: bool) -> None:
    metadata = planted(tmp_path)
    (tmp_path / "torch/a/b.py").write_text(FILES["torch/a/b.py"] + "import queue, selectors\n")
    if not recorded:
        (metadata / "RECORD").unlink()
    library = str(Path(os.__file__).parent)
    (tmp_path / "shadows").mkdir()
    (tmp_path / "shadows" / f"{module}.py").write_text("from elsewhere import *\n")
    shadows = {module: f"{tmp_path}/shadows/{module}.py"}
    found = asking(Disk(FileTree("/", []), (library, str(tmp_path)), ()), f"{tmp_path}/torch", SPEC, shadows)
    where = library if asked_by == "selectors.py" else str(tmp_path)
    assert [(one.module, one.kind, one.asked_by) for one in found] == ([(module, "shadowed", f"{where}/{asked_by}")] if asked_by else [])


USES = {
    "import random": True,
    "from random import shuffle": False,
    "from random import mine": True,
    "import random as r\nshuffle = r.shuffle": False,
    "import random\nclass One(random.Random): ...": False,
    "import random\ndef later(): random.shuffle([])": True,
    "import random\ndef later(x=random.shuffle): ...": False,
    "import random\nif not random: random.shuffle([])": True,
    "import random\ntry:\n    random.shuffle([])\nexcept AttributeError: ...": True,
    "import random\nmine: 'random.Random' = random.mine": True,
    "import random\nlater = lambda: random.shuffle([])": True,
    "import tempfile": False,  # which imports _Random of it as random.Random
    "import colorsys": True,
}
"""What torch does with a module random that only defines `mine`, and whether it can still be imported."""


@pytest.mark.parametrize("text", USES)
def test_a_shadow_is_said_to_lack_something_exactly_if_the_import_fails(tmp_path: Path, text: str) -> None:
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch/__init__.py").write_text(f"{text}\n")
    (tmp_path / "shadows").mkdir()
    (tmp_path / "shadows/random.py").write_text("mine = 1\n")
    library = str(Path(os.__file__).parent)
    found = asking(
        Disk(FileTree("/", []), (library, str(tmp_path)), ()), f"{tmp_path}/torch", SPEC, {"random": f"{tmp_path}/shadows/random.py"}
    )
    told = f"import sys; sys.path[:0] = [{str(tmp_path / 'shadows')!r}, {str(tmp_path)!r}]; import torch"
    works = subprocess.run((sys.executable, "-I", "-B", "-S", "-c", told), capture_output=True, check=False).returncode == 0
    assert works is USES[text]
    assert ("lacks-name" in [one.kind for one in found]) is not works
