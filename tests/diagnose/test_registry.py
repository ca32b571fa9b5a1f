from __future__ import annotations

import re
from typing import get_args, get_type_hints

import msgspec

from gpudoctor.diagnose.rule import AnyView, Rule
from gpudoctor.diagnose.rules import RULES
from gpudoctor.findings import Level, Severity
from gpudoctor.matrix import Matrix
from tests.diagnose import traits
from tests.seams.every import every

OF_TRAINING = {
    "all-reduce-failed", "application-clocks-lowered", "framework-import-fails", "gpu-behind-its-siblings", "gpu-not-faster-than-cpu",
    "gpu-slower-than-expected", "hw-slowdown", "pcie-link-degraded", "power-throttled", "slow-ptx-jit", "smoke-crashed", "smoke-did-not-learn",
    "smoke-hung", "smoke-loss-not-finite", "smoke-ran-on-cpu", "smoke-wrong-result", "thermal-throttled",
}  # fmt: skip
"""What happens in a training run, or slows it."""
FAILS_ON_THE_CPU_TOO = {
    "cpu-lacks-avx", "framework-import-fails", "glibc-too-old", "keras3-mismatch", "mkl-version-incompatible", "msvc-redistributable-missing",
    "numpy2-abi-mismatch", "protobuf-mismatch",
    "variable-stops-import",
}  # fmt: skip
"""With these a framework's import fails, whatever the device."""
SEEN_IN_TRAINING = OF_TRAINING - {"all-reduce-failed", "application-clocks-lowered", "gpu-slower-than-expected", "slow-ptx-jit"} | {
    "host-memory-insufficient", "mkl-version-incompatible", "unexpected-library-loaded",
}  # fmt: skip
"""What only a training run shows, or shows more of."""

PREDICTIONS = {
    "address-space-limited", "broken-release", "compute-prohibited", "confidential-computing-not-ready", "container-ldcache-stale",
    "container-no-gpu-access", "container-toolkit-missing", "cpu-lacks-avx", "cpu-only-build", "cuda-library-damaged",
    "cuda-library-missing", "cuda-libs-not-on-loader-path", "cuda-mixed-versions", "cuda-version-mismatch", "cudnn-drops-gpu",
    "cudnn-missing", "cudnn-shadowed-by-system", "cudnn-version-mismatch", "cudnn-wrong-major", "cupy-wheel-cuda-mismatch",
    "device-permission-denied", "driver-library-mismatch", "driver-too-new-for-gpu", "driver-too-old", "env-hides-gpu",
    "exclusive-compute-mode", "extension-abi-mismatch", "extension-built-for-other-cuda", "extension-missing-arch",
    "fabric-manager-missing", "fabric-manager-version-mismatch", "fabric-not-ready", "fabric-prerequisites-missing",
    "framework-files-damaged", "glibc-too-old", "gpu-below-framework-minimum", "gpu-memory-held-by-other-process",
    "gpu-missing-from-cuda", "gpu-too-new-for-build", "gpu-too-new-for-driver", "gpu-too-old-for-build", "gsp-firmware-failure",
    "jax-plugin-version-mismatch", "jetson-needs-vendor-wheel", "keras3-mismatch", "ld-library-path-shadowing",
    "libcuda-not-installed", "libcuda-not-on-loader-path", "libdevice-not-found", "mig-no-instances", "mixed-conda-pip",
    "nccl-version-conflict", "no-cuda-wheel-for-platform", "no-driver", "no-gpu", "numpy2-abi-mismatch",
    "nvidia-wheel-version-conflict", "package-not-installable", "package-requirement-conflict", "pci-bar-not-assigned",
    "pip-nvidia-libs-not-on-path", "protobuf-mismatch", "ptxas-not-found", "ptxas-too-old", "python-version-unsupported",
    "slow-ptx-jit", "torch-torchaudio-mismatch", "torch-torchvision-mismatch", "two-copies-of-framework",
    "uvm-broken-after-suspend", "uvm-not-loaded", "wheel-variant-mismatch", "windows-native-no-gpu", "wsl-driver-stack-broken",
    "wsl-libcuda-not-on-path", "wsl-linux-driver-installed", "wsl1",
    "variable-stops-import",
}  # fmt: skip
"""What is withdrawn, or no error, where the GPU trains all the same. The others saw a failure, or cost something although it trains."""


def test_the_traits_of_every_rule_are_those_that_were_read(matrix: Matrix) -> None:
    assert traits.text(matrix) == traits.FILE.read_text(encoding="utf-8"), "if the new ones are better: scripts/record_rules"


def test_rules_that_predict_a_failure_are_these() -> None:
    assert {rule.name for rule in RULES if rule.predicts and rule.severity > Severity.NOTE} == PREDICTIONS


def test_rules_about_training_are_these() -> None:
    assert {rule.name for rule in RULES if rule.of_training} == OF_TRAINING
    assert {rule.name for rule in RULES if rule.on_cpu_too} == FAILS_ON_THE_CPU_TOO
    assert {rule.name for rule in RULES if max(rule.seen_at, rule.sees_more_at) == Level.TRAIN} == SEEN_IN_TRAINING


def test_codes_and_names_are_unique_and_in_order() -> None:
    codes = [rule.code for rule in RULES]
    assert codes == sorted(set(codes))
    assert len({rule.name for rule in RULES}) == len(RULES)


class TestEachRule:
    @every("rule", RULES)
    def test_its_code_and_name_are_well_formed(self, rule: Rule) -> None:
        assert re.fullmatch(r"GD[1-9]\d\d", rule.code)
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)+|wsl1", rule.name)

    @every("rule", RULES)
    def test_its_title_is_short(self, rule: Rule) -> None:
        assert 0 < len(rule.title) <= 70
        assert "\n" not in rule.title

    @every("rule", RULES)
    def test_its_traits_have_their_types(self, rule: Rule) -> None:
        traits = {name: getattr(rule, name) for name in rule.__struct_fields__ if name != "body"}
        hints = {name: hint for name, hint in get_type_hints(Rule).items() if name in traits}
        for name, hint in hints.items():
            assert msgspec.convert(traits[name], hint, strict=True) == traits[name], name

    @every("rule", RULES)
    def test_it_takes_one_view(self, rule: Rule) -> None:
        (view,) = (hint for name, hint in rule.body.__annotations__.items() if name != "return")
        assert view in get_args(AnyView)

    @every("rule", RULES)
    def test_it_is_the_function_of_its_file(self, rule: Rule) -> None:
        assert rule.body.__module__.rpartition(".")[2] == rule.body.__name__

    @every("rule", RULES)
    def test_it_says_why_each_consequence_follows(self, rule: Rule) -> None:
        for row in rule.explains:
            assert re.fullmatch(r"[A-Z\w].*\.", row.because), (row.effects, row.because)
