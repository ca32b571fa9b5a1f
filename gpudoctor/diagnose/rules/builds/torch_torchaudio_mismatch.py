"""GD510: torch-torchaudio-mismatch."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import MachineView, Stack
from gpudoctor.diagnose.package_facts import (
    TORCHAUDIO,
    named_by,
)
from gpudoctor.diagnose.rule import Explains, not_applicable, rule
from gpudoctor.diagnose.rules.builds.pairs import _beside_torch
from gpudoctor.findings import Problem, Rung, Severity, SubjectKind
from gpudoctor.snapshot import Framework


@rule(
    "GD510",
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
def torch_torchaudio_mismatch(framework: Framework, stack: Stack, machine: MachineView) -> Iterator[Problem]:
    """The torchaudio that is there was built for another torch.

    ## Why it matters
    Torchaudio's extension links to one release of torch: with another it does not load, with undefined symbols as the reason, and a
    build for another CUDA is refused at import. Programs that only use torch are not touched.

    ## What to do
    Install the torchaudio that was published with this torch, from the same index.

    ## References
    - https://docs.pytorch.org/audio/stable/installation.html
    """
    if framework.name != "torch":
        not_applicable("not torch")
    refused = [one for one in stack.violations if named_by(one) == torch_torchaudio_mismatch.name]
    yield from _beside_torch(stack, TORCHAUDIO, refused, machine, "its extension does not load.")
