from gpudoctor.derive import FrameworkView
from gpudoctor.diagnose.rule import advises, explains, rule
from gpudoctor.diagnose.rules.builds.companions import companion_problems, install_companion
from gpudoctor.findings import Impact, Problems, Rung, Severity


@rule("GD510", severity=Severity.WARNING, breaks=Rung.TRAINED, impact=Impact.PARTLY)
@advises(lambda machine: install_companion(machine, "torchaudio"))
@explains(
    ("extension-built-for-other-cuda", "extension-abi-mismatch"),
    "torchaudio's compiled files are linked against one torch and one CUDA version.",
)
def torch_torchaudio_mismatch(framework: FrameworkView) -> Problems:
    """torchaudio does not match the installed torch."""
    yield from companion_problems(framework, "torchaudio")
