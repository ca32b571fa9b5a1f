"""What NVML would show of the machine that a text describes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from gpudoctor.matrix import GpuProduct, Matrix
from gpudoctor.read.readers.architecture_prose import ARCHITECTURE
from gpudoctor.read.readers.gpu_prose import LIST_MARK
from gpudoctor.read.readers.nvidia_smi_monitor import MONITOR_READER
from gpudoctor.read.readers.nvidia_smi_query import QUERY_READER, UNKNOWN_GPU
from gpudoctor.read.sections.gpu import gpu_of
from gpudoctor.read.sections.statement_index import NOT_STATED, StatementIndex
from gpudoctor.read.statements import Directness, Statement
from gpudoctor.snapshot import GpuPair, Missing, Nvml, NvmlGpu, Pci, Status, normalise_address
from gpudoctor.status_codes import NvmlError

_NVML_ERRORS = (
    ("API mismatch", NvmlError.LIB_RM_VERSION_MISMATCH),
    ("Driver/library version mismatch", NvmlError.LIB_RM_VERSION_MISMATCH),
    ("Driver Not Loaded", NvmlError.DRIVER_NOT_LOADED),
    ("communicate with the NVIDIA driver", NvmlError.DRIVER_NOT_LOADED),
    ("Insufficient Permissions", NvmlError.NO_PERMISSION),
    ("GPU is lost", NvmlError.GPU_IS_LOST),
    ("GPU requires reset", NvmlError.RESET_REQUIRED),
    ("Insufficient External Power", NvmlError.INSUFFICIENT_POWER),
    ("Unknown Error", NvmlError.UNKNOWN),
)
_PATH_NAMES = {
    "PIX": "single-switch",
    "PXB": "multiple-switches",
    "PHB": "host-bridge",
    "NODE": "numa-node",
    "SOC": "system",
    "SYS": "system",
}
"""nvidia-smi's abbreviations of the paths between two GPUs; NV4 is a path over NVLink."""

GpuFacts = Mapping[str, Statement]
"""What is stated of one GPU, by key; a key with a part is "process/4711"."""


def stated_nvml(stated: StatementIndex, matrix: Matrix, bus: Pci | Missing, *, starved: bool) -> Nvml:
    """Return what NVML would show. Whoever asks about a GPU has one, even if the text does not say which.

    `starved`: a program ran out of GPU memory, so it matters how much is free. Otherwise the memory in use is the program's own.
    """
    error = stated.get("nvml error")
    code = next((code for words, code in _NVML_ERRORS if error and words.lower() in error.value.lower()), None)
    listed = tuple(
        _gpu_with_capability(gpu_of(index, facts, matrix, starved=starved), stated, matrix) for index, facts in _listed_gpus(stated)
    )
    return Nvml(
        init=NOT_STATED if error is None or code is None else Status(int(code), code.name, error.value),
        driver_version=stated.value("driver"),
        nvml_version=_nvml_version(stated),
        cuda_served=stated.value("cuda served"),
        gpus=_with_bus_addresses(listed, bus) or (NOT_STATED if isinstance(bus, Pci) else _gpus_from_prose(stated, matrix)),
        pairs=tuple(_gpu_pairs(stated)) or NOT_STATED,
    )


def _nvml_version(stated: StatementIndex) -> str | Missing:
    """Return NVML's version as NVML states it: CUDA's major version, which nvidia-smi leaves out, a dot and the driver's."""
    libraries, served = stated.get("libraries"), stated.get("cuda served")
    return f"{served.value.partition('.')[0] if served else ''}.{libraries.value}" if libraries else NOT_STATED


def _with_bus_addresses(listed: tuple[NvmlGpu, ...], bus: Pci | Missing) -> tuple[NvmlGpu, ...]:
    """Return the GPUs, with addresses from the bus if nothing else states them and there are as many: NVML lists GPUs by address."""
    free = _free_addresses(bus)
    if len(free) != len(listed) or any(isinstance(gpu.address, str) for gpu in listed):
        return listed
    return tuple(msgspec.structs.replace(gpu, address=address) for gpu, address in zip(listed, free, strict=True))


def _free_addresses(bus: Pci | Missing) -> list[str]:
    """Return the addresses of the GPUs that no driver other than NVIDIA's has bound."""
    devices = bus.devices if isinstance(bus, Pci) else ()
    return sorted(
        device.address for device in devices if device.is_nvidia_gpu and (device.driver == "nvidia" or isinstance(device.driver, Missing))
    )


def matching_bus(bus: Pci | Missing, seen: Nvml) -> Pci | Missing:
    """Return the bus, unless the text lists GPUs without addresses that cannot be told apart on it."""
    unplaced = isinstance(seen.gpus, tuple) and any(isinstance(gpu.address, Missing) for gpu in seen.gpus)
    return NOT_STATED if unplaced else bus


def _listed_gpus(stated: StatementIndex) -> list[tuple[int, GpuFacts]]:
    """Return the number and the facts of each GPU that the most direct listing names, in NVML's order."""
    by_gpu: dict[str, dict[str, Statement]] = {}
    for what, statement in stated.all("").items():
        fact, _, place = what.partition(":")
        gpu, _, part = place.partition("/")
        if gpu:
            by_gpu.setdefault(gpu, {})[f"{fact}/{part}" if part else fact] = statement
    excerpt = by_gpu.pop(UNKNOWN_GPU, {})
    gpus = {gpu: facts for gpu, facts in by_gpu.items() if "gpu" in facts or "address" in facts}
    best = max((_listing_rank(facts) for facts in gpus.values()), default=Directness.TOOL)
    merged = _merged_gpus({gpu: facts for gpu, facts in gpus.items() if _listing_rank(facts) is best} or _excerpt_gpus(by_gpu))
    if excerpt and len(merged) == 1:
        ((gpu, facts),) = merged.items()
        merged[gpu] = _merged_facts(facts, excerpt)
    listed = [(int(gpu) if gpu.isdecimal() else place, facts) for place, (gpu, facts) in enumerate(merged.items())]
    return [*listed, (-1, excerpt)] if excerpt and len(merged) != 1 else list(listed)


def _excerpt_gpus(by_gpu: dict[str, dict[str, Statement]]) -> dict[str, dict[str, Statement]]:
    """Return the GPUs that only samples or excerpts about one of them number."""
    return {
        gpu: facts
        for gpu, facts in by_gpu.items()
        if gpu.isdecimal() and any(fact.reader in {QUERY_READER, MONITOR_READER} for fact in facts.values())
    }


def _listing_rank(facts: GpuFacts) -> Directness:
    return max(facts[fact].rank for fact in ("gpu", "address") if fact in facts)


def _merged_gpus(gpus: dict[str, dict[str, Statement]]) -> dict[str, dict[str, Statement]]:
    """Return one entry a GPU: some outputs number them, others tell them by address, and the numbers follow the addresses."""
    numbered = sorted((gpu for gpu in gpus if gpu.isdecimal()), key=int)
    placed = sorted(gpu for gpu in gpus if not gpu.isdecimal())
    known = {normalise_address(gpus[gpu]["address"].value): gpu for gpu in numbered if "address" in gpus[gpu]}
    if not known and len(numbered) == len(placed):
        known = dict(zip(placed, numbered, strict=True))
    for address in placed:
        same = known.get(address)
        if same is not None:
            gpus[same] = _merged_facts(gpus[same], gpus.pop(address))
    return {gpu: gpus[gpu] for gpu in sorted(gpus, key=_sort_key)}


def _sort_key(gpu: str) -> tuple[int, int, str]:
    """Return where a GPU belongs among the others: by its number, otherwise by its address."""
    return (0, int(gpu), "") if gpu.isdecimal() else (1, 0, gpu)


def _merged_facts(one: dict[str, Statement], other: dict[str, Statement]) -> dict[str, Statement]:
    """Return the facts of two outputs on one GPU; of a fact that both state, the earlier. A shortened name is no better than a whole one."""
    together = {**one, **other}
    for fact in one.keys() & other.keys():
        first, second = sorted((one[fact], other[fact]), key=lambda statement: (statement.value.endswith("..."), statement.line))
        together[fact] = first if first.value else second
    return together


def _gpus_from_prose(stated: StatementIndex, matrix: Matrix) -> tuple[NvmlGpu, ...]:
    """Return the GPUs that sentences name; one of which nothing is known if they name none."""
    capability = stated.value("capability")
    named = () if isinstance(capability, str) else _named_products(stated, matrix)
    known = capability if named or isinstance(capability, str) else stated.value(ARCHITECTURE)
    unknown = NvmlGpu(index=0, address=NOT_STATED, name=NOT_STATED, compute_capability=known)
    return tuple(
        msgspec.structs.replace(unknown, index=index, name=name, compute_capability=str(product.compute_capability))
        for index, (product, name) in enumerate(named)
    ) or (unknown,)


def _named_products(stated: StatementIndex, matrix: Matrix) -> tuple[tuple[GpuProduct, str], ...]:
    """Return the products that sentences name: one model, or what one sentence lists."""
    found = {
        place: (product, statement.value)
        for place, statement in stated.all("gpu prose:").items()
        if (product := matrix.gpu(statement.value))
    }
    models = {product.name: (product, name) for product, name in found.values()}
    lists = {place.partition(LIST_MARK)[0] for place in found if LIST_MARK in place}
    listed = {product.name for place, (product, _) in found.items() if LIST_MARK in place}
    together = len(lists) == 1 and listed == models.keys()
    return tuple(models.values()) if len(models) == 1 or together else ()


def _single_named_product(stated: StatementIndex, matrix: Matrix) -> tuple[GpuProduct | None, str]:
    """Return the product that sentences name and their word for it, if all of them name one model."""
    named = _named_products(stated, matrix)
    return named[0] if len(named) == 1 else (None, "")


def _gpu_with_capability(gpu: NvmlGpu, stated: StatementIndex, matrix: Matrix) -> NvmlGpu:
    """Return a GPU whose name nvidia-smi cut ("NVIDIA GeForce ...") with the capability of the one model that sentences name, if it fits."""
    if isinstance(gpu.name, Missing) or "..." not in gpu.name or isinstance(gpu.compute_capability, str):
        return gpu
    product, _ = _single_named_product(stated, matrix)
    begun = gpu.name.partition("...")[0].removeprefix("NVIDIA ").strip().lower()
    if product is None or not product.name.lower().removeprefix("nvidia ").startswith(begun):
        return gpu
    return msgspec.structs.replace(gpu, compute_capability=str(product.compute_capability))


def _gpu_pairs(stated: StatementIndex) -> Iterator[GpuPair]:
    for place, statement in stated.all("pair:").items():
        first, _, second = place.partition("/")
        yield GpuPair(one=int(first), other=int(second), ancestor=_PATH_NAMES.get(statement.value, NOT_STATED))
