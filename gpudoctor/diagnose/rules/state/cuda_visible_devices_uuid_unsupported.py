"""GD703: cuda-visible-devices-uuid-unsupported."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from gpudoctor.derive import Site, Visibility
from gpudoctor.derive.visibility import VARIABLE
from gpudoctor.diagnose.advice.system import set_variable, unset
from gpudoctor.diagnose.rule import Explains, not_applicable, rule
from gpudoctor.diagnose.rules.effects import TRAINING_FAILS
from gpudoctor.diagnose.rules.state.masks import _devices
from gpudoctor.findings import Evidence, Fix, Problem, Rung, Severity, SubjectKind
from gpudoctor.snapshot import Libcuda, Missing, Nvml, Snapshot


@rule(
    "GD703",
    severity=Severity.ERROR,
    breaks=Rung.LIBCUDA,
    since="0.1",
    about=SubjectKind.ENVIRONMENT,
    predicts=False,
    explains=(
        Explains(
            (
                "cuda-visible-devices-masked",
                "cuda-init-fails",
                *TRAINING_FAILS,
            ),
            "",
        ),
    ),
)
def cuda_visible_devices_uuid_unsupported(
    visibility: Visibility, snapshot: Snapshot, nvml: Nvml | Missing, site: Site
) -> Iterator[Problem]:
    """CUDA_VISIBLE_DEVICES names a GPU by a UUID that CUDA here does not know.

    ## Why it matters
    Instead of a number the variable may hold a UUID, of a GPU (GPU-…) or of a MIG instance (MIG-…). UUIDs change with the card, MIG
    instances with each new partition. CUDA stops at the first entry that it does not know, so the GPUs after it are gone too.

    ## What to do
    Take the UUIDs from `nvidia-smi -L` anew, or use numbers. In a scheduler's job the variable is the scheduler's to set.

    ## References
    - https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#cuda-environment-variables
    """
    if not visibility.there:
        not_applicable("CUDA shows no GPU without the variable either")
    entries = visibility.entries
    if not any(entry.startswith(("GPU-", "MIG-")) for entry in entries):
        not_applicable(f"{VARIABLE} holds no UUID")
    if visibility.shown >= len(entries):
        return
    entry = entries[visibility.shown]
    if not entry.startswith(("GPU-", "MIG-")):
        return
    known = sorted(_uuids(snapshot.libcuda_unmasked, nvml))
    there = any(one.lower().startswith(entry.lower()) for one in known)
    why = "this CUDA does not take it, though the GPU is there" if there else "no GPU or MIG instance here has that UUID"
    ask = Fix(f"Ask {site.scheduler} for a GPU again; it sets this variable, so do not set it by hand.")
    yield Problem(
        severity=Severity.WARNING if visibility.shown else None,
        message=f"{VARIABLE} names {entry}, and {why}: CUDA shows {visibility.shown} of the {len(entries)} devices that it names.",
        evidence=(
            Evidence(VARIABLE, visibility.value, "environment"),
            Evidence("UUIDs that there are", ", ".join(known) or "none known", "CUDA without the variable, NVML"),
        ),
        fixes=(ask,) if site.scheduler else (_right_mask(entries, known, snapshot),),
    )


def _right_mask(entries: tuple[str, ...], known: list[str], snapshot: Snapshot) -> Fix:
    """The variable with the entries that name a GPU; unset where none does."""
    devices = _devices(msgspec.structs.replace(snapshot, libcuda=snapshot.libcuda_unmasked))
    ordinals = {one.uuid: str(one.ordinal) for one in devices}
    right = []
    for entry in entries:
        named = next((one for one in known if one.lower().startswith(entry.lower())), "")
        right += [entry] if entry.isdecimal() else [ordinals[named]] if named in ordinals else []
    if not right:
        return unset(VARIABLE)
    return set_variable(VARIABLE, ",".join(right), f"Name only GPUs that are there, here and where {VARIABLE} is set")


def _uuids(unmasked: Libcuda | Missing, nvml: Nvml | Missing) -> set[str]:
    """The UUIDs that CUDA without the mask and NVML give, MIG instances included."""
    found: list[object] = []
    if isinstance(unmasked, Libcuda) and not isinstance(unmasked.devices, Missing):
        found += [device.uuid for device in unmasked.devices]
    for gpu in nvml.gpus if isinstance(nvml, Nvml) and not isinstance(nvml.gpus, Missing) else ():
        instances = () if isinstance(gpu.mig_instances, Missing) else gpu.mig_instances
        found += [gpu.uuid, *(one.uuid for one in instances)]
    return {uuid for uuid in found if isinstance(uuid, str)}
