"""GD513: extension-built-for-other-cuda."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import EffectiveCuda, FrameworkView
from gpudoctor.derive.unknown import known
from gpudoctor.diagnose.rule import Explains, Join, rule
from gpudoctor.diagnose.rules.builds.add_ons import fitting_add_on
from gpudoctor.findings import Evidence, Problem, Rung, Severity
from gpudoctor.matrix import Matrix

_MOST = 3


@rule(
    "GD513",
    severity=Severity.WARNING,
    breaks=Rung.TRAINED,
    since="0.1",
    explains=(
        Explains(
            ("extension-abi-mismatch",), "An extension for another CUDA was compiled for another build of the framework.", Join.FRAMEWORK
        ),
    ),
)
def extension_built_for_other_cuda(framework: FrameworkView) -> Iterator[Problem]:
    """Extension is built for a different CUDA version."""
    add_ons, cuda = framework.add_ons, framework.cuda
    for add_on in add_ons:
        linked = ((file.path, file.wanted) for file in add_on.files if isinstance(file.wanted, tuple))
        foreign = ((path, _foreign(names, cuda, framework.machine.matrix)) for path, names in linked)
        path, names = next(((path, names) for path, names in foreign if names), ("", []))
        if names:
            yield Problem(
                message=f"{add_on.label} links {', '.join(names[:_MOST])}, but {framework.label} is built for CUDA {cuda.version.short}.",
                evidence=(
                    Evidence("CUDA libraries it links", " ".join(names), path),
                    Evidence("CUDA version of the framework", str(cuda.version), cuda.where),
                ),
                fixes=fitting_add_on(framework, add_on),
            )
    for file in (file for add_on in add_ons for file in add_on.files):
        known(file.wanted)


def _foreign(wanted: tuple[str, ...], cuda: EffectiveCuda, matrix: Matrix) -> list[str]:
    """Return the file names that belong to another CUDA version."""
    row = matrix.cuda(cuda.version)
    own = {name.partition(".so")[0]: name for name in row.sonames} if row is not None else {}
    if not own:
        return [name for name in wanted if name.startswith("libcudart.so.") and name.split(".")[2] != str(cuda.version.major)]
    return [name for name in wanted if own.get(name.partition(".so")[0], name) != name]
