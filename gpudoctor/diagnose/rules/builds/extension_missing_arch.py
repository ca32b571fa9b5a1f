from gpudoctor.derive import EffectiveCode, FrameworkView
from gpudoctor.derive.add_ons import InstalledAddOn, file_name
from gpudoctor.derive.gpu_code import UNSUPPORTED_FITS, gpu_fits
from gpudoctor.diagnose.advice.gpu_code import capability_evidence, models_text
from gpudoctor.diagnose.rule import rule
from gpudoctor.diagnose.rules.builds.add_ons import compile_add_on
from gpudoctor.findings import Evidence, Impact, Problem, Problems, Rung, Severity
from gpudoctor.snapshot import Extension, GpuCode


@rule("GD515", severity=Severity.WARNING, breaks=Rung.TRAINED, impact=Impact.PARTLY)
def extension_missing_arch(framework: FrameworkView) -> Problems:
    """Extension has no kernels for this GPU."""
    machine = framework.machine
    for add_on in framework.add_ons:
        for file, code in _files_with_code(add_on):
            lost = [meeting for meeting in gpu_fits(code, machine.hardware, machine.matrix) if meeting.fit in UNSUPPORTED_FITS]
            if lost:
                main = file.path in add_on.main_paths
                capabilities = " ".join(dict.fromkeys(str(meeting.capability) for meeting in lost))
                yield Problem(
                    message=f"{add_on.label} has no kernels for {models_text(lost)}; it has {code.text}."
                    if main
                    else f"{file_name(file)} of {add_on.label} has no kernels for {models_text(lost)}; it has {code.text}. Its main files do.",
                    severity=None if main else Severity.NOTE,
                    evidence=(Evidence("kernels in it", code.text, file.path), *capability_evidence(lost)),
                    fixes=(compile_add_on(framework, add_on, capabilities),),
                )
                break


def _files_with_code(add_on: InstalledAddOn) -> list[tuple[Extension, EffectiveCode]]:
    """Return the files that contain GPU code, the main files first."""
    read = ((file, file.code) for file in add_on.files if isinstance(file.code, GpuCode) and (file.code.sass or file.code.ptx))
    found = [(file, EffectiveCode(sass=code.sass, ptx=code.ptx, where=file.path)) for file, code in read]
    return sorted(found, key=lambda pair: pair[0].path not in add_on.main_paths)
