from gpudoctor.derive import GpuView
from gpudoctor.diagnose.advice.hardware import reset_gpu
from gpudoctor.diagnose.rule import explains, rule
from gpudoctor.diagnose.rules.multi_gpu.nvlinks import show_links
from gpudoctor.findings import REBOOT, ROOT, Evidence, Fix, FixKind, Impact, Problem, Problems, Rung, Severity
from gpudoctor.findings.wording import singular_or_plural
from gpudoctor.snapshot import NvLink

_TOLERANCE = 0.98
"""NVML rounds to whole megabytes a second."""
_RESEAT_MODULE = Fix("Reseat the module or NVLink bridge; then have the vendor check the GPU.", needs=(ROOT, REBOOT), kind=FixKind.ELSE)


@rule("GD841", severity=Severity.WARNING, breaks=Rung.TRAINED, impact=Impact.SLOWER, predicts=False)
@explains(("all-reduce-failed",), "All-reduce runs over the NVLinks.")
def nvlink_slow(gpu: GpuView) -> Problems:
    """NVLink runs below the speed of the others."""
    links = _link_speeds(gpu.nvlinks)
    most = max((speed for other in (gpu, *gpu.same_model) for speed in _link_speeds(other.listed_nvlinks).values()), default=0)
    slow = {link: speed for link, speed in links.items() if speed < _TOLERANCE * most}
    if slow:
        numbers = ", ".join(map(str, slow))
        yield Problem(
            message=f"{gpu.label}: {len(slow)} of {len(links)} NVLinks {singular_or_plural(len(slow), 'runs', 'run')} at {_speed_text(min(slow.values()))} "
            f"instead of {_speed_text(most)}.",
            evidence=(
                Evidence("slow NVLinks", numbers, "NVML"),
                Evidence("lowest speed, highest on a GPU of this model", f"{_speed_text(min(slow.values()))}, {_speed_text(most)}", "NVML"),
            ),
            fixes=(show_links(gpu), reset_gpu(gpu), _RESEAT_MODULE),
        )


def _link_speeds(links: tuple[NvLink, ...]) -> dict[int, int]:
    """Return the speed of each link that is up and whose speed is known."""
    return {link.link: link.speed for link in links if link.active is True and isinstance(link.speed, int)}


def _speed_text(megabytes: int) -> str:
    return f"{megabytes / 1000:.1f} GB/s"
