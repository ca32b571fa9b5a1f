"""The installed distributions that matter to a GPU, from the names of their metadata folders."""

from __future__ import annotations

import os
from collections.abc import Iterable

import msgspec

from gpudoctor.elf.system import closed_folder
from gpudoctor.frameworks import CATALOGUE, Names, framework_of
from gpudoctor.probe import files
from gpudoctor.probe.missing_requirements import HEAD_BYTES, PathContents, PathEntry, requirement_lines
from gpudoctor.probe.shared_files import shared
from gpudoctor.probe.stale_metadata import current_metadata
from gpudoctor.probe.wheel_variant import wheel_variant
from gpudoctor.snapshot import NOT_ASKED, Cause, Distribution, Missing, Packages, Python, printable_text
from gpudoctor.snapshot.distributions import normalise_distribution

NAMES_WITH_REQUIREMENTS = Names("cupy*", *(name for spec in CATALOGUE for name in (*spec.distributions, *spec.parts, *spec.related)))
"""The distributions whose requirements are read: frameworks, and what must match one of them to the release."""
RELEVANT_NAMES = Names(
    *NAMES_WITH_REQUIREMENTS,
    "nvidia-*",
    "tensorrt*",
    "pytorch-*",
    "triton*",
    "onnxruntime*",
    "cuda-*",
    "flash-attn*",
    "bitsandbytes*",
    "deepspeed*",
    "transformer-engine*",
    "numba*",
    "pycuda*",
    "mxnet*",
    "xgboost*",
    "lightgbm*",
    "numpy",
    "protobuf",
    "ml-dtypes",
    "h5py",
    "scipy",
    "apex",
    "pynvml",
    "rmm",
    "cudf",
    "cuml",
    "transformers",
    "accelerate",
    "diffusers",
)
METADATA_SUFFIXES = (".dist-info", ".egg-info")
MAX_OTHERS = 2000
MAX_REQUIRING = 300
"""Distributions whose requirements are read, several times what an environment has; each takes a rule half a millisecond or more."""
_TOO_MANY_PACKAGES = Missing(Cause.FAILED, f"only the requirements of the first {MAX_REQUIRING} packages are read")
CONDA_NAMES = ("pytorch", "cudatoolkit", "cudnn", "libtorch", "nccl")
"""conda packages whose names differ from the index's."""


def is_relevant(name: str) -> bool:
    """Whether a distribution of this normalised name matters to a GPU."""
    return name in RELEVANT_NAMES


def parse_metadata_name(folder: str) -> tuple[str, str] | None:
    """Normalised name and version in a metadata folder's name; None if it is no such folder."""
    stem, suffix = os.path.splitext(folder)
    if suffix not in METADATA_SUFFIXES:
        return None
    name, _, version = stem.partition("-")
    if suffix == ".egg-info":
        version = version.partition("-py")[0]
    elif "-" in version:  # an old wheel that kept the dashes of its name
        name, _, version = stem.rpartition("-")
    return (normalise_distribution(name), version) if name and version else None


def installed_packages(path: Iterable[str], conda_prefix: str = "", site: str = "") -> Packages:
    """The relevant distributions in the folders of `path`, a sys.path; an unreadable folder has none.

    `conda_prefix` is the environment's folder if conda made it: then the installer of each package is read too. `site` is its site-packages,
    which Python leaves off sys.path where it cannot see the folder.
    """
    found: list[Distribution] = []
    leftovers: list[Distribution] = []
    others: list[str] = []
    there = PathContents({}, {})
    folders = {folder: _metadata_in_folder(folder, there) for folder in dict.fromkeys(path) if os.path.isabs(folder)}
    for folder, (mine, rest) in folders.items():
        others += rest
        kept = {name: _current_entries(folder, name, entries) for name, entries in mine.items()}
        for name, entries in mine.items():
            for entry, version in entries:
                number = len(found) + len(leftovers)
                distribution = _installed_distribution(folder, entry, (name, version), number, there, asks_installer=bool(conda_prefix))
                (found if entry in kept[name] else leftovers).append(distribution)
    own_files = shared(there.metadata, is_relevant)
    return Packages(
        distributions=tuple(found),
        conda=_conda_packages(conda_prefix),
        others=tuple(others[:MAX_OTHERS]),
        leftovers=tuple(leftovers),
        closed=tuple(map(printable_text, (*filter(_is_permission_denied, folders), *_closed_parent(site, folders)))),
        astray=tuple(map(printable_text, _dangling_links(site))),
        overwritten=own_files.overwritten,
        emptied=own_files.emptied,
    )


def site_packages(python: Python) -> str:
    """The folder in which pip installs packages of an environment; empty for a system's Python, whose distribution chooses it."""
    if python.kind == "system" or not isinstance(python.prefix, str) or not isinstance(python.version, str):
        return ""
    return f"{python.prefix}/lib/python{'.'.join(python.version.split('.')[:2])}/site-packages"


def _closed_parent(site: str, folders: Iterable[str]) -> tuple[str, ...]:
    """The folder above a site-packages that this user may not enter; Python itself does not see what is in it."""
    return (closed_folder(site),) if site and site not in folders and _is_permission_denied(site) else ()


def _dangling_links(site: str) -> tuple[str, ...]:
    """What of a site-packages and the folders above it is a link to nothing, or to itself."""
    places = (site.rsplit("/", up)[0] for up in (2, 1, 0)) if site else ()
    return tuple(place for place in places if os.path.islink(place) and not os.path.exists(place) and not _is_permission_denied(place))


def _is_permission_denied(folder: str) -> bool:
    found = files.list_folder(folder)
    return isinstance(found, Missing) and found.cause is Cause.DENIED


def _metadata_in_folder(folder: str, there: PathContents) -> tuple[dict[str, list[tuple[str, str]]], list[str]]:
    """The metadata of relevant packages, as entry and version by name; everything else as name==version. Adds all of them and modules to `there`."""
    mine: dict[str, list[tuple[str, str]]] = {}
    others = []
    for entry in files.entries_or_empty(folder):
        named = parse_metadata_name(entry) or _development_install(folder, entry)
        if named:
            there.metadata.setdefault(named[0], []).append(PathEntry(folder, entry, named[1]))
        else:
            there.modules.setdefault(normalise_distribution(entry.partition(".")[0]), []).append(PathEntry(folder, entry))
        if named and is_relevant(named[0]):
            mine.setdefault(named[0], []).append((entry, named[1]))
        elif named:
            others.append(printable_text(f"{named[0]}=={named[1]}"))
    return mine, others


def _current_entries(folder: str, name: str, entries: list[tuple[str, str]]) -> list[str]:
    if len(entries) < 2:
        return [entry for entry, _ in entries]
    return current_metadata(folder, entries, name)


def _development_install(folder: str, entry: str) -> tuple[str, str] | None:
    """Name and version of a development install (`setup.py develop`): the folder torch.egg-info has no version, PKG-INFO does."""
    name = normalise_distribution(entry.removesuffix(".egg-info"))
    if not entry.endswith(".egg-info") or not is_relevant(name):
        return None
    lines = files.lines_or_empty(f"{folder}/{entry}/PKG-INFO", limit=HEAD_BYTES)
    version = next((line.partition(":")[2].strip() for line in lines if line.startswith("Version:")), "")
    return (name, version) if version else None


def with_installers(python: Python, path: Iterable[str]) -> Python:
    """`python` with what can install into its environment: pip, and the tool that made it; `path` is its sys.path."""
    folders = [folder for folder in path if os.path.isabs(folder)]
    config = files.read_text(f"{python.prefix}/pyvenv.cfg") if python.kind == "venv" else Missing(Cause.ABSENT, "not a virtual environment")
    made_by_uv = isinstance(config, str) and any(line.partition("=")[0].strip() == "uv" for line in config.splitlines())
    return msgspec.structs.replace(
        python,
        pip=any(os.path.isdir(f"{folder}/pip") for folder in folders),
        maker="uv" if made_by_uv else Missing(Cause.ABSENT, "pyvenv.cfg does not name uv") if isinstance(config, str) else config,
        managed=python.kind == "system" and any(os.path.isfile(f"{folder}/EXTERNALLY-MANAGED") for folder in folders),
    )


def _installed_distribution(
    folder: str, entry: str, named: tuple[str, str], number: int, there: PathContents, *, asks_installer: bool
) -> Distribution:
    name, version = named
    metadata = f"{folder}/{entry}"
    requiring = name in NAMES_WITH_REQUIREMENTS
    lines: list[tuple[str, str]] | Missing = NOT_ASKED
    if requiring:
        lines = requirement_lines(f"{metadata}/METADATA") if number < MAX_REQUIRING else _TOO_MANY_PACKAGES
    tags = _wheel_tags(f"{metadata}/WHEEL") if requiring else NOT_ASKED
    return Distribution(
        name=printable_text(name),
        version=printable_text(version),
        where=printable_text(folder),
        requires=lines if isinstance(lines, Missing) else tuple(line for line, wanted in lines if is_relevant(wanted)),
        lacks=there.lacks(lines) if framework_of(name) and not isinstance(lines, Missing) else (),
        hollow=there.hollow(lines) if framework_of(name) and not isinstance(lines, Missing) else (),
        tags=tags if isinstance(tags, Missing) else _unique_tag_parts(tag.rpartition("-")[2] for tag in tags),
        interpreters=tags if isinstance(tags, Missing) else _unique_tag_parts(tag.rpartition("-")[0] for tag in tags),
        requested=os.path.isfile(f"{metadata}/REQUESTED") if framework_of(name) else NOT_ASKED,
        installer=_installer_name(f"{metadata}/INSTALLER") if asks_installer else NOT_ASKED,
        variant=wheel_variant(f"{metadata}/variant.json") if requiring else NOT_ASKED,
    )


def _wheel_tags(path: str) -> tuple[str, ...] | Missing:
    """The lines "Tag: cp311-cp311-manylinux_2_17_x86_64" without their name."""
    text = files.read_text(path, limit=4096)
    if isinstance(text, Missing):
        return text
    return tuple(line[len("Tag:") :].strip() for line in text.splitlines() if line.startswith("Tag:"))


def _unique_tag_parts(parts: Iterable[str]) -> tuple[str, ...]:
    """Return each part of a tag once; it may be several, joined by dots."""
    return tuple(dict.fromkeys(name for part in parts for name in part.split(".")))


def _installer_name(path: str) -> str | Missing:
    text = files.read_text(path)
    return text.strip() if isinstance(text, str) else text


def _conda_packages(prefix: str) -> tuple[str, ...] | Missing:
    """The relevant packages in conda-meta, which has a file for each."""
    if not prefix:
        return Missing(Cause.ABSENT, "not a conda environment")
    entries = files.list_folder(f"{prefix}/conda-meta")
    if isinstance(entries, Missing):
        return entries
    stems = (entry.removesuffix(".json") for entry in entries if entry.endswith(".json"))
    return tuple(printable_text(stem) for stem in stems if _is_relevant_to_conda(stem.rsplit("-", 2)[0]))


def _is_relevant_to_conda(name: str) -> bool:
    return is_relevant(normalise_distribution(name)) or name.startswith(CONDA_NAMES)
