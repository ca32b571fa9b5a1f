"""GD509: torch-torchvision-mismatch."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import MachineView, Stack
from gpudoctor.diagnose.package_facts import (
    TORCHVISION,
    named_by,
)
from gpudoctor.diagnose.rule import Explains, not_applicable, rule
from gpudoctor.diagnose.rules.builds.pairs import _beside_torch
from gpudoctor.findings import Problem, Rung, Severity, SubjectKind
from gpudoctor.snapshot import Framework


@rule(
    "GD509",
    severity=Severity.WARNING,
    breaks=Rung.TRAINED,
    since="0.1",
    about=SubjectKind.FRAMEWORK,
    explains=(
        Explains(
            (
                "extension-built-for-other-cuda",
                "extension-abi-mismatch",
            ),
            "",
        ),
    ),
)
def torch_torchvision_mismatch(framework: Framework, stack: Stack, machine: MachineView) -> Iterator[Problem]:
    """The torchvision that is there was built for another torch.

    ## Why it matters
    Torchvision's compiled operators link to one release of torch. With another its import fails, or says that the operator
    torchvision::nms does not exist; a build for another CUDA is refused at import. Programs that only use torch are not touched.

    ## What to do
    Install the torchvision that was published with this torch, from the same index.

    ## References
    - https://github.com/pytorch/vision#installation
    - https://github.com/pytorch/vision/blob/main/torchvision/extension.py
    """
    if framework.name != "torch":
        not_applicable("not torch")
    refused = [one for one in stack.violations if named_by(one) == torch_torchvision_mismatch.name]
    yield from _beside_torch(stack, TORCHVISION, refused, machine, "its operators do not load.")
