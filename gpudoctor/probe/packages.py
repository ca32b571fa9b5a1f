"""The installed distributions that matter to a GPU, from the names of their metadata folders."""

from __future__ import annotations

import os
from collections.abc import Iterable

import msgspec

from gpudoctor.elf.system import closed
from gpudoctor.frameworks import CATALOGUE, Names, framework_of
from gpudoctor.probe import files
from gpudoctor.probe.required import HEAD, Place, There, requirements
from gpudoctor.probe.shared_files import shared
from gpudoctor.probe.stale_metadata import settled
from gpudoctor.probe.wheel_variant import variant
from gpudoctor.snapshot import NOT_ASKED, Cause, Distribution, Missing, Packages, Python, readable
from gpudoctor.snapshot.distributions import normalise

REQUIRING = Names("cupy*", *(name for spec in CATALOGUE for name in (*spec.distributions, *spec.parts, *spec.related)))
"""The distributions whose requirements are read: frameworks, and what must match one of them to the release."""
RELEVANT = Names(
    *REQUIRING,
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
SUFFIXES = (".dist-info", ".egg-info")
MOST_OTHERS = 2000
MOST_REQUIRING = 300
"""Distributions whose requirements are read, several times what an environment has; each takes a rule half a millisecond or more."""
_TOO_MANY = Missing(Cause.FAILED, f"only the requirements of the first {MOST_REQUIRING} packages are read")
CONDA_NAMES = ("pytorch", "cudatoolkit", "cudnn", "libtorch", "nccl")
"""conda packages whose names differ from the index's."""


def relevant(name: str) -> bool:
    """Whether a distribution of this normalised name matters to a GPU."""
    return name in RELEVANT


def parse(folder: str) -> tuple[str, str] | None:
    """Normalised name and version in a metadata folder's name; None if it is no such folder."""
    stem, suffix = os.path.splitext(folder)
    if suffix not in SUFFIXES:
        return None
    name, _, version = stem.partition("-")
    if suffix == ".egg-info":
        version = version.partition("-py")[0]
    elif "-" in version:  # an old wheel that kept the dashes of its name
        name, _, version = stem.rpartition("-")
    return (normalise(name), version) if name and version else None


def packages(path: Iterable[str], conda_prefix: str = "", site: str = "") -> Packages:
    """The relevant distributions in the folders of `path`, a sys.path; an unreadable folder has none.

    `conda_prefix` is the environment's folder if conda made it: then the installer of each package is read too. `site` is its site-packages,
    which Python leaves off sys.path where it cannot see the folder.
    """
    found: list[Distribution] = []
    leftovers: list[Distribution] = []
    others: list[str] = []
    there = There({}, {})
    folders = {folder: _in_folder(folder, there) for folder in dict.fromkeys(path) if os.path.isabs(folder)}
    for folder, (mine, rest) in folders.items():
        others += rest
        kept = {name: _kept(folder, name, entries) for name, entries in mine.items()}
        for name, entries in mine.items():
            for entry, version in entries:
                number = len(found) + len(leftovers)
                distribution = _distribution(folder, entry, (name, version), number, there, asks_installer=bool(conda_prefix))
                (found if entry in kept[name] else leftovers).append(distribution)
    own_files = shared(there.metadata, relevant)
    return Packages(
        distributions=tuple(found),
        conda=_conda(conda_prefix),
        others=tuple(others[:MOST_OTHERS]),
        leftovers=tuple(leftovers),
        closed=tuple(map(readable, (*filter(_is_closed, folders), *_closed_above(site, folders)))),
        astray=tuple(map(readable, _astray(site))),
        overwritten=own_files.overwritten,
        emptied=own_files.emptied,
    )


def site_packages(python: Python) -> str:
    """The folder in which pip installs packages of an environment; empty for a system's Python, whose distribution chooses it."""
    if python.kind == "system" or not isinstance(python.prefix, str) or not isinstance(python.version, str):
        return ""
    return f"{python.prefix}/lib/python{'.'.join(python.version.split('.')[:2])}/site-packages"


def _closed_above(site: str, folders: Iterable[str]) -> tuple[str, ...]:
    """The folder above a site-packages that this user may not enter; Python itself does not see what is in it."""
    return (closed(site),) if site and site not in folders and _is_closed(site) else ()


def _astray(site: str) -> tuple[str, ...]:
    """What of a site-packages and the folders above it is a link to nothing, or to itself."""
    places = (site.rsplit("/", up)[0] for up in (2, 1, 0)) if site else ()
    return tuple(place for place in places if os.path.islink(place) and not os.path.exists(place) and not _is_closed(place))


def _is_closed(folder: str) -> bool:
    found = files.names(folder)
    return isinstance(found, Missing) and found.cause is Cause.DENIED


def _in_folder(folder: str, there: There) -> tuple[dict[str, list[tuple[str, str]]], list[str]]:
    """The metadata of relevant packages, as entry and version by name; everything else as name==version. Adds all of them and modules to `there`."""
    mine: dict[str, list[tuple[str, str]]] = {}
    others = []
    for entry in files.entries(folder):
        named = parse(entry) or _unversioned(folder, entry)
        if named:
            there.metadata.setdefault(named[0], []).append(Place(folder, entry, named[1]))
        else:
            there.modules.setdefault(normalise(entry.partition(".")[0]), []).append(Place(folder, entry))
        if named and relevant(named[0]):
            mine.setdefault(named[0], []).append((entry, named[1]))
        elif named:
            others.append(readable(f"{named[0]}=={named[1]}"))
    return mine, others


def _kept(folder: str, name: str, entries: list[tuple[str, str]]) -> list[str]:
    if len(entries) < 2:
        return [entry for entry, _ in entries]
    return settled(folder, entries, name)


def _unversioned(folder: str, entry: str) -> tuple[str, str] | None:
    """Name and version of a development install (`setup.py develop`): the folder torch.egg-info has no version, PKG-INFO does."""
    name = normalise(entry.removesuffix(".egg-info"))
    if not entry.endswith(".egg-info") or not relevant(name):
        return None
    lines = files.lines(f"{folder}/{entry}/PKG-INFO", limit=HEAD)
    version = next((line.partition(":")[2].strip() for line in lines if line.startswith("Version:")), "")
    return (name, version) if version else None


def installers(python: Python, path: Iterable[str]) -> Python:
    """`python` with what can install into its environment: pip, and the tool that made it; `path` is its sys.path."""
    folders = [folder for folder in path if os.path.isabs(folder)]
    config = files.read(f"{python.prefix}/pyvenv.cfg") if python.kind == "venv" else Missing(Cause.ABSENT, "not a virtual environment")
    made_by_uv = isinstance(config, str) and any(line.partition("=")[0].strip() == "uv" for line in config.splitlines())
    return msgspec.structs.replace(
        python,
        pip=any(os.path.isdir(f"{folder}/pip") for folder in folders),
        maker="uv" if made_by_uv else Missing(Cause.ABSENT, "pyvenv.cfg does not name uv") if isinstance(config, str) else config,
        managed=python.kind == "system" and any(os.path.isfile(f"{folder}/EXTERNALLY-MANAGED") for folder in folders),
    )


def _distribution(folder: str, entry: str, named: tuple[str, str], number: int, there: There, *, asks_installer: bool) -> Distribution:
    name, version = named
    metadata = f"{folder}/{entry}"
    requiring = name in REQUIRING
    lines: list[tuple[str, str]] | Missing = NOT_ASKED
    if requiring:
        lines = requirements(f"{metadata}/METADATA") if number < MOST_REQUIRING else _TOO_MANY
    tags = _tags(f"{metadata}/WHEEL") if requiring else NOT_ASKED
    return Distribution(
        name=readable(name),
        version=readable(version),
        where=readable(folder),
        requires=lines if isinstance(lines, Missing) else tuple(line for line, wanted in lines if relevant(wanted)),
        lacks=there.lacks(lines) if framework_of(name) and not isinstance(lines, Missing) else (),
        hollow=there.hollow(lines) if framework_of(name) and not isinstance(lines, Missing) else (),
        tags=tags if isinstance(tags, Missing) else _parts(tag.rpartition("-")[2] for tag in tags),
        interpreters=tags if isinstance(tags, Missing) else _parts(tag.rpartition("-")[0] for tag in tags),
        requested=os.path.isfile(f"{metadata}/REQUESTED") if framework_of(name) else NOT_ASKED,
        installer=_installer(f"{metadata}/INSTALLER") if asks_installer else NOT_ASKED,
        variant=variant(f"{metadata}/variant.json") if requiring else NOT_ASKED,
    )


def _tags(path: str) -> tuple[str, ...] | Missing:
    """The lines "Tag: cp311-cp311-manylinux_2_17_x86_64" without their name."""
    text = files.read(path, limit=4096)
    if isinstance(text, Missing):
        return text
    return tuple(line[len("Tag:") :].strip() for line in text.splitlines() if line.startswith("Tag:"))


def _parts(parts: Iterable[str]) -> tuple[str, ...]:
    """Return each part of a tag once; it may be several, joined by dots."""
    return tuple(dict.fromkeys(name for part in parts for name in part.split(".")))


def _installer(path: str) -> str | Missing:
    text = files.read(path)
    return text.strip() if isinstance(text, str) else text


def _conda(prefix: str) -> tuple[str, ...] | Missing:
    """The relevant packages in conda-meta, which has a file for each."""
    if not prefix:
        return Missing(Cause.ABSENT, "not a conda environment")
    entries = files.names(f"{prefix}/conda-meta")
    if isinstance(entries, Missing):
        return entries
    stems = (entry.removesuffix(".json") for entry in entries if entry.endswith(".json"))
    return tuple(readable(stem) for stem in stems if _of_conda(stem.rsplit("-", 2)[0]))


def _of_conda(name: str) -> bool:
    return relevant(normalise(name)) or name.startswith(CONDA_NAMES)
