"""GPUs of other vendors, and machines that have no NVIDIA GPU."""

from __future__ import annotations

from gpudoctor.read.sections.statement_index import NOT_STATED, StatementIndex
from gpudoctor.snapshot import Amd, Host, Missing, Platform


def stated_amd_gpus(stated: StatementIndex) -> tuple[Amd, ...] | Missing:
    """Return the AMD GPUs by the names that compilers give their architecture."""
    return tuple(Amd(target=statement.value) for statement in stated.all("amd:").values()) or NOT_STATED


def is_without_nvidia(stated: StatementIndex, host: Host) -> bool:
    """Return whether the text is about another vendor's GPU, or about none: it names one, a build for one, or macOS, and no NVIDIA GPU or driver."""
    keys = ("torch xpu", "torch rocm", "no nvidia gpu", "other gpu")
    other = stated.all("amd:") or any(map(stated.get, keys)) or host.platform == Platform.MACOS
    return bool(other) and not (stated.all("gpu:") or stated.all("gpu prose:") or stated.get("driver"))
