"""What the rules on a framework's build and its libraries share: which GPUs they are about, and which other release would do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gpudoctor.derive import Driver, EffectiveCode, EffectiveCuda, Facts, Meetings
from gpudoctor.derive.code import LACKS, Fit, Meeting, runs
from gpudoctor.diagnose.rule import need, not_applicable
from gpudoctor.findings import Evidence, Rung
from gpudoctor.matrix import FrameworkRelease
from gpudoctor.snapshot import Cause, Fact, Framework, Missing, NvmlGpu
from gpudoctor.versions import Version


def with_cuda(effective: EffectiveCuda | Missing) -> EffectiveCuda:
    """The CUDA of a build; ends the rule for one without, and where it is not known."""
    if isinstance(effective, Missing) and effective.cause is Cause.ABSENT:
        not_applicable(effective.reason)
    return need(effective)


def met(meetings: Meetings | Missing) -> Meetings:
    """How a build meets the GPUs; ends the rule where it has no CUDA or there is no GPU that it could use."""
    if isinstance(meetings, Missing) and meetings.cause is Cause.ABSENT:
        not_applicable(meetings.reason)
    found = need(meetings)
    if not found:
        not_applicable("there is no GPU that its programs may use")
    return found


def tell(meetings: Meetings, framework: Framework) -> None:
    """Ends the rule where it is not known of some GPU whether the code runs on it."""
    for one in meetings:
        if one.fit is Fit.UNKNOWN:
            tell_generation(one)
        if one.fit is Fit.UNKNOWN:
            need(Missing(Cause.NOT_STATED, f"whether {called(framework)} holds code for {one.gpu.label} is not known"))


def tell_generation(meeting: Meeting) -> None:
    """Ends the rule where the GPU's compute capability is not known."""
    if meeting.capability is None:
        gpu = meeting.gpu
        lacking = gpu.nvml.compute_capability if isinstance(gpu.nvml, NvmlGpu) else gpu.nvml
        need(lacking if isinstance(lacking, Missing) else Missing(Cause.FAILED, f"{gpu.label}: {lacking}"), Rung.NVML)


def called(framework: Framework) -> str:
    """A framework with its release."""
    return f"{framework.name} {framework.version.value}" if isinstance(framework.version, Fact) else framework.name


def listed(meetings: Iterable[Meeting]) -> str:
    """GPUs for a person, those of one model once."""
    models: dict[str, list[Meeting]] = {}
    for one in meetings:
        name = one.gpu.name if isinstance(one.gpu.name, str) else one.gpu.label
        models.setdefault(f"{name} (compute capability {one.capability})", []).append(one)
    return " and ".join(f"{len(group)} x {text}" if len(group) > 1 else text for text, group in models.items())


def code_evidence(code: EffectiveCode, meetings: Iterable[Meeting]) -> tuple[Evidence, ...]:
    """The code, who says so, and the GPUs."""
    return (
        Evidence("GPU code in the build", code.text, code.where),
        *((Evidence("another source", code.disagreement, code.disagreement.partition(" says ")[0]),) if code.disagreement else ()),
        *(Evidence("compute capability", str(one.capability), one.gpu.label) for one in meetings),
    )


_JAX = ("jax-cuda13-pjrt", "jax-cuda12-pjrt")
"""The half of JAX that holds its GPU code, for each CUDA it is published for."""


def release_for(facts: Facts, framework: Framework, capabilities: Iterable[Version]) -> str:
    """A requirement for the newest published release that holds machine code for all of these GPUs and that the driver serves; "" if none."""
    wanted = tuple(capabilities)
    names = _JAX if framework.name == "jax" else (framework.distribution,)
    fitting = [
        next((row for row in _newest_first(facts, name) if all(runs(row, one) is Fit.NATIVE for one in wanted)), None) for name in names
    ]
    return next((_requirement(row) for row in fitting if row is not None), "")


def _requirement(row: FrameworkRelease) -> str:
    if row.distribution in _JAX:
        release = ".".join(map(str, row.release[:3]))  # a fourth number is the plugin's own
        return f"jax[{row.distribution.split('-')[1]}]=={release}"
    extras = "[and-cuda]" if any('extra=="and-cuda"' in text for text in row.requires) else ""
    return f"{row.distribution}{extras}=={row.release}"


def _newest_first(facts: Facts, distribution: str) -> Iterator[FrameworkRelease]:
    """The releases with a wheel for this interpreter and platform, as far as those are known."""
    stack = facts.stack
    python, wheels = ("", "") if isinstance(stack, Missing) else (stack.python, stack.platform)
    for row in reversed(facts.matrix.releases(distribution, wheels or "linux_x86_64")):
        if row.accelerator == "cuda" and (not python or not row.pythons or python in row.pythons) and _served(facts, row):
            yield row


def _served(facts: Facts, row: FrameworkRelease) -> bool:
    if not isinstance(facts.driver, Driver) or row.built_with_cuda is None or facts.site.on_wsl:
        return True
    windows = row.platform.startswith("win")
    floor = facts.matrix.driver_floor(row.built_with_cuda, "windows" if windows else "linux")
    least = (floor.minor_version_floor or floor.exact) if floor is not None else None
    return least is None or facts.driver.version >= least


def remains(meetings: Meetings, lost: Iterable[Meeting]) -> bool:
    """Whether a GPU is left that is not among the lost ones and not known to be lost otherwise."""
    gone = {one.gpu.key for one in lost}
    return any(one.gpu.key not in gone and one.fit not in LACKS for one in meetings)
