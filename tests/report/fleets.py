"""Fleets for the tests of what is written about them."""

from __future__ import annotations

from collections.abc import Sequence

from gpudoctor.report.build import TOOL
from gpudoctor.report.fleet import (
    Count,
    Deviation,
    Drift,
    Figure,
    FindingGroup,
    Fleet,
    Hardware,
    LinkFault,
    LinkRate,
    Links,
    Node,
    NodeFinding,
    Outlier,
    Requirement,
    Sighting,
    Unread,
    Wording,
)
from gpudoctor.report.hostlist import nodes_of_names

HOSTILE = (
    '<script>document.title="owned"</script>',
    '"><img src=x onerror=alert(1)>',
    "gpu\u202e100",
    "a" * 250,
    "gpu'; touch /tmp/owned #",
    '\\\n"',
)
H100 = "8 × NVIDIA H100 80GB HBM3"  # noqa: RUF001 -- as reports have it


def fleet(count: int, *, hostile: Sequence[str] = HOSTILE) -> Fleet:
    """Return a fleet of so many nodes with every kind of trouble; the names of some are hostile."""
    names = [f"gpu{number:04}" for number in range(count - len(hostile))] + list(hostile)
    old, dead, small = set(names[count // 10 : count // 7]), {names[count // 3], names[-1]}, set(names[:: max(count // 50, 2)])

    def verdict(name: str) -> str:
        return "no-report" if name in dead else "broken" if name in old else "degraded" if name in small else "ready"

    def group(code: str, name: str, severity: str, title: str, some: set[str]) -> FindingGroup:
        wordings = (Wording(f"{title} on <b>this</b> node", nodes_of_names(some)),)
        url = f"https://github.com/gpudoctor/gpudoctor/blob/main/{name}.md"
        return FindingGroup(
            code=code,
            name=name,
            severity=severity,
            title=title,
            root=True,
            nodes=nodes_of_names(some),
            wordings=wordings,
            fix="Reboot",
            command="sudo reboot",
            url=url,
        )

    verdicts = {word: [name for name in names if verdict(name) == word] for word in ("broken", "no-report", "degraded", "ready")}
    usable = [*verdicts["degraded"], *verdicts["ready"]]
    return Fleet(
        tool=TOOL,
        created="2026-11-23T03:00:00Z",
        verdict="broken",
        because=f"{len(verdicts['broken'])} nodes are broken",
        exit_code=1,
        reports=count - len(dead),
        verdicts=tuple(Count(word, nodes_of_names(some)) for word, some in verdicts.items()),
        hardware=(Hardware(H100, nodes_of_names(names), 8 * count),),
        requirements=(Requirement("nodes>=32", met=True, reason="enough"), Requirement("same:driver", met=None, reason="not known")),
        findings=(
            group("GD203", "driver-too-old", "error", "Driver is too old", old),
            group("GD712", "shm-small", "warning", "Shared memory is small", small),
        ),
        drifts=(
            Drift(
                path="kernel_driver.version.value",
                hardware=H100,
                what="driver",
                expected="550.163.01",
                agreeing=count - len(old),
                of=count,
                deviations=(Deviation(value="470.256.02", line="driver 550.163.01 → 470.256.02", nodes=nodes_of_names(old)),),
                read_by_rules=True,
            ),
        ),
        figures=(
            Figure(
                name="torch matmul fp16", model=H100, unit="FLOP/s", count=8 * count, median=7.1e14, spread=1e12, limit=6.9e14, outliers=1
            ),
        ),
        outliers=(Outlier(node=names[7], gpu="0000:1f:00.0", figure=0, value=6.5e14, difference=-0.08),),
        unread=(Unread(source='<i>"x"</i>.json', kind="broken", reason="it is no complete JSON"),),
        usable=nodes_of_names(usable),
        unusable=nodes_of_names(name for name in names if name not in usable),
        nodes=tuple(
            Node(
                name=name,
                verdict=verdict(name),
                usable=name in usable,
                hardware=H100,
                reason="no answer in 600 s" if name in dead else "",
                findings=(NodeFinding("GD203:machine", "driver-too-old", "error"),) if name in old else (),
            )
            for name in names
        ),
        links=Links(
            backend="nccl",
            nodes=nodes_of_names(usable),
            pairs=(LinkRate((names[0], names[1]), 2e10),),
            rate=1.9e10,
            faults=(LinkFault(kind="slow", nodes=(names[3], names[-2]), message="1.2 GB/s where the median pair has 21 GB/s", rate=1.2e9),),
        ),
        history=(
            Sighting(
                code="GD203",
                name="driver-too-old",
                severity="error",
                present=True,
                nodes=nodes_of_names(old),
                first="2026-11-20T04:00:00Z",
                last="2026-11-23T03:00:00Z",
                reports=12,
            ),
        ),
    )
