"""GD510: torch-torchaudio-mismatch."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import FrameworkView
from gpudoctor.diagnose.rule import Explains, rule
from gpudoctor.diagnose.rules.builds.companions import beside_framework
from gpudoctor.findings import Problem, Rung, Severity


@rule(
    "GD510",
    severity=Severity.WARNING,
    breaks=Rung.TRAINED,
    since="0.1",
    explains=(
        Explains(
            ("extension-built-for-other-cuda", "extension-abi-mismatch"),
            "torchaudio's compiled files link the torch and the CUDA that they were built with.",
        ),
    ),
)
def torch_torchaudio_mismatch(framework: FrameworkView) -> Iterator[Problem]:
    """torchaudio was built for another torch.

    ## Why it matters
    torchaudio's extension links one release of torch. With another it does not load ("undefined symbol"), and a build for another CUDA
    fails to import. Programs that only use torch are not affected.

    ## What to do
    Install the torchaudio that was published with this torch, from the same index.

    ## References
    - https://docs.pytorch.org/audio/stable/installation.html
    """
    yield from beside_framework(framework, "torchaudio", "torchaudio's extension does not load.")
