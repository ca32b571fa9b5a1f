"""Finds the lines of a log that the Linux kernel wrote.

Words mean something else there than in a program's output: the hot-plug driver states a "Driver version: 0.5", and interrupts are "preallocated".
"""

from __future__ import annotations

from collections.abc import Sequence

from gpudoctor.expressions import expression

# dmesg, dmesg -T and -x, https://man7.org/linux/man-pages/man1/dmesg.1.html; /dev/kmsg; syslog and journald
_KERNEL_TIME = expression(r"(?:<\d{1,3}>)?\[(?: {0,5}\d{1,7}\.\d{6}|[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4})\] ")
_DECODED_PREFIX = expression(r"kern {0,4}:[a-z]{3,6} {0,4}: |\d{1,3},\d{1,12},\d{1,18},[-c][^; ]{0,40};")
_SYSLOG_PREFIX = expression(r".{0,40}\d\d:\d\d:\d\d\S{0,16} [\w.-]{1,64} kernel: ")
_PREFIX_LENGTH = 100
"""Characters of a line in which the program that wrote it is named."""


def are_by_kernel(seen: Sequence[str], bare: Sequence[str]) -> list[bool]:
    """Return for each line whether the kernel wrote it. `seen` are the lines with their log prefixes, `bare` the same lines without."""
    return [
        _KERNEL_TIME.match(text) is not None
        or _DECODED_PREFIX.match(line) is not None
        or (" kernel: " in line[:_PREFIX_LENGTH] and _SYSLOG_PREFIX.match(line) is not None)
        for line, text in zip(seen, bare, strict=True)
    ]
