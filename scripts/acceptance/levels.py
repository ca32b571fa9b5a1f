"""The part of gpu_acceptance for a healthy machine: every level, NVML facts compared with nvidia-smi, our own kernel, run times."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from gpudoctor.frameworks import TRAINED
from scripts.acceptance import nvidia_smi
from scripts.acceptance.results import ROOT, UUID, Acceptance
from tests.machines.diagnoses import again, diagnosed

KEPT_BY_DRIVER: Final = 64 << 20
"""Bytes that the driver may keep after a context's first kernel."""
NODE: Final = "--node"
NONE_INSTALLED: Final = "no framework is installed in this environment"
"""The only reason for the verdict unknown if nothing but a framework is missing."""
RUNGS: Final = {"look": "libcuda", "touch": "kernel ran", "train": "trained", "full": "trained"}


def installed(report: Mapping[str, Any]) -> list[str]:
    """Return the installed frameworks that the smoke training supports."""
    frameworks = report["snapshot"].get("frameworks")
    return [framework["name"] for framework in frameworks if framework["name"] in TRAINED] if isinstance(frameworks, list) else []


def proved(report: Mapping[str, Any], rung: str = "trained") -> bool:
    """Return whether a report shows this rung for every GPU."""
    shown = report.get("proved_to", {"rung": "", "gpus": 0, "of": 0})
    return bool(shown["rung"] == rung and 0 < shown["gpus"] == shown["of"])


def bare(report: Mapping[str, Any]) -> bool:
    """Return whether a report shows an environment without a framework; false if it was not examined."""
    return bool(report["snapshot"].get("frameworks") == [])


def level(acceptance: Acceptance, name: str, framework: str = "", *, node: bool = False) -> Mapping[str, Any]:
    """Check at one level, with one framework if it trains, or only the machine (`node`); judge and return the report."""
    what = " ".join(filter(None, (name, framework, NODE if node else "")))
    about = (*(("--framework", framework) if framework else ()), *((NODE,) if node else ()))
    code, report, seconds = acceptance.check("--level", name, *about)
    acceptance.reports[what] = report
    acceptance.seconds.setdefault(what, []).append(seconds)
    acceptance.judge(f"{what}: the document gives the exit code", code == report["exit_code"], str(code))
    found = "; ".join(f"{finding['severity']} {finding['name']}" for finding in report["findings"]) or "no findings"
    seen = f"{report['verdict']}, {report['proved_to']['text']}, {found}" + (f" ({report['because']})" if report.get("because") else "")
    expected, holds = judged(report, RUNGS[name])
    acceptance.judge(f"{what}: {expected}", holds, seen)
    _stages(acceptance, what, report)
    return report


def judged(report: Mapping[str, Any], rung: str) -> tuple[str, bool]:
    """Return what a healthy machine's report should show, and whether this one does.

    That is ready or degraded, with the rung reached on every GPU; without a framework, unknown for that reason alone.
    """
    if bare(report):
        holds, expected = (report["verdict"], report["because"]) == ("unknown", NONE_INSTALLED), "unknown without a framework"
    else:
        holds, expected = report["verdict"] in {"ready", "degraded"}, "ready"
    return f"{expected}, on every GPU", holds and proved(report, rung)


def _stages(acceptance: Acceptance, what: str, report: Mapping[str, Any]) -> None:
    """Check that every stage ended, and record how long each took."""
    smokes = report["snapshot"].get("smoke")
    for smoke in smokes if isinstance(smokes, list) else ():
        ended = [stage for stage in smoke.get("stages", ()) if stage["state"] != "done"]
        times = ", ".join(
            f"{stage['name']} {stage['seconds']:.1f}" for stage in smoke.get("stages", ()) if _is_number(stage.get("seconds"))
        )
        told = "; ".join(f"{stage['name']} {stage['state']}: {stage.get('error')}" for stage in ended)
        acceptance.judge(f"{what}: every stage of {smoke['framework']} finished", not ended, told or f"seconds: {times}")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float)


def untrained(acceptance: Acceptance, name: str) -> None:
    """Check that a level that trains is not ready without a framework."""
    code, report, _ = acceptance.check("--level", name)
    acceptance.reports[name] = report
    acceptance.judge(
        f"{name}: an untrained machine is not ready", report["verdict"] in {"unknown", "broken"}, f"{code}: {report['verdict']}"
    )


def facts(acceptance: Acceptance) -> None:
    """Compare each NVML fact with nvidia-smi's; list those that nvidia-smi does not report as not comparable."""
    snapshot = acceptance.reports["look"]["snapshot"]
    acceptance.facts, listed, unknown = nvidia_smi.facts(snapshot)
    counted = len(snapshot["nvml"].get("gpus") or [])
    acceptance.judge("nvidia-smi counts the same GPUs", listed == counted, f"{counted} and {listed}")
    states = [state for *_, state in acceptance.facts]
    different = [f"{whose} {fact}: {ours} and {its}" for whose, fact, ours, its, state in acceptance.facts if state == "different"]
    counts = ", ".join(f"{states.count(state)} {state}" for state in ("equal", "changed", "different", "not comparable"))
    acceptance.judge("every comparable NVML fact matches nvidia-smi", not different and "equal" in states, "; ".join([counts, *different]))
    if unknown:
        acceptance.skip("facts unknown to this nvidia-smi", ", ".join(unknown))


def _left_behind() -> tuple[object, ...]:
    """Return what a check must not change: MIG modes, the list of devices, the driver's cache of compiled kernels."""
    cache = Path.home() / ".nv"
    return nvidia_smi.queried(["mig.mode.current", "mig.mode.pending"]), nvidia_smi.smi("-L"), sorted(cache.rglob("*"))


def kernels(acceptance: Acceptance) -> None:
    """Check our own kernel at level touch: right on every GPU, attributes equal to nvidia-smi's, nothing left behind.

    Without a framework in the environment only the machine is checked, which must be ready.
    """
    before = _left_behind()
    report = level(acceptance, "touch", node=bare(acceptance.reports.get("look", {"snapshot": {}})))
    after = _left_behind()
    contexts = report["snapshot"].get("contexts")
    if not isinstance(contexts, list):
        acceptance.judge("touch: a kernel was tried", holds=False, detail=str(contexts))
        return
    for context in contexts:
        _kernel(acceptance, context)
    capabilities, _ = nvidia_smi.queried(["compute_cap"])
    ours = sorted(str(context.get("compute_capability")) for context in contexts)
    if len(ours) == len(capabilities):
        theirs = sorted(row["compute_cap"] for row in capabilities)
        acceptance.judge("touch: compute capabilities match nvidia-smi", ours == theirs, str(ours))
    acceptance.judge("touch: MIG modes, the list of devices and the cache of compiled kernels are unchanged", before == after)


def _kernel(acceptance: Acceptance, context: Mapping[str, Any]) -> None:
    where = f"touch: {context['address']}"
    acceptance.judge(f"{where}: the kernel's results are right", context.get("kernel_right") is True, str(context.get("kernel_right")))
    if context.get("kernel_right") is not True:
        return
    slow = max(context["calls"], key=lambda call: call["milliseconds"])
    lost = context["memory_free"] - context["memory_free_after"]
    kept = f"{lost >> 20} MiB less are free; the slowest call was {slow['call']}, {slow['milliseconds']} ms"
    acceptance.judge(f"{where}: its memory was freed, except what the driver keeps", lost < KEPT_BY_DRIVER, kept)
    acceptance.judge(f"{where}: CUDA's attributes give the same PCI address", context["pci_address"] == context["address"])


def alone(acceptance: Acceptance) -> None:
    """Check that the machine alone is ready at level look, with no environment examined."""
    snapshot = level(acceptance, "look", node=True)["snapshot"]
    asked = [section for section in ("python", "packages", "frameworks") if not nvidia_smi.is_missing(snapshot.get(section))]
    acceptance.judge(f"look {NODE}: no environment is examined", not asked, ", ".join(asked))


def times(acceptance: Acceptance, repeat: int) -> None:
    """Time level look and, for comparison, nvidia-smi, as often as time allows."""
    looks, smis = acceptance.seconds.setdefault("look", []), acceptance.seconds.setdefault("nvidia-smi", [])
    for _ in range(repeat):
        if smis and acceptance.left < 2 * (looks[-1] + smis[-1]):
            break
        looks.append(acceptance.check("--level", "look")[2])
        began = time.monotonic()
        nvidia_smi.smi()
        smis.append(time.monotonic() - began)


def record(acceptance: Acceptance, about: str) -> None:
    """Write the machine of the most complete report in the format of tests/machines."""
    best = next(
        report for beginning in ("full", "train", "touch") for name, report in acceptance.reports.items() if name.startswith(beginning)
    )
    (acceptance.directory / "recorded-machine.json").write_text(recorded(best, about))


def recorded(report: Mapping[str, Any], about: str) -> str:
    """Return the machine of a report as tests/machines keeps it, with UUIDs and our own paths replaced consistently."""
    text = json.dumps({"about": about, "policy": report["policy"], "snapshot": report["snapshot"]})
    names: dict[str, str] = {}
    for found in UUID.finditer(text):
        names.setdefault(found[0], f"{found[1]}-{len(names) + 1:08x}-0000-0000-0000-{len(names) + 1:012x}")
    text = UUID.sub(lambda found: names[found[0]], text)
    machine = json.loads(text.replace(str(ROOT), "/recorded/clone"))
    kept = {"about": about, "made": "recorded", "policy": machine["policy"], "expect": diagnosed(again(machine))}
    return json.dumps({**kept, "snapshot": machine["snapshot"]}, indent=1) + "\n"
