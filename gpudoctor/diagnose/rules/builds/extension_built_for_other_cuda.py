"""GD513: extension-built-for-other-cuda."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import EffectiveCuda, Hardware, MachineView
from gpudoctor.diagnose.build_facts import with_cuda
from gpudoctor.diagnose.rule import Explains, Join, need, rule
from gpudoctor.diagnose.rules.builds.addons import _MOST, _addons, _again
from gpudoctor.findings import Evidence, Problem, Rung, Severity, SubjectKind
from gpudoctor.matrix import Matrix
from gpudoctor.snapshot import Framework, Missing


@rule(
    "GD513",
    severity=Severity.WARNING,
    breaks=Rung.TRAINED,
    since="0.1",
    about=SubjectKind.FRAMEWORK,
    explains=(Explains(("extension-abi-mismatch",), "", Join.FRAMEWORK),),
)
def extension_built_for_other_cuda(
    framework: Framework, effective: EffectiveCuda | Missing, machine: MachineView, hardware: Hardware
) -> Iterator[Problem]:
    """A compiled add-on links the libraries of another CUDA release than the framework.

    ## Why it matters
    An add-on such as torchvision or flash-attn asks for CUDA's libraries by the names of the release that it was compiled with. Under a
    framework with another CUDA they are missing ("libcudart.so.11.0: cannot open shared object file"), or a second CUDA runtime comes
    into the process. The framework itself works.

    ## What to do
    Install the add-on's build for the framework's CUDA, or compile it against the framework that is installed.

    ## References
    - https://pytorch.org/get-started/previous-versions/
    """
    found = _addons(framework, machine, hardware)
    cuda = with_cuda(effective)
    for addon in found.values():
        foreign = {
            one.path: other for one in addon if isinstance(one.wanted, tuple) and (other := _foreign(one.wanted, cuda, machine.matrix))
        }
        if foreign:
            path, names = next(iter(foreign.items()))
            yield Problem(
                message=f"{addon[0].distribution} {addon[0].version} links {', '.join(names[:_MOST])}, "
                f"and {framework.label} is built for CUDA {cuda.version.short}.",
                evidence=(
                    Evidence("libraries that it links", " ".join(names), path),
                    Evidence("CUDA of the build", str(cuda.version), cuda.where),
                ),
                fixes=_again(addon[0], framework, machine),
            )
    for one in (one for addon in found.values() for one in addon):
        need(one.wanted)


def _foreign(wanted: tuple[str, ...], cuda: EffectiveCuda, matrix: Matrix) -> list[str]:
    """The names among these that a CUDA release has otherwise."""
    row = matrix.cuda(cuda.version)
    own = {name.partition(".so")[0]: name for name in row.sonames} if row is not None else {}
    if not own:
        return [name for name in wanted if name.startswith("libcudart.so.") and name.split(".")[2] != str(cuda.version.major)]
    return [name for name in wanted if own.get(name.partition(".so")[0], name) != name]
