"""The frameworks of the target environment: their build as stated in their own files, read and never run."""

from __future__ import annotations

import os
from collections.abc import Iterable

import msgspec

from gpudoctor.frameworks import CATALOGUE, BuildFile, CudaPlugin, FrameworkSpec, framework_of
from gpudoctor.probe import files
from gpudoctor.probe.packages import parse_metadata_name
from gpudoctor.probe.python_constants import FileConstants
from gpudoctor.probe.target_facts import TargetFacts
from gpudoctor.snapshot import NOT_ASKED, Cause, Distribution, Fact, Framework, Missing, printable_text

NOTHING_INSIDE = TargetFacts()


def has_framework(path: Iterable[str]) -> bool:
    """Whether one of the folders contains a framework's metadata."""
    for folder in path:
        for entry in files.entries_or_empty(folder):
            named = parse_metadata_name(entry)
            if named and framework_of(named[0]):
                return True
    return False


def frameworks(path: Iterable[str], distributions: Iterable[Distribution], seen: TargetFacts = NOTHING_INSIDE) -> tuple[Framework, ...]:
    """The frameworks that an import finds: of two copies the first on `path`, a sys.path, or where `seen` has the target's own finders.

    It finds nothing in a folder that this user may not list.
    """
    folders = [folder for folder in path if os.path.isabs(folder) and os.access(folder, os.R_OK)]
    installed = tuple(distributions)
    found = []
    for spec in CATALOGUE:
        if archive := seen.archive_of_package(spec.name):
            found.append(_framework_in_archive(spec, printable_text(archive)))
            continue
        folder = seen.folder(spec.name) or _import_folder(folders, spec.name)
        distribution = _framework_distribution(spec.name, folder, installed, folders)
        if distribution is not None or (folder is not None and _has_own_files(spec, folder)):
            found.append(_stated_framework(spec, folder, distribution, installed, _shadowing_file(folders, spec.name, folder)))
    return tuple(found)


def _framework_in_archive(spec: FrameworkSpec, archive: str) -> Framework:
    """A framework inside a zip file or an egg; all its facts are unknown."""
    unread = Missing(Cause.FAILED, f"{spec.name} is inside {archive}, which gpudoctor does not read")
    build = dict.fromkeys(("cuda_build", "rocm_build", "built_with_cuda", "built_with_cudnn", "architectures"), unread)
    return Framework(name=spec.name, distribution="", version=unread, location=unread, shadow=unread, **build)


def _has_own_files(spec: FrameworkSpec, folder: str) -> bool:
    """Whether a package without metadata is the framework: a folder of its name without the framework's own files is something else."""
    files_of_its_own = (*(spec.build.files if spec.build else ()), *(file for file, _ in spec.version_files.values()))
    return any(os.path.isfile(f"{folder}/{file}") for file in files_of_its_own)


def _shadowing_file(folders: list[str], name: str, package: str | None) -> str | Missing:
    """The module file that an import finds before the package."""
    earlier = folders[: folders.index(package)] if package in folders else folders
    place = next((folder for folder in earlier if os.path.isfile(f"{folder}/{name}.py")), None)
    return f"{printable_text(place)}/{name}.py" if place else Missing(Cause.ABSENT, f"no {name}.py shadows the package on sys.path")


def _import_folder(folders: Iterable[str], package: str) -> str | None:
    """The folder from which `import package` takes it: a package with __init__.py comes before an earlier folder without one."""
    holding = [folder for folder in folders if os.path.isdir(f"{folder}/{package}")]
    return next((folder for folder in holding if os.path.isfile(f"{folder}/{package}/__init__.py")), holding[0] if holding else None)


def _framework_distribution(
    name: str, folder: str | None, installed: Iterable[Distribution], folders: Iterable[str]
) -> Distribution | None:
    """The metadata beside the package; for a package elsewhere (editable or gone), metadata without a package beside it."""
    candidates = [distribution for distribution in installed if framework_of(distribution.name) == name]
    beside = (candidate for candidate in candidates if folder is not None and candidate.where == printable_text(folder))
    places = {printable_text(one): one for one in folders}
    alone = (
        candidate for candidate in candidates if not os.path.isfile(f"{places.get(candidate.where, candidate.where)}/{name}/__init__.py")
    )
    return next(beside, None) or next(alone, None)


def _stated_framework(
    spec: FrameworkSpec, folder: str | None, distribution: Distribution | None, installed: tuple[Distribution, ...], shadow: str | Missing
) -> Framework:
    """What the package's own files state, and otherwise the metadata."""
    own = _version_from_files(spec, folder)
    stated = own if isinstance(own, Fact) else _version_from_metadata(spec.name, distribution)
    location = printable_text(f"{folder}/{spec.name}") if folder else None
    whole = Framework(
        name=spec.name,
        distribution=distribution.name if distribution else "",
        version=stated,
        location=location or Missing(Cause.ABSENT, f"no folder on the environment's sys.path has a package {spec.name}"),
        shadow=shadow,
    )
    if spec.plugin is not None:
        return _framework_with_plugin(whole, spec.plugin, installed)
    return whole if spec.build is None else _framework_with_build(whole, spec.build, folder or "")


def _version_from_metadata(name: str, distribution: Distribution | None) -> Fact | Missing:
    if distribution is None or not distribution.version:
        return Missing(Cause.ABSENT, f"no metadata states the version of {name}")
    return Fact(distribution.version, f"the metadata of {distribution.name} in {distribution.where}")


def _version_from_files(spec: FrameworkSpec, folder: str | None) -> Fact | Missing | None:
    """The version that the package itself states; None if it states none as a constant."""
    for file, names in (spec.version_files[name] for name in spec.distributions[:1] if name in spec.version_files):
        return FileConstants(f"{folder or ''}/{file}").text(*names)
    return None


def _framework_with_build(framework: Framework, build: BuildFile, folder: str) -> Framework:
    """The framework with what its build file states."""
    paths = [f"{folder}/{file}" for file in build.files]
    path = next((path for path in paths if os.path.isfile(path)), paths[0])
    constants = FileConstants(path, build.dictionary, build.nothing)
    hip = constants.has_value(build.hip) if build.hip else NOT_ASKED
    silent = Missing(Cause.ABSENT, f"{build.files[0]} does not state a version of cuDNN")
    return msgspec.structs.replace(
        framework,
        cuda_build=constants.read_flag(build.is_cuda) if build.is_cuda else constants.states(build.cuda[0]),
        rocm_build=constants.read_flag(build.is_rocm) if build.is_rocm else hip,
        built_with_cuda=constants.text(*build.cuda),
        built_with_cudnn=constants.text(*build.cudnn) if build.cudnn else silent,
        architectures=(
            constants.read_texts(build.architectures)
            if build.architectures
            else _rocm_targets(f"{folder}/{build.rocm_kernels}")
            if hip is True and build.rocm_kernels
            else NOT_ASKED
        ),
    )


def _rocm_targets(folder: str) -> tuple[str, ...] | Missing:
    """The targets for which a ROCm build has rocBLAS kernels, from file names: ..._gfx90a.dat or ...-gfx1030.hsaco."""
    entries = files.list_folder(folder)
    if isinstance(entries, Missing):
        return entries
    targets = {word for entry in entries for word in os.path.splitext(entry)[0].replace("-", "_").split("_") if word.startswith("gfx")}
    return tuple(sorted(targets)) or Missing(Cause.FAILED, f"{printable_text(folder)} names no target")


def _framework_with_plugin(framework: Framework, plugin: CudaPlugin, installed: Iterable[Distribution]) -> Framework:
    """The framework with the CUDA version of its plugin or, in earlier releases, of the local version: 0.4.25+cuda12.cudnn89."""
    cuda, cudnn = _plugin_cuda(framework.name, plugin, installed)
    return msgspec.structs.replace(
        framework,
        cuda_build=isinstance(cuda, Fact),
        rocm_build=any(distribution.name.startswith(f"{framework.name}-rocm") for distribution in installed),
        built_with_cuda=cuda,
        built_with_cudnn=cudnn,
    )


def _plugin_cuda(name: str, plugin: CudaPlugin, installed: Iterable[Distribution]) -> tuple[Fact | Missing, Fact | Missing]:
    absent = Missing(Cause.ABSENT, f"no CUDA plugin of {name} and no {plugin.library} with CUDA is installed")
    for distribution in installed:
        where = f"{distribution.name} {distribution.version} in {distribution.where}"
        if major := plugin.major(distribution.name):
            return Fact(major, where), Missing(Cause.ABSENT, "the plugin's name does not include a cuDNN version")
        if distribution.name == plugin.library and "+cuda" in distribution.version:
            cuda, _, cudnn = distribution.version.partition("+cuda")[2].partition(".cudnn")
            return Fact(f"{cuda[:2]}.{cuda[2:]}".rstrip("."), where), Fact(".".join(cudnn), where) if cudnn else absent
    return absent, absent
