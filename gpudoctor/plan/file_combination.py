"""The combination that files of requirements state, on top of what the command line states."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec

from gpudoctor.derive import build_names
from gpudoctor.derive.specifiers import allows_some, only_version
from gpudoctor.errors import UsageError
from gpudoctor.findings.wording import joined_words, singular_or_plural
from gpudoctor.frameworks import CATALOGUE, NVIDIA_PACKAGES, framework_of, spec_of, stack_of
from gpudoctor.matrix import Matrix
from gpudoctor.plan.extras import indirect_frameworks
from gpudoctor.plan.model import Combination, StatedBuild
from gpudoctor.requirement_files import images
from gpudoctor.requirement_files.model import BaseImage, RequestedPackages, StatedRequirement
from gpudoctor.snapshot import AllowedPythons, Supposed, Unread
from gpudoctor.snapshot.distributions import normalise_distribution

_INDEX_ADDRESS = re.compile(r"/(?:whl|wheels|pytorch-wheels)/(?:nightly/|test/)?(?P<local>cu\d{2,3}|cpu|rocm[\d.]+|xpu)(?:/|$)")
_TOOLKIT_PACKAGES = ("pytorch-cuda", "cudatoolkit", "cuda-version")
"""conda packages whose version is CUDA's; the first two belong to builds that PyTorch publishes itself."""
_OFFICIAL_TOOLKITS = _TOOLKIT_PACKAGES[:2]
_CPU_SELECTOR = "cpuonly"
"""The conda package that selects PyTorch's own build without CUDA."""
_MAX_NAMES = 8
"""Extras or groups that the report names."""
_KNOWN_PYTHONS = tuple(f"3.{minor}" for minor in range(6, 20))
_OLD_PYTHONS = ("2.7", "3.4", "3.5")
"""Only for files that allow no newer one."""


def combination_with_files(given: Combination, asked: RequestedPackages, matrix: Matrix) -> Combination:
    """The combination of the command line with what the files state; the command line comes first. Raises UsageError for a contradiction."""
    python, pythons = _python_of_files(given, asked)
    image = asked.image
    toolkit = _toolkit_requirement(asked)
    selecting = [requirement for requirement in asked.requirements if requirement.conda and _package_name(requirement) == _CPU_SELECTOR]
    known = [
        requirement
        for requirement in asked.requirements
        if _package_name(requirement) not in _TOOLKIT_PACKAGES and requirement not in selecting
    ]
    parts = [
        requirement
        for requirement in known
        if requirement.required_by and not requirement.without_gpu_code and _is_framework_part(requirement, matrix)
    ]
    beside_own = dict(_packages_beside_vendor_build(asked, known, matrix))
    stated = [requirement for requirement in known if requirement not in parts and _package_name(requirement) not in beside_own]
    unread = (*_unread_packages(asked), *(Unread(name, why) for name, why in beside_own.items()))
    if not (given.requirements or stated or unread):
        raise UsageError(
            f"{joined_words(asked.files)} {singular_or_plural(len(asked.files), 'installs', 'install')} no package; name a file that lists some."
        )
    system = _image_cuda_and_cudnn(image, asked, matrix)
    named = images.distribution_names(image.name) if image is not None and given.os in {"linux", "wsl"} else ()
    libc = next((one for one in named if matrix.system(one) is not None), None)
    return msgspec.structs.replace(
        given,
        requirements=(*given.requirements, *(str(requirement.requirement) for requirement in stated)),
        constraints=(*given.constraints, *(str(requirement.requirement) for requirement in asked.constraints)),
        places={str(requirement.requirement): ", ".join(map(str, requirement.places[:2])) for requirement in (*stated, *asked.constraints)},
        builds=_stated_builds(stated, next(iter(selecting), toolkit), asked),
        python=given.python or python,
        python_where=given.python_where if python is None else str(asked.python[0].place),
        pythons=pythons if given.python is None else None,
        libc=given.libc or libc,
        libc_where=given.libc_where if given.libc or image is None else f"{image.name}, {image.place}",
        system_where="" if image is None or given.system_cuda or given.system_cudnn else f"{image.name}, {image.place}",
        system_cuda=given.system_cuda or system[0] or None,
        system_cudnn=given.system_cudnn or system[1] or None,
        without_gpu_code=frozenset(_package_name(requirement) for requirement in stated if requirement.without_gpu_code),
        unread=unread,
        not_followed=tuple(_ignored_line_notes(asked, parts)),
        supposed=_file_assumptions(asked, toolkit),
    )


def _toolkit_requirement(asked: RequestedPackages) -> StatedRequirement | None:
    """Return the conda requirement that pins CUDA's version, the first of _TOOLKITS."""
    of_conda = [stated for stated in asked.requirements if stated.conda and _pinned_version(stated)]
    return next((stated for name in _TOOLKIT_PACKAGES for stated in of_conda if _package_name(stated) == name), None)


def _unread_packages(asked: RequestedPackages) -> Iterator[Unread]:
    """Yield the packages that the files name in a way that does not state a release, each with why."""
    for not_read in asked.not_read:
        if not_read.package:
            yield Unread(not_read.name or not_read.text, f"{not_read.reason} ({not_read.place})")


def _package_name(stated: StatedRequirement) -> str:
    return normalise_distribution(stated.requirement.name)


def _pinned_version(stated: StatedRequirement) -> str:
    return (only_version(str(stated.requirement.specifier)) or str(stated.requirement.specifier).removeprefix("==")).removesuffix(".*")


def _packages_beside_vendor_build(
    asked: RequestedPackages, known: Sequence[StatedRequirement], matrix: Matrix
) -> Iterator[tuple[str, str]]:
    """Yield the packages that would run with a vendor's own build of a framework, each with why it is not checked: no table has that build."""
    replaced = {_package_name(stated) for stated in known}
    own = {name: not_read.place for not_read in asked.not_read if (name := framework_of(not_read.name)) and name not in replaced}
    for stated in known if own else ():
        framework = next((name for name in indirect_frameworks(_package_name(stated), matrix) if name in own), None)
        if framework is not None:
            yield _package_name(stated), f"it would run with the image's own {spec_of(framework).title} ({own[framework]})"


def _python_of_files(given: Combination, asked: RequestedPackages) -> tuple[str | None, AllowedPythons | None]:
    """The one Python version that the files allow, or the oldest if releases depend on it; otherwise all that they allow."""
    if not asked.python or given.python is not None:
        return None, None
    exact = (re.fullmatch(r"={2,3}([23]\.\d+(?:\.\d+)?)(?:\.\*)?", stated.specifier) for stated in asked.python)
    allowed = allowed_pythons(asked)
    first = next((found[1] for found in exact if found), None)
    if first is None and (len(allowed) == 1 or _depends_on_python(asked.requirements)):
        first = allowed[0]  # a lock file holds for every Python that it allows; which releases it installs depends on one
    if first is not None:
        return first, None
    specifier = ",".join(stated.specifier for stated in asked.python)
    return None, AllowedPythons(specifier, " and ".join(str(stated.place) for stated in asked.python), allowed)


def allowed_pythons(asked: RequestedPackages) -> tuple[str, ...]:
    """The Python versions that the files allow; () for any. Raises UsageError if there is none."""
    if not asked.python:
        return ()
    wanted = ",".join(stated.specifier for stated in asked.python)
    fitting = (tuple(python for python in known if allows_some(python, wanted)) for known in (_KNOWN_PYTHONS, _OLD_PYTHONS))
    allowed = next(filter(None, fitting), ())
    if not allowed:
        places = " and ".join(f"{stated.specifier} ({stated.place})" for stated in asked.python)
        raise UsageError(f"No Python version satisfies {places}; state one with --python-version.")
    return allowed


def _depends_on_python(requirements: tuple[StatedRequirement, ...]) -> bool:
    """Whether some package has another release on another Python."""
    names = [_package_name(stated) for stated in requirements if "python_" in str(stated.requirement.marker or "")]
    return len(names) > len(set(names))


def _image_cuda_and_cudnn(image: BaseImage | None, asked: RequestedPackages, matrix: Matrix) -> tuple[str, str]:
    """CUDA and cuDNN of the image: named by its tag, or those that its framework's release was built with."""
    if image is None:
        return "", ""
    if not image.framework_cuda:
        return image.cuda, image.cudnn
    version = next((_pinned_version(stated) for stated in asked.requirements if _package_name(stated) == image.framework_cuda), "")
    row = matrix.resolve(image.framework_cuda, version).row if version else None
    if row is None or row.built_with_cuda is None:
        return "", ""
    return row.built_with_cuda.short, str(row.cudnn or "")


def _stated_builds(stated: list[StatedRequirement], toolkit: StatedRequirement | None, asked: RequestedPackages) -> dict[str, StatedBuild]:
    """Which build of a framework's packages is installed, by package for all lines, or by requirement."""
    found: dict[str, StatedBuild] = {}
    for spec in CATALOGUE:
        if spec.wheel_index:
            for index in asked.indexes:
                local = _INDEX_ADDRESS.search(index.url)
                if local is not None:
                    build = StatedBuild(local["local"], only=index.only, where=f"{index.url} ({index.place})")
                    found |= dict.fromkeys((spec.name, *spec.companions), build)
    for requirement in stated:
        local = _INDEX_ADDRESS.search(requirement.index)
        if local is not None:
            in_tables = bool(spec_of(stack_of(_package_name(requirement)) or "").wheel_index)
            only = requirement.index_only or not in_tables  # an installer takes 1.0.1+cu117 for 1.0.1, wherever it finds both
            found[str(requirement.requirement)] = StatedBuild(
                local["local"], only=only, where=f"{requirement.index} ({requirement.places[0]})"
            )
        if requirement.conda and stack_of(_package_name(requirement)) is not None:
            found[str(requirement.requirement)] = _conda_build(requirement, toolkit)
    return found


def _conda_build(stated: StatedRequirement, toolkit: StatedRequirement | None) -> StatedBuild:
    """conda's build of a framework: PyTorch's own, which equals its wheel, or conda-forge's, whose GPU code no table lists."""
    said = build_names.build_of_conda(stated.build)
    spec = spec_of(stack_of(_package_name(stated)) or "")
    if toolkit is not None and _package_name(toolkit) == _CPU_SELECTOR and spec.wheel_index and _package_name(stated) in spec.one_build:
        return StatedBuild("cpu", only=True, where=f"{_CPU_SELECTOR} ({toolkit.places[0]})")
    with_toolkit = toolkit is not None and _package_name(toolkit) in _OFFICIAL_TOOLKITS and _package_name(stated) in spec.one_build
    cuda = said.cuda or (_pinned_version(toolkit) if toolkit is not None else "")
    where = f"{stated.build or 'conda'} ({stated.places[0]})"
    official = spec.wheel_index and (with_toolkit or re.match(r"py3[\d.]+_(?:cuda|cpu)", stated.build))
    if official and said.has_cuda is False:
        return StatedBuild("cpu", only=True, where=where)
    if official and cuda:
        return StatedBuild(f"cu{''.join(cuda.split('.')[:2])}", only=True, where=where)
    return StatedBuild("conda", only=True, where=where, cuda=cuda, has_cuda=said.has_cuda)


def _is_framework_part(stated: StatedRequirement, matrix: Matrix) -> bool:
    """Whether a library of CUDA comes with the framework that requires it, and no table lists its releases."""
    name = _package_name(stated)
    listed = name.startswith("nvidia-cudnn") or bool(matrix.releases(name))
    return name == "triton" or (name.startswith(NVIDIA_PACKAGES) and not listed)


def _ignored_line_notes(asked: RequestedPackages, parts: list[StatedRequirement]) -> Iterator[str]:
    """What the report notes: libraries that come with a framework, what is installed only on request, and other lines."""
    for framework in dict.fromkeys(stated.required_by for stated in parts):
        yield f"not compared: the CUDA packages that the lock file lists for {framework}"
    for option in ("--extra", "--group"):
        names = dict.fromkeys(not_read.text.partition(" ")[2] for not_read in asked.not_read if not_read.text.startswith(f"{option} "))
        if names:
            more = f" and {len(names) - _MAX_NAMES} more" if len(names) > _MAX_NAMES else ""
            yield f"not read without {option}: {', '.join([*names][:_MAX_NAMES])}{more}"
    for not_read in asked.not_read:
        if not not_read.package and not not_read.text.startswith(("--extra ", "--group ")):
            yield f"{not_read.text}: {not_read.reason} ({not_read.place})"


def _file_assumptions(asked: RequestedPackages, toolkit: StatedRequirement | None) -> tuple[Supposed, ...]:
    """What the report says of the files."""
    found = [Supposed("files", ", ".join(asked.files), "-r")]
    if asked.image is not None:
        found.append(Supposed("image", asked.image.name, str(asked.image.place)))
    if toolkit is not None:
        found.append(Supposed("CUDA", _pinned_version(toolkit), f"{_package_name(toolkit)}, {toolkit.places[0]}"))
    return tuple(found)
