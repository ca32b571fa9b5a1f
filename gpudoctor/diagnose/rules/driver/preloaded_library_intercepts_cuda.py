"""GD242: preloaded-library-intercepts-cuda."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from gpudoctor.derive import Hardware, Site
from gpudoctor.diagnose.advice.needs import ROOT
from gpudoctor.diagnose.advice.system import unset
from gpudoctor.diagnose.kernel_facts import answered
from gpudoctor.diagnose.rule import Explains, need, not_applicable, rule
from gpudoctor.diagnose.rules.effects import TRAINING_FAILS
from gpudoctor.findings import Evidence, Fix, Problem, Rung, Severity
from gpudoctor.snapshot import Cause, Missing, Preload, Snapshot

_FILE = "/etc/ld.so.preload"


_SHOWN = 6


@rule(
    "GD242",
    severity=Severity.ERROR,
    breaks=Rung.LIBCUDA,
    since="0.1",
    predicts=False,
    explains=(
        Explains(
            (
                "cuda-init-fails",
                "required-gpus-missing",
                *TRAINING_FAILS,
            ),
            "",
        ),
    ),
)
def preloaded_library_intercepts_cuda(snapshot: Snapshot, hardware: Hardware, site: Site) -> Iterator[Problem]:
    """A preloaded library intercepts CUDA or NVML calls.

    ## Why it matters
    The loader puts a library of LD_PRELOAD or /etc/ld.so.preload before all others. If it defines cuInit or nvmlInit, programs call it in
    the driver's place. GPU sharing (HAMi and its like), profilers and mocks work this way. An outdated or misconfigured one hides
    GPUs, limits memory or fails, and the driver itself is in order.

    It is an error where CUDA or NVML fails, else a note: what was seen of the GPUs is then what the library lets through.

    ## What to do
    Start the program without the library. If a scheduler or device plugin sets it, its administrator has to update it.

    ## References
    - https://man7.org/linux/man-pages/man8/ld.so.8.html
    - https://github.com/Project-HAMi/HAMi-core
    """
    if not hardware and site.has_pci:
        not_applicable("there is no GPU that it could hide")
    libraries = need(snapshot.preloads)
    for one in (one for one in libraries if isinstance(one.exports, tuple) and one.exports):
        failed = [
            f"{name} answers {code}"
            for name, code in (("cuInit", answered(snapshot.libcuda)), ("nvmlInit", answered(snapshot.nvml)))
            if code
        ]
        yield Problem(
            message=f"{one.path} defines {_functions(one)} and is loaded before the driver's libraries ({one.where})"
            + (f"; {' and '.join(failed)}." if failed else "."),
            severity=None if failed else Severity.NOTE,
            evidence=(Evidence("preloaded by", one.where, one.where), Evidence("functions that it intercepts", _functions(one), one.path)),
            fixes=(_without(one),),
        )
    for one in libraries:
        if isinstance(one.exports, Missing) and one.exports.cause not in {Cause.ABSENT, Cause.NOT_ASKED}:
            need(one.exports)


def _functions(one: Preload) -> str:
    exports = one.exports if isinstance(one.exports, tuple) else ()
    more = f" and {len(exports) - _SHOWN} more" if len(exports) > _SHOWN else ""
    return ", ".join(exports[:_SHOWN]) + more


def _without(one: Preload) -> Fix:
    if one.where == _FILE:
        line = shlex.quote("\\|" + one.path + "|d")
        return Fix(f"Remove the library from {_FILE}", f"sudo sed -i {line} {_FILE}", (ROOT,))
    return unset("LD_PRELOAD")
