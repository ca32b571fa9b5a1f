"""What changed between two examined machines: causes, facts that rules read, and the rest. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import msgspec

from gpudoctor.changes.change_lines import CUDA_OF_THE_DRIVER, ChangeLine, lines_of_changes
from gpudoctor.changes.fact_words import value_texts
from gpudoctor.changes.fields_read import FieldsRead, recorded_runs
from gpudoctor.changes.walk import Difference, SnapshotWalk
from gpudoctor.examination import Examination
from gpudoctor.exit_codes import BROKEN, READY, UNKNOWN
from gpudoctor.findings import Finding
from gpudoctor.matrix import Matrix
from gpudoctor.report.build import TOOL
from gpudoctor.report.diff import CauseChange, Diff, Examined, FactChange
from gpudoctor.snapshot import Snapshot

__all__ = ["change_text", "compare_examinations", "gpu_names_by_key", "path_matcher"]


def compare_examinations(
    before: Examination, after: Examination, matrix: Matrix, names: tuple[str, str], *, ignore: Sequence[str] = (), golden: bool = False
) -> Diff:
    """Return how the second examination differs from the first; `ignore` are patterns of field paths."""
    found = tuple(SnapshotWalk(before.snapshot, after.snapshot).differences())
    ignored = path_matcher(ignore)
    kept = [difference for difference in found if not ignored(difference.path)]
    record = FieldsRead()
    for examination in (before, after) if kept else ():  # without a difference no rule is asked
        recorded_runs(examination.snapshot, matrix, examination.policy, record)
    gpus = gpu_names_by_key(after.snapshot) | gpu_names_by_key(before.snapshot)
    facts = [_fact_change(line, record) for line in lines_of_changes(kept, gpus)]
    steady = any(not difference.volatile for difference in found)
    causes = [cause for cause in _cause_changes(before, after, reworded=steady) if not ignored(f"findings.{cause.id}")]
    order = ("appeared", "gone", "changed")
    diff = Diff(
        tool=TOOL,
        before=_examined_side(before, names[0]),
        after=_examined_side(after, names[1]),
        causes=tuple(sorted(causes, key=lambda cause: (not cause.root, order.index(cause.kind)))),
        facts=tuple(sorted(facts, key=lambda fact: not fact.read_by_rules)),
        ignored=len(found) - len(kept),
        golden=golden,
    )
    return _diff_with_exit_code(diff) if golden else diff


def _diff_with_exit_code(diff: Diff) -> Diff:
    """Return the diff with 1 if anything deviates, 3 if a fact of the reference could not be checked, else 0."""
    deviates = diff.causes or diff.counted
    return msgspec.structs.replace(diff, exit_code=BROKEN if deviates else UNKNOWN if diff.unknown else READY)


def path_matcher(patterns: Sequence[str]) -> Callable[[str], bool]:
    """Return whether a path, or what it is a part of, matches a pattern: * is any text, ? one character."""
    if not patterns:
        return lambda _: False
    told = "|".join(re.escape(pattern).replace(r"\*", ".*").replace(r"\?", ".") for pattern in patterns)
    wanted = re.compile(rf"(?:{told})(?:\..*)?", re.DOTALL)
    return lambda path: wanted.fullmatch(path) is not None


def _fact_change(line: ChangeLine, record: FieldsRead) -> FactChange:
    leader: Difference = line.leader
    every = (leader, *line.also)
    kind = "appeared" if leader.before is None else "gone" if leader.after is None else "changed"
    uncompared = all(difference.uncompared for difference in every)
    return FactChange(
        path=leader.path,
        kind=kind,
        subject=line.subject,
        what=line.what,
        before=line.before,
        after=line.after,
        line=change_text(line, kind),
        read_by_rules=any(difference.owner in record.read for difference in every),
        volatile=leader.volatile,
        not_compared=uncompared,
        unknown=any(difference.unread_after for difference in every)
        and all(difference.unread_after or difference.uncompared for difference in every),
        also=tuple(difference.path for difference in line.also),
    )


def change_text(line: ChangeLine, kind: str) -> str:
    """Return a change as one line: "GPU 3 (0000:1f:00.0): PCIe link x16 → x4"."""
    named = f"{line.subject}: {line.what}" if line.subject and line.what else line.subject or line.what
    if kind != "changed":
        value = line.before or line.after
        return f"{named}{f' {value}' if value not in {'', 'present'} and value not in named else ''}: {kind}"
    if line.unread_side:
        return (
            f"{line.subject}: {len(line.also) + 1} facts → {line.after}"
            if line.unread_side == "after"
            else f"{line.subject}: {line.before} → {len(line.also) + 1} facts"
        )
    is_file = line.subject and not line.what and "/" in line.before + line.after
    return f"{named}{':' if is_file else ''} {line.before} → {line.after}{_cuda_clause(line)}".strip()


def _cuda_clause(line: ChangeLine) -> str:
    """Return the CUDA versions that the old and the new driver support, if they differ."""
    cuda = next((difference for difference in line.also if difference.owner in CUDA_OF_THE_DRIVER), None)
    return " (CUDA {} → {})".format(*value_texts(cuda)) if cuda else ""


def gpu_names_by_key(snapshot: Snapshot) -> dict[str, str]:
    """Return the names of GPUs, by the key that matches them."""
    opened = {gpu.address: f"GPU {gpu.index} ({gpu.address})" for gpu in snapshot.listed_gpus if isinstance(gpu.address, str)}
    return opened | {str(gpu.index): f"GPU {gpu.index}" for gpu in snapshot.listed_gpus if not isinstance(gpu.address, str)}


def _examined_side(examination: Examination, name: str) -> Examined:
    return Examined(name, examination.snapshot.created, examination.diagnosis.verdict.value)


def _cause_changes(before: Examination, after: Examination, *, reworded: bool) -> list[CauseChange]:
    """Return the findings that differ; a message counts only if a fact changed that does not change by itself."""
    old, new = ({finding.id: finding for finding in each.diagnosis.findings} for each in (before, after))
    found = []
    for key in sorted({*old, *new}):
        finding, other = old.get(key), new.get(key)
        told = other or finding
        if told is None or (finding and other and not _is_different(finding, other, reworded=reworded)):
            continue
        kind = "appeared" if finding is None else "gone" if other is None else "changed"
        was, now = (each.severity.value if each else "" for each in (finding, other))
        found.append(CauseChange(kind, key, told.name, was, now, told.message, not told.because_of))
    return found


def _is_different(finding: Finding, other: Finding, *, reworded: bool) -> bool:
    return (finding.severity, finding.confidence) != (other.severity, other.confidence) or (reworded and finding.message != other.message)
