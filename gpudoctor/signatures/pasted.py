"""What container engines, tools and libraries say that only pasted text shows: gpudoctor's own training cannot meet these."""

from __future__ import annotations

from gpudoctor.signatures.signature import Signature

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
)
