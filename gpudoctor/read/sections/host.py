"""The operating system and the Python interpreter that a text describes."""

from __future__ import annotations

import re

from gpudoctor.expressions import expression
from gpudoctor.read.readers.sentences import SENTENCE_READER
from gpudoctor.read.readers.system_hints import KEY
from gpudoctor.read.sections.statement_index import NOT_STATED, StatementIndex
from gpudoctor.read.statements import Directness, Statement
from gpudoctor.snapshot import Host, Missing, Platform, Python

_PLATFORM_PATTERNS = (
    (expression(r"\bwsl ?1\b|\d-microsoft\b(?!-standard)"), Platform.WSL1),
    (expression(r"\bwsl|microsoft-standard"), Platform.WSL2),
    (expression(r"jetson|jetpack|\bl4t\b|-tegra\b"), Platform.JETSON),
    (expression(r"windows|\bwin ?(?:7|8|10|11)\b"), Platform.WINDOWS),
    (expression(r"\bmac(?!hine)|darwin|os ?x\b"), Platform.MACOS),
)
"""In an operating system's name, in lower case; Linux if it is none of these."""
_LINUX_SPECIFICITY = {Platform.LINUX: 0, Platform.JETSON: 1, Platform.WSL2: 2, Platform.WSL1: 3}
"""What each says more exactly than those before it."""
_TEGRA_BY_KERNEL = {"4.9": "32", "5.10": "35", "5.15": "36", "6.8": "38"}
"""The kernel of each release of Jetson Linux: https://docs.nvidia.com/jetson/archives/r36.3/DeveloperGuide/SD/Kernel/KernelAdaptation.html"""
_WSL_PLATFORMS = (Platform.WSL1, Platform.WSL2)
"""What runs on Windows, whose version such a text names too."""
_JETSON_NAMES = expression(r"\bJetson\b|^(?:NVIDIA )?(?:AGX )?(?:Orin|Xavier|Tegra)\b", re.IGNORECASE)
_TEGRA_BY_JETPACK = {"4": "32", "5": "35", "6": "36", "7": "38"}
"""JetPack's major version and that of Jetson Linux: https://developer.nvidia.com/embedded/jetpack-archive"""
_KERNEL_RELEASE = expression(r"(?:^Linux \S{1,80} |^Linux-)(\d+\.\d+[\w.+]{0,30}(?:-(?!x86_64|aarch64|with)[\w.+]{1,40}){0,4})")
_ARCHITECTURE_WORDS = expression(r"x86[_-]64|aarch64|arm64|amd64|snapdragon|on arm\b")
_ARCHITECTURE_BY_WORD = {"amd64": "x86_64", "x86-64": "x86_64", "snapdragon": "arm64", "on arm": "arm64"}
"""How uname and Windows call an architecture that people name otherwise."""
_32_BIT_WORDS = expression(r"\bi[3-6]86\b")
"""A kernel that runs 32-bit programs only."""
_GRACE_NAMES = expression(r"(?i)\b(?:G(?:H200|B10|B[23]00)|DGX Spark)\b")
"""GPUs that share a module with an Arm CPU, which runs Linux."""
_DISTRIBUTION_NAMES = expression(
    r"(ubuntu|debian|fedora|centos|red hat|rhel|arch|opensuse|rocky|alma|alpine)\b[^0-9]{0,30}(\d{1,2}(?:\.\d{1,2})?)?"
)
_DISTRIBUTION_IDS = {"red hat": "rhel", "alma": "almalinux"}
"""The ID in os-release where it is not the name's first word."""
_PLATFORMS = {"windows": Platform.WINDOWS, "macos": Platform.MACOS}
"""The systems of hints that are no distribution of Linux."""
_LIKE = dict.fromkeys(("rocky", "almalinux", "centos"), "rhel")
"""The families in ID_LIKE of os-release that decide a fix."""
_DISTRIBUTION_BY_KERNEL = (
    ("fedora", expression(r"\.fc(\d{2})\b")),
    ("rhel", expression(r"\.el(\d{1,2})(?:_\d{1,2})?\b")),
    ("arch", expression(r"-arch\d{1,2}-\d{1,2}$()")),
)
"""How distributions end the release of their kernels."""


def stated_host(stated: StatementIndex) -> Host:
    """Return the operating system."""
    words = " ".join(
        statement.value for statement in (stated.get("os"), stated.get("kernel platform"), stated.get("architecture")) if statement
    ).lower()
    architecture = _ARCHITECTURE_WORDS.search(words)
    kernel = kernel_release(stated)
    hinted, hinted_release = _hint(stated)
    name, version = (
        _named_distribution(words)
        or _distribution_of_kernel(kernel)
        or ((hinted, hinted_release) if hinted not in _PLATFORMS else ("", ""))
    )
    return Host(
        platform=_stated_platform(stated),
        architecture=_ARCHITECTURE_BY_WORD.get(architecture[0], architecture[0])
        if architecture
        else "aarch64"
        if _has_grace_module(stated)
        else NOT_STATED,
        kernel=kernel or NOT_STATED,
        distribution=_stated_or_default(stated, "distribution", name),
        distribution_version=_stated_or_default(stated, "distribution version", version),
        distribution_like=_stated_or_default(stated, "distribution like", _LIKE.get(name, "")),
        tegra=_jetson_linux_release(stated),
    )


def _has_grace_module(stated: StatementIndex) -> bool:
    """Return whether every GPU shares its module with an Arm CPU."""
    gpus = _gpu_statements(stated)
    return bool(gpus) and all(_GRACE_NAMES.search(statement.value) for statement in gpus)


def _gpu_statements(stated: StatementIndex) -> list[Statement]:
    return [*stated.all("gpu:").values(), *stated.all("gpu prose:").values()]


def _named_distribution(words: str) -> tuple[str, str] | None:
    """Return the ID and the version of the distribution that an operating system's name states."""
    found = _DISTRIBUTION_NAMES.search(words)
    return (_DISTRIBUTION_IDS.get(found[1], found[1]), found[2] or "") if found else None


def _distribution_of_kernel(release: str) -> tuple[str, str] | None:
    """Return the ID and the version of the distribution that built this kernel."""
    found = ((name, pattern.search(release)) for name, pattern in _DISTRIBUTION_BY_KERNEL)
    return next(((name, match[1]) for name, match in found if match), None)


def _hint(stated: StatementIndex) -> tuple[str, str]:
    """Return the system that all hints tell, and its release where they agree on it; empty if there is no hint, or they differ."""
    hints = [hint.partition(" ")[::2] for hint in stated.all(KEY)]
    systems, releases = {system for system, _ in hints}, {release for _, release in hints if release}
    if len(systems) != 1:
        return "", ""
    return systems.pop(), releases.pop() if len(releases) == 1 else ""


def _stated_or_default(stated: StatementIndex, what: str, otherwise: str) -> str | Missing:
    statement = stated.get(what)
    return statement.value if statement else otherwise or NOT_STATED


def _jetson_linux_release(stated: StatementIndex) -> str | Missing:
    """Return the release of Jetson Linux; JetPack's major version tells its first number."""
    file, other, jetpack = stated.get("tegra release"), stated.get("tegra"), stated.get("jetpack")
    if file or other:
        return file.value.replace(" (release), REVISION: ", ".") if file else stated.value("tegra")
    kernel = kernel_release(stated)
    by_kernel = _TEGRA_BY_KERNEL.get(kernel.rpartition(".")[0]) if kernel.endswith("-tegra") else None
    return _TEGRA_BY_JETPACK.get(jetpack.value[0], NOT_STATED) if jetpack else by_kernel or NOT_STATED


def _stated_platform(stated: StatementIndex) -> Platform | Missing:
    """Return the most directly stated platform: WSL and Jetson are kinds of Linux, which a statement about Linux does not contradict."""
    named = [
        (_named_platform(statement.value), statement) for statement in map(stated.get, ("os", "kernel platform", "kernel")) if statement
    ]
    told = [(Platform(name), statement.rank) for name, statement in stated.all("platform:").items()]
    told += [(platform, statement.rank) for platform, statement in named]
    told += [
        (Platform.JETSON, statement.rank)
        for statement in map(stated.get, ("tegra release", "tegra", "jetpack"))
        if statement and statement.reader != "prose"
    ]
    told += [(Platform.JETSON, statement.rank) for statement in _gpu_statements(stated) if _JETSON_NAMES.search(statement.value)]
    if not told:
        hinted, _ = _hint(stated)
        return _PLATFORMS.get(hinted, Platform.LINUX) if hinted or _has_grace_module(stated) else NOT_STATED
    best = max(told, key=lambda one: (one[1], one[0] not in _LINUX_SPECIFICITY, _LINUX_SPECIFICITY.get(one[0], 0)))[0]
    listed = [platform for platform, statement in named if statement.reader != SENTENCE_READER]
    on_linux = any(platform is Platform.LINUX for platform, _ in told)
    inside = next(
        (platform for platform, rank in told if platform in _WSL_PLATFORMS and (on_linux or rank >= Directness.LOG or platform in listed)),
        None,
    )
    if best is Platform.WINDOWS and inside:
        return inside
    if best is not Platform.LINUX:
        return best
    return max((platform for platform, _ in told if platform in _LINUX_SPECIFICITY), key=_LINUX_SPECIFICITY.__getitem__)


def _named_platform(name: str) -> Platform:
    return next((platform for pattern, platform in _PLATFORM_PATTERNS if pattern.search(name.lower())), Platform.LINUX)


def kernel_release(stated: StatementIndex) -> str:
    """Return the running kernel's release; empty if the text does not state it."""
    platform, directly, missing = stated.get("kernel platform"), stated.get("kernel"), stated.get("no module for")
    found = _KERNEL_RELEASE.search(platform.value) if platform else None
    if found:
        return found[1]
    if directly:
        return directly.value
    return missing.value if missing and missing.value[0].isdecimal() else ""


def stated_python(stated: StatementIndex) -> Python | Missing:
    """Return the interpreter that the text names, or that conda's list implies."""
    version, bits, libc = stated.get("python"), stated.get("bits"), stated.get("libc")
    in_conda = next(iter(stated.all("conda:").values()), None)
    narrow = next(
        (
            statement
            for statement in (stated.get("kernel platform"), stated.get("architecture"))
            if statement and _32_BIT_WORDS.search(statement.value)
        ),
        None,
    )
    named = version or in_conda or bits or libc or narrow
    if named is None:
        return NOT_STATED
    return Python(
        executable="python",
        why=named.where,
        version=version.value if version else NOT_STATED,
        kind="conda" if in_conda else NOT_STATED,
        libc=f"glibc {libc.value}" if libc else NOT_STATED,
        bits=int(bits.value) if bits else 32 if narrow else NOT_STATED,
        implementation="cpython",
    )
