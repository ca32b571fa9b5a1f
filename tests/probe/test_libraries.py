"""The X-ray of environments built here: real but empty ELF files, in the folders of the real wheels."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from gpudoctor.children.own.xray.components import component, cudnn_parts, soname
from gpudoctor.probe.libraries import NO_CUDA_FRAMEWORK, libraries, xray_arguments, xrayed_frameworks
from gpudoctor.process import ChildSpec, Supervisor
from gpudoctor.report.schema import document_schema
from gpudoctor.snapshot import Cause, Fact, FoundBy, Framework, FrameworkLibraries, GpuCode, Libraries, LibraryFile, LibraryUse, Missing
from tests.elf.test_fatbin import PTX, SASS, entry, fat
from tests.seams import warm

ROOT = Path(__file__).resolve().parents[2]
PROBE = ROOT / "gpudoctor/children/own/libraries_probe.py"
WHEELS = {  # folder of nvidia/, soname
    "cuda_runtime": "libcudart.so.12", "cublas": "libcublas.so.12", "cufft": "libcufft.so.11", "cusolver": "libcusolver.so.11",
    "cusparse": "libcusparse.so.12", "cudnn": "libcudnn.so.9",
}  # fmt: skip


def library(path: Path, *flags: str, needs: tuple[Path, ...] = (), soname: str = "", code: bytes = b"", source: str = "") -> Path:
    """A shared library with a fat binary if `code` is given."""
    path.parent.mkdir(parents=True, exist_ok=True)
    named = [f"-Wl,-soname,{soname}"] if soname else []
    linked = ["-Wl,--no-as-needed", *map(str, needs)] if needs else []
    command = ["gcc", "-x", "c", "-", "-x", "none", "-shared", "-fPIC", "-nostdlib", "-o", str(path), *named, *flags, *linked]
    subprocess.run(command, input=(source or f"int of_{abs(hash(str(path)))};").encode(), check=True)
    if code:
        part = path.with_suffix(".bin")
        part.write_bytes(code)
        subprocess.run(["objcopy", "--add-section", f".nv_fatbin={part}", path], check=True)
        part.unlink()
    return path


def wheel(site: Path, name: str, version: str) -> None:
    (site / f"{name}-{version}.dist-info").mkdir(parents=True)


def cuda_wheels(site: Path, *without: str) -> None:
    for folder, name in WHEELS.items():
        if folder not in without:
            library(site / f"nvidia/{folder}/lib/{name}", soname=name)
            wheel(site, f"nvidia_{folder}_cu12", "12.5.82")
    library(site / "nvidia/cublas/lib/libcublasLt.so.12", soname="libcublasLt.so.12")


def tensorflow(site: Path, runpath: str = "") -> Path:
    home = site / "tensorflow"
    folders = runpath or ":".join(f"$ORIGIN/../nvidia/{folder}/lib" for folder in WHEELS)
    code = fat(entry(SASS, 60), entry(SASS, 90), entry(PTX, 90))
    framework = library(
        home / "libtensorflow_framework.so.2", f"-Wl,--enable-new-dtags,-rpath,{folders}", soname="libtensorflow_framework.so.2", code=code
    )
    library(home / "python/_pywrap_tensorflow_internal.so", "-Wl,--enable-new-dtags,-rpath,$ORIGIN/..", needs=(framework,))
    (home / "__init__.py").touch()
    return home


def xray(path: Path | list[Path], *frameworks: Framework, environ: Mapping[str, str] | None = None) -> Libraries:
    folders = path if isinstance(path, list) else [path]
    words = xray_arguments(os.path.realpath(sys.executable), map(str, folders), frameworks, "/")
    variables = {"PATH": "/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1", **(environ or {})}
    with Supervisor() as supervisor:
        argv = (sys.executable, "-I", "-S", str(PROBE), "--answer-fd", "{answer}", *words)
        supervisor.start(ChildSpec(name="libraries", argv=argv, environment=variables))
        outcome = supervisor.wait(["libraries"])["libraries"]
    found = libraries(outcome, frameworks)
    assert isinstance(found, Libraries), found
    return found


def framework(name: str, home: Path, cuda: str = "12.5.1", cudnn: str = "9") -> Framework:
    return Framework(
        name=name,
        distribution=name,
        location=str(home),
        cuda_build=True,
        built_with_cuda=Fact(cuda, "there"),
        built_with_cudnn=Fact(cudnn, "there"),
    )


def by_name(found: Libraries, number: int = 0) -> dict[str, LibraryUse]:
    uses = found.frameworks[number].uses
    assert not isinstance(uses, Missing)
    return {use.wanted: use for use in uses}


def taken(use: LibraryUse) -> LibraryFile:
    assert isinstance(use.file, LibraryFile), use.file
    return use.file


def test_tensorflow_finds_its_wheels_by_the_runpath_of_its_framework_library(tmp_path: Path) -> None:
    cuda_wheels(tmp_path)
    home = tensorflow(tmp_path)
    (tmp_path / "nvidia/cudnn/include").mkdir()
    header = "#define CUDNN_MAJOR 9\n#define CUDNN_MINOR 28\n#define CUDNN_PATCHLEVEL 0\n"
    (tmp_path / "nvidia/cudnn/include/cudnn_version.h").write_text(header)
    found = xray(tmp_path, framework("tensorflow", home))
    uses = by_name(found)
    for name in WHEELS.values():
        assert os.path.realpath(taken(uses[name]).path).startswith(str(tmp_path.resolve())), name
        assert (uses[name].why, uses[name].vital) == ("DT_RUNPATH of libtensorflow_framework.so.2", True)
    assert taken(uses["libcudart.so.12"]).version == Fact("12.5.82", "the metadata of nvidia-cuda-runtime-cu12")
    version = taken(uses["libcudnn.so.9"]).version
    assert isinstance(version, Fact)
    assert version.value == "9.28.0"
    assert found.frameworks[0].code == GpuCode(("sm_60", "sm_90"), ("compute_90",))
    assert found.frameworks[0].code_where == f"{home}/libtensorflow_framework.so.2"


def test_a_folder_missing_from_the_runpath_is_named(tmp_path: Path) -> None:
    """As in the wheel of TensorFlow 2.21: libcusolver is installed, but not on the RUNPATH."""
    cuda_wheels(tmp_path)
    folders = ":".join(f"$ORIGIN/../nvidia/{folder}/lib" for folder in WHEELS if folder != "cusolver")
    uses = by_name(xray(tmp_path, framework("tensorflow", tensorflow(tmp_path, folders))))
    lost = uses["libcusolver.so.11"]
    assert isinstance(lost.file, Missing)
    assert (lost.file.cause, lost.vital) == (Cause.ABSENT, True)
    assert [(place.path, place.found_by) for place in lost.elsewhere] == [
        (f"{tmp_path}/nvidia/cusolver/lib/libcusolver.so.11", FoundBy.WHEEL)
    ]
    assert any("nvidia/cublas/lib" in folder for folder in lost.looked_in)
    assert "/etc/ld.so.cache" in lost.looked_in


def test_ld_library_path_shadows_a_runpath(tmp_path: Path) -> None:
    cuda_wheels(tmp_path)
    home = tensorflow(tmp_path)
    old = library(tmp_path / "old/libcudnn.so.9", soname="libcudnn.so.9")
    use = by_name(xray(tmp_path, framework("tensorflow", home), environ={"LD_LIBRARY_PATH": f"{tmp_path}/old"}))["libcudnn.so.9"]
    assert (taken(use).path, use.why, use.found_by) == (str(old), "LD_LIBRARY_PATH", FoundBy.LIBRARY_PATH)
    assert {place.found_by for place in use.shadows} == {FoundBy.RUNPATH}
    assert [os.path.realpath(place.path) for place in use.shadows] == [os.path.realpath(tmp_path / "nvidia/cudnn/lib/libcudnn.so.9")]


def test_a_library_for_another_processor_is_refused(tmp_path: Path) -> None:
    cuda_wheels(tmp_path)
    other = library(tmp_path / "other/libcufft.so.11", soname="libcufft.so.11")
    data = bytearray(other.read_bytes())
    data[18:20] = b"\xb7\0"
    other.write_bytes(data)
    use = by_name(xray(tmp_path, framework("tensorflow", tensorflow(tmp_path)), environ={"LD_LIBRARY_PATH": f"{tmp_path}/other"}))[
        "libcufft.so.11"
    ]
    assert [(place.path, place.why) for place in use.refused] == [(str(other), "64-bit aarch64")]
    assert taken(use).path != str(other)


def test_the_parts_of_cudnn_and_their_code(tmp_path: Path) -> None:
    cuda_wheels(tmp_path)
    lib = tmp_path / "nvidia/cudnn/lib"
    library(lib / "libcudnn.so.9", "-Wl,--disable-new-dtags,-rpath,$ORIGIN", soname="libcudnn.so.9")
    library(lib / "libcudnn_ops.so.9", soname="libcudnn_ops.so.9", code=fat(entry(SASS, 75), entry(SASS, 80)))
    uses = by_name(xray(tmp_path, framework("tensorflow", tensorflow(tmp_path))))
    assert taken(uses["libcudnn_ops.so.9"]).code == GpuCode(("sm_75", "sm_80"), ())
    assert uses["libcudnn_ops.so.9"].why == "DT_RPATH of libcudnn.so.9"
    assert isinstance(uses["libcudnn_adv.so.9"].file, Missing)


TORCH = (ROOT / "tests/environments/torch_text/2.14.0.txt").read_text()


def torch(site: Path, source: str, runtime: str = "libcudart.so.13") -> Path:
    home = site / "torch"
    cu13 = site / "nvidia/cu13/lib"
    cudart = library(cu13 / runtime, soname=runtime)
    sparse = library(cu13 / "libcusparse.so.12", soname="libcusparse.so.12")
    wheel(site, "nvidia_cusparse", "12.7.10.1")
    rpath = "-Wl,--disable-new-dtags,-rpath,$ORIGIN/../../nvidia/cu13/lib:$ORIGIN"
    library(home / "lib/libtorch_global_deps.so", rpath, needs=(cudart,))
    kernels = library(home / "lib/libtorch_cuda.so", rpath, needs=(cudart, sparse), soname="libtorch_cuda.so", code=fat(entry(SASS, 75)))
    library(home / "_C.cpython-311-x86_64-linux-gnu.so", "-Wl,--disable-new-dtags,-rpath,$ORIGIN/lib", needs=(kernels,))
    (home / "__init__.py").write_text(source)
    return home


def test_torchs_preloads_shadow_its_own_cuda(tmp_path: Path) -> None:
    """CUDA 12 and 13 both call it libcusparse.so.12: beside TensorFlow's wheels torch gets that of CUDA 12."""
    home = torch(tmp_path, TORCH)
    alone = by_name(xray(tmp_path, framework("torch", home, "13.2", "")))["libcusparse.so.12"]
    assert taken(alone).owner == "nvidia-cusparse"
    library(tmp_path / "nvidia/cusparse/lib/libcusparse.so.12", soname="libcusparse.so.12")
    wheel(tmp_path, "nvidia_cusparse_cu12", "12.5.10.65")
    other = library(tmp_path / "nvidia/cublas/lib/libcublas.so.12", soname="libcublas.so.12")
    found = xray(tmp_path, framework("torch", home, "13.2", ""))
    assert found.frameworks[0].also_loaded == (str(other),)
    beside = by_name(found)["libcusparse.so.12"]
    assert (taken(beside).owner, beside.why) == ("nvidia-cusparse-cu12", "already loaded: preloaded by torch/__init__.py")
    assert beside.asked_by.endswith("libtorch_cuda.so")
    assert [place.path for place in beside.elsewhere] == [f"{tmp_path}/nvidia/cu13/lib/libcusparse.so.12"]


def test_an_older_torch_preloads_only_where_its_condition_holds(tmp_path: Path) -> None:
    home = torch(tmp_path, TORCH.replace('"libcudart.so"', '"nvidia/cuda_runtime/lib/libcudart.so"'))
    library(tmp_path / "nvidia/cusparse/lib/libcusparse.so.12", soname="libcusparse.so.12")
    use = by_name(xray(tmp_path, framework("torch", home, "13.2", "")))["libcusparse.so.12"]
    assert "cu13" in taken(use).path


def test_torch_preloads_all_after_its_first_library_fails(tmp_path: Path) -> None:
    runtime = "libcudart.so.97"  # which no toolkit of this machine has
    only = "".join(line for line in TORCH.splitlines(keepends=True) if not line.startswith('        ("') or "libcudart" in line)
    home = torch(tmp_path, only, runtime)
    (tmp_path / "nvidia/cu13/lib" / runtime).rename(tmp_path / "away")
    library(tmp_path / "nvidia/cuda_runtime/lib" / runtime, soname=runtime)
    use = by_name(xray(tmp_path, framework("torch", home, "13.2", "")))[runtime]
    assert (use.why, use.found_by) == ("already loaded: preloaded by torch/__init__.py", FoundBy.OTHER)


def test_jax_uses_its_plugins_preloads(tmp_path: Path) -> None:
    cuda_wheels(tmp_path)
    plugin = tmp_path / "jax_plugins/xla_cuda12"
    library(plugin / "xla_cuda_plugin.so", "-Wl,--disable-new-dtags,-rpath,$ORIGIN/../../nvidia/cufft/lib", code=fat(entry(PTX, 120)))
    (plugin / "__init__.py").write_text('def _load_nvidia_libraries():\n  _load("cublas", ["libcublas.so.12", "libcublasLt.so.12"])\n')
    (tmp_path / "jax").mkdir()
    uses = by_name(xray(tmp_path, framework("jax", tmp_path / "jax", "12", "")))
    assert uses["libcublas.so.12"].why == "already loaded: preloaded by xla_cuda12/__init__.py"
    assert uses["libcufft.so.11"].why == "DT_RPATH of xla_cuda_plugin.so"
    assert isinstance(uses["libcudart.so.12"].file, Missing)


def test_xlas_compiler_files_in_its_search_order(tmp_path: Path) -> None:
    cuda_wheels(tmp_path)
    home = tensorflow(tmp_path)
    for path in (
        "nvidia/cuda_nvcc/nvvm/libdevice/libdevice.10.bc",
        "nvidia/cuda_nvcc/bin/ptxas",
        "named/nvvm/libdevice/libdevice.10.bc",
        "bin/ptxas",
    ):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("ptxas: Cuda compilation tools, release 12.4, V12.4.131\n")
    wheel(tmp_path, "nvidia_cuda_nvcc_cu12", "12.5.82")
    flag = "--xla_gpu_cuda_data_dir"
    variables = {"XLA_FLAGS": f"{flag}={tmp_path}/replaced {flag}={tmp_path}/named", "PATH": f"{tmp_path}/bin"}
    uses = by_name(xray(tmp_path, framework("tensorflow", home), environ=variables))
    assert taken(uses["libdevice.10.bc"]).path == f"{tmp_path}/named/nvvm/libdevice/libdevice.10.bc"
    assert uses["libdevice.10.bc"].why == "--xla_gpu_cuda_data_dir in XLA_FLAGS"
    assert (taken(uses["ptxas"]).path, uses["ptxas"].why) == (f"{tmp_path}/bin/ptxas", "PATH")
    assert taken(uses["ptxas"]).version == Fact("12.4.131", f"the text in {tmp_path}/bin/ptxas")
    shadowed = [place.path for place in uses["ptxas"].shadows]
    assert f"{tmp_path}/nvidia/cuda_nvcc/bin/ptxas" in shadowed


def test_extensions_and_their_code(tmp_path: Path) -> None:
    cudart = library(tmp_path / "store/libcudart.so.12", soname="libcudart.so.12")
    library(
        tmp_path / "flash_attn_2_cuda.cpython-311-x86_64-linux-gnu.so",
        needs=(cudart,),
        code=fat(entry(SASS, 80), entry(SASS, 90, 0x100011)),
    )
    wheel(tmp_path, "flash_attn", "2.8.3")
    found = xray(tmp_path, framework("torch", torch(tmp_path, TORCH), "13.2", ""))
    (extension,) = found.extensions
    assert (extension.distribution, extension.version, extension.framework, extension.wanted) == (
        "flash-attn",
        "2.8.3",
        "torch",
        ("libcudart.so.12",),
    )
    assert extension.code == GpuCode(("sm_80", "sm_90a"), ())


def test_a_framework_without_files_does_not_crash(tmp_path: Path) -> None:
    for name in ("tensorflow", "torch", "jax"):
        (tmp_path / name).mkdir()
    found = xray(tmp_path, *(framework(name, tmp_path / name) for name in ("tensorflow", "torch", "jax")))
    assert [one.framework for one in found.frameworks] == ["tensorflow", "torch", "jax"]
    for one in found.frameworks:
        assert isinstance(one.code, Missing)
        assert one.code.cause == Cause.ABSENT
        assert isinstance(one.uses, Missing) if one.framework == "torch" else one.uses == ()


def test_damaged_libraries_are_reported(tmp_path: Path) -> None:
    cuda_wheels(tmp_path)
    home = tensorflow(tmp_path)
    (tmp_path / "nvidia/cufft/lib/libcufft.so.11").write_bytes(b"version https://git-lfs\n" * 9)
    framework_library = home / "libtensorflow_framework.so.2"
    data = framework_library.read_bytes()
    use = by_name(xray(tmp_path, framework("tensorflow", home)))["libcufft.so.11"]
    assert isinstance(use.file, Missing)
    assert "a Git LFS pointer in place of the file itself" in use.file.reason
    framework_library.write_bytes(data[:3000])
    assert xray(tmp_path, framework("tensorflow", home)).frameworks[0].framework == "tensorflow"


def test_builds_for_rocm_and_packages_in_an_unknown_folder_are_not_examined(tmp_path: Path) -> None:
    cpu = Framework(name="tensorflow", distribution="tensorflow-cpu", location=str(tmp_path), cuda_build=False)
    rocm = Framework(name="torch", distribution="torch", location=str(tmp_path), cuda_build=False, rocm_build=True)
    unknown = Framework(name="jax", distribution="", location=NO_CUDA_FRAMEWORK, cuda_build=True)
    assert xrayed_frameworks((cpu, rocm, unknown)) == ()
    assert xrayed_frameworks((cpu, rocm, unknown), cpu_builds=True) == (cpu,)
    gone = Framework(name="jax", distribution="jax", location=NO_CUDA_FRAMEWORK, cuda_build=True)
    assert xrayed_frameworks((gone,)) == (gone,)


def test_an_unreadable_interpreter_is_a_reason(tmp_path: Path) -> None:
    words = xray_arguments("/etc/passwd", [str(tmp_path)], (framework("torch", tmp_path),), "/")
    with Supervisor() as supervisor:
        supervisor.start(ChildSpec(name="x", argv=(sys.executable, "-I", "-S", str(PROBE), "--answer-fd", "{answer}", *words)))
        found = libraries(supervisor.wait(["x"])["x"], ())
    assert found == Missing(Cause.FAILED, "the loader could not be simulated for /etc/passwd: not an ELF file")


def test_answers_before_a_stall_are_kept() -> None:
    script = 'import os, time; os.write(int("{answer}"), b\'{"type":"framework-libraries","framework":"tensorflow"}\\n@looking at torch\\n\'); time.sleep(60)'
    with Supervisor() as supervisor:
        supervisor.start(ChildSpec(name="x", argv=(sys.executable, "-I", "-S", "-c", script), stall=0.5))
        outcome = supervisor.wait(["x"])["x"]
    found = libraries(outcome, (framework("tensorflow", Path("/a")), framework("torch", Path("/b"))))
    assert isinstance(found, Libraries)
    assert isinstance(found.frameworks[1], FrameworkLibraries)
    uses = found.frameworks[1].uses
    assert isinstance(uses, Missing)
    assert uses.cause == Cause.TIMED_OUT


@pytest.mark.parametrize(
    ("part", "release", "name"),
    [
        ("cudart", "12.5.1", "libcudart.so.12"), ("cudart", "11.2", "libcudart.so.11.0"), ("cudart", "10.1", "libcudart.so.10.1"),
        ("cublas", "10.0", "libcublas.so.10.0"), ("cusolver", "11.0", "libcusolver.so.10"), ("cusolver", "11.2", "libcusolver.so.11"),
        ("cufft", "13", "libcufft.so.12"), ("cupti", "11.2", "libcupti.so.11.2"), ("cudart", "9", None), ("cudart", "", None), ("nothing", "12", None),
    ],
)  # fmt: skip
def test_sonames_of_each_release(part: str, release: str, name: str | None) -> None:
    assert soname(part, release) == name


def test_components_by_name() -> None:
    names = ("libcudnn_ops.so.9", "libnvrtc-builtins.so.13.2", "libcublasLt.so.12", "libc.so.6", "libcudart", "libcuda.so.1")
    assert [component(name) for name in names] == ["cudnn", "nvrtc", "cublaslt", None, None, "cuda"]
    assert cudnn_parts("7") == ()


def test_a_whole_environment_is_examined_quickly(tmp_path: Path) -> None:
    cuda_wheels(tmp_path)
    home = tensorflow(tmp_path)
    began = time.monotonic()
    xray(tmp_path, framework("tensorflow", home))
    assert time.monotonic() - began < 20


def run(*words: str, environ: Mapping[str, str] | None = None) -> tuple[int, str, str]:
    done = warm.gpudoctor("xray", *words, env={**os.environ, **(environ or {})})
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def test_the_command_on_a_file(tmp_path: Path) -> None:
    leaf = library(tmp_path / "x/libcudart.so.12", soname="libcudart.so.12")
    path = library(tmp_path / "y.so", needs=(leaf,), code=fat(entry(SASS, 80), entry(PTX, 90)))
    code, out, _ = run(str(path))
    assert code == 0
    assert "GPU code: sm_80 + compute_90" in out
    assert "!! libcudart.so.12" in out
    code, out, _ = run(str(path), "--format", "json", environ={"LD_LIBRARY_PATH": str(tmp_path / "x")})
    said: dict[str, Any] = json.loads(out)
    Draft202012Validator(document_schema("xray")).validate(said)
    assert said["schema"] == "gpudoctor.xray/1"
    (need,) = (need for need in said["files"][0]["needs"] if need["wanted"] == "libcudart.so.12")
    assert (need["path"], need["why"]) == (str(leaf), "LD_LIBRARY_PATH")


def test_the_command_on_an_invalid_library(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("nothing")
    (tmp_path / "truncated").write_bytes(b"\x7fELF")
    for name, words in (("x", "is not an ELF file"), ("none", "No such file or directory"), ("", "Is a directory")):
        code, out, err = run(str(tmp_path / name))
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert words in err
        assert json.loads(run(str(tmp_path / name), "--format", "json")[1])["schema"] == "gpudoctor.error/1"
    code, out, _ = run(str(tmp_path / "truncated"))
    assert code == 3
    assert "Not read: truncated." in out


def test_the_script_folder_says_nothing_about_a_file() -> None:
    code, out, err = run("/bin/sh", "--cwd", "/")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "leave it out with FILE" in err


def test_the_command_on_an_environment(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", "--symlinks", tmp_path / "e"], check=True)
    (site,) = (tmp_path / "e/lib").glob("python*/site-packages")
    cuda_wheels(site, "cufft")
    home = tensorflow(site)
    (home / "__init__.py").write_text("")
    (home / "python/platform").mkdir()
    (home / "python/platform/build_info.py").write_text(
        "build_info = {'is_cuda_build': True, 'cuda_version': '12.5.1', 'cudnn_version': '9'}\n"
    )
    wheel(site, "tensorflow", "2.21.0")
    code, out, err = run("--python", str(tmp_path / "e"))
    assert (code, err) == (0, "")
    assert "tensorflow 2.21.0 (CUDA 12.5.1, cuDNN 9)" in out
    assert "!! libcufft.so.11" in out
    legend = out.partition("\nLegend\n")[2]
    assert "  !!       missing or damaged, and the framework needs it" in legend
    assert "  kernels  GPU code" in legend
    assert "  refused" not in legend
    assert max(len(line) for line in out.splitlines() if "/" not in line) <= 80
    code, out, _ = run("--python", str(tmp_path / "e"), "--format", "json")
    Draft202012Validator(document_schema("xray")).validate(json.loads(out))
    assert json.loads(out)["libraries"]["frameworks"][0]["framework"] == "tensorflow"


def test_tensorflow_for_cuda_11_requests_curand(tmp_path: Path) -> None:
    runpath = ["-Wl,--enable-new-dtags,-rpath,$ORIGIN"]
    for release, source in (("2.14", "void GetCurandDsoHandle(void) {}"), ("2.15", "void GetCublasDsoHandle(void) {}")):
        home = tmp_path / release / "tensorflow"
        names = (home / "libtensorflow_framework.so.2", *runpath)
        made = library(*names, soname="libtensorflow_framework.so.2", source=source)  # type: ignore[arg-type]
        library(home / "python/_pywrap_tensorflow_internal.so", "-Wl,--enable-new-dtags,-rpath,$ORIGIN/..", needs=(made,))
        uses = by_name(xray(tmp_path / release, framework("tensorflow", home, "11.8", "8")))
        assert ("libcurand.so.10" in uses) == (release == "2.14")
        assert {"libcudart.so.11.0", "libcusolver.so.11", "libcufft.so.10", "libcudnn.so.8"} <= set(uses)
