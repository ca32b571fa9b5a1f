"""Searches the tables for the newest set of releases that works on a machine, by the rules that judge a real one."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import dropwhile, product, takewhile

import msgspec

from gpudoctor import versions
from gpudoctor.derive.specifiers import Requirement, contradict, holds, requirement, satisfies
from gpudoctor.diagnose.advice.requirements import NVIDIA_PACKAGES
from gpudoctor.findings import Severity, Verdict
from gpudoctor.frameworks import framework_of
from gpudoctor.matrix import FrameworkRelease, Matrix
from gpudoctor.matrix.tables import TABLE_OF
from gpudoctor.plan.candidates import Candidate, candidates
from gpudoctor.plan.chosen import Chosen, Rejected, Wishes
from gpudoctor.plan.companions import COMPANIONS, in_one_build, judged_as, of_a_framework
from gpudoctor.plan.extras import frameworks_of
from gpudoctor.plan.judge import Judge, Judgement
from gpudoctor.plan.machine import Machine
from gpudoctor.plan.remedies import numpy_bound, remedies
from gpudoctor.plan.stated import pinned
from gpudoctor.plan.suppose import marker_environment
from gpudoctor.snapshot import Nvml

MOST = 400
"""Sets of releases that one search judges: about a second."""
_MORE = 30
"""Sets of several packages that one search judges after the first that may work, to find one of which everything was checked."""
_PYTHONS = 6
"""Python versions tried for one set."""
_EARLIER = 6
"""How many builds back a Python version must have had wheels to be preferred to newer ones."""
_OF_PYTHON = ("python-version-unsupported", "package-not-installable")
"""Rules after whose finding another Python version is worth a try."""
_OF_CODE = frozenset(("driver-too-old", "gpu-too-old-for-build", "gpu-too-new-for-build", "gpu-below-framework-minimum", *_OF_PYTHON))
"""Rules whose finding a package's row decides, without its release."""
_OF_GPU = ("gpu-too-old-for-build", "gpu-too-new-for-build", "gpu-below-framework-minimum")
"""Rules whose error no other driver changes, unless another driver lets a second framework train."""
_OF_PACKAGES = ("package-requirement-conflict", "nvidia-wheel-version-conflict", "package-not-installable")
"""Rules whose error no other driver changes."""


class Search:
    """One search on one machine."""

    def __init__(
        self,
        wishes: Wishes,
        machine: Machine,
        matrix: Matrix,
        until: float = float("inf"),
        judge: Judge | None = None,
        *,
        other_driver: Search | None = None,
    ) -> None:
        self._wishes = wishes
        self._machine = machine
        self._matrix = matrix
        self._until = until
        self._gpu = isinstance(machine.nvml, Nvml) and bool(machine.nvml.gpus)
        self._judge = judge or Judge(machine, matrix, frozenset((*self.unlisted, "numpy")))
        self._most = self._judge.count + MOST
        self._lists: dict[str, tuple[Candidate, ...]] = {}
        self._alone = {} if other_driver is None else other_driver.refused_alone
        self.refused: dict[tuple[Candidate, ...], Chosen] = {} if other_driver is None else {**other_driver.refused}
        """The sets that no driver makes work, with their answers; a search with another driver has found some of them."""
        self._demanded: dict[tuple[str, str], tuple[Requirement, ...]] = {}
        self._thirds: dict[str, dict[str, str]] = {}
        self._pinned: dict[str, tuple[tuple[FrameworkRelease, str], ...]] = {}
        self._like: dict[tuple[object, ...], Judgement] = {}
        """The answers for packages by themselves, by what decides them."""
        self._unknown: Chosen | None = None
        """The newest set that may work but was not fully checked."""
        self._unchecked: set[Candidate] = set()
        """Add-ons that could not be checked although all beside them was."""
        self.rejected: list[Rejected] = []
        """Builds that do not work, whatever is beside them."""
        self.clashes: list[Chosen] = []
        """Sets of releases that work alone and not together."""
        self.gave_up = False
        """Whether sets remain that were not judged."""

    @property
    def refused_alone(self) -> dict[Candidate, Judgement]:
        """The builds that do not work with any driver, whatever is beside them."""
        return {one: found for one, found in self._alone.items() if _with_any_driver(found, (*_OF_GPU, *_OF_PACKAGES))}

    def for_wishes(self, wishes: Wishes) -> Search:
        """Return a search for other wishes about the same packages, or some of them, on the same machine."""
        return Search(wishes, self._machine, self._matrix, self._until, self._judge)

    @property
    def judged(self) -> int:
        """How many sets the rules were run on."""
        return self._judge.count

    @property
    def platform(self) -> str:
        """The platform as the tables call it."""
        return self._machine.platform

    @cached_property
    def unlisted(self) -> tuple[str, ...]:
        """The stated packages that no table knows."""
        return tuple(name for name in self._wishes.requirements if not self._listed(name) and name != "numpy")

    def _listed(self, name: str) -> bool:
        known = bool(self._matrix.releases(name)) or self._matrix.without_gpu_code(name)
        return known or name.startswith("nvidia-") or bool(framework_of(name))

    @cached_property
    def leads(self) -> dict[str, Requirement]:
        """The packages whose release is searched for: what needs a framework first, then frameworks. What has no GPU code follows from the others."""
        listed = {name: one for name, one in self._wishes.requirements.items() if self._matrix.releases(name)}
        stated = {name: one for name, one in listed.items() if not self._matrix.without_gpu_code(name)}
        implied = {}
        for name in listed:
            for wanted in self._frameworks_of(name):
                if wanted not in stated and not any(framework_of(other) == wanted for other in stated):
                    implied[wanted] = Requirement(wanted, wanted, (), "", "")
        both = {name: self._bounded(one) for name, one in ({**stated, **implied} or listed).items()}
        return dict(sorted(both.items(), key=lambda item: framework_of(item[0]) is not None))

    def _bounded(self, one: Requirement) -> Requirement:
        specifier = ",".join(filter(None, (one.specifier, self._wishes.bounds.get(one.name, ""))))
        return msgspec.structs.replace(one, specifier=specifier) if specifier != one.specifier else one

    def _frameworks_of(self, name: str) -> Iterator[str]:
        """Yield the frameworks that the newest release of a package requires."""
        yield from () if framework_of(name) else frameworks_of(self._matrix.releases(name))

    @cached_property
    def best(self) -> Chosen | None:
        """The newest set that works; otherwise the newest that may work but was not fully checked; None if nothing may."""
        for found in self._judged(self._sets(tuple(self.leads), ())):
            if found.judgement.works:
                return found if found.judgement.verdict is Verdict.READY else self._best_build(found)
            if self._unknown is None and len(self.leads) > 1:
                self._most = min(self._most, self._judge.count + _MORE)
            self._keep(found)
        return self._unknown

    def _keep(self, found: Chosen) -> None:
        """Remember a set that was not fully checked; of those with the newest add-on, the one with the most packages checked."""
        unchecked = {one.what.split()[0].partition("[")[0] for one in found.judgement.not_judged}
        if len(unchecked) == 1:
            self._unchecked |= {one for one in found.candidates if one.name in unchecked and framework_of(one.name) is None}
        kept = self._unknown
        if kept is None or (found.candidates[0] == kept.candidates[0] and len(found.judgement.not_judged) < len(kept.judgement.not_judged)):
            self._unknown = found

    def _best_build(self, found: Chosen) -> Chosen:
        """Return the same releases in builds without a warning, if there are any."""
        lists = [[one for one in self.candidates(name) if one.release == found.of(name).release] for name in self.leads]  # type: ignore[union-attr]
        others = self._judged(in_one_build(chosen) for chosen in product(*lists))
        return next((other for other in others if other.judgement.verdict is Verdict.READY), found)

    def _judged(self, sets: Iterable[tuple[Candidate, ...]]) -> Iterator[Chosen]:
        """Yield the sets that are not known to be broken, each with its answer."""
        for chosen in sets:
            if self._judge.count > self._most or time.process_time() > self._until:
                self.gave_up = True
                return
            found = self.answer(chosen)
            if found.judgement.verdict is not Verdict.BROKEN:
                yield found
            elif len(chosen) > 1:
                self.clashes.append(found)
            else:
                self.rejected.append(Rejected(chosen[0], found.judgement))
            if found.judgement.of_machine:
                return

    def _sets(self, names: tuple[str, ...], chosen: tuple[Candidate, ...]) -> Iterator[tuple[Candidate, ...]]:
        if not names:
            yield in_one_build(chosen)
            return
        for one in self.candidates(names[0]):
            if (
                any(self.disagreement(other, one) or self.disagreement(one, other) or self._share_nothing(other, one) for other in chosen)
                or self._with_wheels((*chosen, one)) == set()
                or self._refuses(one)
            ):
                continue
            if not self._hopeless(one):
                yield from self._sets(names[1:], (*chosen, one))
                if any(map(self._hopeless, chosen)):  # by what the search found meanwhile
                    return

    def candidates(self, name: str) -> tuple[Candidate, ...]:
        """Return the candidates of a package, newest first."""
        if name not in self._lists:
            found = tuple(candidates(self._matrix, self.leads[name], self._machine.platform, gpu=self._gpu))
            self._lists[name] = found if name not in COMPANIONS else of_a_framework(found, COMPANIONS[name])
        return self._lists[name]

    def judged_as_stated(self, name: str) -> Judgement:
        """Return the answer for a package as an installer would take it."""
        return self._judge((self.leads[name].text,), self._wishes.python)

    def releases(self, name: str) -> list[str]:
        """Return the releases of a package that satisfy what was asked, newest first."""
        return list(dict.fromkeys(one.release for one in self.candidates(name)))

    def nothing_newer(self, found: Chosen) -> bool:
        """Return whether a set has the newest release of every package."""
        return all(one.release == self.releases(one.name)[0] for one in found.candidates)

    def blocked_by_python(self, one: Candidate, python: str) -> bool:
        """Return whether all newer releases of a package lack wheels for a Python version."""
        newer = list(takewhile(lambda other: other.release != one.release, self.candidates(one.name)))
        return bool(newer) and all(other.pythons and python not in other.pythons for other in newer)

    def disagreement(self, one: Candidate, other: Candidate) -> str:
        """Return what a release requires of another and that one does not satisfy; "" if there is nothing."""
        for wanted in self._demands(one, other.name):
            if satisfies(other.release, wanted.specifier) is False:
                return f"{wanted.name}{wanted.specifier}"
            if one.name in COMPANIONS and not self._in_build(wanted, other.tag):
                return f"a build of {wanted.name} other than {other.tag}"
        return ""

    def _share_nothing(self, one: Candidate, other: Candidate) -> bool:
        """Return whether two releases require versions of a third package that exclude each other; the first such set is judged, to say so."""
        if not self.clashes:
            return False
        mine, theirs = self._third(one), self._third(other)
        return any(contradict((specifier, theirs[name])) for name, specifier in mine.items() if name in theirs)

    def _third(self, one: Candidate) -> dict[str, str]:
        """Return the specifiers of what a release requires, by name; without CUDA's libraries, which differ between builds of a release."""
        if one.requirement not in self._thirds:
            names = {wanted.name for wanted in map(requirement, one.requires) if wanted is not None}
            found = {name: self._demands(one, name) for name in names if not name.startswith(NVIDIA_PACKAGES)}
            self._thirds[one.requirement] = {name: ",".join(wanted.specifier for wanted in every) for name, every in found.items()}
        return self._thirds[one.requirement]

    def _refuses(self, one: Candidate) -> bool:
        """Return whether a release excludes what the user stated of another package, such as numpy<2; the newest is judged, to say so."""
        if one == self.candidates(one.name)[0]:
            return False
        others = ((wish.specifier, name) for name, wish in self._wishes.requirements.items() if name not in self.leads)
        return any(contradict((wanted.specifier, stated)) for stated, name in others for wanted in self._demands(one, name))

    def _demands(self, one: Candidate, name: str) -> tuple[Requirement, ...]:
        """Return what a release, or one that it pins, requires here of another package."""
        key = (one.requirement, name)
        if key not in self._demanded:
            pinned_rows = (text for row, _ in self._pins(one) for text in row.requires if "extra==" not in text)
            named = (wanted for wanted in map(requirement, (*one.requires, *pinned_rows)) if wanted is not None and wanted.name == name)
            self._demanded[key] = tuple(wanted for wanted in named if self._applies(wanted, one))
        return self._demanded[key]

    def _pins(self, one: Candidate) -> tuple[tuple[FrameworkRelease, str], ...]:
        """Return the row and requirement of each package that a release pins, or that one of these pins, without frameworks."""
        if one.requirement not in self._pinned:
            found: dict[str, FrameworkRelease] = {}
            texts = [*one.requires]
            while texts:
                wanted = requirement(texts.pop())
                release = pinned(wanted.specifier) if wanted is not None else None
                if wanted is None or release is None or framework_of(wanted.name) or not self._applies(wanted, one):
                    continue
                row = self._matrix.resolve(wanted.name, release, self._machine.platform).row
                if row is not None and f"{wanted.name}=={release}" not in found:
                    found[f"{wanted.name}=={release}"] = row
                    texts += [text for text in row.requires if "extra==" not in text]
            self._pinned[one.requirement] = tuple((row, text) for text, row in found.items())
        return self._pinned[one.requirement]

    def _applies(self, wanted: Requirement, one: Candidate) -> bool:
        """Return whether a release requires something here with every Python version that may be chosen."""
        plain = [python for python in one.pythons if not python.endswith("t")]
        pythons = (self._wishes.python,) if self._wishes.python or not plain else plain
        environments = (marker_environment(python, self._machine.platform) for python in pythons)
        return all(holds(wanted.marker, environment, one.active or one.extras) is True for environment in environments)

    def _in_build(self, wanted: Requirement, tag: str) -> bool:
        """Return whether a companion is published in a build: in those of the first release of the framework that it requires."""
        first = next((row for row in self._matrix.releases(wanted.name) if satisfies(str(row.release), wanted.specifier)), None)
        return first is None or not tag or not first.builds or tag in first.builds

    def _hopeless(self, one: Candidate) -> bool:
        """Return whether no set with a build can be an answer: it does not work, or cannot be fully checked and a newer set cannot either."""
        if one.name in COMPANIONS or len(self.leads) == 1:
            return False
        judgement = self._judged_alone(one)
        if judgement.of_machine:
            return False  # every release has this: the first set says so and ends the search
        if judgement.verdict is Verdict.UNKNOWN:
            return one in self._unchecked if framework_of(one.name) is None else self._unknown is not None
        return judgement.verdict is Verdict.BROKEN

    def _judged_alone(self, one: Candidate) -> Judgement:
        """Return the answer for a build whatever is beside it: a framework with the libraries that it requires, an add-on by itself."""
        if one not in self._alone:
            self._alone[one] = self.answer((one,)).judgement if framework_of(one.name) else self._bare(one)
            if self._alone[one].verdict is Verdict.BROKEN and not self._alone[one].of_machine:
                self.rejected.append(Rejected(one, self._alone[one]))
        return self._alone[one]

    def _bare(self, one: Candidate) -> Judgement:
        """Return the answer for an add-on by itself, or for a library with kernels that it pins if that does not work here."""
        python = next(iter(self.pythons((one,))), "")
        own = (self._matrix.resolve(one.name, one.release, self._machine.platform).row, judged_as(one))
        kernels = tuple((row, text) for row, text in self._pins(one) if row.accelerator == "cuda")
        has_code = own[0] is not None and own[0].accelerator == "cuda"
        answers = (self._by_itself(*part, python) for part in ((own, *kernels) if has_code else (*kernels, own)))
        broken = next((answer for answer in answers if answer.verdict is Verdict.BROKEN), None)
        return broken or self._by_itself(*own, python)

    def _by_itself(self, row: FrameworkRelease | None, text: str, python: str) -> Judgement:
        """Return the answer for a package without what it requires; for a release built like another one the same, if the build decides."""
        if row is None:
            return self._judge((text,), python, alone=True)
        key = (*self._build(row), python)
        known = self._like.get(key)
        if known is None or (known.verdict is Verdict.BROKEN and not _decided_by_the_build(known)):
            known = self._like[key] = self._judge((text,), python, alone=True)
        return known

    def _build(self, row: FrameworkRelease) -> tuple[object, ...]:
        """Return what decides whether a release's build runs on a GPU."""
        need = self._matrix.gpu_need(row.distribution, row.release)
        build = (row.distribution, row.accelerator, row.built_with_cuda, row.cudnn, row.sass, row.ptx, row.builds, row.pythons)
        return (*build, need and need.oldest_capability)

    def pythons(self, chosen: Sequence[Candidate]) -> list[str]:
        """Return the Python versions with wheels of all these releases: the preferred one first, then the newest."""
        found = self._with_wheels(chosen)
        if self._wishes.python:
            return [self._wishes.python] if found is None or found else []
        if found is None:
            return [self._wishes.preferred]
        common = sorted(found, key=lambda text: versions.parse(text) or versions.Version(0), reverse=True)
        settled = set(common).intersection(*(self._settled_pythons(one) or common for one in chosen))
        return sorted(common, key=lambda python: (python != self._wishes.preferred, python not in settled))

    def _with_wheels(self, chosen: Sequence[Candidate]) -> set[str] | None:
        """Return the allowed Python versions with wheels of all these releases and of what they pin; None for any."""
        lists = [set(one.pythons) for one in chosen if one.pythons]
        lists += [set(row.pythons) for one in chosen for row, _ in self._pins(one) if row.pythons]
        if not lists:
            return None
        allowed = (".".join(self._wishes.python.split(".")[:2]),) if self._wishes.python else self._wishes.pythons
        return {python for python in set.intersection(*lists) if (python in allowed if allowed else not python.endswith("t"))}

    def _settled_pythons(self, one: Candidate) -> tuple[str, ...]:
        """Return the Python versions of an earlier build: other packages are more likely to have wheels for these too."""
        since = dropwhile(lambda other: other.release != one.release, self.candidates(one.name))
        older = [other.pythons for other in since if other.release != one.release and other.pythons]
        return older[:_EARLIER][-1] if older else ()

    def answer(self, chosen: tuple[Candidate, ...]) -> Chosen:
        """Return the set with its answer, which is known if no driver makes the set work."""
        if chosen in self.refused:
            return self.refused[chosen]
        found = self._settled_alike(chosen[0]) if len(chosen) == 1 else self._settle(chosen)
        rules = _OF_PACKAGES if len(chosen) > 1 else (*_OF_GPU, *_OF_PACKAGES)
        if _with_any_driver(found.judgement, rules):
            self.refused[chosen] = found
        return found

    def _settled_alike(self, one: Candidate) -> Chosen:
        """Return a build with its answer; for a release built like another one the same, if the build decides."""
        row = self._matrix.resolve(one.name, one.version, self._machine.platform).row
        if row is None or row.sass is None:  # its code is in another package
            return self._settle((one,))
        key = (*self._build(row), one.extras, one.system, tuple(self.pythons((one,))), self._matrix.faults(one.name, one.version))
        known = self._like.get(key)
        if known is not None and _decided_by_the_build(known):
            return Chosen((one,), next(iter(self.pythons((one,))), ""), known)
        found = self._settle((one,))
        self._like[key] = found.judgement
        return found

    def _settle(self, chosen: tuple[Candidate, ...]) -> Chosen:
        """Return the set judged with the first Python version that suits it, and with the constraints that improve the answer."""
        texts = (*map(judged_as, chosen), *self._beside(chosen))
        python, judgement = "", Judgement(Verdict.BROKEN)
        for python in self.pythons(chosen)[:_PYTHONS]:
            judgement = self._judge(texts, python)
            if not any(judgement.named(rule) for rule in _OF_PYTHON):
                break
        found = Chosen(chosen, python, judgement, tuple(numpy_bound(chosen, self._wishes.requirements, self._machine, self._matrix)))
        for extra in remedies(judgement, chosen, self._machine, self._matrix):
            better = self._judge((*texts, *(one.requirement for one in extra)), python)
            if better.works and (better.verdict is Verdict.READY or not found.judgement.works):
                return msgspec.structs.replace(found, judgement=better, constraints=(*found.constraints, *extra))
        return found

    def _beside(self, chosen: tuple[Candidate, ...]) -> Iterator[str]:
        """Yield the stated requirements that no table lists releases of, if a rule can judge them."""
        names = {one.name for one in chosen}
        for name, one in self._wishes.requirements.items():
            if name not in names and name not in self.leads and (one.specifier or name in TABLE_OF):
                yield one.text


def _decided_by_the_build(judgement: Judgement) -> bool:
    """Return whether a release is broken by its build alone."""
    return judgement.verdict is Verdict.BROKEN and bool(judgement.findings) and all(one.name in _OF_CODE for one in judgement.findings)


def _with_any_driver(judgement: Judgement, rules: tuple[str, ...]) -> bool:
    """Return whether a set remains broken with any driver: one of these rules has an error, and the driver supports the GPU."""
    if judgement.verdict is not Verdict.BROKEN or judgement.of_machine:
        return False
    return any(one.name in rules and one.severity is Severity.ERROR for one in judgement.findings)
