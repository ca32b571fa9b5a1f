"""Reads the GPU-relevant requirements from a wheel's METADATA, in the tables' format."""

from __future__ import annotations

import email.parser
import re
from collections.abc import Container
from typing import Any

from packaging.markers import Marker
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from gpudoctor.derive.specifiers import BESIDE_EXTRA

_MATTERS = re.compile(
    r"(nvidia|cuda|jax|torch|triton|pytorch-triton|tensorrt|tensorflow|cupy|transformer-engine|flash-attn|sgl|sglang)(-.+|$)"
    r"|jaxlib|torchvision|torchaudio|xformers|vllm|flashinfer-python|bitsandbytes|numba|numba-cuda|(lib)?cu(df|ml)-cu\d\d"
    r"|numpy|protobuf|keras|tf-keras|ml-dtypes|h5py|scipy|outlines|mistral-common|opencv-python-headless|transformers|tokenizers"
)
_DOES_NOT = re.compile(r"tensorflow-(io|metadata|datasets|hub|text|probability)\b.*|torch-xla|jax-(metal|rocm.*)")

_OPEN_PREFIX = re.compile(r"([<>]=?)(\s*[\d.]+)\.\*")
"""A wildcard after an ordered comparison (">=1.7.*"): PEP 440 has none, and the installers of that time ignored it."""
_BOUNDS = re.compile(r"\s*\([^)]*\)")
_EXTRA = re.compile(r'extra=="([^"]+)"')

_PLATFORMS = {
    "linux_x86_64": ("linux", "Linux", "x86_64", "posix"),
    "linux_aarch64": ("linux", "Linux", "aarch64", "posix"),
    "win_amd64": ("win32", "Windows", "AMD64", "nt"),
    "macos_arm64": ("darwin", "Darwin", "arm64", "posix"),
    "macos_x86_64": ("darwin", "Darwin", "x86_64", "posix"),
}
_SERVER = {"platform_release": ""}
"""A kernel that is no Jetson's, whose releases contain "tegra": wheels for Linux on Arm are for servers."""
_CPYTHON = {"implementation_name": "cpython", "platform_python_implementation": "CPython"}


def requires(metadata: str, platform: str, also: Container[str] = ()) -> tuple[str, ...]:
    """Return the GPU-relevant Requires-Dist for one platform ("any" for all), as PEP 508 without spaces, sorted.

    Platform markers are evaluated and dropped; markers on Python and extras stay. `also` are further packages that matter.
    Raises ValueError if a requirement does not fit that format.
    """
    known = dict(_CPYTHON)
    if platform in _PLATFORMS:
        known |= dict(zip(("sys_platform", "platform_system", "platform_machine", "os_name"), _PLATFORMS[platform], strict=True))
        known |= _SERVER
    found = (
        _condensed(requirement, known) for requirement in requirements(metadata) if _matters(canonicalize_name(requirement.name), also)
    )
    return tuple(sorted({text for text in found if text}))


def requirements(metadata: str) -> list[Requirement]:
    """Return all Requires-Dist; one with bounds that no installer reads any more, such as "pytz (>=2011k)", without these. Raises ValueError if one is none."""
    lines = email.parser.HeaderParser().parsestr(metadata).get_all("Requires-Dist", [])
    return [_requirement(_OPEN_PREFIX.sub(r"\1\2", text)) for text in lines]


def _requirement(text: str) -> Requirement:
    try:
        return Requirement(text)
    except InvalidRequirement:
        return Requirement(_BOUNDS.sub(" ", text, count=1))


def bounds(metadata: str, known: Container[str], extras: Container[str] = ()) -> tuple[str, ...]:
    """Return the other Requires-Dist that exclude releases, for all platforms: not GPU-relevant, nor on `known` packages, nor of other extras.

    Raises ValueError if a requirement does not fit that format.
    """
    others = [
        requirement
        for requirement in requirements(metadata)
        if requirement.specifier and not _matters(canonicalize_name(requirement.name), known)
    ]
    texts = (_condensed(other, _CPYTHON) for other in others)
    return tuple(sorted({text for text in texts if text and all(extra in extras for extra in _EXTRA.findall(text))}))


def of_extra(metadata: str, extra: str, package: str) -> tuple[str, ...]:
    """Return what an extra requires of a package if that excludes releases, without the extra's marker, for all platforms.

    Raises ValueError if a requirement does not fit the tables' format.
    """
    found = (
        requirement for requirement in requirements(metadata) if canonicalize_name(requirement.name) == package and requirement.specifier
    )
    texts = (_condensed(requirement, {**_CPYTHON, "extra": extra}) for requirement in found if requirement.marker)
    return tuple(sorted({text for text in texts if text}))


def beside(requirement: str) -> str:
    """Return what a release works with and does not require, in the tables' format."""
    return f'{requirement};extra=="{BESIDE_EXTRA}"'


def name_of(requirement: str) -> str:
    """Return the package that a requirement in the tables' format names."""
    return re.split(r"[^\w.-]", requirement, maxsplit=1)[0]


def requires_python(metadata: str) -> str:
    """Return METADATA's bound on Python: ">=3.9", or empty."""
    return str(email.parser.HeaderParser().parsestr(metadata).get("Requires-Python", ""))


def _matters(name: str, also: Container[str]) -> bool:
    return name in also or bool(_MATTERS.fullmatch(name) and not _DOES_NOT.fullmatch(name))


def _condensed(requirement: Requirement, known: dict[str, str]) -> str:
    """Return the requirement without spaces; empty if its marker is false."""
    name = canonicalize_name(requirement.name)
    marker = _decided(requirement.marker._markers, known) if requirement.marker else True  # noqa: SLF001  no public tree
    if marker is False:
        return ""
    extras = f"[{','.join(sorted(map(canonicalize_name, requirement.extras)))}]" if requirement.extras else ""
    condensed = f"{name}{extras}{requirement.specifier}" + ("" if marker is True else f";{marker}")
    if " " in condensed:
        raise ValueError(f"the requirement {str(requirement)!r} cannot be written without a space")
    return condensed


def _decided(tree: Any, known: dict[str, str]) -> bool | str:
    """Return a marker with its known parts evaluated: True, False, or the text of the rest."""
    if isinstance(tree, tuple):
        words = [part.serialize() for part in tree]
        if known.keys().isdisjoint(words):
            return "".join(words)
        return Marker(" ".join(words)).evaluate({"extra": "", **known})
    alternatives: list[list[Any]] = [[]]
    for part in tree:
        if part == "or":
            alternatives.append([])
        elif part != "and":
            alternatives[-1].append(_decided(part, known))
    left = [_joined("and", [part for part in parts if part is not True]) for parts in alternatives if False not in parts]
    if not left:
        return False
    return True if "" in left else _joined("or", left)


def _joined(word: str, parts: list[Any]) -> str:
    unique = list(dict.fromkeys(parts))
    return word.join(f"({part})" for part in unique) if len(unique) > 1 else "".join(unique)
