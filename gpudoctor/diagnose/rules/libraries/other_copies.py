"""Severity, wording and evidence for a copy of a library that is not the framework's own."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive.libraries import folder
from gpudoctor.derive.other_copies import OtherCopy
from gpudoctor.findings import Evidence, Severity
from gpudoctor.versions import Version

_TITLES = {"cudnn": "cuDNN", "nccl": "NCCL", "cublas": "cuBLAS", "cublaslt": "cuBLASLt"}


def severity_of(copy: OtherCopy) -> Severity | None:
    """Return None (the rule's own severity) for a copy that does not work, a note for the same version, else a warning."""
    if copy.fatal:
        return None
    return Severity.NOTE if copy.difference == "same" else Severity.WARNING


def difference_text(copy: OtherCopy) -> str:
    """Return how the copy differs from the version needed: "it is 9.1.0; the build needs 9.3.0 or newer"."""
    if copy.difference == "same":
        return f"it is {copy.version}, the same version"
    needs = {"older": f"needs {copy.wanted} or newer", "major": f"needs {copy.wanted}"}.get(copy.difference, f"was made with {copy.wanted}")
    needed = f"the build {needs}" if copy.wanted else "the version that the build needs is not known"
    if not isinstance(copy.version, Version):
        return f"its version is not known; {needed}"
    major = ", a different major version" if copy.difference == "major" else ""
    return f"it is {copy.version}{major}; {needed}"


def copy_evidence(copy: OtherCopy) -> Iterator[Evidence]:
    """Return both copies and the version that the build needs."""
    name, component = copy.use.wanted, _TITLES.get(copy.use.component, copy.use.component)
    path = f"{copy.path} ({copy.version})" if isinstance(copy.version, Version) else copy.path
    yield Evidence(f"{name} that would be loaded", path, copy.use.why)
    yield Evidence(f"{name} installed for the framework", f"{folder(copy.instead)}/{name}", "on disk")
    if copy.wanted is not None:
        yield Evidence(f"{component} that the build needs", str(copy.wanted), copy.wanted_where)
