"""GD1 and GD7: settings of a GPU that are off, or were changed and wait for a reset: ECC and MIG."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Gpu, Site
from gpudoctor.diagnose.fixes import ROOT
from gpudoctor.diagnose.gpu_facts import known, offered, reset
from gpudoctor.diagnose.rule import not_applicable, rule
from gpudoctor.findings import Evidence, Fix, FixKind, Problem, Rung, Severity, SubjectKind


def _word(on: bool) -> str:  # noqa: FBT001 -- a setting, not an option
    return "on" if on else "off"


@rule("GD140", severity=Severity.NOTE, breaks=Rung.TRAINED, since="0.1", about=SubjectKind.GPU, predicts=False)
def ecc_disabled(gpu: Gpu, site: Site) -> Iterator[Problem]:
    """ECC is off on a GPU that has it.

    ## Why it matters
    Without ECC a flipped bit in the GPU's memory is neither corrected nor noticed: a training goes on with a wrong number. GeForce and
    workstation cards come with it off, as it takes some of their memory and bandwidth; on cards for servers somebody has switched it off.

    ## What to do
    Nothing, if that is meant. Otherwise switch it on and reset the GPU.

    ## References
    - https://docs.nvidia.com/deploy/nvidia-smi/
    """
    seen = known(gpu)
    if offered(seen.ecc_enabled) or seen.ecc_pending is True:
        return
    command = f"sudo nvidia-smi -i {gpu.key} --ecc-config=1"
    yield Problem(
        message=f"{gpu.label}: ECC is off, so flipped bits in its memory go unnoticed.",
        evidence=(Evidence("ECC mode", "disabled", "nvmlDeviceGetEccMode"),),
        fixes=(
            Fix("Have the host switch ECC on, unless it is meant to be off.")
            if site.container
            else Fix(
                "Switch ECC on, unless it is meant to be off; it takes effect with the next reset or reboot",
                command,
                (ROOT, "reboot"),
            ),
        ),
    )


@rule("GD141", severity=Severity.NOTE, breaks=Rung.TRAINED, since="0.1", about=SubjectKind.GPU, predicts=False)
def ecc_change_pending(gpu: Gpu, site: Site) -> Iterator[Problem]:
    """ECC will be switched on or off at the next reset of the GPU.

    ## Why it matters
    Somebody has changed the mode and the GPU still runs in the old one. After the next reset it has another amount of memory, on some
    cards, and notices errors or does not.

    ## What to do
    Reset the GPU now, when nothing runs on it, or take the change back.

    ## References
    - https://docs.nvidia.com/deploy/nvidia-smi/
    """
    seen = known(gpu)
    now, then = offered(seen.ecc_enabled), offered(seen.ecc_pending)
    if now == then:
        return
    yield Problem(
        message=f"{gpu.label}: ECC is {_word(now)} and will be {_word(then)} after the next reset.",
        evidence=(Evidence("ECC mode now, pending", f"{_word(now)}, {_word(then)}", "nvmlDeviceGetEccMode"),),
        fixes=(reset(gpu, site), *_take_back(site, f"sudo nvidia-smi -i {gpu.key} --ecc-config={int(now)}")),
    )


@rule("GD740", severity=Severity.NOTE, breaks=Rung.TRAINED, since="0.1", about=SubjectKind.GPU, predicts=False)
def mig_change_pending(gpu: Gpu, site: Site) -> Iterator[Problem]:
    """MIG will be switched on or off at the next reset of the GPU.

    ## Why it matters
    Somebody has changed the mode while programs used the GPU, so it still runs in the old one. After the next reset it is whole instead
    of divided, or divided instead of whole, and without instances no program can use it.

    ## What to do
    Reset the GPU now, when nothing runs on it, or take the change back.

    ## References
    - https://docs.nvidia.com/datacenter/tesla/mig-user-guide/
    """
    seen = known(gpu)
    now, then = offered(seen.mig_enabled), offered(seen.mig_pending)
    if seen.virtualization == "vgpu":
        not_applicable("a virtual GPU's mode is set on its host")
    if now == then:
        return
    yield Problem(
        message=f"{gpu.label}: MIG is {_word(now)} and will be {_word(then)} after the next reset.",
        evidence=(Evidence("MIG mode now, pending", f"{_word(now)}, {_word(then)}", "nvmlDeviceGetMigMode"),),
        fixes=(
            reset(gpu, site),
            *_take_back(site, f"sudo nvidia-smi -i {gpu.key} -mig {int(now)}"),
        ),
    )


def _take_back(site: Site, command: str) -> tuple[Fix, ...]:
    return () if site.container else (Fix("Take the change back", command, (ROOT,), kind=FixKind.INSTEAD),)


RULES = (ecc_disabled, ecc_change_pending, mig_change_pending)
