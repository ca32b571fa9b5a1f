from gpudoctor.derive import EnvironmentView, MachineView, not_applicable
from gpudoctor.derive.visibility import MASK_VARIABLE
from gpudoctor.diagnose.advice.system import set_variable, unset_at_start, unset_variable
from gpudoctor.diagnose.rule import TRAINING_FAILS, explains, rule
from gpudoctor.findings import Action, Evidence, Fix, Problem, Problems, Rung, Severity
from gpudoctor.snapshot import CudaDevice, Libcuda, Missing

_UUID_PREFIXES = ("GPU-", "MIG-")


@rule("GD703", severity=Severity.ERROR, breaks=Rung.LIBCUDA, predicts=False)
@explains(("cuda-visible-devices-masked", "cuda-init-fails", *TRAINING_FAILS), "CUDA stops at the first entry that it does not know.")
def cuda_visible_devices_uuid_unsupported(environment: EnvironmentView) -> Problems:
    """CUDA_VISIBLE_DEVICES names an unknown UUID."""
    machine, visibility = environment.machine, environment.machine.visibility
    entries, shown = visibility.entries, visibility.shown
    if not any(entry.startswith(_UUID_PREFIXES) for entry in entries):
        not_applicable(f"{MASK_VARIABLE} contains no UUID")
    if shown >= len(entries) or not entries[shown].startswith(_UUID_PREFIXES):
        return
    entry, known = entries[shown], sorted(_known_uuids(machine))
    exists = _matching_uuid(entry, known)
    reason = "CUDA does not accept it, although the GPU exists" if exists else "no GPU or MIG instance here has that UUID"
    yield Problem(
        severity=Severity.WARNING if shown else None,
        message=f"{MASK_VARIABLE} names {entry}, but {reason}; CUDA shows {f'{shown} of its {len(entries)} devices' if shown else 'no GPU'}.",
        evidence=(
            Evidence(MASK_VARIABLE, visibility.value, machine.variables.place(MASK_VARIABLE)),
            Evidence("UUIDs on this machine", ", ".join(known) or "none known", "CUDA without the variable, NVML"),
        ),
        fixes=(_fix(machine, entries, known),),
    )


def _fix(machine: MachineView, entries: tuple[str, ...], known: list[str]) -> Fix:
    """Return the fix that keeps the valid entries, or unsets the variable if none is."""
    if at_start := unset_at_start(MASK_VARIABLE, machine):
        return at_start
    if machine.site.scheduler:
        return Fix(
            f"Request a GPU from {machine.site.scheduler} again. The scheduler sets this variable: do not set it by hand.",
            action=Action.RESTART_JOB,
        )
    ordinals = {device.uuid: str(device.ordinal) for device in _unmasked_devices(machine)}
    valid = []
    for entry in entries:
        uuid = _matching_uuid(entry, known)
        if entry.isdecimal():
            valid.append(entry)
        elif uuid in ordinals:
            valid.append(ordinals[uuid])
    if not valid:
        return unset_variable(MASK_VARIABLE, machine)
    return set_variable(MASK_VARIABLE, ",".join(valid), f"Keep only GPUs that exist, here and where {MASK_VARIABLE} is set")


def _matching_uuid(entry: str, known: list[str]) -> str:
    """Return the known UUID that begins with an entry; empty where none does."""
    return next((uuid for uuid in known if uuid.lower().startswith(entry.lower())), "")


def _unmasked_devices(machine: MachineView) -> tuple[CudaDevice, ...]:
    unmasked = machine.observed.libcuda_unmasked
    return unmasked.devices if isinstance(unmasked, Libcuda) and isinstance(unmasked.devices, tuple) else ()


def _known_uuids(machine: MachineView) -> set[str]:
    """Return the UUIDs that NVML and CUDA (without the variable) report, including MIG instances."""
    found: list[str | Missing] = [device.uuid for device in _unmasked_devices(machine)]
    for gpu in machine.observed.listed_gpus:
        instances = gpu.mig_instances if isinstance(gpu.mig_instances, tuple) else ()
        found += [gpu.uuid, *(instance.uuid for instance in instances)]
    return {uuid for uuid in found if isinstance(uuid, str)}
