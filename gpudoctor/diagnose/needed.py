"""Which rules can say something about a machine: loading the others would take a check of a machine without GPUs 12 ms, of others 6 ms."""

from __future__ import annotations

from gpudoctor.derive import MachineView
from gpudoctor.diagnose.rule import Rule
from gpudoctor.diagnose.rules import FAMILIES, without
from gpudoctor.diagnose.rules.of_gpus import OF_GPUS
from gpudoctor.findings import Policy
from gpudoctor.snapshot import Cause, Missing, TextLog

OF_WSL = frozenset(name for name in FAMILIES["platform"] if name.startswith("wsl_"))
OF_TRAINING = frozenset(
    (
        "framework_import_fails", "mkl_version_incompatible", "all_reduce_failed", "smoke_ran_on_cpu", "smoke_wrong_result",
        "smoke_did_not_learn", "smoke_crashed", "smoke_hung", "smoke_loss_not_finite",
    )
)  # fmt: skip
"""The rules that read a framework's smoke training."""
OF_CUDA_BUILDS = frozenset(
    (
        "cuda_library_missing", "cudnn_missing", "cuda_libs_not_on_loader_path", "pip_nvidia_libs_not_on_path", "ld_library_path_shadowing",
        "cudnn_shadowed_by_system", "cudnn_wrong_major", "cudnn_version_mismatch", "cudnn_drops_gpu", "libdevice_not_found", "ptxas_not_found",
        "ptxas_too_old", "nvcc_framework_cuda_mismatch", "unexpected_library_loaded", "cuda_library_damaged", "gpu_too_new_for_build",
        "gpu_too_old_for_build", "slow_ptx_jit", "extension_built_for_other_cuda", "extension_abi_mismatch", "extension_missing_arch",
        "gpu_too_old_for_triton", "triton_ptxas_too_old", "c_compiler_missing", "python_headers_missing", "driver_too_old",
    )
)  # fmt: skip
"""The rules about a framework's CUDA, its GPU code and the libraries that it loads."""
ALWAYS = without(OF_GPUS | OF_WSL | OF_TRAINING | OF_CUDA_BUILDS)
"""The rules that any machine may need, loaded while the children of a check look at it."""


def needed(machine: MachineView, policy: Policy) -> tuple[Rule, ...]:
    """Return every rule, in order; of a live machine without those for what it does not have, unless the user names rules."""
    if isinstance(machine.observed.text_log, TextLog) or machine.supposed or policy.only or policy.skip or policy.require:
        return without(frozenset())
    left_out = frozenset[str]().union(*(rules for lacks, rules in _needs(machine) if lacks))
    return without(left_out)


def _needs(machine: MachineView) -> tuple[tuple[bool, frozenset[str]], ...]:
    """Return whether the machine lacks something, and the rules about it."""
    seen = machine.observed
    untrained = isinstance(seen.smoke, Missing) and seen.smoke.cause is Cause.NOT_ASKED
    without_cuda = not isinstance(seen.frameworks, Missing) and all(one.cuda_build is False for one in seen.frameworks)
    return (
        (not machine.gpus, OF_GPUS),
        (not machine.site.on_wsl, OF_WSL),
        (untrained, OF_TRAINING),
        (without_cuda, OF_CUDA_BUILDS),
    )
