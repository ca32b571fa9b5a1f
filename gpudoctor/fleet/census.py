"""Counts the nodes of a fleet by verdict, hardware and version of gpudoctor."""

from __future__ import annotations

from collections import Counter, defaultdict

from gpudoctor.findings.naming import tally
from gpudoctor.findings.summary import GpuModel
from gpudoctor.fleet.places import Runs
from gpudoctor.fleet.roster import NO_REPORT, NOT_KNOWN, Models, Roster
from gpudoctor.fleet.verdict import WORST
from gpudoctor.report.fleet import Count, Hardware, ToolVersion

_Gpus = tuple[GpuModel, ...] | None


class Census:
    """What the rows of a settled roster have in common."""

    def __init__(self, roster: Roster) -> None:
        self.created = ""
        """The time of the newest report."""
        by_verdict: dict[str, Runs] = defaultdict(Runs)
        by_tool: dict[str, Runs] = defaultdict(Runs)
        by_models: dict[Models, Runs] = defaultdict(Runs)
        gpus: dict[Models, Counter[_Gpus]] = defaultdict(Counter)
        for row in roster:
            self.created = max(self.created, row.created)
            by_verdict[row.verdict].add(row.place)
            if row.verdict != NO_REPORT:
                by_tool[row.tool].add(row.place)
                by_models[row.models].add(row.place)
                gpus[row.models][row.summary.gpus] += 1
        self._roster, self._gpus = roster, gpus
        self.verdicts = {word: by_verdict[word].as_set() for word in WORST}
        self._tools = {version: some.as_set() for version, some in by_tool.items()}
        self._models = {models: some.as_set() for models, some in by_models.items()}

    @property
    def reporting(self) -> int:
        """The nodes with a report."""
        return self._roster.everyone & ~self.verdicts[NO_REPORT]

    def counts(self) -> tuple[Count, ...]:
        """Return the nodes by verdict, the worst first."""
        return tuple(Count(word, self._roster.nodes(some)) for word, some in self.verdicts.items() if some)

    def tools(self) -> tuple[ToolVersion, ...]:
        """Return the nodes by version of gpudoctor, the most frequent first."""
        told = [ToolVersion(version, self._roster.nodes(some)) for version, some in self._tools.items()]
        return tuple(sorted(told, key=lambda tool: -tool.nodes.count))

    def hardware(self) -> dict[Models, Hardware]:
        """Return the hardware groups by the models of their GPUs, the largest first."""
        ordered = sorted(self._models.items(), key=lambda item: (-item[1].bit_count(), item[0]))
        return {
            models: Hardware(_most_common(self._gpus[models]), self._roster.nodes(some), _sum(self._gpus[models]))
            for models, some in ordered
        }


def _most_common(counts: Counter[_Gpus]) -> str:
    """Return the GPUs that most of the nodes have."""
    (gpus, _), *_ = counts.most_common(1)
    if gpus:
        return tally((model.count, model.model or "GPU of unknown model") for model in gpus)
    return NOT_KNOWN if gpus is None else "no GPU"


def _sum(counts: Counter[_Gpus]) -> int:
    return sum(model.count * number for gpus, number in counts.items() for model in gpus or ())
