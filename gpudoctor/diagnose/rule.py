"""A rule: a documented generator of problems that takes one view of its subject."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import msgspec

from gpudoctor.derive import EnvironmentView, FrameworkView, GpuView, MachineView
from gpudoctor.findings import Domain, Fix, Impact, Level, Problems, Rung, Severity, SubjectKind

AnyView = MachineView | GpuView | EnvironmentView | FrameworkView
View = TypeVar("View", MachineView, GpuView, EnvironmentView, FrameworkView)
Body = TypeVar("Body", bound=Callable[[Any], Problems])
_SUBJECTS = {
    MachineView: SubjectKind.MACHINE,
    GpuView: SubjectKind.GPU,
    EnvironmentView: SubjectKind.ENVIRONMENT,
    FrameworkView: SubjectKind.FRAMEWORK,
}
"""The subject of a rule, by the view that it takes. So annotations are classes in modules of rules, which do not postpone them."""


FAMILY_DOMAINS = {
    "hardware": Domain.HARDWARE,
    "driver": Domain.DRIVER,
    "platform": Domain.CONTAINER,
    "state": Domain.JOB,
    "multi_gpu": Domain.HARDWARE,
    "training": Domain.HARDWARE,
}
"""The domain of a family; of those that are not here, the environment."""


class Join(str, enum.Enum):
    """What cause and consequence must share."""

    GPU = "same GPU"
    FRAMEWORK = "same framework"
    MACHINE = "machine"


class Explains(msgspec.Struct, frozen=True):
    """What follows from a rule's finding: the rules named in `effects`, and why they do."""

    effects: tuple[str, ...]
    because: str
    join: Join = Join.MACHINE


TRAINING_FAILS = ("framework-import-fails", "smoke-ran-on-cpu", "smoke-crashed", "smoke-hung")
"""The training run uses the CPU, fails or hangs."""
CUDA_FAILS = ("cuda-init-fails", "required-gpus-missing", *TRAINING_FAILS)
"""CUDA fails to initialise or shows fewer GPUs, and training fails."""
GPU_NOT_OPENED = ("gpu-missing-from-cuda", "gpu-count-mismatch")
"""NVML or CUDA does not open the GPU."""
GPU_IS_SLOW = ("gpu-behind-its-siblings", "gpu-slower-than-expected", "gpu-not-faster-than-cpu")
"""A rate measured on the GPU is low."""
DRIVER_NOT_LOADED = ("no-driver", "driver-library-mismatch", *CUDA_FAILS)
"""The NVIDIA driver cannot load, so neither NVML nor CUDA works."""


class Rule(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """A rule; its page is the Markdown file beside its module."""

    code: str
    body: Callable[[Any], Problems]
    severity: Severity
    breaks: Rung
    """The rung that cannot be reached while this is true."""
    since: str = "0.1"
    """The first release that had it."""
    impact: Impact | None = None
    """What its warnings cost; None if its findings are errors or notes: an error that becomes a warning is about a part that fails."""
    predicts: bool = True
    """It infers that `breaks` will fail; where that was proven to work, the finding is only worth knowing."""
    on_cpu_too: bool = False
    """What it predicts would fail on the CPU as well, so training on the CPU disproves it."""
    explains: tuple[Explains, ...] = ()
    """What follows from it."""
    seen_at: Level = Level.LOOK
    """The first level at which the fault shows: the one that its verify command asks for."""
    sees_more_at: Level = Level.LOOK
    """The level at which more evidence of it shows, where a check went that far."""
    bears_on_training: bool = False
    """It explains training runs, as the rules of the family training do."""
    checks_required: str = ""
    """Which subject of `--require` it checks: "any", one by name, or none."""
    advice: Callable[[MachineView], tuple[Fix, ...]] | None = None
    """The fixes that need no fact of the machine: of a problem that states none, and where only a log names the fault."""
    domain: Domain | None = None
    """Where the fault lies, if not where those of its family do."""

    @property
    def name(self) -> str:
        """The name of the function, in kebab case."""
        return self.body.__name__.replace("_", "-")

    @property
    def about(self) -> SubjectKind:
        """What its findings are about: the subject of the view it takes."""
        return _SUBJECTS[next(iter(self.body.__annotations__.values()))]

    @property
    def title(self) -> str:
        """What is wrong, as a phrase: the docstring without its full stop."""
        return (self.body.__doc__ or "").rstrip(".")

    @property
    def family(self) -> str:
        """The folder that it is in."""
        return self.body.__module__.split(".")[-2]

    @property
    def of_training(self) -> bool:
        """Whether it says why a training run fails, or why its numbers are what they are."""
        return self.bears_on_training or self.family == "training"

    @property
    def lies_in(self) -> Domain:
        """Where the faults that it finds lie."""
        return self.domain or FAMILY_DOMAINS.get(self.family, Domain.ENVIRONMENT)


def rule(code: str, *, explains: tuple[Explains, ...] = (), **traits: Any) -> Callable[[Callable[[View], Problems]], Rule]:
    """Make a rule of a generator function whose docstring is the rule's title; `traits` are the other fields of Rule."""

    def made(body: Callable[[View], Problems]) -> Rule:
        stated: dict[str, Any] = vars(body)
        return Rule(code=code, body=body, explains=(*stated.get("explains", ()), *explains), advice=stated.get("advice"), **traits)

    return made


def explains(effects: tuple[str, ...], because: str, join: Join = Join.MACHINE) -> Callable[[Body], Body]:
    """State what follows from the findings of the rule that is made of a function; several such lines keep their order."""

    def noted(body: Body) -> Body:
        vars(body)["explains"] = (Explains(effects, because, join), *vars(body).get("explains", ()))
        return body

    return noted


def advises(*steps: Fix | Callable[[MachineView], Iterable[Fix]]) -> Callable[[Body], Body]:
    """State the fixes of a problem that states none, and of a fault that only a log names: each step is one, or returns some for a machine."""

    def advice(machine: MachineView) -> tuple[Fix, ...]:
        return tuple(fix for step in steps for fix in ((step,) if isinstance(step, Fix) else step(machine)))

    def noted(body: Body) -> Body:
        vars(body)["advice"] = advice
        return body

    return noted
