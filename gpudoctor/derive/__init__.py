"""Effective facts: what rules need from many places, settled once, each with where it comes from. Pure."""

from __future__ import annotations

from functools import cached_property

from gpudoctor.derive.cuda import EffectiveCuda, effective_cuda, serves
from gpudoctor.derive.driver import Driver, driver
from gpudoctor.derive.gpus import Gpu, gpus
from gpudoctor.derive.ladder import Ladder, ladder, proved_to
from gpudoctor.derive.site import Site, site
from gpudoctor.derive.training import Flaw, Judgement, judge, on_device
from gpudoctor.derive.visibility import Visibility, visibility
from gpudoctor.findings import Policy
from gpudoctor.matrix import Matrix
from gpudoctor.snapshot import Framework, Missing, Smoke, Snapshot, Training

__all__ = [
    "Driver",
    "EffectiveCuda",
    "Facts",
    "Flaw",
    "Gpu",
    "Hardware",
    "Judgement",
    "Ladder",
    "Site",
    "Visibility",
    "judge",
    "on_device",
    "proved_to",
]


class Hardware(tuple[Gpu, ...]):
    """Every GPU that any layer shows and that is this machine's (or this container's)."""

    __slots__ = ()


class Facts:
    """A snapshot, the matrix and the user's wishes, with everything that follows from them; each is computed when first read."""

    def __init__(self, snapshot: Snapshot, matrix: Matrix, policy: Policy) -> None:
        self.snapshot = snapshot
        self.matrix = matrix
        self.policy = policy

    @cached_property
    def site(self) -> Site:
        """Platform, container and scheduler."""
        return site(self.snapshot)

    @cached_property
    def hardware(self) -> Hardware:
        """The GPUs, by address."""
        return Hardware(gpus(self.snapshot, self.site))

    @cached_property
    def driver(self) -> Driver | Missing:
        """The driver at work; absent where none is."""
        return driver(self.snapshot, self.matrix)

    @cached_property
    def visibility(self) -> Visibility | Missing | None:
        """What CUDA_VISIBLE_DEVICES leaves; None where it is not set."""
        return visibility(self.snapshot)

    @cached_property
    def ladder(self) -> Ladder:
        """What was seen of every rung, for every GPU."""
        return ladder(self.snapshot, self.hardware, self.site)

    @property
    def frameworks(self) -> tuple[Framework, ...]:
        """The installed frameworks; none where that is not known."""
        return () if isinstance(self.snapshot.frameworks, Missing) else self.snapshot.frameworks

    def effective_cuda(self, framework: Framework) -> EffectiveCuda | Missing:
        """The CUDA that a framework would run with; absent for a build without."""
        return effective_cuda(framework, self.snapshot.python, self.matrix)

    def another_can_train(self, framework: Framework) -> bool:
        """Whether another framework's build fits the driver, so that the environment is not lost with this one."""
        return any(self._fits(other) for other in self.frameworks if other.name != framework.name)

    def _fits(self, framework: Framework) -> bool:
        effective = self.effective_cuda(framework)
        return (
            isinstance(effective, EffectiveCuda) and isinstance(self.driver, Driver) and serves(self.driver, effective, self.site) is True
        )

    @cached_property
    def cpu_framework(self) -> str:
        """The framework that was shown to train on the CPU; empty where none was."""
        return next((smoke.framework for smoke in self._smokes if any(_proves(run, "CPU") for run in smoke.trainings)), "")

    def trains(self, framework: str) -> bool:
        """Whether this framework was shown to train on some GPU."""
        return any(_proves(run, "GPU") for smoke in self._smokes if smoke.framework == framework for run in smoke.trainings)

    @property
    def _smokes(self) -> tuple[Smoke, ...]:
        return () if isinstance(self.snapshot.smoke, Missing) else self.snapshot.smoke


def _proves(training: Training, kind: str) -> bool:
    return training.device.upper().startswith(kind) and judge(training) is None
