"""GD515: extension-missing-arch."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from gpudoctor.derive import EffectiveCode, Hardware, MachineView
from gpudoctor.derive.code import LACKS, meetings, spelt
from gpudoctor.diagnose.advice.gpu_code import models
from gpudoctor.diagnose.rule import rule
from gpudoctor.diagnose.rules.builds.addons import _addons, _again, _file, _main
from gpudoctor.findings import Evidence, FixKind, Problem, Rung, Severity, SubjectKind
from gpudoctor.snapshot import Framework, GpuCode


@rule("GD515", severity=Severity.WARNING, breaks=Rung.TRAINED, since="0.1", about=SubjectKind.FRAMEWORK)
def extension_missing_arch(framework: Framework, machine: MachineView, hardware: Hardware) -> Iterator[Problem]:
    """A compiled add-on has no code for this GPU.

    ## Why it matters
    Each compiled add-on has its own list of GPUs. What of it runs on the GPU then ends with "no kernel image is available for execution
    on the device", though the framework works.

    ## What to do
    Install a build of the add-on for the GPU, or compile it with TORCH_CUDA_ARCH_LIST naming the GPU's compute capability.

    ## References
    - https://docs.pytorch.org/docs/stable/cpp_extension.html
    """
    found = _addons(framework, machine, hardware)
    for addon in found.values():
        coded = [(one, one.code) for one in addon if isinstance(one.code, GpuCode) and (one.code.sass or one.code.ptx)]
        main = {one.path for one in _main(addon)}
        for one, held in sorted(coded, key=lambda pair: pair[0].path not in main):
            code = EffectiveCode(sass=held.sass, ptx=held.ptx, where=one.path)
            lost = [met for met in meetings(code, hardware, machine.matrix) if met.fit in LACKS]
            if lost:
                wanted = " ".join(dict.fromkeys(str(met.capability) for met in lost))
                yield Problem(
                    message=f"{one.distribution} {one.version} holds code for {spelt(code)}, and none for {models(lost)}."
                    if one.path in main
                    else f"{_file(one)} of {one.distribution} {one.version} has code for {spelt(code)} only; the rest of it serves {models(lost)}.",
                    severity=None if one.path in main else Severity.NOTE,
                    evidence=(
                        Evidence("GPU code in it", spelt(code), one.path),
                        *(Evidence("compute capability", str(met.capability), met.gpu.label) for met in lost),
                    ),
                    fixes=(msgspec.structs.replace(_again(one, framework, machine, wanted)[-1], kind=FixKind.FIX),),
                )
                break
