"""What a text shows around the GPU: the processor and its memory, /dev/shm, limits, the fabric manager, containers, the loader's cache."""

from __future__ import annotations

from gpudoctor.expressions import expression
from gpudoctor.read.sections.statement_index import NOT_STATED, StatementIndex
from gpudoctor.snapshot import (
    Cause,
    Container,
    ContainerTools,
    Cpu,
    Details,
    FabricManager,
    Fact,
    Limits,
    LoaderCache,
    Memory,
    Missing,
    SharedMemory,
)
from gpudoctor.snapshot.details import CPU_FEATURES
from gpudoctor.snapshot.surroundings import Limit

_SIZE_FORM = expression(r"(\d{1,14}(?:\.\d{1,6})?) ?([kKmMgGtT]?)i?B?")
_UNIT_BYTES = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


def _size_in_bytes(text: str, unit: str = "") -> int:
    """Return a size that df, free, mount or the kernel prints; a bare number has `unit`."""
    found = _SIZE_FORM.match(text)
    return int(float(found[1]) * _UNIT_BYTES[(found[2] or unit).lower()]) if found else 0


def stated_details(stated: StatementIndex) -> Details | Missing:
    """Return the processor and the memory."""
    model, features, total = stated.get("cpu model"), stated.get("cpu features"), stated.get("memory total")
    if not (model or features or total):
        return NOT_STATED
    there = features.value.split() if features else ()
    return Details(
        cpu=Cpu(
            model=model.value if model else NOT_STATED,
            flags=tuple(name for name in CPU_FEATURES if name in there) if features else NOT_STATED,
        ),
        memory=Memory(total=_size_in_bytes(total.value) if total else NOT_STATED),
    )


def stated_limits(stated: StatementIndex) -> Limits | Missing:
    """Return /dev/shm and the limits that `ulimit -a` prints."""
    shared = next(iter(stated.all("shm:").items()), None)
    memlock, files = stated.get("memlock"), stated.get("open files")
    if not (shared or memlock or files):
        return NOT_STATED
    size = _size_in_bytes(shared[1].value, "k") if shared else 0
    return Limits(
        memlock=_parsed_limit(memlock.value, 1 << 10) if memlock else NOT_STATED,
        open_files=_parsed_limit(files.value, 1) if files else NOT_STATED,
        shared_memory=SharedMemory(size=size, free=size, kind="tmpfs") if shared else NOT_STATED,
    )


def _parsed_limit(text: str, unit: int) -> Limit:
    return "unlimited" if text == "unlimited" else int(text) * unit


def stated_fabric_manager(stated: StatementIndex) -> FabricManager | Missing:
    """Return the state of the fabric manager's service and the version of its package."""
    service, package = stated.get("service:nvidia-fabricmanager"), stated.get("fabric manager version")
    if service is None and package is None:
        return NOT_STATED
    if service and service.value == "could not be found":
        return Missing(Cause.ABSENT, f"{service.where}: the service is not installed")
    return FabricManager(
        running=service.value == "active" if service else NOT_STATED,
        unit="nvidia-fabricmanager.service",
        version=Fact(package.value, package.where) if package else NOT_STATED,
    )


def stated_container_tools(stated: StatementIndex) -> ContainerTools | Missing:
    """Return whether Docker knows NVIDIA's runtime."""
    runtimes, default = stated.get("docker runtimes"), stated.get("docker default runtime")
    if runtimes is None:
        return NOT_STATED
    known = "nvidia" in runtimes.value.split() or (default is not None and default.value == "nvidia")
    return ContainerTools(engines=("docker",), toolkit=(), runtime=known, cdi=NOT_STATED, cdi_asked_by=NOT_STATED)


_RUNTIME_NAMES = {"kubepods": "kubernetes", "libpod": "podman"}


def stated_container(stated: StatementIndex) -> Container | Missing:
    """Return the container that the text is from, if something inside it shows one."""
    inside = stated.get("container")
    statement = inside or stated.get("container by prompt")
    if statement is None:
        return NOT_STATED
    runtime = _RUNTIME_NAMES.get(statement.value, statement.value) if inside else "docker"
    return Container(
        runtime=runtime,
        where=statement.where,
        driver_files=NOT_STATED,
        control=NOT_STATED,
        image=NOT_STATED,
    )


def stated_loader_cache(stated: StatementIndex) -> LoaderCache | Missing:
    """Return the driver's libraries in the loader's cache; a list that was cut or searched proves none absent."""
    paths = tuple(stated.all("cached:"))
    return LoaderCache(paths) if paths or stated.get("whole cache") else NOT_STATED
