"""Makes a Snapshot of what a text states. What it does not state is missing as not stated, and causes no finding."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import msgspec

from gpudoctor.codes import NvmlError
from gpudoctor.frameworks import framework_of, spec_of
from gpudoctor.matrix import Matrix
from gpudoctor.read.statements import Line, Rank, Statement
from gpudoctor.signatures import harmless
from gpudoctor.snapshot import (
    TEXT,
    Cause,
    Distribution,
    Fact,
    Framework,
    Host,
    KernelDriver,
    KernelLog,
    Missing,
    Nvml,
    NvmlGpu,
    Packages,
    Platform,
    Python,
    Snapshot,
    Status,
    TextLog,
    Toolkit,
    Variables,
    XidEvent,
    normalise_address,
)
from gpudoctor.snapshot.distributions import normalise

NOT_STATED = Missing(Cause.NOT_STATED, "the text does not state it")
_ABSENT = {"None", "Could not collect", "False"}
_NVML_ERRORS = (
    ("API mismatch", NvmlError.LIB_RM_VERSION_MISMATCH),
    ("Driver/library version mismatch", NvmlError.LIB_RM_VERSION_MISMATCH),
    ("Driver Not Loaded", NvmlError.DRIVER_NOT_LOADED),
    ("couldn't communicate with the NVIDIA driver", NvmlError.DRIVER_NOT_LOADED),
    ("Insufficient Permissions", NvmlError.NO_PERMISSION),
    ("GPU is lost", NvmlError.GPU_IS_LOST),
    ("Unknown Error", NvmlError.UNKNOWN),
)
_MODES = {"Default": "default", "E. Process": "exclusive-process", "E. Thread": "exclusive-thread", "Prohibited": "prohibited"}
"""nvidia-smi's words for NVML's compute modes."""
_PLATFORMS = (
    ("microsoft-standard-wsl2", Platform.WSL2),
    ("microsoft", Platform.WINDOWS),
    ("windows", Platform.WINDOWS),
    ("mac", Platform.MACOS),
    ("darwin", Platform.MACOS),
)


class Stated:
    """The statements of a text by what they are about; of several about one thing, the most direct, and of these the first."""

    def __init__(self, statements: Iterable[Statement]) -> None:
        self._best: dict[str, Statement] = {}
        for one in statements:
            if one.what not in self._best or one.rank > self._best[one.what].rank:
                self._best[one.what] = one

    def get(self, what: str) -> Statement | None:
        """Return the statement about `what`, or None."""
        return self._best.get(what)

    def fact(self, what: str) -> Fact | Missing:
        """Return the fact about `what` with its line."""
        one = self.get(what)
        return Fact(one.value, one.where) if one else NOT_STATED

    def value(self, what: str) -> str | Missing:
        """Return the value stated of `what`."""
        one = self.get(what)
        return one.value if one else NOT_STATED

    def all(self, prefix: str) -> dict[str, Statement]:
        """Return the statements whose key begins with `prefix`, by the rest of the key."""
        return {what.removeprefix(prefix): one for what, one in self._best.items() if what.startswith(prefix)}


def assemble(statements: Sequence[Statement], log: Sequence[Line], noise: Sequence[Line], matrix: Matrix, created: str) -> Snapshot:
    """Return the snapshot of the machine that `statements` describe; `log` are the lines that point to a fault or a cause, `noise` what looks like it."""
    stated = Stated(statements)
    snapshot = Snapshot(
        created=created,
        origin=TEXT,
        host=_host(stated),
        python=_python(stated),
        nvml=_nvml(stated, matrix),
        kernel_driver=_kernel_driver(stated),
        kernel_log=_kernel_log(statements),
        toolkits=NOT_STATED if stated.get("toolkit") is None else (Toolkit(path="", toolkit_cuda=stated.fact("toolkit")),),
        system_cudnn=stated.fact("cudnn"),
        variables=_variables(stated),
        packages=_packages(stated),
        frameworks=_frameworks(stated, matrix),
        text_log=TextLog(tuple(Fact(line.text, f"line {line.number}") for line in log)) if log else NOT_STATED,
        remarks=(*_unavailable(stated), *_contradictions(statements, stated), *_harmless(noise)),
    )
    silent = (name for name in Snapshot.__struct_fields__ if isinstance(getattr(snapshot, name), Missing))
    return msgspec.structs.replace(snapshot, **dict.fromkeys(silent, NOT_STATED))


def _host(stated: Stated) -> Host:
    words = " ".join(one.value for one in (stated.get("os"), stated.get("kernel platform")) if one).lower()
    platform = next((platform for word, platform in _PLATFORMS if word in words), Platform.LINUX if words else NOT_STATED)
    architecture = re.search(r"x86_64|aarch64|arm64|amd64", words)
    return Host(platform=platform, architecture=architecture[0].replace("amd64", "x86_64") if architecture else NOT_STATED)


def _python(stated: Stated) -> Python | Missing:
    version, bits = stated.get("python"), stated.get("bits")
    if version is None:
        return NOT_STATED
    return Python(
        executable="python",
        why=version.where,
        version=version.value,
        bits=int(bits.value) if bits else NOT_STATED,
        implementation="cpython",
    )


def _nvml(stated: Stated, matrix: Matrix) -> Nvml:
    """Return what NVML would show. Whoever asks about a GPU has one, even if the text does not say which."""
    error, gpus = stated.get("nvml error"), stated.all("gpu:")
    code = next((code for words, code in _NVML_ERRORS if error and words.lower() in error.value.lower()), None)
    listed = tuple(_gpu(index, name, gpus[name].value.strip(), stated, matrix) for index, name in enumerate(sorted(gpus, key=int)))
    return Nvml(
        init=NOT_STATED if error is None or code is None else Status(int(code), code.name, error.value),
        driver_version=stated.value("driver"),
        nvml_version=stated.value("libraries"),
        cuda_served=stated.value("cuda served"),
        gpus=listed or (NvmlGpu(index=0, address=NOT_STATED, name=NOT_STATED, compute_capability=stated.value("capability")),),
    )


def _gpu(index: int, key: str, name: str, stated: Stated, matrix: Matrix) -> NvmlGpu:
    product = matrix.gpu(name)
    known = product.compute_capability if product else ""
    memory, mode = stated.get(f"memory:{key}"), stated.get(f"compute mode:{key}")
    used, total = (int(number) << 20 for number in memory.value.replace("MiB", "").split("/")) if memory else (NOT_STATED, NOT_STATED)
    return NvmlGpu(
        index=index,
        address=NOT_STATED,
        name=name,
        compute_capability=str(known) if known else stated.value("capability"),
        memory_used=used,
        memory_total=total,
        compute_mode=_MODES[mode.value] if mode else NOT_STATED,
    )


def _kernel_driver(stated: Stated) -> KernelDriver | Missing:
    module = stated.get("module")
    return NOT_STATED if module is None else KernelDriver(version=Fact(module.value, module.where))


def _kernel_log(statements: Sequence[Statement]) -> KernelLog | Missing:
    events = tuple(_event(one) for one in statements if one.what.startswith(("xid:", "sxid:")))
    return KernelLog(where="the text", events=events) if events else NOT_STATED


def _event(one: Statement) -> XidEvent:
    kind, _, address = one.what.partition(":")
    code, _, text = one.value.partition(",")
    return XidEvent(code=int(code), address=normalise_address(address) or NOT_STATED, text=text.strip(), switch=kind == "sxid")


def _variables(stated: Stated) -> Variables | Missing:
    values = {name: one.value for name, one in stated.all("variable:").items()}
    return Variables(values) if values else NOT_STATED


def _packages(stated: Stated) -> Packages | Missing:
    distributions = tuple(
        Distribution(name=normalise(name), version=one.value, where=one.where)
        for name, one in stated.all("package:").items()
        if _is_listed(one)
    )
    return Packages(distributions=distributions) if distributions else NOT_STATED


def _is_listed(one: Statement) -> bool:
    """Return whether the package's own name was given: "TensorFlow 1.8" may be tensorflow or tensorflow-gpu."""
    return one.rank > Rank.PROSE


def _frameworks(stated: Stated, matrix: Matrix) -> tuple[Framework, ...] | Missing:
    found = tuple(
        _framework(framework_of(normalise(name)) or "", name, one, stated, matrix)
        for name, one in stated.all("package:").items()
        if framework_of(normalise(name))
    )
    return found or NOT_STATED


def _framework(name: str, distribution: str, version: Statement, stated: Stated, matrix: Matrix) -> Framework:
    cuda, rocm = stated.get(f"{name} cuda"), stated.get(f"{name} rocm")
    has_cuda = None if cuda is None else cuda.value not in _ABSENT
    return Framework(
        name=name,
        distribution=_distribution(name, distribution, version, matrix),
        version=Fact(version.value, version.where),
        location=NOT_STATED,
        shadow=Missing(Cause.ABSENT, "the text names none"),
        cuda_build=NOT_STATED if has_cuda is None else has_cuda,
        rocm_build=rocm is not None,
        built_with_cuda=Fact(cuda.value, cuda.where) if cuda and has_cuda else NOT_STATED,
        built_with_cudnn=NOT_STATED,
        architectures=NOT_STATED,
    )


def _unavailable(stated: Stated) -> Iterable[str]:
    """Yield that the framework itself reports no usable GPU, which is a fault without a cause."""
    available = stated.get("cuda available")
    if available and available.value == "False":
        yield f"{available.where} says that the framework cannot use CUDA"


def _harmless(noise: Sequence[Line]) -> Iterable[str]:
    first = {harmless(line.text): line for line in reversed(noise)}
    for why, line in first.items():
        yield f"line {line.number} is harmless: {why}"


def _distribution(name: str, said: str, version: Statement, matrix: Matrix) -> str:
    """Return the package of a framework; "" if only its name was given and another of its packages has this release with CUDA."""
    if _is_listed(version):
        return normalise(said)
    with_cuda = {
        package
        for package in spec_of(name).distributions
        for row in matrix.releases(package)
        if row.accelerator == "cuda" and str(row.release) == version.value
    }
    return "" if with_cuda and name not in with_cuda else name


def _contradictions(statements: Sequence[Statement], stated: Stated) -> Iterable[str]:
    for one in statements:
        used = stated.get(one.what)
        if used and used.value != one.value and not one.what.startswith(("xid:", "sxid:")):
            yield f"{one.where} says {one.what} {one.value}; {used.where} says {used.value}, which was used"
