"""What container engines, tools and libraries say that only pasted text shows: gpudoctor's own training cannot meet these."""

from __future__ import annotations

from gpudoctor.signatures.signature import Signature

_LOST = r"(?:CPU|unknown|no longer|stop\w{0,4}|fails?|failed|lost|loses|can(?:no|')t|not|False|disappear\w{0,3}|broken?|breaks)"
_SLEPT = r"(?:after|following|when(?:ever)?|once|from|until)\b[^\n]{0,60}\b(?:suspend\w{0,5}|sleep\w{0,4}|hibernat\w{0,5}|standby)"

PASTED = (
    # the kernel's and the shell's words for SIGILL
    Signature(
        r"(?i)\billegal (?:hardware )?instruction\b(?! (?:was|is) encountered| address| parameter| encoding)|\bSIGILL\b|trap invalid opcode",
        ("cpu-lacks-avx",),
        "the CPU lacks an instruction that the build uses",
        (
            "Illegal instruction (core dumped)",
            "the import ends with illegal instruction (core dumped)",
            "traps: python3[4242] trap invalid opcode ip:7f3c",
        ),
    ),
    # what people write
    Signature(
        rf"(?i)\b(?:cuda|gpu|torch|ollama|tensorflow)\b[^\n]{{0,160}}\b{_LOST}\b[^\n]{{0,120}}\b{_SLEPT}|\b{_SLEPT}\b[^\n]{{0,160}}\b(?:cuda|gpu|torch|ollama|tensorflow)\b[^\n]{{0,80}}\b{_LOST}\b",
        ("uvm-broken-after-suspend",),
        "the GPU cannot be used after the machine slept",
        ("After suspend the GPU is not found until a reboot", "torch.cuda.is_available() is False whenever the laptop wakes from sleep"),
        vague=True,
        last=True,
    ),
    Signature(
        r"(?i)\b(?:install|got|gets?|pull|download|obtain)(?:s|ed|ing)?\b[^\n]{0,50}\bcpu(?:[- ]only)? (?:version|build|variant)s?\b[^\n]{0,40}\b(?:torch|pytorch|tensorflow|jax)\b|\b(?:pytorch|tensorflow|jaxlib)\b[^\n]{0,30}[= ]py\d\.?\d{1,2}_cpu_\d",
        ("cpu-only-build",),
        "the build that was installed has no CUDA",
        ("conda installed the CPU version of pytorch", "pytorch=1.9.1=py3.8_cpu_0"),
        vague=True,
        despite_versions=True,  # a command that asks for CUDA gets such a build where there is no other
        last=True,
    ),
)
