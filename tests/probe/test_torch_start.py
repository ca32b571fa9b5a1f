"""What torch/__init__.py preloads: its published code, followed by the X-ray and run for real."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gpudoctor.children.own.xray.script import Failure, Program, Space, Unknown, function
from gpudoctor.children.own.xray.torch_start import matches
from gpudoctor.snapshot import FrameworkLibraries, Missing
from tests.environments import small_torch
from tests.environments.small_torch import TEXTS, differences, really
from tests.machines.elf_library import Library
from tests.probe.test_libraries import framework, xray
from tests.probe.test_xray_of_damage import pointer, truncated

State = Callable[[Path], dict[str, str]]


def whole(_site: Path) -> dict[str, str]:
    return {}


def without_cublas(site: Path) -> dict[str, str]:
    (site / "nvidia/cublas/lib/libcublas.so.12").unlink()
    return {}


def without_nvtx(site: Path) -> dict[str, str]:
    shutil.rmtree(site / "nvidia/nvtx")
    return {}


def without_nvjitlink(site: Path) -> dict[str, str]:
    shutil.rmtree(site / "nvidia/nvjitlink")
    return {}


def cusparse_truncated(site: Path) -> dict[str, str]:
    truncated(site / "nvidia/cusparse/lib/libcusparse.so.12")
    return {}


def cudnn_a_pointer(site: Path) -> dict[str, str]:
    pointer(site / "nvidia/cudnn/lib/libcudnn.so.9")
    return {}


def toolkit_first(site: Path) -> dict[str, str]:
    for name in ("libcudart.so.12", "libnvJitLink.so.12", "libcublas.so.12", "libnvrtc.so.12"):
        Library(name).put(site.parent / "toolkit" / name)
    return {"LD_LIBRARY_PATH": f"{site.parent}/toolkit"}


STATES: tuple[State, ...] = (whole, without_cublas, without_nvtx, without_nvjitlink, cusparse_truncated, cudnn_a_pointer, toolkit_first)


def compared(site: Path, variables: dict[str, str], cuda: str = "12.4") -> tuple[list[str], FrameworkLibraries]:
    (seen,) = xray(site, framework("torch", site / "torch", cuda, ""), environ=variables).frameworks
    if isinstance(seen.uses, Missing):
        return [seen.uses.reason], seen
    # the witness has no other folder of packages
    error, mapped = really(sys.executable, {"PATH": os.defpath, "PYTHONPATH": str(site), "PYTHONNOUSERSITE": "1", **variables})
    return differences(seen, error, mapped), seen


@pytest.mark.parametrize("finds", [True, False], ids=["named", "unnamed"])
@pytest.mark.parametrize("release", TEXTS)
def test_every_published_release_loads_what_the_xray_predicts(tmp_path: Path, release: str, *, finds: bool) -> None:
    for number, state in enumerate(STATES):
        site = tmp_path / str(number) / "site"
        small_torch.cuda(site)
        small_torch.torch(site, release, finds=finds)
        found, _ = compared(site, state(site))
        assert found == [], f"{state.__name__}: {found}"


@pytest.mark.parametrize("release", ["2.5.1", "2.14.0"])
def test_the_kind_of_quotes_makes_no_difference(tmp_path: Path, release: str) -> None:
    small_torch.cuda(tmp_path)
    home = small_torch.torch(tmp_path, release, finds=False)
    text = (home / "__init__.py").read_text()
    other = (
        text.replace('"""', "\0").replace('"', "'").replace("\0", '"""')
        if 'f"' not in text
        else text.replace('"cublas"', "'cublas'").replace('"libcublas.so.*[0-9]"', "'libcublas.so.*[0-9]'")
    )
    assert other != text
    (home / "__init__.py").write_text(other)
    assert compared(tmp_path, {})[0] == []


@pytest.mark.parametrize(
    "change",
    [
        ("_load_global_deps", "_load_all_deps"),
        ("ctypes.CDLL(global_deps_lib_path", "load_with_care(global_deps_lib_path"),
        ("def _preload_cuda_deps(", "@cached\ndef _preload_cuda_deps("),
        ("for lib_folder, lib_name in cuda_libs.items():", "while cuda_libs:"),
    ],
    ids=["renamed", "unknown-call", "decorated", "unknown-statement"],
)
def test_unknown_code_is_not_guessed(tmp_path: Path, change: tuple[str, str]) -> None:
    small_torch.cuda(tmp_path)
    home = small_torch.torch(tmp_path, "2.6.0", finds=False)
    text = (home / "__init__.py").read_text()
    assert change[0] in text
    (home / "__init__.py").write_text(text.replace(*change))
    (seen,) = xray(tmp_path, framework("torch", home, "12.4", "")).frameworks
    if change[1].startswith("@"):
        assert not isinstance(seen.uses, Missing) or "is unknown" in seen.uses.reason
    else:
        assert isinstance(seen.uses, Missing)
        assert "how torch/__init__.py loads its libraries is unknown" in seen.uses.reason


def test_a_function_ends_where_the_next_statement_of_the_module_begins() -> None:
    text = "\nimport x\ndef one(\n    a,\n) -> None:\n    # inside\n    pass\n\n# between\ndef two():\n    pass\n"
    assert function(text, "one").strip().endswith("# between")
    assert "two" not in function(text, "one")
    assert function(text, "three") == ""


@pytest.mark.parametrize(
    ("body", "result"),
    [
        ("return [a for a in ('x', 'y') if a != 'x'][0]", "y"),
        ("for a in (1, 2, 3):\n        if a == 2:\n            break\n    return a", 2),
        ("try:\n        raise ValueError('no')\n    except OSError:\n        return 1\n    except (ValueError, KeyError) as e:\n        return e.args[0]", "no"),
        ("d = {'a': 1}\n    d['b'] = 2\n    return sorted", Unknown),
        ("return f'{1 + 1}{\"x\" if 2 not in (1,) else None}'", "2x"),
        ("assert 1 > 2", Failure),
        ("return eval('1')", Unknown),
        ("return ().__class__", Unknown),
        ("import socket", Unknown),
        ("for a in 'x' * 10**9:\n        pass", Unknown),
        ("def again():\n        return again()\n    return again()", Unknown),
    ],
)  # fmt: skip
def test_only_known_constructs_are_followed(body: str, result: object) -> None:
    raising = {"ValueError": lambda text="": Failure("ValueError", text)}
    program = Program(f"def main():\n    {body}\n", {**raising, "out": Space()}, {})
    if isinstance(result, type):
        with pytest.raises((Unknown, Failure, RecursionError)):
            program.call("main")
    else:
        assert program._find("main")() == result


@pytest.mark.parametrize(
    ("pattern", "name", "fits"),
    [("libcublas.so.*[0-9]", "libcublas.so.12", True), ("libcublas.so.*[0-9]", "libcublas.so", False), ("libcublas.so.*[0-9]", "libcublasLt.so.12", False),
     ("libnvrtc.so.*[0-9].*[0-9]", "libnvrtc.so.11.2", True), ("libnvrtc.so.*[0-9].*[0-9]", "libnvrtc.so.12", False), ("a?c", "abc", True)],
)  # fmt: skip
def test_patterns_match_like_glob(pattern: str, name: str, *, fits: bool) -> None:
    assert matches(pattern, name) is fits


JAX = {
    "plain": ('def _load_nvidia_libraries():\n  """Why."""\n  _load("cublas", ["libcublas.so.12", "libcublasLt.so.12"])\n', 1),
    "other-quotes": ("def _load_nvidia_libraries():\n  _load('cublas', ['libcublas.so.12'])\n", 1),
    "over-lines": ('def _load_nvidia_libraries():\n  _load(\n      "cublas",\n      ["libcublas.so.12"],\n  )\n', 1),
    "none": ("import logging\n", 0),
}


@pytest.mark.parametrize("form", JAX)
def test_preloads_of_jaxs_plugin(tmp_path: Path, form: str) -> None:
    text, count = JAX[form]
    small_torch.cuda(tmp_path)
    plugin = tmp_path / "jax_plugins/xla_cuda12"
    Library("xla_cuda_plugin.so", ("libcublas.so.12",), rpath="$ORIGIN").put(plugin / "xla_cuda_plugin.so")
    (plugin / "__init__.py").write_text(text)
    (tmp_path / "jax").mkdir()
    (seen,) = xray(tmp_path, framework("jax", tmp_path / "jax", "12", "")).frameworks
    assert isinstance(seen.uses, tuple)
    preloaded = [use.wanted for use in seen.uses if "preloaded by xla_cuda12" in use.why]
    assert len(preloaded) == count, preloaded


@pytest.mark.parametrize("text", ["def _load_nvidia_libraries():\n  for x in ask():\n    _load(x)\n", "import ctypes\nctypes.CDLL('x')\n"])
def test_a_plugin_with_unknown_code_is_not_guessed(tmp_path: Path, text: str) -> None:
    plugin = tmp_path / "jax_plugins/xla_cuda12"
    Library("xla_cuda_plugin.so").put(plugin / "xla_cuda_plugin.so")
    (plugin / "__init__.py").write_text(text)
    (tmp_path / "jax").mkdir()
    (seen,) = xray(tmp_path, framework("jax", tmp_path / "jax", "12", "")).frameworks
    assert isinstance(seen.uses, Missing)
    assert "xla_cuda12/__init__.py" in seen.uses.reason
