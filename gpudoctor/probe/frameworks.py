"""The frameworks of the target environment: what their own files say of the build, read from outside and never run."""

from __future__ import annotations

import os
from collections.abc import Iterable

import msgspec

from gpudoctor.probe import files
from gpudoctor.probe.constants import Constants
from gpudoctor.probe.inside import Inside
from gpudoctor.probe.packages import parse
from gpudoctor.snapshot import NOT_ASKED, Cause, Distribution, Fact, Framework, Missing, readable
from gpudoctor.snapshot.distributions import family

NOTHING = Inside()


def has_framework(path: Iterable[str]) -> bool:
    """Whether a framework's metadata lies in one of the folders."""
    for folder in path:
        entries = files.names(folder)
        for entry in () if isinstance(entries, Missing) else entries:
            named = parse(entry)
            if named and family(named[0]):
                return True
    return False


def frameworks(path: Iterable[str], distributions: Iterable[Distribution], seen: Inside = NOTHING) -> tuple[Framework, ...]:
    """The frameworks that an import would find: of two copies the first on `path`, a sys.path, or where `seen` has the target's own finders."""
    folders = [folder for folder in path if os.path.isabs(folder)]
    installed = tuple(distributions)
    found = []
    for name, describe in (("tensorflow", _tensorflow), ("torch", _torch), ("jax", _jax)):
        folder = seen.folder(name) or _importable(folders, name)
        distribution = _distribution(name, folder, installed, folders)
        if folder is not None or distribution is not None:
            whole = describe(_Installed(name, folder, distribution, installed))
            found.append(msgspec.structs.replace(whole, shadow=_shadow(folders, name, folder)))
    return tuple(found)


def _shadow(folders: list[str], name: str, package: str | None) -> str | Missing:
    """The module file that an import meets before the package."""
    earlier = folders[: folders.index(package)] if package in folders else folders
    place = next((folder for folder in earlier if os.path.isfile(f"{folder}/{name}.py")), None)
    return f"{readable(place)}/{name}.py" if place else Missing(Cause.ABSENT, f"no {name}.py comes before the package on sys.path")


def _importable(folders: Iterable[str], package: str) -> str | None:
    """The folder that `import package` would take it from: a package with __init__.py wins over an earlier folder without one."""
    holding = [folder for folder in folders if os.path.isdir(f"{folder}/{package}")]
    return next((folder for folder in holding if os.path.isfile(f"{folder}/{package}/__init__.py")), holding[0] if holding else None)


def _distribution(name: str, folder: str | None, installed: Iterable[Distribution], folders: Iterable[str]) -> Distribution | None:
    """The metadata beside the package; or, for a package elsewhere (installed editably, or gone), metadata that has none beside it."""
    candidates = [one for one in installed if family(one.name) == name]
    beside = (one for one in candidates if folder is not None and one.where == readable(folder))
    places = {readable(one): one for one in folders}
    alone = (one for one in candidates if not os.path.isfile(f"{places.get(one.where, one.where)}/{name}/__init__.py"))
    return next(beside, None) or next(alone, None)


class _Installed:
    """One framework's place: where its package lies and which distribution it is of."""

    def __init__(self, name: str, folder: str | None, distribution: Distribution | None, installed: tuple[Distribution, ...]) -> None:
        self.name = name
        self.folder = folder
        self.installed = installed
        self.distribution = distribution.name if distribution else ""
        self.location: str | Missing = (
            readable(f"{folder}/{name}")
            if folder
            else Missing(Cause.ABSENT, f"no folder of the environment's sys.path holds a package {name}")
        )
        self.stated: Fact | Missing = (
            Fact(distribution.version, f"the metadata of {distribution.name} in {distribution.where}")
            if distribution and distribution.version
            else Missing(Cause.ABSENT, f"no metadata gives the version of {name}")
        )

    def constants(self, *candidates: str, inside: str = "") -> Constants:
        """The constants of the first candidate that exists, a path below the folder that holds the package."""
        paths = [f"{self.folder or ''}/{candidate}" for candidate in candidates]
        return Constants(next((path for path in paths if os.path.isfile(path)), paths[0]), inside)


def _tensorflow(here: _Installed) -> Framework:
    """Since 2.3 a dictionary build_info; before it plain names, without a version of CUDA up to 1.13. 1.15 to 2.1 lie in tensorflow_core."""
    file = "python/platform/build_info.py"
    build = here.constants(f"tensorflow/{file}", f"tensorflow_core/{file}", inside="build_info")
    return Framework(
        name=here.name,
        distribution=here.distribution,
        version=here.stated,
        location=here.location,
        cuda_build=build.flag("is_cuda_build"),
        rocm_build=build.flag("is_rocm_build"),
        built_with_cuda=build.text("cuda_version", "cuda_version_number"),
        built_with_cudnn=build.text("cudnn_version", "cudnn_version_number"),
        architectures=build.texts("cuda_compute_capabilities"),
    )


def _torch(here: _Installed) -> Framework:
    build = here.constants("torch/version.py")
    version = build.text("__version__")
    return Framework(
        name=here.name,
        distribution=here.distribution,
        version=here.stated if isinstance(version, Missing) else version,
        location=here.location,
        cuda_build=build.gives("cuda"),
        rocm_build=build.gives("hip"),
        built_with_cuda=build.text("cuda"),
        built_with_cudnn=Missing(Cause.ABSENT, "torch/version.py does not speak of cuDNN"),
        architectures=_rocm_targets(here) if build.gives("hip") is True else NOT_ASKED,
    )


def _rocm_targets(here: _Installed) -> tuple[str, ...] | Missing:
    """The targets for which a build for ROCm brings rocBLAS's kernels: their files are called ..._gfx90a.dat or ...-gfx1030.hsaco."""
    folder = f"{here.folder}/torch/lib/rocblas/library"
    entries = files.names(folder)
    if isinstance(entries, Missing):
        return entries
    targets = {word for entry in entries for word in os.path.splitext(entry)[0].replace("-", "_").split("_") if word.startswith("gfx")}
    return tuple(sorted(targets)) or Missing(Cause.FAILED, f"{readable(folder)} names no target")


def _jax(here: _Installed) -> Framework:
    """Jax itself is Python only; CUDA comes with a plugin, or in jaxlib up to 0.4.25, whose version then says so: 0.4.25+cuda12.cudnn89."""
    version = here.constants("jax/version.py").text("_release_version", "_version", "__version__")
    cuda, cudnn = _jax_cuda(here.installed)
    return Framework(
        name=here.name,
        distribution=here.distribution,
        version=here.stated if isinstance(version, Missing) else version,
        location=here.location,
        cuda_build=isinstance(cuda, Fact),
        rocm_build=any(one.name.startswith("jax-rocm") for one in here.installed),
        built_with_cuda=cuda,
        built_with_cudnn=cudnn,
    )


def _jax_cuda(installed: Iterable[Distribution]) -> tuple[Fact | Missing, Fact | Missing]:
    absent = Missing(Cause.ABSENT, "no CUDA plugin of jax and no jaxlib with CUDA is installed")
    for one in installed:
        where = f"{one.name} {one.version} in {one.where}"
        if one.name.startswith("jax-cuda") and one.name.endswith("-plugin"):
            major = one.name.removeprefix("jax-cuda").removesuffix("-plugin")
            return Fact(major, where), Missing(Cause.ABSENT, "the plugin's name does not speak of cuDNN")
        if one.name == "jaxlib" and "+cuda" in one.version:
            cuda, _, cudnn = one.version.partition("+cuda")[2].partition(".cudnn")
            return Fact(f"{cuda[:2]}.{cuda[2:]}".rstrip("."), where), Fact(".".join(cudnn), where) if cudnn else absent
    return absent, absent
