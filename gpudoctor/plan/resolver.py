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
from gpudoctor.plan.resolution import Resolution, ResolvedPackage, ResolverAnswer, ResolverConflict, ResolverRequest, ResolverUnavailable
from gpudoctor.process import ChildEnd, ChildSpec, Supervisor
from gpudoctor.smoke.scratch import scratch_folder
from gpudoctor.snapshot.distributions import normalise_distribution
from gpudoctor.toml_text import parse_toml
from gpudoctor.versions import Version

_UV_PLATFORMS = {
    "linux_x86_64": "x86_64-manylinux",
    "linux_aarch64": "aarch64-manylinux",
    "win_amd64": "x86_64-pc-windows-msvc",
    "win_arm64": "aarch64-pc-windows-msvc",
    "macos_arm64": "aarch64-apple-darwin",
    "macos_x86_64": "x86_64-apple-darwin",
}
"""The names that uv has for the platforms of wheels; on Linux the version of glibc follows."""
MACOS_VARIABLE = "MACOSX_DEPLOYMENT_TARGET"
"""The variable that states the oldest macOS to uv, as it does to compilers: https://docs.astral.sh/uv/reference/environment/"""
_GLIBC_MINORS = (17, 28, *range(31, 41))
"""The minor versions of glibc 2 that uv knows."""
_LOCK_NAME = "pylock.toml"
_NETWORK_SIGNS = ("error sending request", "Failed to fetch", "network", "timed out", "offline")
_NEVER_MARKER = "sys_platform == 'nowhere'"
"""An override with a marker that never holds drops a requirement: https://docs.astral.sh/uv/concepts/resolution/#dependency-overrides"""
_SOURCE_ONLY_PACKAGE = re.compile(
    r"(?<![^\s(`])([A-Za-z0-9][\w.-]*)(?:[<>=!~][^\s`]*)? ha(?:s|ve) no usable wheels|Wheels are required for `([^`]+)`"
)
_CONFLICT_MESSAGE = re.compile(r"cause:\s*(Because .*?)(?:\n\s*\n|\nhint:|\Z)", re.DOTALL)


def uv_path() -> str:
    """Return the path of uv, on PATH or beside our own interpreter; empty if there is none."""
    return shutil.which("uv") or shutil.which("uv", path=str(Path(sys.executable).parent)) or ""


def resolve_with_uv(request: ResolverRequest, until: float) -> ResolverAnswer:
    """Return uv's answer, at the latest at `until`, a time.monotonic(). Builds no package: nothing that it finds is run."""
    program = uv_path()
    if not program:
        return ResolverUnavailable("uv is not installed")
    with scratch_folder() as place, Supervisor(until) as supervisor:
        folder = place.get("TMPDIR")
        if folder is None:
            return ResolverUnavailable("there is no temporary folder for uv")
        _write_lines(folder, "requirements.in", request.requirements)
        _write_lines(folder, "constraints.txt", request.constraints)
        _write_lines(folder, "overrides.txt", tuple(f"{name} ; {_NEVER_MARKER}" for name in request.left_out))
        seconds = max(until - time.monotonic(), 0.1)
        environment = {"UV_HTTP_RETRIES": "1", "UV_HTTP_TIMEOUT": f"{max(int(seconds), 1)}", **os.environ, "NO_COLOR": "1"}
        if request.platform.startswith("macos"):
            environment[MACOS_VARIABLE] = request.system
        command = _compile_command(program, folder, request)
        supervisor.start(ChildSpec(name="uv", argv=command, environment=environment, stall=seconds, deadline=seconds))
        ended = supervisor.wait(["uv"])["uv"]
        if ended.end is ChildEnd.EXITED and ended.code == 0:
            return _parsed_lock(f"{folder}/{_LOCK_NAME}")
        return _parsed_failure(ended.stderr) if ended.end is ChildEnd.EXITED else ResolverUnavailable(f"uv {ended.trouble}")


def _compile_command(program: str, folder: str, request: ResolverRequest) -> tuple[str, ...]:
    """Return the command of uv, which reads and writes files in `folder`."""
    optional = {
        "--python-version": request.python,
        "--python-platform": _uv_platform(request),
        "--torch-backend": request.backend,
    }
    return (
        *(program, "pip", "compile", f"{folder}/requirements.in", "--constraints", f"{folder}/constraints.txt"),
        *(("--overrides", f"{folder}/overrides.txt") if request.left_out else ()),
        *(
            "--format",
            "pylock.toml",
            "--output-file",
            f"{folder}/{_LOCK_NAME}",
            "--no-header",
            "--no-build",
            "--no-python-downloads",
            "--quiet",
        ),
        *(word for option, value in optional.items() if value for word in (option, value)),
    )


def _uv_platform(request: ResolverRequest) -> str:
    name = _UV_PLATFORMS.get(request.platform, "")
    if not name.endswith("manylinux"):
        return name
    found = versions.parse_version(request.system)
    return f"{name}_2_{max((glibc for glibc in _GLIBC_MINORS if found is None or Version(2, glibc) <= found), default=_GLIBC_MINORS[0])}"


def _write_lines(folder: str, name: str, lines: tuple[str, ...]) -> None:
    Path(folder, name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def _parsed_failure(stderr: str) -> ResolverConflict | ResolverUnavailable:
    found = _CONFLICT_MESSAGE.search(stderr)
    if found is not None and not any(sign in found[1] for sign in _NETWORK_SIGNS):
        sources = (one or other for one, other in _SOURCE_ONLY_PACKAGE.findall(" ".join(stderr.split())))
        return ResolverConflict(" ".join(found[1].split()), tuple(dict.fromkeys(map(normalise_distribution, sources))))
    if any(sign in stderr for sign in _NETWORK_SIGNS):
        return ResolverUnavailable("uv cannot reach the package index")
    first = next((line.removeprefix("error: ") for line in stderr.splitlines() if line.strip()), "no reason given")
    return ResolverUnavailable(f"uv failed: {first.rstrip('.')}")


def _parsed_lock(path: str) -> ResolverAnswer:
    try:
        text = Path(path).read_text(encoding="utf-8")
        packages = tuple(_parsed_package(one) for one in parse_toml(text, path).get("packages", ()))
    except (OSError, UsageError, ValueError, KeyError, TypeError) as error:
        return ResolverUnavailable(f"uv wrote a lock file that cannot be read ({type(error).__name__})")
    return Resolution(packages, text)


def _parsed_package(one: dict[str, object]) -> ResolvedPackage:
    wheels = one.get("wheels")
    listed = [wheel for wheel in wheels if isinstance(wheel, dict)] if isinstance(wheels, list) else []
    names = [str(wheel.get("url") or wheel.get("path") or wheel.get("name")) for wheel in listed]
    pure = bool(names) and all(name.endswith("-none-any.whl") for name in names)
    sizes = [size for wheel in listed if isinstance(size := wheel.get("size"), int)]
    return ResolvedPackage(str(one["name"]), str(one.get("version", "")), pure, max(sizes, default=0))
