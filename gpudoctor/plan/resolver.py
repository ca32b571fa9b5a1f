"""Asks uv for the packages that a set of pinned releases needs. gpudoctor resolves nothing itself."""

from __future__ import annotations

import os
import re
import shutil
import sys
import time
from pathlib import Path

from gpudoctor import versions
from gpudoctor.errors import UsageError
from gpudoctor.plan.resolution import Answer, Conflict, Package, Request, Resolution, Unavailable
from gpudoctor.process import End, Spec, Supervisor
from gpudoctor.smoke.scratch import scratch
from gpudoctor.snapshot.distributions import normalise
from gpudoctor.toml_text import parsed
from gpudoctor.versions import Version

_PLATFORMS = {
    "linux_x86_64": "x86_64-manylinux",
    "linux_aarch64": "aarch64-manylinux",
    "win_amd64": "x86_64-pc-windows-msvc",
    "win_arm64": "aarch64-pc-windows-msvc",
    "macos_arm64": "aarch64-apple-darwin",
    "macos_x86_64": "x86_64-apple-darwin",
}
"""The names that uv has for the platforms of wheels; on Linux the version of glibc follows."""
OF_MACOS = "MACOSX_DEPLOYMENT_TARGET"
"""The variable that states the oldest macOS to uv, as it does to compilers: https://docs.astral.sh/uv/reference/environment/"""
_GLIBCS = (17, 28, *range(31, 41))
"""The minor versions of glibc 2 that uv knows."""
_LOCK = "pylock.toml"
_NETWORK = ("error sending request", "Failed to fetch", "network", "timed out", "offline")
_NOWHERE = "sys_platform == 'nowhere'"
"""An override with a marker that never holds drops a requirement: https://docs.astral.sh/uv/concepts/resolution/#dependency-overrides"""
_SOURCE = re.compile(r"(?<![^\s(`])([A-Za-z0-9][\w.-]*)(?:[<>=!~][^\s`]*)? ha(?:s|ve) no usable wheels|Wheels are required for `([^`]+)`")
_UNSATISFIABLE = re.compile(r"cause:\s*(Because .*?)(?:\n\s*\n|\nhint:|\Z)", re.DOTALL)


def uv() -> str:
    """Return the path of uv, on PATH or beside our own interpreter; empty if there is none."""
    return shutil.which("uv") or shutil.which("uv", path=str(Path(sys.executable).parent)) or ""


def resolve(request: Request, until: float) -> Answer:
    """Return uv's answer, at the latest at `until`, a time.monotonic(). Builds no package: nothing that it finds is run."""
    program = uv()
    if not program:
        return Unavailable("uv is not installed")
    with scratch() as place, Supervisor(until) as supervisor:
        folder = place.get("TMPDIR")
        if folder is None:
            return Unavailable("there is no temporary folder for uv")
        _write(folder, "requirements.in", request.requirements)
        _write(folder, "constraints.txt", request.constraints)
        _write(folder, "overrides.txt", tuple(f"{name} ; {_NOWHERE}" for name in request.left_out))
        seconds = max(until - time.monotonic(), 0.1)
        environment = {"UV_HTTP_RETRIES": "1", "UV_HTTP_TIMEOUT": f"{max(int(seconds), 1)}", **os.environ, "NO_COLOR": "1"}
        if request.platform.startswith("macos"):
            environment[OF_MACOS] = request.system
        command = _command(program, folder, request)
        supervisor.start(Spec(name="uv", argv=command, environment=environment, stall=seconds, deadline=seconds))
        ended = supervisor.wait(["uv"])["uv"]
        if ended.end is End.EXITED and ended.code == 0:
            return _resolution(f"{folder}/{_LOCK}")
        return _failure(ended.stderr) if ended.end is End.EXITED else Unavailable(f"uv {ended.trouble}")


def _command(program: str, folder: str, request: Request) -> tuple[str, ...]:
    """Return the command of uv, which reads and writes files in `folder`."""
    optional = {
        "--python-version": request.python,
        "--python-platform": _platform(request),
        "--torch-backend": request.backend,
    }
    return (
        *(program, "pip", "compile", f"{folder}/requirements.in", "--constraints", f"{folder}/constraints.txt"),
        *(("--overrides", f"{folder}/overrides.txt") if request.left_out else ()),
        *("--format", "pylock.toml", "--output-file", f"{folder}/{_LOCK}", "--no-header", "--no-build", "--no-python-downloads", "--quiet"),
        *(word for option, value in optional.items() if value for word in (option, value)),
    )


def _platform(request: Request) -> str:
    name = _PLATFORMS.get(request.platform, "")
    if not name.endswith("manylinux"):
        return name
    found = versions.parse(request.system)
    return f"{name}_2_{max((glibc for glibc in _GLIBCS if found is None or Version(2, glibc) <= found), default=_GLIBCS[0])}"


def _write(folder: str, name: str, lines: tuple[str, ...]) -> None:
    Path(folder, name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def _failure(stderr: str) -> Conflict | Unavailable:
    found = _UNSATISFIABLE.search(stderr)
    if found is not None and not any(sign in found[1] for sign in _NETWORK):
        sources = (one or other for one, other in _SOURCE.findall(" ".join(stderr.split())))
        return Conflict(" ".join(found[1].split()), tuple(dict.fromkeys(map(normalise, sources))))
    if any(sign in stderr for sign in _NETWORK):
        return Unavailable("uv cannot reach the package index")
    first = next((line.removeprefix("error: ") for line in stderr.splitlines() if line.strip()), "no reason given")
    return Unavailable(f"uv failed: {first.rstrip('.')}")


def _resolution(path: str) -> Answer:
    try:
        text = Path(path).read_text(encoding="utf-8")
        packages = tuple(_package(one) for one in parsed(text, path).get("packages", ()))
    except (OSError, UsageError, ValueError, KeyError, TypeError) as error:
        return Unavailable(f"uv wrote a lock file that cannot be read ({type(error).__name__})")
    return Resolution(packages, text)


def _package(one: dict[str, object]) -> Package:
    wheels = one.get("wheels")
    listed = [wheel for wheel in wheels if isinstance(wheel, dict)] if isinstance(wheels, list) else []
    names = [str(wheel.get("url") or wheel.get("path") or wheel.get("name")) for wheel in listed]
    pure = bool(names) and all(name.endswith("-none-any.whl") for name in names)
    sizes = [size for wheel in listed if isinstance(size := wheel.get("size"), int)]
    return Package(str(one["name"]), str(one.get("version", "")), pure, max(sizes, default=0))
