"""Names the index that holds the newest build of a framework for a machine."""

from __future__ import annotations

from gpudoctor.derive.specifiers import parse_requirement
from gpudoctor.errors import UsageError
from gpudoctor.frameworks import CATALOGUE, framework_of, spec_of
from gpudoctor.matrix import Matrix
from gpudoctor.matrix.builds import CPU_TAG, cuda_builds
from gpudoctor.plan.proposal import PlanQuestion, proposed_plan
from gpudoctor.report.build import TOOL
from gpudoctor.report.plan import Index, Plan


def framework_index(question: PlanQuestion, matrix: Matrix) -> Index:
    """Return the index. Raises UsageError for a framework that has no index of its own."""
    wanted = parse_requirement(question.requirements[0])
    spec = spec_of(framework_of(wanted.name if wanted else "") or "")
    if wanted is None or not spec.wheel_index:
        having = " or ".join(known.name for known in CATALOGUE if known.wheel_index)
        raise UsageError(f"{question.requirements[0]!r} has no package index of its own; name {having}, or use `gpudoctor plan`.")
    found = proposed_plan(question, matrix).plan
    here = found.environment
    if here is None:
        return Index(tool=TOOL, exit_code=found.exit_code, why=found.headline)
    tag = here.torch_backend or _default_build_tag(found, spec.name, question, matrix)
    return Index(
        tool=TOOL,
        exit_code=found.exit_code,
        requirement=here.pins[0].requirement,
        index=f"{spec.wheel_index}/{tag}",
        torch_backend=tag,
        why=" ".join(here.not_checked),
    )


def _default_build_tag(found: Plan, framework: str, question: PlanQuestion, matrix: Matrix) -> str:
    """Return the folder of the default build, which the framework's own index has too; the CPU's for a build without CUDA."""
    pinned = found.environment.pins[0].requirement if found.environment else ""
    listed = cuda_builds(matrix, spec_of(framework), question.machine.platform)
    return next((build.tag for build in listed if build.default and pinned.endswith(f"=={build.number}")), CPU_TAG)
