"""Toolkits and compilers, read from trees laid out like NVIDIA's installer, its packages, Debian and others."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudoctor.probe import toolkits as probe
from gpudoctor.snapshot import Cause, Compiler, Fact, Missing, Toolkit
from tests.cli.command import LOOK, document, environment, run

PATH = {"PATH": "/usr/local/bin:/usr/bin"}
HEADER = "#ifndef __cuda_cuda_h__\n#define __cuda_cuda_h__\n" + "/* words */\n" * 900 + "#define CUDA_VERSION 13000\n"
JSON = '{"cuda": {"name": "CUDA SDK", "version": "12.4.1"}, "cuda_nvcc": {"version": "12.4.131"}}'


def build(root: Path, files: Mapping[str, str], links: Mapping[str, str] | None = None) -> str:
    """A tree; files in a bin folder are executable."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755 if path.parent.name == "bin" else 0o644)
    for name, target in (links or {}).items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).symlink_to(target)
    return str(root)


def found(root: str, **environ: str) -> tuple[Toolkit, ...]:
    return probe.toolkits_on_disk(root, {**PATH, **environ})


def test_one_toolkit_with_many_names_is_one(tmp_path: Path) -> None:
    root = build(
        tmp_path,
        {
            "usr/local/cuda-12.4/version.json": JSON,
            "usr/local/cuda-12.4/bin/nvcc": "\x7fELF",
            "usr/local/cuda-12.4/bin/ptxas": "\x7fELF",
            "usr/local/cuda-12.4/lib64/libcudart.so.12.4.127": "",
            "usr/local/cuda-12.4/lib64/libcudart.so.12": "",
        },
        {"usr/local/cuda": "/etc/alternatives/cuda", "etc/alternatives/cuda": "/usr/local/cuda-12.4", "usr/local/cuda-12": "cuda-12.4"},
    )
    toolkit = Toolkit(
        path="/usr/local/cuda-12.4",
        named_by=("/usr/local/cuda", "/usr/local/cuda-12", "CUDA_HOME", "PATH"),
        toolkit_cuda=Fact("12.4.1", "/usr/local/cuda-12.4/version.json"),
        nvcc="/usr/local/cuda-12.4/bin/nvcc",
        ptxas="/usr/local/cuda-12.4/bin/ptxas",
        cudart="libcudart.so.12.4.127",
    )
    assert found(root, CUDA_HOME="/usr/local/cuda/", PATH="/usr/local/cuda/bin") == (toolkit,)


def test_several_toolkits_are_several(tmp_path: Path) -> None:
    root = build(
        tmp_path,
        {
            "usr/local/cuda-10.1/version.txt": "CUDA Version 10.1.243\n",
            "usr/local/cuda-13.0/include/cuda.h": HEADER,
            "opt/cuda/version.json": JSON,
            "srv/own/bin/nvcc": "\x7fELF",
            "srv/own/lib/libcudart.so.11.8.89": "",
        },
    )
    releases = {toolkit.path: toolkit.toolkit_cuda for toolkit in found(root, CUDA_PATH="/srv/own")}
    assert releases == {
        "/usr/local/cuda-10.1": Fact("10.1.243", "/usr/local/cuda-10.1/version.txt"),
        "/usr/local/cuda-13.0": Fact("13.0", "/usr/local/cuda-13.0/include/cuda.h"),
        "/opt/cuda": Fact("12.4.1", "/opt/cuda/version.json"),
        "/srv/own": Fact("11.8.89", "/srv/own/lib/libcudart.so.11.8.89"),
    }


def test_debians_package_is_found_across_usr(tmp_path: Path) -> None:
    root = build(
        tmp_path,
        {
            "usr/bin/nvcc": "#!/bin/sh\nexec /usr/lib/nvidia-cuda-toolkit/bin/nvcc\n",
            "usr/include/cuda.h": "#define CUDA_VERSION 11080\n",
            f"usr/lib/{os.uname().machine}-linux-gnu/libcudart.so.11.8.89": "",
            "usr/lib/cuda/nvvm/here": "",
        },
    )
    (toolkit,) = found(root)
    assert (toolkit.path, toolkit.named_by) == ("/usr/lib/cuda", ("PATH",))
    assert toolkit.toolkit_cuda == Fact("11.8", "/usr/include/cuda.h")
    assert (toolkit.nvcc, toolkit.cudart) == ("/usr/bin/nvcc", "libcudart.so.11.8.89")
    assert isinstance(toolkit.ptxas, Missing)
    assert toolkit.ptxas.cause is Cause.ABSENT


def test_a_wrapper_script_is_resolved_to_its_compiler(tmp_path: Path) -> None:
    root = build(
        tmp_path,
        {"usr/local/bin/nvcc": '#!/bin/sh\nexec /opt/cuda-9/bin/nvcc "$@"\n', "opt/cuda-9/version.txt": "CUDA Version 9.0.176\n"},
    )
    (toolkit,) = found(root)
    assert (toolkit.path, toolkit.named_by) == ("/opt/cuda-9", ("PATH",))


def test_folders_with_only_the_name_are_ignored(tmp_path: Path) -> None:
    root = build(tmp_path, {"usr/local/cuda-samples/README": "", "usr/local/cuda-keyring/key": ""}, {"usr/local/cuda": "nowhere"})
    assert found(root, CUDA_HOME="/gone", CUDA_PATH="relative") == ()


def test_a_toolkit_without_a_version_has_a_reason(tmp_path: Path) -> None:
    (toolkit,) = found(build(tmp_path, {"usr/local/cuda-8.0/version.txt": "hello", "usr/local/cuda-8.0/version.json": "[1]"}))
    assert toolkit.toolkit_cuda == Missing(Cause.ABSENT, "no file in /usr/local/cuda-8.0 states its version")
    assert isinstance(toolkit.nvcc, Missing)
    assert isinstance(toolkit.cudart, Missing)


def test_circular_links_end(tmp_path: Path) -> None:
    assert found(build(tmp_path, {}, {"usr/local/cuda": "cuda-1", "usr/local/cuda-1": "cuda"})) == ()


def test_host_compilers(tmp_path: Path) -> None:
    root = build(
        tmp_path,
        {
            "usr/bin/x86_64-linux-gnu-gcc-12": "",
            "usr/bin/g++": "",
            "usr/lib/gcc/x86_64-redhat-linux/14/cc1": "",
            "opt/clang/bin/clang++-18": "",
        },
        {"usr/bin/gcc": "gcc-12", "usr/bin/gcc-12": "x86_64-linux-gnu-gcc-12"},
    )
    clang = {"CUDAHOSTCXX": "/opt/clang/bin/clang++-18", "NVCC_CCBIN": "no-such-compiler"}
    assert probe.host_compilers(root, {**PATH, **clang}) == (
        Compiler("gcc", "/usr/bin/gcc", Fact("12", "the name of /usr/bin/x86_64-linux-gnu-gcc-12")),
        Compiler("g++", "/usr/bin/g++", Fact("14", "/usr/lib/gcc/x86_64-redhat-linux/14")),
        Compiler("CUDAHOSTCXX", "/opt/clang/bin/clang++-18", Fact("18", "the name of /opt/clang/bin/clang++-18")),
    )


def test_a_compiler_is_never_run_for_its_version(tmp_path: Path) -> None:
    root = build(tmp_path, {"usr/bin/gcc": "", "usr/lib/gcc/x/13/a": "", "usr/lib/gcc/x/14/a": ""})
    (compiler,) = probe.host_compilers(root, PATH)
    assert compiler.version == Missing(Cause.NOT_ASKED, "the version of /usr/bin/gcc is only known by running it")


def test_the_current_directory_is_never_searched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build(tmp_path, {"bin/gcc": "", "bin/nvcc": ""})
    monkeypatch.chdir(tmp_path / "bin")
    assert probe.host_compilers("/", {"PATH": ":.:bin"}) == ()
    assert "PATH" not in {name for toolkit in probe.toolkits_on_disk("/", {"PATH": ":.:"}) for name in toolkit.named_by}


def test_toolkits_are_in_the_report_of_a_check(tmp_path: Path) -> None:
    tree = {"usr/local/cuda-12.4/version.json": JSON, "usr/local/cuda-12.4/bin/nvcc": "", "usr/bin/gcc-13": "", "proc/x": "", "sys/x": ""}
    root = build(tmp_path, tree, {"usr/bin/gcc": "gcc-13"})
    ended = run(*LOOK, "--root", root, "--format", "json", env=environment(CUDA_HOME="/usr/local/cuda-12.4", PATH="/usr/bin"))
    seen = document("report", ended.stdout)["snapshot"]
    (toolkit,), (compiler,) = seen["toolkits"], seen["compilers"]
    assert (toolkit["path"], toolkit["named_by"]) == ("/usr/local/cuda-12.4", ["CUDA_HOME"])
    assert compiler["version"]["value"] == "13"


@given(st.sampled_from(["version.json", "version.txt", "include/cuda.h"]), st.binary(max_size=200))
def test_garbage_is_no_version_or_a_dotted_one(tmp_path_factory: pytest.TempPathFactory, name: str, content: bytes) -> None:
    root = tmp_path_factory.mktemp("garbage")
    build(root, {f"usr/local/cuda-1/{name}": "", "usr/local/cuda-1/bin/nvcc": ""})
    (root / "usr/local/cuda-1" / name).write_bytes(content)
    (toolkit,) = found(str(root))
    assert isinstance(toolkit.toolkit_cuda, Missing) or toolkit.toolkit_cuda.value[0].isdigit()
