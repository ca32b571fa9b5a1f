"""Which rules can say something about a machine: loading the others takes a tenth of a diagnosis of text, and 6 to 12 ms of a check."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import MachineView
from gpudoctor.derive.fabric import fabric_of
from gpudoctor.diagnose.rule import Rule
from gpudoctor.diagnose.rules import SPECIAL_NEEDS, rules_without
from gpudoctor.findings import Policy
from gpudoctor.snapshot import TEXT, Missing, NvmlGpu, Platform, Snapshot, TextLog, is_absent, is_unasked

_IMPLIED_SECTIONS = frozenset(("libraries", "libcuda"))
"""Sections in whose place stated packages speak: they bring libraries, and cuda-compat a libcuda."""
_IDENTITY_FIELDS = frozenset(("index", "address", "uuid", "name", "compute_capability", "memory_total"))
"""What says which GPU it is, and nothing of its state."""
_STATE_FIELDS = tuple(field for field in NvmlGpu.__struct_fields__ if field not in _IDENTITY_FIELDS)

_PLATFORMS = frozenset((Platform.JETSON, Platform.MACOS, Platform.WINDOWS))


def usual_rules(*special: str) -> tuple[Rule, ...]:
    """Return the rules that any machine may need, or one with these of SPECIAL: a check loads them while its children look at the machine."""
    return rules_without(SPECIAL_NEEDS.difference(special))


def applicable_rules(machine: MachineView, policy: Policy, named: frozenset[str] = frozenset()) -> tuple[Rule, ...]:
    """Return every rule, in order, without those for what the machine does not have or nobody states, unless the user names rules.

    `named` are causes that lines of a text may point to: their rules stay.
    """
    if policy.only or policy.skip or policy.require or machine.log.reported:
        return rules_without(frozenset())
    return rules_without(frozenset(_unmet_needs(machine)), named)


def _unmet_needs(machine: MachineView) -> Iterator[str]:
    """Yield what the machine lacks, and what nobody states of one that is only described, as gpudoctor.diagnose.rules names it."""
    seen = machine.observed
    if not machine.gpus:
        yield "gpus"
    if not machine.site.on_wsl:
        yield "wsl"
    if isinstance(seen.text_log, TextLog) or machine.supposed:
        yield from _unstated_sections(machine)
        return
    if is_unasked(seen.smoke):
        yield "smoke"
    if not isinstance(seen.frameworks, Missing) and all(framework.cuda_build is False for framework in seen.frameworks):
        yield "cuda_build"
    yield from _absent_parts(machine)


def _absent_parts(machine: MachineView) -> Iterator[str]:
    """Yield what an examined machine is known not to have, beside GPUs."""
    seen = machine.observed
    yield "requirements"  # with any of them every rule is loaded
    if seen.origin != TEXT:
        yield "text"
    if is_absent(seen.allocation):
        yield "allocation"
    if machine.visibility_or_missing is None:
        yield "visible_devices"
    if not machine.nvswitches and not any(map(fabric_of, machine.hardware)):
        yield "nvlink_fabric"
    yield from _other_sites(machine)
    yield from _absent_environment_parts(seen)


def _other_sites(machine: MachineView) -> Iterator[str]:
    """Yield the platforms that the machine is known not to be, and the containers that it is known not to have."""
    site = machine.site
    if site.platform != "unknown":
        yield from _PLATFORMS - {site.platform}
        if not site.on_wsl:
            yield "wsl1"
    if not site.container:
        yield "in_container"
        if is_absent(machine.observed.container_tools):
            yield "containers"


def _absent_environment_parts(seen: Snapshot) -> Iterator[str]:
    """Yield what the Python environment is known not to be, or not to have."""
    if not isinstance(seen.frameworks, Missing) and not any(framework.rocm_build is True for framework in seen.frameworks):
        yield "rocm_build"
    if not isinstance(seen.packages, Missing) and not isinstance(seen.python, Missing):
        yield "planned"
        if seen.python.kind != "conda":
            yield "conda"


def _unstated_sections(machine: MachineView) -> Iterator[str]:
    """Yield the sections that a text or a stated machine leaves out, and whether it says nothing of the state of GPUs."""
    if not _is_any_state_known(machine):
        yield "gpu_states"
    implied = _IMPLIED_SECTIONS if machine.supposed else frozenset[str]()
    for section in Snapshot.__struct_fields__:
        if section not in implied and is_unasked(getattr(machine.observed, section)):
            yield section


def _is_any_state_known(machine: MachineView) -> bool:
    """Return whether anything is known of a GPU but which one it is; a query that failed is known too."""
    known = (gpu.observed.nvml for gpu in machine.gpus if not is_unasked(gpu.observed.nvml))
    return any(not isinstance(gpu, NvmlGpu) or not all(is_unasked(getattr(gpu, field)) for field in _STATE_FIELDS) for gpu in known)
