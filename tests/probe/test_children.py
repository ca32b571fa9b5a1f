"""The children's scripts, each alone: under every old interpreter, over our driver libraries, and in broken processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from gpudoctor.children.channel import SCRIPTS

PYENV = Path("~/.pyenv/versions").expanduser().glob("[23].*/bin/python")
FOUND = {path.parts[-3]: str(path) for path in sorted(PYENV)} | {"{}.{}.{}".format(*sys.version_info): sys.executable}
"""Every interpreter that pyenv installed, and our own."""
Environment = Callable[..., dict[str, str]]


def answer(argv: list[str], script: str, environ: Mapping[str, str] | None = None, *more: str) -> list[dict[str, Any]]:
    reading, writing = os.pipe()
    done = subprocess.run(
        [*argv, f"{SCRIPTS}/{script}", "--answer-fd", str(writing), *more],
        pass_fds=[writing],
        env=environ,
        capture_output=True,
        timeout=60,
        check=False,
    )
    os.close(writing)
    with os.fdopen(reading, "rb") as file:
        lines = file.read().splitlines()
    assert done.returncode == 0, done.stderr
    assert (done.stdout, done.stderr) == (b"", b"")
    return [json.loads(line) for line in lines if not line.startswith(b"@")]


def itself(python: str, environ: Mapping[str, str] | None = None) -> dict[str, Any]:
    """An interpreter's report about itself; its second line describes its process."""
    said, inside = answer([python], "target/python_probe.py", environ, "--find", "torch")
    assert (said["type"], inside["type"]) == ("python", "inside")
    return said


@pytest.mark.parametrize("version", FOUND)
def test_every_interpreter_reports_itself(version: str) -> None:
    said = itself(FOUND[version])
    assert said["version"] == version
    assert (said["implementation"], said["bits"], said["machine"]) == ("cpython", 64, os.uname().machine)
    assert said["kind"] == ("venv" if FOUND[version] == sys.executable and sys.prefix != sys.base_prefix else "system")
    assert version.startswith("2.7") or said["libc"].startswith("glibc ")  # 2.7 cannot ask
    assert f"{SCRIPTS}/target" not in said["path"]
    assert any(entry.endswith("site-packages") for entry in said["path"])


@pytest.mark.parametrize("version", [version for version in FOUND if not version.startswith("2.")])
def test_every_interpreter_asks_libcuda(version: str, fake_cuda: Environment) -> None:
    executable = FOUND[version]
    (absent, done) = answer([executable, "-I", "-S", "-B"], "target/libcuda_probe.py", {})
    assert (absent["type"], absent["cause"], done["type"]) == ("missing", "absent", "done")
    said = answer([executable, "-I", "-S", "-B"], "target/libcuda_probe.py", fake_cuda(gpus=2))
    assert {"type": "libcuda", "cuda_served": "12.4"} in said
    assert {"type": "cuda-device", "ordinal": 1, "address": "0000:0F:00.0"} in said


def test_a_virtual_environment_and_the_users_variables_are_seen(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "venv")], check=True)
    said = itself(str(tmp_path / "venv/bin/python"), {"PYTHONPATH": str(tmp_path / "extra")})
    assert (said["kind"], said["prefix"], said["base_prefix"]) == ("venv", str(tmp_path / "venv"), sys.base_prefix)
    assert str(tmp_path / "extra") in said["path"]


def test_conda_is_recognised_by_its_folder(tmp_path: Path) -> None:
    (tmp_path / "conda-meta").mkdir()
    code = f"import sys; sys.prefix = sys.base_prefix = {str(tmp_path)!r}\n"
    (tmp_path / "sitecustomize.py").write_text(code)
    said = itself(sys.executable, {"PYTHONPATH": str(tmp_path)})
    assert said["kind"] == "conda"


@pytest.mark.parametrize("safe", ["", "1"])
def test_nothing_beside_the_script_is_importable_afterwards(safe: str) -> None:
    said = itself(sys.executable, {"PYTHONSAFEPATH": safe})
    assert f"{SCRIPTS}/target" not in said["path"]


def test_the_environments_module_with_our_name_is_not_imported(tmp_path: Path) -> None:
    (tmp_path / "gpudoctor_answer.py").write_text("raise SystemExit(9)")
    said = itself(sys.executable, {"PYTHONPATH": str(tmp_path)})
    assert said["type"] == "python"


def test_an_undecodable_path_comes_with_its_bytes(tmp_path: Path) -> None:
    folder = os.fsencode(tmp_path) + b"/caf\xe9"
    said = itself(sys.executable, {"PYTHONPATH": os.fsdecode(folder), "PYTHONUTF8": "1"})
    assert f"{tmp_path}/caf\\xe9" in said["path"]
    assert folder in [bytes.fromhex(entry) for entry in said["path_hex"]]


def libraries(folder: Path, content: bytes, mode: int = 0o755) -> dict[str, str]:
    for name in ("libnvidia-ml.so.1", "libcuda.so.1"):
        (folder / name).write_bytes(content)
        (folder / name).chmod(mode)
    return {"LD_LIBRARY_PATH": str(folder)}


ISOLATED = [sys.executable, "-I", "-S", "-B"]
THIRTY_TWO_BITS = b"\x7fELF\x01\x01\x01" + bytes(9) + b"\x03\0\x03\0\x01\0\0\0" + bytes(40)


@pytest.mark.parametrize("script", ["own/nvml_probe.py", "target/libcuda_probe.py"])
@pytest.mark.parametrize(
    ("content", "words"), [(b"", "too short"), (b"no library at all" * 99, "invalid ELF header"), (THIRTY_TWO_BITS, "ELFCLASS32")]
)
def test_an_invalid_library_is_a_failure_not_an_absence(tmp_path: Path, script: str, content: bytes, words: str) -> None:
    said = answer(ISOLATED, script, libraries(tmp_path, content), "--path")
    assert (said[0]["type"], said[0]["cause"]) == ("missing", "unloadable")
    assert words in said[0]["reason"]


def test_a_library_without_functions_loses_each_functions_answer(tmp_path: Path) -> None:
    source = tmp_path / "empty.c"
    source.write_text("int nothing;\n")
    for name in ("libnvidia-ml.so.1", "libcuda.so.1"):
        subprocess.run(["gcc", "-shared", "-o", str(tmp_path / name), str(source)], check=True)
    environ = {"LD_LIBRARY_PATH": str(tmp_path)}
    cuda = answer(ISOLATED, "target/libcuda_probe.py", environ)
    assert [(line["init"]["cause"]) for line in cuda if "init" in line] == ["unsupported"]
    nvml = answer(ISOLATED, "own/nvml_probe.py", environ, "--path", *sys.path)
    assert [line["init"]["code"] for line in nvml if "init" in line] == [13]
    assert [line["driver_version"]["cause"] for line in nvml if "driver_version" in line] == ["unsupported"]


def test_without_the_binding_the_library_is_still_reported(fake_nvml: Environment) -> None:
    said = answer(ISOLATED, "own/nvml_probe.py", fake_nvml(), "--path")
    assert said[0]["library"].endswith("/libnvidia-ml.so.1")
    assert "nvidia-ml-py cannot be imported" in said[1]["init"]["reason"]


def test_no_context_is_created_and_no_other_function_called() -> None:
    source = Path(SCRIPTS, "target/libcuda_probe.py").read_text()
    assert "cuCtx" not in source
    assert "PrimaryCtx" not in source
