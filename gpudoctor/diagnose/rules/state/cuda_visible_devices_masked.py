"""GD701: cuda-visible-devices-masked."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from gpudoctor.derive import Site, Visibility
from gpudoctor.derive.visibility import VARIABLE
from gpudoctor.diagnose.advice.system import unset
from gpudoctor.diagnose.rule import Explains, not_applicable, rule
from gpudoctor.diagnose.rules.effects import TRAINING_FAILS
from gpudoctor.findings import Evidence, Fix, Problem, Rung, Severity, SubjectKind


@rule(
    "GD701",
    severity=Severity.ERROR,
    breaks=Rung.LIBCUDA,
    since="0.1",
    about=SubjectKind.ENVIRONMENT,
    predicts=False,
    explains=(
        Explains(
            (
                "cuda-init-fails",
                "uvm-not-loaded",
                "required-gpus-missing",
                *TRAINING_FAILS,
            ),
            "",
        ),
    ),
)
def cuda_visible_devices_masked(visibility: Visibility, site: Site) -> Iterator[Problem]:
    """CUDA_VISIBLE_DEVICES hides GPUs from every CUDA program.

    ## Why it matters
    CUDA shows a program only the devices that this variable names, and stops at the first entry that names none. Set to nothing or
    to -1 it hides all. A list that names fewer devices than there are is normal, and how schedulers allot them.

    ## What to do
    Unset it, or correct the list; `nvidia-smi -L` shows what there is. In a scheduler's job do not unset it: ask for a GPU.

    ## References
    - https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#cuda-environment-variables
    """
    if not visibility.there:
        not_applicable("CUDA shows no GPU without the variable either")
    value = f"{VARIABLE}={visibility.value!r}" if visibility.value else f"{VARIABLE} is set and empty"
    if visibility.shown and visibility.shown >= len(visibility.entries):
        return
    if visibility.shown:
        first = visibility.entries[visibility.shown]
        message = f"{value} names {len(visibility.entries)} devices, CUDA shows {visibility.shown}: {first!r} names none and ends the list."
    else:
        message = f"{value}, and so CUDA shows none of {visibility.there} {'GPU' if visibility.there == 1 else 'GPUs'}."
    yield Problem(
        message=message,
        severity=Severity.WARNING if visibility.shown else None,
        evidence=(
            Evidence(VARIABLE, visibility.value or "empty", "environment"),
            Evidence("devices that CUDA shows", f"{visibility.shown}, without the variable {visibility.there}", "cuInit, cuDeviceGetCount"),
        ),
        fixes=(_unmask(site, visibility),),
    )


def _unmask(site: Site, visibility: Visibility) -> Fix:
    if site.scheduler:
        return Fix(f"Ask {site.scheduler} for a GPU (in Slurm --gres=gpu:1); it sets this variable, so do not unset it.")
    if visibility.shown:
        right = ",".join(visibility.entries[: visibility.shown])
        title = f"Keep the entries that name a GPU, here and in the profile or service file that sets {VARIABLE}"
        return Fix(title, f"export {VARIABLE}={shlex.quote(right)}")
    return unset(VARIABLE, "the profile or service file that sets it")
