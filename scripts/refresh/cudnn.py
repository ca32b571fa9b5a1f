"""Adds new cuDNN releases to compat/cudnn.csv, with the SASS and PTX in their wheels.

Each wheel is streamed once, about 60 MB of it. Existing rows are kept, because published wheels never change; to read one again, delete its
row. Releases without wheels (7.x, 8.0 to 8.4) were entered by hand.
"""

from __future__ import annotations

import re
import sys
import zipfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from gpudoctor import versions
from gpudoctor.matrix.rows import CudnnRelease
from gpudoctor.matrix.tables import CUDNN
from gpudoctor.matrix_files import read_table
from scripts.refresh.common import Release, Wheel, arguments, finish
from scripts.refresh.fatbin import Code, read_code
from scripts.refresh.index import Index, IndexFile, parse_wheel_name

PROJECTS = ("nvidia-cudnn-cu11", "nvidia-cudnn-cu12", "nvidia-cudnn-cu13")
_PLATFORMS = {"linux_x86_64", "linux_aarch64", "win_amd64"}
_DECIDES = re.compile(r"libcudnn_ops(_infer)?\.so\.\d+|cudnn_ops(_infer)?64_\d+\.dll")
"""The library that represents the wheel; compat/README.md says what the others contain."""
_SONAME = re.compile(r"libcudnn\.so\.\d+|cudnn64_\d+\.dll")
_WHEELS_AT_ONCE = 4
"""Most of the time is spent waiting for the index."""


class Published(NamedTuple):
    """A cuDNN wheel for one major version of CUDA and one platform."""

    cuda: int
    release: versions.Version
    platform: str
    file: IndexFile


def published(listed: Iterable[IndexFile]) -> list[Published]:
    """Return the final releases by platform, oldest first; the later build if a wheel was built twice."""
    found = {}
    for file in listed:
        wheel = parse_wheel_name(file.filename)
        release = re.fullmatch(r"([1-9]\d*(?:\.\d+){3})(?:\.post\d+)?", wheel.release) if wheel else None
        version = versions.parse_version(release[1]) if release else None
        if wheel is not None and version is not None:
            cuda = int(wheel.distribution.rpartition("cu")[2])
            found.update({(version, word): Published(cuda, version, word, file) for word in wheel.platforms & _PLATFORMS})
    return [found[key] for key in sorted(found)]


def libraries(names: Iterable[str]) -> tuple[str, str]:
    """Return the member with the most kernels, and the soname of cuDNN itself. Raises ValueError if either is missing."""
    by_name = {name.rpartition("/")[2]: name for name in names}
    deciding = [path for name, path in by_name.items() if _DECIDES.fullmatch(name)]
    sonames = [name for name in by_name if _SONAME.fullmatch(name)]
    if len(deciding) != 1 or len(sonames) != 1:
        raise ValueError("the wheel has no libcudnn_ops or no libcudnn, or several")
    return deciding[0], sonames[0]


def row_of(one: Published, soname: str, code: Code) -> CudnnRelease:
    """Return the row of a wheel."""
    return CudnnRelease(
        release=one.release,
        cuda=one.cuda,
        platform=one.platform,
        soname=soname,
        sass=code.sass,
        ptx=code.ptx,
        source=("cudnn-wheels",),
        note="",
    )


def read(wheel: Wheel) -> tuple[str, Code]:
    """Return the soname of cuDNN and the GPU code in its library. Raises ValueError if the wheel has an unknown layout."""
    deciding, soname = wheel.learn("libraries of cuDNN", lambda: libraries(wheel.zip.namelist()))
    sass, ptx = wheel.learn_of(f"/{deciding}", "GPU code", read_code) or ((), ())
    if not sass:
        raise ValueError("it contains no machine code")
    return soname, Code(tuple(sass), tuple(ptx))


def _read(one: Published, index: Index, cache: Path) -> CudnnRelease | Exception:
    release = Release(f"nvidia-cudnn-cu{one.cuda}", one.release, one.platform, (), one.file)
    try:
        return row_of(one, *read(Wheel(release, index, cache)))
    except (OSError, ValueError, zipfile.BadZipFile) as problem:
        return problem


def main() -> int:
    """Read the wheels without a row; show, check or write the difference; return the exit status."""
    options = arguments(PROJECTS)
    index = Index()
    rows = {CUDNN.key(row): row for row in read_table(str(options.compat), CUDNN)}
    found = [one for project in options.projects or PROJECTS for one in published(index.files(project))]
    unread = [one for one in found if (one.release, one.cuda, one.platform) not in rows]
    failed = False
    with ThreadPoolExecutor(_WHEELS_AT_ONCE) as pool:
        answers = pool.map(lambda one: _read(one, index, options.cache), unread)
        for number, (one, row) in enumerate(zip(unread, answers, strict=True), start=1):
            print(f"[{number}/{len(unread)}] cuDNN {one.release} for CUDA {one.cuda} {one.platform}", file=sys.stderr, flush=True)
            if isinstance(row, Exception):
                print(f"  failed: {type(row).__name__}: {row}", file=sys.stderr)
                failed = True
            else:
                rows[CUDNN.key(row)] = row
    return 1 if failed else finish(options, CUDNN, [rows[key] for key in sorted(rows)])


if __name__ == "__main__":
    sys.exit(main())
