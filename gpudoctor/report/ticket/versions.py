"""The versions that decide whether software fits a machine, each with the place where it was read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from gpudoctor.report.model import Report
from gpudoctor.snapshot import Fact, Host, KernelDriver, Libcuda, Missing, Nvml, Packages, Python, Snapshot


class VersionRow(NamedTuple):
    """A version."""

    what: str
    version: str
    where: str = ""


def version_rows(report: Report) -> list[VersionRow]:
    """Return the known versions, the driver first."""
    return [row for row in _all_rows(report) if row.version]


def _all_rows(report: Report) -> Iterator[VersionRow]:
    seen, summary = report.snapshot, report.summary
    yield from (
        VersionRow("GPU", f"{_count_text(model.count)}{model.model or 'NVIDIA GPU'}{_memory_text(model.memory)}")
        for model in summary.gpus or ()
    )
    yield from _driver_rows(seen)
    yield VersionRow("CUDA supported by the driver", summary.cuda or "")
    for build in summary.frameworks or ():
        yield VersionRow(build.name, build.version or "", _framework_folder(seen, build.name))
        yield VersionRow(f"CUDA of {build.name}", "none" if build.cuda == "" else build.cuda or "")
        yield VersionRow(f"cuDNN of {build.name}", build.cudnn or "")
    yield from _toolkit_rows(seen)
    if isinstance(seen.python, Python):
        kind = f" ({summary.environment})" if summary.environment else ""
        yield VersionRow("Python", f"{summary.python or ''}{kind if summary.python else ''}", seen.python.executable)
    yield from _host_rows(seen)
    yield VersionRow("Container", summary.container or "")
    yield from _package_rows(seen)


def _driver_rows(seen: Snapshot) -> Iterator[VersionRow]:
    if isinstance(seen.kernel_driver, KernelDriver):
        flavour = f" ({seen.kernel_driver.flavour})" if isinstance(seen.kernel_driver.flavour, str) else ""
        fact = seen.kernel_driver.version
        yield from [VersionRow("NVIDIA kernel driver", f"{fact.value}{flavour}", fact.where)] if isinstance(fact, Fact) else []
    if isinstance(seen.nvml, Nvml):
        yield VersionRow("NVIDIA driver libraries", _text_or_empty(seen.nvml.driver_version), _text_or_empty(seen.nvml.library))
    if isinstance(seen.libcuda, Libcuda):
        yield VersionRow("CUDA of libcuda", _text_or_empty(seen.libcuda.cuda_served), _text_or_empty(seen.libcuda.library))


def _toolkit_rows(seen: Snapshot) -> Iterator[VersionRow]:
    for toolkit in () if isinstance(seen.toolkits, Missing) else seen.toolkits:
        if isinstance(toolkit.toolkit_cuda, Fact):
            yield VersionRow("CUDA toolkit", toolkit.toolkit_cuda.value, toolkit.path or toolkit.toolkit_cuda.where)
    if isinstance(seen.system_cudnn, Fact):
        yield VersionRow("cuDNN of the system", seen.system_cudnn.value, seen.system_cudnn.where)


def _host_rows(seen: Snapshot) -> Iterator[VersionRow]:
    if isinstance(seen.host, Host):
        yield VersionRow(
            "Operating system", " ".join(filter(None, map(_text_or_empty, (seen.host.distribution, seen.host.distribution_version))))
        )
        yield VersionRow("Kernel", " ".join(filter(None, map(_text_or_empty, (seen.host.kernel, seen.host.architecture)))))


def _framework_folder(seen: Snapshot, framework: str) -> str:
    found = () if isinstance(seen.frameworks, Missing) else seen.frameworks
    return next((_text_or_empty(other.location) for other in found if other.name == framework), "")


def _package_rows(seen: Snapshot) -> Iterator[VersionRow]:
    """Yield the packages that are no framework, each with its folder if that is not the one of most."""
    listed = seen.packages.distributions if isinstance(seen.packages, Packages) else ()
    frameworks = {framework.distribution for framework in (() if isinstance(seen.frameworks, Missing) else seen.frameworks)}
    usual = Counter(distribution.where for distribution in listed).most_common(1)
    for distribution in listed:
        if distribution.name not in frameworks:
            yield VersionRow(distribution.name, distribution.version, "" if distribution.where == usual[0][0] else distribution.where)


def _memory_text(size: int | None) -> str:
    return f", {size / (1 << 30):.1f} GiB" if size else ""


def _count_text(count: int) -> str:
    return f"{count} × " if count > 1 else ""  # noqa: RUF001 -- a cross counts


def _text_or_empty(value: object) -> str:
    return "" if isinstance(value, Missing) else str(value)
