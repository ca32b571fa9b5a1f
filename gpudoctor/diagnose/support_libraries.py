"""Which facts of a text speak for one cause of a missing or mixed CUDA library."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor import versions
from gpudoctor.derive import FrameworkView, MachineView
from gpudoctor.derive.cuda_libraries import WHEEL_NAMES
from gpudoctor.derive.system_cuda import missing_file_names, system_cuda_users
from gpudoctor.derive.toolkits import system_cudas
from gpudoctor.diagnose.missing_libraries import (
    libraries_stated_installed,
    library_paths,
    linux_name,
    missing_libraries_on_disk,
    missing_library_names,
    soname_major,
)
from gpudoctor.diagnose.support_packages import WHEEL_FOLDER, nvidia_wheels
from gpudoctor.diagnose.text_evidence import EvidenceByCause, TextEvidence
from gpudoctor.expressions import expression
from gpudoctor.findings import Evidence
from gpudoctor.matrix import FrameworkRelease
from gpudoctor.matrix.tables import CUDA
from gpudoctor.signatures.phrases import CUPY_USE, HAS_CUDA
from gpudoctor.snapshot import Fact, Platform
from gpudoctor.versions import Version

_NOT_LOADED = "DLL load failed"
_ONE_NUMBER_SONAMES_SINCE = 12
"""From this CUDA on the names of most libraries have only the major version; libcudart.so.11.0 and older have two numbers."""
_ANY_MINOR_SINCE = 11
"""From this CUDA on its minor versions are compatible."""
_TWO_NUMBER_SONAMES_BEFORE = 9
"""Older CUDA releases, which the tables lack, have both numbers of the release in every soname."""
_STATED_CUDA = expression(rf"(?i){HAS_CUDA}v?(?P<major>\d{{1,2}})(?:\.(?P<minor>\d))?(?![\d.]*(?:\w|/[a-z]))")
"""A CUDA release that a sentence or a field names, also without its minor version."""
_ABOUT_OTHER_PART = expression(r"(?i)\b(?:built|compiled|torch|tensorflow|tf|driver|smi|wheel|support\w*|install|need\w*|requir\w*)\b")
_CLAUSE = expression(r"[,;:(]|\. |\b(?:and|but|while)\b")


def _mismatched_cuda(machine: MachineView, text: str) -> Iterator[Evidence]:
    """Yield the installed CUDA, or that of a build which uses it, if a missing library's file name is of another; the build's if the installed one lacks its files."""
    for wanted in missing_library_names(text):
        if wanted.startswith("libcudnn"):
            continue
        for version, where in _installed_toolkits(machine):
            release = machine.matrix.cuda(version)
            if release and release.sonames and wanted not in release.sonames:
                yield Evidence("installed CUDA", str(version), where)
            if version.major < _TWO_NUMBER_SONAMES_BEFORE and _soname_version(wanted) != [str(version.major), str(version.minor)]:
                yield Evidence("installed CUDA", str(version), where)
        yield from _stated_cuda_without_library(wanted, machine, text)
        yield from _other_library_version(wanted, text)
    fails_to_import = not missing_library_names(text) and _NOT_LOADED in text
    is_jetson = machine.site.platform == Platform.JETSON  # NVIDIA builds its own wheels for each JetPack
    for user in () if is_jetson else system_cuda_users(machine.environment):
        if fails_to_import and user.framework is not None and _linked_release(user.framework, machine) is None:
            continue
        release = machine.matrix.cuda(versions.parse_version(user.cuda) or Version(0))
        if (
            release
            and release.sonames
            and any(name not in release.sonames for name in missing_library_names(text) if not name.startswith("libcudnn"))
        ):
            yield Evidence(f"CUDA of {user.label}", user.cuda, user.where)
        lacking = [missing_file_names(user.version, version, machine.matrix) for version, _ in _installed_toolkits(machine)]
        if lacking and all(lacking):
            yield Evidence(f"CUDA of {user.label}", user.cuda, user.where)


def _cuda_unlike_builds(machine: MachineView, _: str) -> Iterator[Evidence]:
    """Yield the CUDA of a release that links it, if that is not the installed one and the text does not name the package."""
    toolkits = [version for version, _ in _installed_toolkits(machine)]
    for framework in machine.frameworks:
        release = _linked_release(framework, machine)
        if framework.observed.distribution or release is None:
            continue
        rows = (row for name in framework.spec.distributions for row in machine.matrix.releases(name))
        ours = [row for row in rows if row.release[:2] == release[:2] and row.accelerator == "cuda"]
        built = {row.built_with_cuda for row in ours if row.built_with_cuda is not None}
        if toolkits and built and all(missing_file_names(cuda, toolkit, machine.matrix) for cuda in built for toolkit in toolkits):
            yield Evidence(f"CUDA of {framework.label} with GPU", ", ".join(sorted(cuda.short for cuda in built)), "matrix")


def _linked_release(framework: FrameworkView, machine: MachineView) -> Version | None:
    """Return the release, if it is known to be linked with CUDA's libraries, so it cannot be imported without them."""
    release, opens = versions.parse_version(framework.release), machine.matrix.bound(framework.name, "opens-cuda")
    return release if opens is not None and release is not None and release < opens else None


def _stated_cuda_without_library(wanted: str, machine: MachineView, text: str) -> Iterator[Evidence]:
    """Yield the one CUDA release that the text says is installed, if no such release has the missing library."""
    stated = stated_cuda(text)
    if stated is None:
        return
    major, minor = stated
    rows = [row for row in machine.matrix.rows(CUDA) if row.release.major == int(major) and row.sonames]
    exact = [row for row in rows if minor is None or row.release.minor == int(minor)] or rows
    older = int(major) < _TWO_NUMBER_SONAMES_BEFORE and _soname_version(wanted)[: 1 if minor is None else 2] != [
        one for one in (major, minor) if one
    ]
    if older or (exact and all(wanted not in (row.sonames or ()) for row in exact)):
        yield Evidence("CUDA in the text", major if minor is None else f"{major}.{minor}", "a sentence")


def stated_cuda(text: str) -> tuple[str, str | None] | None:
    """Return the major and minor version of the one CUDA release that sentences say is installed."""
    found = [
        match
        for line in text.splitlines()
        if (match := _STATED_CUDA.search(line)) and not _ABOUT_OTHER_PART.search(_CLAUSE.split(line[: match.end()])[-1])
    ]
    exactly = {match["major"] for match in found if match["minor"]}
    stated = {(match["major"], match["minor"]) for match in found if match["minor"] or match["major"] not in exactly}
    return stated.pop() if len(stated) == 1 else None


def _installed_toolkits(machine: MachineView) -> list[tuple[Version, str]]:
    return system_cudas(machine.known_toolkits)


def _mismatched_cudnn(machine: MachineView, text: str) -> Iterator[Evidence]:
    """Yield the installed cuDNN, if one of another major version is missing."""
    installed = machine.observed.system_cudnn
    places = [(installed.value, installed.where)] if isinstance(installed, Fact) else []
    places += [(wheel.version, wheel.where) for wheel in nvidia_wheels(machine) if wheel.name.startswith(WHEEL_NAMES["cudnn"])]
    places += [
        (str(row.cudnn), f"matrix: {framework.label}")
        for framework in machine.frameworks
        for row in _releases_with_cudnn(framework, machine)
    ]
    for wanted in missing_library_names(text):
        if wanted.startswith("libcudnn"):
            yield from _other_library_version(wanted, text)
        for said, where in places:
            version = versions.parse_version(said)
            if wanted.startswith("libcudnn") and version is not None and soname_major(wanted) != version.major:
                yield Evidence("installed cuDNN", str(version), where)


def _releases_with_cudnn(framework: FrameworkView, machine: MachineView) -> list[FrameworkRelease]:
    """Return the builds of a release that bring a cuDNN, which other programs in its process must use too."""
    rows = machine.matrix.releases(framework.name) if framework.spec.brings_cuda else ()
    return [row for row in rows if row.cudnn and versions.is_release_named(row.release, framework.release)]


def _library_on_disk(_: MachineView, text: str) -> Iterator[Evidence]:
    """Yield the path of a missing library, if the text shows one."""
    wanted = set(missing_library_names(text))
    for file, said in libraries_stated_installed(text):
        if linux_name(file) in wanted:
            yield Evidence(file, said, "a sentence")
    yield from (
        TextEvidence(name, f"{folder}{name}", "the text") for folder, name in missing_libraries_on_disk(text) if WHEEL_FOLDER not in folder
    )


def _other_library_version(wanted: str, text: str) -> Iterator[Evidence]:
    """Yield the path of the same library in another version, if the text shows one and none in the right version."""
    files = [(f"{folder}{name}", linux_name(name)) for folder, name in library_paths(text)]
    files += [(said, linux_name(file)) for file, said in libraries_stated_installed(text)]
    shown = [(said, name) for said, name in files if _library_stem(name) == _library_stem(wanted)]
    if shown and all(_soname_version(name) != _soname_version(wanted) for _, name in shown):
        yield TextEvidence("on disk", shown[0][0], "the text")


def _library_stem(soname: str) -> str:
    """Return the library's name without version; the parts of cuDNN are one library."""
    name = soname.partition(".so.")[0]
    return "libcudnn" if name.startswith("libcudnn") else name


def _soname_version(soname: str) -> list[str]:
    """Return the version in a file name, as precisely as CUDA's sonames state it."""
    numbers = soname.partition(".so.")[2].strip(".").split(".")
    return numbers[:1] if int(numbers[0]) >= _ONE_NUMBER_SONAMES_SINCE or soname.startswith("libcudnn") else numbers[:2]


_SYSTEM_CUDA_FOLDER = expression(r"(?i)(?:^|:)(/[^:]{0,120}(?:cuda|cudnn)[^:]{0,80})")


def _cuda_folder_searched_first(machine: MachineView, _: str) -> Iterator[Evidence]:
    """Yield a folder of CUDA in LD_LIBRARY_PATH, which programs search before their own libraries."""
    found = _SYSTEM_CUDA_FOLDER.search(machine.variable("LD_LIBRARY_PATH"))
    if found and WHEEL_FOLDER not in found[1]:
        yield Evidence("LD_LIBRARY_PATH", found[1], "the environment")


def _folder_before_own_cudnn(machine: MachineView, text: str) -> Iterator[Evidence]:
    """Yield that folder, if a framework brings a cuDNN of its own."""
    if any(framework.spec.brings_cuda for framework in machine.frameworks):
        yield from _cuda_folder_searched_first(machine, text)


_PACKAGE_FOR_CUDA = expression(r"\blib(?:cudnn|nccl)\d[^\n]{0,60}\+cuda(?P<release>\d{1,2}\.\d{1,2})\b")
"""A package of NVIDIA's repositories, which has one for each CUDA release."""


def _packages_for_other_cuda(machine: MachineView, text: str) -> Iterator[Evidence]:
    """Yield an installed cuDNN or NCCL whose package is for none of the installed CUDA releases."""
    toolkits = [version for version, _ in _installed_toolkits(machine)]
    for found in _PACKAGE_FOR_CUDA.finditer(text):
        wanted = versions.parse_version(found["release"])
        if wanted and toolkits and all(not _is_compatible(wanted, toolkit) for toolkit in toolkits):
            yield TextEvidence("installed package", found[0], "the text")


def _is_compatible(wanted: Version, toolkit: Version) -> bool:
    """Return whether a library for one CUDA release runs with another: since 11 the major version decides."""
    return wanted[:1] == toolkit[:1] if wanted.major >= _ANY_MINOR_SINCE else wanted[:2] == toolkit[:2]


_CUPY_ERROR = expression(CUPY_USE)


def _cuda_unlike_cupy(machine: MachineView, text: str) -> Iterator[Evidence]:
    """Yield the installed CUDA, if CuPy asks for a library of another: each of its wheels is for one CUDA release."""
    if _CUPY_ERROR.search(text):
        yield from _mismatched_cuda(machine, text)


# jax/_src/xla_bridge.py, and xla/stream_executor/cuda/cuda_dnn.cc of TensorFlow and JAX
_OLD_LIBRARY_LOADED = expression(
    r"Found (?P<library>cuBLAS|cuDNN) version (?P<number>\d{4,6}), but JAX was built against|Loaded runtime Cu(?P<dnn>DNN) library: (?P<release>\d{1,2}\.\d{1,2})"
)


def _wheel_newer_than_loaded(machine: MachineView, text: str) -> Iterator[Evidence]:
    """Yield NVIDIA's installed package of a library, if the program loaded an older copy: that is another file."""
    for found in _OLD_LIBRARY_LOADED.finditer(text):
        loaded = _release_of_number(int(found["number"])) if found["number"] else versions.parse_version(found["release"])
        library = (found["library"] or "cudnn").lower()
        for wheel in nvidia_wheels(machine):
            version = versions.parse_version(wheel.version)
            if wheel.name.startswith(WHEEL_NAMES[library]) and version and loaded and version[:2] > loaded[:2]:
                yield Evidence("installed, but another copy is loaded", wheel.label, wheel.where)


def _release_of_number(number: int) -> Version:
    """Return the release that a library's number means: 8906 is cuDNN 8.9.6, 90101 cuDNN 9.1.1, 120205 cuBLAS 12.2.5."""
    major, rest = divmod(number, 1000 if number < 10_000 else 10_000)
    return Version(major, rest // 100)


LIBRARY_FACTS: EvidenceByCause = {
    "cuda-version-mismatch": (_mismatched_cuda, _cuda_unlike_builds),
    "cudnn-wrong-major": (_mismatched_cudnn,),
    "cudnn-version-mismatch": (_packages_for_other_cuda,),
    "cuda-libs-not-on-loader-path": (_library_on_disk,),
    "ld-library-path-shadowing": (_cuda_folder_searched_first, _wheel_newer_than_loaded),
    "cudnn-shadowed-by-system": (_folder_before_own_cudnn, _wheel_newer_than_loaded),
    "cupy-wheel-cuda-mismatch": (_cuda_unlike_cupy,),
}
