"""What nvidia-smi and people say of GPUs that work and are slow."""

from __future__ import annotations

from gpudoctor.signatures.signature import Signature

# nvidia-smi -q -d PERFORMANCE of 390 to 580
SLOWNESS = (
    Signature(
        r"(?:SW|HW) Thermal Slowdown\s{0,40}: Active|(?i:\bgpus?\b[^\n]{0,60}\b(?:overheat|thermal(?:ly)?[ -]throttl))",
        ("thermal-throttled",),
        "the GPU lowers its clocks because of its temperature",
        ("        SW Thermal Slowdown               : Active",),
        vague=True,
    ),
    Signature(
        r"HW (?:Power Brake )?Slowdown\s{0,40}: Active",
        ("hw-slowdown", "power-throttled", "thermal-throttled"),
        "the GPU's hardware halves its clocks: power brake, or too hot",
        ("        HW Power Brake Slowdown           : Active", "        HW Slowdown                       : Active"),
        vague=True,
    ),
    Signature(
        r"(?i)\bnvidia-smi\b[^\n]{0,30}\b(?:takes|needs|is (?:very |so )?slow)\b|\bfirst (?:cuda|gpu) (?:call|operation|access)\b[^\n]{0,40}\b(?:slow|takes|seconds|minutes)\b",
        ("persistence-mode-off", "driver-hung"),
        "the driver initialises the GPU for each program again; persistence mode avoids that",
        ("nvidia-smi takes 25 s", "the first CUDA call takes many seconds"),
        vague=True,
    ),
    Signature(
        r"(?i)\bgpu\b[^\n]{0,60}\bslower than (?:on )?(?:the |my )?cpu\b|\bcpu\b[^\n]{0,20}\bfaster than\b[^\n]{0,24}\bgpu\b|\bgpu (?:training )?is as slow as (?:the )?cpu\b",
        ("gpu-not-faster-than-cpu",),
        "training on the GPU is no faster than on the CPU",
        ("training on the GPU is slower than the CPU",),
        vague=True,
    ),
)
