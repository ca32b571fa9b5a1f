"""Severity, wording and evidence for a copy of a library that is not the framework's own."""

from collections.abc import Iterator

from gpudoctor.derive.libraries import folder_of_file
from gpudoctor.derive.other_copies import OtherCopy
from gpudoctor.findings import Evidence, Severity
from gpudoctor.versions import Version

_LIBRARY_TITLES = {"cudnn": "cuDNN", "nccl": "NCCL", "cublas": "cuBLAS", "cublaslt": "cuBLASLt"}


def copy_severity(copy: OtherCopy) -> Severity | None:
    """Return None (the rule's own severity) for a copy that does not work, a note for the same version, else a warning."""
    if copy.fatal:
        return None
    return Severity.NOTE if copy.difference == "same" else Severity.WARNING


def conflict_text(copy: OtherCopy, label: str, source: str) -> str:
    """Return what a framework would load, and from where: "torch 2.6.0 needs NCCL 2.21.5 or newer but would load 2.18.3 from /opt/lib (system)"."""
    name, place = _LIBRARY_TITLES.get(copy.use.component, copy.use.wanted), f"from {folder_of_file(copy.path)} ({source})"
    version = str(copy.version) if isinstance(copy.version, Version) else "a copy of unknown version"
    if copy.difference == "same" or copy.wanted is None:
        return (
            f"{label} would load {name} {version} {place} instead of its own copy{' of that version' if copy.difference == 'same' else ''}"
        )
    verb = "was built with" if copy.difference == "other" else "needs"
    newer = " or newer" if copy.difference == "older" else ""
    return f"{label} {verb} {name} {copy.wanted}{newer} but would load {version} {place}"


def copy_evidence(copy: OtherCopy) -> Iterator[Evidence]:
    """Return both copies and the version that the build needs."""
    name, component = copy.use.wanted, _LIBRARY_TITLES.get(copy.use.component, copy.use.wanted)
    path = f"{copy.path} ({copy.version})" if isinstance(copy.version, Version) else copy.path
    yield Evidence(f"{name} that would be loaded", path, copy.use.why)
    yield Evidence(f"{name} installed for the framework", f"{folder_of_file(copy.instead)}/{name}", "on disk")
    if copy.wanted is not None:
        yield Evidence(f"{component} that the build needs", str(copy.wanted), copy.wanted_where)
