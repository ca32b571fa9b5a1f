"""Counts the nodes of a fleet by verdict, hardware and version of gpudoctor."""

from __future__ import annotations

from collections import Counter, defaultdict

from gpudoctor.findings.summary import GpuModel
from gpudoctor.findings.wording import count_list
from gpudoctor.fleet.places import PlaceSet
from gpudoctor.fleet.roster import NO_REPORT, NOT_KNOWN, GpuModels, Roster
from gpudoctor.fleet.verdict import WORST_FIRST
from gpudoctor.report.fleet import Count, Hardware, ToolVersion

_Gpus = tuple[GpuModel, ...] | None


class Census:
    """What the rows of a settled roster have in common."""

    def __init__(self, roster: Roster) -> None:
        self.created = ""
        """The time of the newest report."""
        by_verdict: dict[str, PlaceSet] = defaultdict(PlaceSet)
        by_tool: dict[str, PlaceSet] = defaultdict(PlaceSet)
        by_models: dict[GpuModels, PlaceSet] = defaultdict(PlaceSet)
        gpus: dict[GpuModels, Counter[_Gpus]] = defaultdict(Counter)
        for row in roster:
            self.created = max(self.created, row.created)
            by_verdict[row.verdict].add(row.place)
            if row.verdict != NO_REPORT:
                by_tool[row.tool].add(row.place)
                by_models[row.models].add(row.place)
                gpus[row.models][row.summary.gpus] += 1
        self._roster, self._gpus = roster, gpus
        self.verdicts = {word: by_verdict[word].as_set() for word in WORST_FIRST}
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

    def hardware(self) -> dict[GpuModels, Hardware]:
        """Return the hardware groups by the models of their GPUs, the largest first."""
        ordered = sorted(self._models.items(), key=lambda item: (-item[1].bit_count(), item[0]))
        return {
            models: Hardware(_commonest_gpus(self._gpus[models]), self._roster.nodes(some), _gpu_count(self._gpus[models]))
            for models, some in ordered
        }


def _commonest_gpus(counts: Counter[_Gpus]) -> str:
    """Return the GPUs that most of the nodes have."""
    (gpus, _), *_ = counts.most_common(1)
    if gpus:
        return count_list((model.count, model.model or "GPU of unknown model") for model in gpus)
    return NOT_KNOWN if gpus is None else "no GPU"


def _gpu_count(counts: Counter[_Gpus]) -> int:
    return sum(model.count * number for gpus, number in counts.items() for model in gpus or ())
