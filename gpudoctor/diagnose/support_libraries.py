"""Which facts of a text speak for one cause of a missing or mixed CUDA library."""

from __future__ import annotations

from collections.abc import Container, Iterator

from gpudoctor import versions
from gpudoctor.derive import FrameworkView, MachineView, known
from gpudoctor.derive.cuda import EffectiveCuda
from gpudoctor.derive.cuda_libraries import WHEELS
from gpudoctor.derive.system_cuda import files_lacking, system_cuda_users
from gpudoctor.derive.toolkits import system_cudas
from gpudoctor.diagnose.text_facts import Asks, Words
from gpudoctor.expressions import expression
from gpudoctor.findings import Evidence
from gpudoctor.matrix.cite import cited
from gpudoctor.matrix.tables import CUDA
from gpudoctor.signatures.phrases import CUPY
from gpudoctor.snapshot import Distribution, Fact, Missing, Platform
from gpudoctor.versions import Version

_NAMES = "cudart|cublas|cublasLt|cufft|curand|cusolver|cusparse|nvrtc|nvJitLink|cudnn"
_SONAME = expression(
    rf"(lib(?:{_NAMES})(?:_\w{{1,40}})?\.so\.[\d.]{{1,8}}?)(?:'?[:;] ?(?:dlerror|cannot open shared object)| => not found|\. (?:Error|LD_LIBRARY_PATH):| is not found or cannot)"
)
_SAID_MISSING = expression(
    rf"(?i:\b(?:could not|cannot|can't|unable to|fail(?:s|ed)? to|(?:does|do|did)(?: not|n't)|missing)\b(?:(?!\blib\w{{1,40}}\.so)[^\n]){{0,30}}?)(lib(?:{_NAMES})(?:_\w{{1,40}})?\.so\.\d{{1,2}}(?:\.\d{{1,2}})?)(?![\w.]\d|: /)"
)
"""As programs that keep the loader's words to themselves and people say it."""
_DLL = expression(rf"\b({_NAMES})(?:_\w{{1,40}})?64_(\d{{1,3}})(?:_\d)?\.dll")
_NOT_LOADED = "DLL load failed"
_LATEST_MAJOR_OF_TWO_DIGITS = 20
"""cublas64_11.dll is of CUDA 11, cudart64_90.dll of CUDA 9.0."""
_ONE_NUMBER_SINCE = 12
"""From this CUDA on the names of most libraries have only the major version; libcudart.so.11.0 and older have two numbers."""
_TWO_NUMBERS_BEFORE = 9
"""Older CUDA releases, which the tables lack, have both numbers of the release in every soname."""
_STATED = expression(
    r"(?i)(?:(?:\b(?:with|have|has|had|us(?:e[sd]?|ing)|installed|run(?:s|ning)?|on|my|mit|con|com|avec|\u0441)\s{1,3}|(?:\u5b89\u88c5|\u88c5|\u5b89\u88dd|\u4f7f\u7528|\u7528)(?:\u4e86|\u7684\u662f)?\s{0,2}|^\W{0,6})cuda[ -]?(?:toolkit |version )?|\bcuda/cudnn version\W{1,6}(?:cuda )?|\bcuda (?:version )?(?:is|was|has been) (?:now )?(?:(?:up|down)(?:graded|dated) (?:from [\d.]{1,5} )?to )?|\bcuda[ -]?(?:toolkit |version )?(?=v?\d{1,2}(?:\.\d{1,2}){0,2} (?:libs? |librar(?:y|ies) |toolkit |runtime )?(?:is |are |was |were )?(?:already )?installed\b))"
    r"v?(?P<major>\d{1,2})(?:\.(?P<minor>\d))?(?![\d.]*(?:\w|/[a-z]))"
)
"""A CUDA release that a sentence or a field names, also without its minor version."""
_OF_ANOTHER = expression(r"(?i)\b(?:built|compiled|torch|tensorflow|tf|driver|smi|wheel|support\w*|install|need\w*|requir\w*)\b")
_CLAUSE = expression(r"[,;:(]|\. |\b(?:and|but|while)\b")
_ON_DISK = expression(r"(/[^\s:;'\"]{1,200}/|(?<![\w/])(?=lib\w{1,40}\.so\.\d{1,2}\.\d{1,3}\.\d))(lib\w{1,40}\.so\.[\d.]{1,8})")
"""A library by its path, or by the whole name of its file, which links and messages of the loader shorten."""


def _missing(text: str) -> list[str]:
    """Return the libraries that a text says are missing, by their Linux names: libcudart.so.11.0 for cudart64_110.dll."""
    libraries = [f"lib{name}.so.{_dll_version(digits)}" for name, digits in _DLL.findall(text)]
    return list(dict.fromkeys([*_SONAME.findall(text), *_SAID_MISSING.findall(text), *libraries]))


def _dll_version(digits: str) -> str:
    whole = len(digits) == 1 or (len(digits) == 2 and int(digits) < _LATEST_MAJOR_OF_TWO_DIGITS)
    return digits if whole else f"{digits[:-1]}.{digits[-1]}"


def _other_cuda(machine: MachineView, text: str) -> Iterator[Evidence]:
    """Yield the installed CUDA, or that of a build which uses it, if a missing library's file name is of another; the build's if the installed one lacks its files."""
    for wanted in _missing(text):
        if wanted.startswith("libcudnn"):
            continue
        for version, where in _toolkits(machine):
            release = machine.matrix.cuda(version)
            if release and release.sonames and wanted not in release.sonames:
                yield Evidence("installed CUDA", str(version), where)
            if version.major < _TWO_NUMBERS_BEFORE and _numbers(wanted) != [str(version.major), str(version.minor)]:
                yield Evidence("installed CUDA", str(version), where)
        yield from _stated_otherwise(wanted, machine, text)
        yield from _another_version(wanted, text)
    fails_to_import = not _missing(text) and _NOT_LOADED in text
    is_jetson = machine.site.platform == Platform.JETSON  # NVIDIA builds its own wheels for each JetPack
    for user in () if is_jetson else system_cuda_users(machine.environment):
        if fails_to_import and user.framework is not None and _linked_release(user.framework, machine) is None:
            continue
        release = machine.matrix.cuda(versions.parse(user.cuda) or Version(0))
        if release and release.sonames and any(name not in release.sonames for name in _missing(text) if not name.startswith("libcudnn")):
            yield Evidence(f"CUDA of {user.label}", user.cuda, user.where)
        lacking = [files_lacking(user.version, version, machine.matrix) for version, _ in _toolkits(machine)]
        if lacking and all(lacking):
            yield Evidence(f"CUDA of {user.label}", user.cuda, user.where)


def _other_cuda_than_any_build(machine: MachineView, _: str) -> Iterator[Evidence]:
    """Yield the CUDA of a release that links it, if that is not the installed one and the text does not name the package."""
    toolkits = [version for version, _ in _toolkits(machine)]
    for framework in machine.frameworks:
        release = _linked_release(framework, machine)
        if framework.observed.distribution or release is None:
            continue
        rows = (row for name in framework.spec.distributions for row in machine.matrix.releases(name))
        ours = [row for row in rows if row.release[:2] == release[:2] and row.accelerator == "cuda"]
        built = {row.built_with_cuda for row in ours if row.built_with_cuda is not None}
        if toolkits and built and all(files_lacking(cuda, toolkit, machine.matrix) for cuda in built for toolkit in toolkits):
            yield Evidence(f"CUDA of {framework.label} with GPU", ", ".join(sorted(cuda.short for cuda in built)), "matrix")


def _linked_release(framework: FrameworkView, machine: MachineView) -> Version | None:
    """Return the release, if it is known to be linked with CUDA's libraries, so it cannot be imported without them."""
    release, opens = versions.parse(framework.release), machine.matrix.bound(framework.name, "opens-cuda")
    return release if opens is not None and release is not None and release < opens else None


def _stated_otherwise(wanted: str, machine: MachineView, text: str) -> Iterator[Evidence]:
    """Yield the one CUDA release that the text says is installed, if no such release has the missing library."""
    stated = stated_cuda(text)
    if stated is None:
        return
    major, minor = stated
    rows = [row for row in machine.matrix.rows(CUDA) if row.release.major == int(major) and row.sonames]
    exact = [row for row in rows if minor is None or row.release.minor == int(minor)] or rows
    older = int(major) < _TWO_NUMBERS_BEFORE and _numbers(wanted)[: 1 if minor is None else 2] != [one for one in (major, minor) if one]
    if older or (exact and all(wanted not in (row.sonames or ()) for row in exact)):
        yield Evidence("CUDA in the text", major if minor is None else f"{major}.{minor}", "a sentence")


def stated_cuda(text: str) -> tuple[str, str | None] | None:
    """Return the major and minor version of the one CUDA release that sentences say is installed."""
    found = [
        match
        for line in text.splitlines()
        if (match := _STATED.search(line)) and not _OF_ANOTHER.search(_CLAUSE.split(line[: match.end()])[-1])
    ]
    exactly = {match["major"] for match in found if match["minor"]}
    stated = {(match["major"], match["minor"]) for match in found if match["minor"] or match["major"] not in exactly}
    return stated.pop() if len(stated) == 1 else None


def _toolkits(machine: MachineView) -> list[tuple[Version, str]]:
    return system_cudas(machine.known_toolkits)


def _other_cudnn(machine: MachineView, text: str) -> Iterator[Evidence]:
    """Yield the installed cuDNN, if one of another major version is missing."""
    installed = machine.observed.system_cudnn
    places = [(installed.value, installed.where)] if isinstance(installed, Fact) else []
    places += [(one.version, one.where) for one in _wheels(machine) if one.name.startswith(WHEELS["cudnn"])]
    for wanted in _missing(text):
        if wanted.startswith("libcudnn"):
            yield from _another_version(wanted, text)
        for said, where in places:
            version = versions.parse(said)
            if wanted.startswith("libcudnn") and version is not None and _major(wanted) != version.major:
                yield Evidence("installed cuDNN", str(version), where)


def _in_wheels(machine: MachineView, text: str) -> Iterator[Evidence]:
    """Yield the installed package of NVIDIA's that contains a missing library."""
    installed = {one.name: one for one in _wheels(machine)}
    if not _missing(text):
        yield from _out_of_reach(machine, installed)
    for wanted in _missing(text):
        package = next((wheel for name, wheel in WHEELS.items() if wanted.lower().startswith(f"lib{name}")), "")
        if not package:
            continue
        names = {package, *(f"{package}-cu{major}" for major in _cudas_of(wanted, machine))}
        for one in (one for name, one in installed.items() if name in names):
            version = versions.parse(one.version)
            if version is not None and (package != WHEELS["cudnn"] or version.major == _major(wanted)):
                yield Evidence("installed", one.label, one.where)


def _out_of_reach(machine: MachineView, installed: Container[str]) -> Iterator[Evidence]:
    """Yield the installed packages of NVIDIA's that a framework's wheel cannot find, whatever else is installed."""
    stack = machine.stack_or_missing
    for framework in machine.frameworks:
        own = framework.distribution
        row = stack.row(own) if own is not None and not isinstance(stack, Missing) else None
        lost = [name for name in (row.unreachable or () if row else ()) if name in installed]
        if row and lost:
            yield Evidence(f"packages that {framework.label} cannot find", " ".join(lost), cited(row.source))


def _cudas_of(soname: str, machine: MachineView) -> frozenset[int]:
    """Return the major versions of CUDA that have a library of this name, as 10 to 13 have libcurand.so.10; for cuDNN of the installed packages."""
    if soname.startswith("libcudnn"):
        suffixes = [one.name.rpartition("-cu")[2] for one in _wheels(machine) if one.name.startswith(WHEELS["cudnn"])]
        return frozenset(int(suffix) for suffix in suffixes if suffix.isdigit())
    return frozenset(row.release.major for row in machine.matrix.rows(CUDA) if soname in (row.sonames or ()))


_IN_FOLDER = expression(
    rf"(lib(?:{_NAMES})(?:_\w{{1,40}})?\.so\.[\d.]{{1,8}}|(?:{_NAMES})(?:_\w{{1,40}})?64_\d{{1,3}}(?:_\d)?\.dll)\b(?:(?!\bno|n't|dlerror)[^\n]){{0,50}} (?:in|inside|under|at) (?:(?!\bno)[^\n]){{0,24}}?(/\w|[A-Z]:\\)"
)
"""A library that somebody says is in a folder."""


_NOT_OPENED = expression(r"lib\w{1,40}\.so\.[\d.]{1,12}(?=:(?:\s|cannot open|$))|Could not load library lib\w{1,40}\.so\.[\d.]{1,12}")
"""How the loader names what it did not find, by the whole name of its file too."""


def _on_disk(_: MachineView, text: str) -> Iterator[Evidence]:
    """Yield the path of a missing library, if the text shows one."""
    missing = set(_missing(text))
    for said in _IN_FOLDER.finditer(text):
        if missing.intersection(_missing(f"{said[1]}: dlerror")):
            yield Evidence(said[1], said[0], "a sentence")
    for folder, name in _ON_DISK.findall(_NOT_OPENED.sub(" ", text)):
        if name in missing and not _OF_WHEELS.search(folder):
            yield Words(name, f"{folder}{name}", "the text")


_OF_WHEELS = expression(r"-packages/nvidia/")
"""Where NVIDIA's packages for pip put their libraries."""


def _in_folder_of_wheels(_: MachineView, text: str) -> Iterator[Evidence]:
    """Yield the path of a missing library in NVIDIA's packages for pip, if the text shows one."""
    missing = set(_missing(text))
    for folder, name in _ON_DISK.findall(_NOT_OPENED.sub(" ", text)):
        if name in missing and _OF_WHEELS.search(folder):
            yield Words(name, f"{folder}{name}", "the text")


_SAID_INSTALLED = expression(
    r"(?i)(?<!no )(?<!not )\b(nvidia-[a-z]{2,16}-cu\d{2})\b(?:[`'\"]|==[\d.]{1,16}){0,2} (?:(?:package|wheel) )?(?:is|are|was|were) (?:already |also |both )?(?:installed|present|there|in (?:the|my|this) (?:environment|env|venv))\b"
    r"|\b(?:i|we)(?:'ve| have| had)? (?:already |also |even )?(?:pip[ -])?installed (?:the )?(?:package )?[`'\"]?(nvidia-[a-z]{2,16}-cu\d{2})\b"
)
_LATEST_CUDNN = 9
"""The major version of cuDNN that pip installs if none is asked for."""


def _said_to_be_in_wheels(machine: MachineView, text: str) -> Iterator[Evidence]:
    """Yield NVIDIA's package for pip that contains a missing library, if somebody says that it is installed."""
    said = {(found[1] or found[2]).lower(): found[0] for found in _SAID_INSTALLED.finditer(text)}
    for wanted in _missing(text):
        package = next((wheel for name, wheel in WHEELS.items() if wanted.lower().startswith(f"lib{name}")), "")
        for name, words in said.items():
            of_cuda, _, major = name.rpartition("-cu")
            fits = _major(wanted) == _LATEST_CUDNN if wanted.startswith("libcudnn") else int(major) in _cudas_of(wanted, machine)
            if of_cuda == package and fits:
                yield Words(name, words, "a sentence")


def _another_version(wanted: str, text: str) -> Iterator[Evidence]:
    """Yield the path of the same library in another version, if the text shows one and none in the right version."""
    stem = _stem(wanted)
    shown = [(f"{folder}{name}", name) for folder, name in _ON_DISK.findall(text) if _stem(name) == stem]
    if shown and all(_numbers(name) != _numbers(wanted) for _, name in shown):
        yield Words("on disk", shown[0][0], "the text")


def _stem(soname: str) -> str:
    """Return the library's name without version; the parts of cuDNN are one library."""
    name = soname.partition(".so.")[0]
    return "libcudnn" if name.startswith("libcudnn") else name


def _numbers(soname: str) -> list[str]:
    """Return the version in a file name, as precisely as CUDA's sonames state it."""
    numbers = soname.partition(".so.")[2].strip(".").split(".")
    return numbers[:1] if int(numbers[0]) >= _ONE_NUMBER_SINCE or soname.startswith("libcudnn") else numbers[:2]


def _of_other_wheels(machine: MachineView, text: str) -> Iterator[Evidence]:
    """Yield the framework's own CUDA, or NVIDIA's packages for another one, if a library of a third is missing."""
    wanted = [name for name in _missing(text) if not name.startswith("libcudnn")]
    majors = {major for name in wanted for major in _cudas_of(name, machine)}
    for framework in machine.frameworks:
        cuda = framework.cuda_or_missing
        if framework.spec.brings_cuda and isinstance(cuda, EffectiveCuda) and majors and cuda.version.major not in majors:
            yield Evidence(f"CUDA of {framework.label}", str(cuda.version), cuda.where)
    for one in _wheels(machine):
        suffix = one.name.rpartition("-cu")[2]
        if suffix.isdigit() and majors and int(suffix) > max(majors):
            yield Evidence("installed", one.label, one.where)


def _wheels(machine: MachineView) -> list[Distribution]:
    stack = machine.stack_or_missing
    return [] if isinstance(stack, Missing) else [one for name, one in stack.distributions.items() if name.startswith("nvidia-")]


def _major(soname: str) -> int:
    return int(soname.partition(".so.")[2].partition(".")[0])


_BY_EXTENSION = expression(r"(?m)^\W{0,8}(?:import|from) (\w{3,40}_(?:cuda|ext|gpu)|vllm\._C|amp_C|sgl_kernel)\b")
"""A compiled module of an extension of PyTorch, which is imported after PyTorch has loaded the runtime of its own CUDA."""


def _of_an_extension(_: MachineView, text: str) -> Iterator[Evidence]:
    if (found := _BY_EXTENSION.search(text)) and any(name.startswith("libcudart.") for name in _missing(text)):
        yield Evidence("missing for", found[1], "a traceback")


_OF_CONDA = expression(r"lib(\w{3,12})-(\d[\w.]{0,20})-")


def _from_conda_and_pip(machine: MachineView, _: str) -> Iterator[Evidence]:
    """Yield a library of CUDA that conda and pip both installed, in different versions."""
    packages = known(machine.observed.packages)
    in_conda = {found[1]: found[2] for stem in known(packages.conda) if (found := _OF_CONDA.match(stem))}
    for one in packages.distributions:
        name = one.name.removeprefix("nvidia-").partition("-cu")[0]
        if one.name.startswith("nvidia-") and in_conda.get(name, one.version) != one.version:
            yield Evidence(f"{name} of conda, of pip", f"{in_conda[name]}, {one.version}", one.where)


_OF_SYSTEM = expression(r"(?i)(?:^|:)(/[^:]{0,120}(?:cuda|cudnn)[^:]{0,80})")


def _before_own_cudnn(machine: MachineView, _: str) -> Iterator[Evidence]:
    """Yield a folder of CUDA in LD_LIBRARY_PATH, if a framework brings a cuDNN of its own, which that folder's comes before."""
    found = _OF_SYSTEM.search(machine.variable("LD_LIBRARY_PATH"))
    if found and "site-packages" not in found[1] and any(one.spec.brings_cuda for one in machine.frameworks):
        yield Evidence("LD_LIBRARY_PATH", found[1], "the environment")


def _wheels_of_two_cudas(machine: MachineView, _: str) -> Iterator[Evidence]:
    """Yield two of NVIDIA's installed packages for one library and two CUDA releases."""
    places: dict[str, Distribution] = {}
    for one in _wheels(machine):
        library, _, suffix = one.name.rpartition("-cu")
        if suffix.isdigit() and (first := places.setdefault(library, one)) is not one:
            yield Evidence("installed", f"{first.label}, {one.label}", one.where)


def _cuda_in_search_path(machine: MachineView, _: str) -> Iterator[Evidence]:
    """Yield a folder of CUDA in LD_LIBRARY_PATH, which programs search before their own libraries."""
    found = _OF_SYSTEM.search(machine.variable("LD_LIBRARY_PATH"))
    if found and not _OF_WHEELS.search(found[1]):
        yield Evidence("LD_LIBRARY_PATH", found[1], "the environment")


_LINKER_SYMBOL = expression(r"\b_{1,2}nvJitLink[A-Z][a-z]\w{2,40}?_(\d{2})_(\d)\b")
"""A function of nvJitLink, whose name ends with the CUDA release that needs it."""


def _older_linker(machine: MachineView, text: str) -> Iterator[Evidence]:
    """Yield NVIDIA's installed package of nvJitLink, if it is older than the function that it lacks."""
    found = _LINKER_SYMBOL.search(text)
    for one in _wheels(machine) if found else ():
        version = versions.parse(one.version)
        if found and one.name.startswith(WHEELS["nvjitlink"]) and version and version[:2] < Version(int(found[1]), int(found[2]))[:2]:
            yield Evidence("installed", one.label, one.where)


_OF_CUPY = expression(CUPY)


def _cupy_beside_other_cuda(machine: MachineView, text: str) -> Iterator[Evidence]:
    """Yield the installed CUDA, if CuPy asks for a library of another: each of its wheels is for one CUDA release."""
    if _OF_CUPY.search(text):
        yield from _other_cuda(machine, text)


LIBRARIES: Asks = {
    "cuda-version-mismatch": (_other_cuda, _other_cuda_than_any_build),
    "cudnn-wrong-major": (_other_cudnn,),
    "pip-nvidia-libs-not-on-path": (_in_wheels, _in_folder_of_wheels, _said_to_be_in_wheels),
    "cuda-libs-not-on-loader-path": (_on_disk,),
    "extension-built-for-other-cuda": (_of_other_wheels, _of_an_extension),
    "mixed-conda-pip": (_from_conda_and_pip,),
    "ld-library-path-shadowing": (_cuda_in_search_path,),
    "cudnn-shadowed-by-system": (_before_own_cudnn,),
    "nvidia-wheel-version-conflict": (_older_linker,),
    "cuda-mixed-versions": (_wheels_of_two_cudas,),
    "cupy-wheel-cuda-mismatch": (_cupy_beside_other_cuda,),
}
