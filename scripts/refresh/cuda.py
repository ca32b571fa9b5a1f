"""Updates compat/cuda.csv from the published wheels of CUDA's compiler and libraries.

For each minor version it reads the newest final wheel of the compiler, because all builds of a minor version agree: `ptxas --help` lists the
targets, the error for a PTX version that does not exist names the newest one, and crt/host_config.h the newest gcc. The libraries are
those that the package cuda-toolkit pins for that release. A toolkit on the index without a row gets one, without a driver.
Drivers, and releases without wheels, were entered by hand.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import IO, Any

import msgspec

from gpudoctor import versions
from gpudoctor.matrix.rows import CudaRelease
from gpudoctor.matrix.tables import CUDA
from gpudoctor.matrix_files import read_table
from gpudoctor.versions import Version
from scripts.refresh.common import Release, Wheel, arguments, finish
from scripts.refresh.fatbin import order
from scripts.refresh.index import Index, IndexFile, parse_wheel_name

COMPILERS = ("nvidia-cuda-nvcc-cu11", "nvidia-cuda-nvcc-cu12", "nvidia-cuda-nvcc")
HEADERS = ("nvidia-cuda-crt",)
"""Since CUDA 13 the compiler's headers are a separate package with the compiler's version."""
TOOLKITS = ("cuda-toolkit",)
PLATFORM = "linux_x86_64"
SOURCE = "cuda-wheels"
_LIBRARIES = re.compile(r"nvidia-(cublas|cuda-runtime|cuda-nvrtc|cufft|curand|cusolver|cusparse|nvjitlink)(-cu\d+)?")
_SONAMES = re.compile(r"lib(cublas|cublasLt|cudart|cufft|curand|cusolver|cusparse|nvJitLink|nvrtc)\.so\.[\d.]+")
_NO_SUCH_PTX = ".version 99.0\n.target sm_90\n.address_size 64\n"

Told = dict[str, Any]


def parse_targets(help_page: str) -> tuple[str, ...]:
    """Return the architectures that `ptxas --help` allows for --gpu-name, lowest first. Raises ValueError if it names none."""
    option = re.search(
        r"^--gpu-name\b.*?Allowed values for this option:(.*?)\.\s*(?:Default value|\n\n)", help_page, re.DOTALL | re.MULTILINE
    )
    found = set(re.findall(r"'(sm_\d+[af]?)'", option[1])) if option else set()
    if not found:
        raise ValueError("ptxas --help lists no targets")
    return tuple(sorted(found, key=order))


def parse_ptx_isa(refusal: str) -> Version:
    """Return the version of PTX that ptxas names when it refuses a newer one. Raises ValueError if it names none."""
    named = re.search(r"current version is '(\d+\.\d+)'", refusal)
    version = versions.parse_version(named[1]) if named else None
    if version is None:
        raise ValueError("ptxas does not name its PTX version")
    return version


def parse_host_gcc(header: str) -> int:
    """Return the newest major version of gcc that crt/host_config.h accepts. Raises ValueError if it names none."""
    named = set(re.findall(r"gcc versions later than (\d+) are not supported", header))
    if len(named) != 1:
        raise ValueError("crt/host_config.h names no newest gcc")
    return int(named.pop())


def sonames(names: Iterable[str]) -> tuple[str, ...]:
    """Return the libraries among a wheel's members that programs link; wheels contain them under their sonames."""
    files = (name.rpartition("/")[2] for name in names)
    return tuple(sorted(name for name in files if _SONAMES.fullmatch(name)))


def pins(metadata: str) -> dict[str, str]:
    """Return the library packages that METADATA of cuda-toolkit requires, each with its version or the start of it ("12.4.5.8").

    Later versions of nvJitLink are allowed; the result has the oldest, which shipped with that toolkit.
    """
    return {name: version for name, version in every_pin(metadata).items() if _LIBRARIES.fullmatch(name)}


def every_pin(metadata: str) -> dict[str, str]:
    """Return every package that METADATA of cuda-toolkit requires, in the same format."""
    return dict(re.findall(r"^Requires-Dist: *([\w-]+) *\(?(?:==|<\d+,>=)(\d+(?:\.\d+)*)", metadata, re.MULTILINE))


def newest_by_minor(listed: Iterable[IndexFile]) -> dict[str, tuple[Version, IndexFile]]:
    """Return the newest final release of each minor version ("12.4") with a wheel for Linux on x86_64 or for any platform."""
    found: dict[str, tuple[Version, IndexFile]] = {}
    for file in listed:
        wheel = parse_wheel_name(file.filename)
        if wheel and {PLATFORM, "any"} & wheel.platforms and re.fullmatch(r"[1-9]\d*(\.\d+)+", wheel.release):
            version = versions.parse_version(wheel.release)
            if version is not None and (version.short not in found or found[version.short][0] < version):
                found[version.short] = version, file
    return found


def by_release(listed: Iterable[IndexFile]) -> dict[tuple[int, ...], tuple[Version, IndexFile]]:
    """Return the final releases by their first three numbers: 12.4.0 is 12.4 in the table."""
    found: dict[tuple[int, ...], tuple[Version, IndexFile]] = {}
    for file in listed:
        wheel = parse_wheel_name(file.filename)
        version = versions.parse_version(wheel.release) if wheel and re.fullmatch(r"[1-9]\d*(\.\d+)+", wheel.release) else None
        if version is not None:
            found[version[:3]] = version, file
    return found


def updated(row: CudaRelease, told: Told) -> CudaRelease:
    """Return the row, updated from the wheels of its minor version."""
    source = row.source if SOURCE in row.source else (*row.source, SOURCE)
    return msgspec.structs.replace(row, source=source, **told)


def unlisted(rows: Sequence[CudaRelease], toolkits: Iterable[tuple[int, ...]]) -> list[CudaRelease]:
    """Yield a row for each toolkit without one, with NVIDIA's values for its major version; without a driver if the major version is new."""
    known = {(*row.release[:3],) for row in rows}
    return [_blank(number, rows) for number in sorted(set(toolkits) - known)]


def _blank(number: tuple[int, ...], rows: Sequence[CudaRelease]) -> CudaRelease:
    version = versions.parse_version(".".join(map(str, number[:2] if number[2] == 0 else number)))
    if version is None:
        raise ValueError(f"{number} is not a release")
    of_major = [row for row in rows if row.release.major == version.major]
    return CudaRelease(
        release=version,
        driver_linux=None,
        driver_windows=None,
        minor_driver_linux=of_major[-1].minor_driver_linux if of_major else None,
        minor_driver_windows=of_major[-1].minor_driver_windows if of_major else None,
        sass=None,
        ptx_isa=None,
        host_gcc=None,
        sonames=(),
        components=(),
        source=of_major[-1].source if of_major else (),
        note="no source states its driver",
    )


class Published:
    """The wheels of CUDA on the index, read through the cache."""

    def __init__(self, cache: Path) -> None:
        self._index, self._cache = Index(), cache
        self._listed: dict[str, list[IndexFile]] = {}
        self.compilers, self._headers, self.toolkits = (self._newest(names) for names in (COMPILERS, HEADERS, TOOLKITS))
        self.releases = by_release(file for project in TOOLKITS for file in self._files(project))

    def compiler(self, minor: str) -> Told:
        """Return what the newest compiler of a minor version supports."""
        wheel = self._wheel(*self.compilers[minor])
        told = wheel.learn_of("/bin/ptxas", "targets and PTX version", _run) or ("", "")
        header = wheel.text("crt/host_config.h")
        if header is None and minor in self._headers:
            header = self._wheel(*self._headers[minor]).text("crt/host_config.h")
        return {"sass": parse_targets(told[0]), "ptx_isa": parse_ptx_isa(told[1]), "host_gcc": parse_host_gcc(header or "")}

    def libraries(self, minor: str) -> Told:
        """Return the sonames of the libraries that the newest toolkit of a minor version pins."""
        pinned = pins(self._wheel(*self.toolkits[minor]).metadata())
        found = {name for package, version in pinned.items() for name in self._sonames(package, version)}
        if not found:
            raise ValueError("cuda-toolkit pins no libraries")
        return {"sonames": tuple(sorted(found))}

    def components(self, release: Version) -> Told:
        """Return the packages that the toolkit of exactly this release pins; empty if it was not published as packages."""
        found = self.releases.get((*release[:3],))
        if found is None:
            return {}
        pinned = sorted(every_pin(self._wheel(*found).metadata()).items())
        return {"components": tuple(f"{name}=={version}" for name, version in pinned)}

    def _sonames(self, package: str, begins: str) -> tuple[str, ...]:
        for file in self._files(package):
            wheel = parse_wheel_name(file.filename)
            if wheel and PLATFORM in wheel.platforms and f"{wheel.release}.".startswith(f"{begins}."):
                one = self._wheel(versions.parse_version(wheel.release), file)
                return tuple(one.learn("sonames", partial(_sonames_in, one)))
        raise ValueError(f"{package} {begins}, which cuda-toolkit pins, has no wheel")

    def _files(self, project: str) -> list[IndexFile]:
        if project not in self._listed:
            self._listed[project] = self._index.files(project)
        return self._listed[project]

    def _newest(self, projects: Sequence[str]) -> dict[str, tuple[Version, IndexFile]]:
        return newest_by_minor(file for project in projects for file in self._files(project))

    def _wheel(self, version: Version | None, file: IndexFile) -> Wheel:
        release = Release(file.filename.partition("-")[0], version or Version(0), PLATFORM, (), file)
        return Wheel(release, self._index, self._cache)


def _sonames_in(wheel: Wheel) -> tuple[str, ...]:
    return sonames(wheel.zip.namelist())


def _run(ptxas: IO[bytes]) -> tuple[str, str]:
    """Return ptxas's output for --help, and for a PTX version that does not exist."""
    with tempfile.TemporaryDirectory() as folder:
        program, code = Path(folder) / "ptxas", Path(folder) / "no_such.ptx"
        with program.open("wb") as copy:
            shutil.copyfileobj(ptxas, copy, 1 << 20)
        program.chmod(0o700)
        code.write_text(_NO_SUCH_PTX, encoding="ascii")
        commands = ([str(program), "--help"], [str(program), str(code), "-o", f"{folder}/out"])
        runs = [subprocess.run(command, capture_output=True, text=True, check=False, timeout=60) for command in commands]
    return runs[0].stdout, runs[1].stdout + runs[1].stderr


def main() -> int:
    """Read the newest wheels of each minor version; show, check or write the difference; return the exit status."""
    options = arguments(())
    found = Published(options.cache)
    rows = read_table(str(options.compat), CUDA)
    rows = tuple(sorted((*rows, *unlisted(rows, found.releases)), key=CUDA.key))
    minors = list(dict.fromkeys(row.release.short for row in rows))
    told: dict[str, Told] = {}
    failed = False
    for number, minor in enumerate(minors, start=1):
        print(f"[{number}/{len(minors)}] CUDA {minor}", file=sys.stderr, flush=True)
        try:
            compiler = found.compiler(minor) if minor in found.compilers else {}
            told[minor] = compiler | (found.libraries(minor) if minor in found.toolkits else {})
        except (OSError, ValueError, zipfile.BadZipFile, subprocess.TimeoutExpired) as problem:
            print(f"  failed: {type(problem).__name__}: {problem}", file=sys.stderr)
            failed = True
    for minor in sorted(found.compilers.keys() - set(minors)):
        print(f"CUDA {minor} has a compiler and no toolkit on the index, and no row here: enter it by hand.", file=sys.stderr)
        failed = failed or options.check
    if failed:
        return 1
    learnt = {row.release: told[row.release.short] | found.components(row.release) for row in rows}
    return finish(options, CUDA, [updated(row, learnt[row.release]) if learnt[row.release] else row for row in rows])


if __name__ == "__main__":
    sys.exit(main())
