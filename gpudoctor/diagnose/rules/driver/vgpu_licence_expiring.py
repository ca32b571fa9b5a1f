"""GD243: vgpu-licence-expiring."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Gpu
from gpudoctor.diagnose.advice.needs import ROOT
from gpudoctor.diagnose.gpu_facts import known, offered
from gpudoctor.diagnose.rule import not_applicable, rule
from gpudoctor.findings import Evidence, Fix, FixKind, Problem, Rung, Severity, SubjectKind

_SOON = 3600
"""Seconds before its end from which a licence is worth a note. The threshold is ours: a client renews long before the end."""


@rule("GD243", severity=Severity.WARNING, breaks=Rung.KERNEL_RAN, since="0.1", about=SubjectKind.GPU, predicts=False)
def vgpu_licence_expiring(gpu: Gpu) -> Iterator[Problem]:
    """The virtual GPU's licence is about to expire, or has expired.

    ## Why it matters
    A vGPU borrows its licence for a limited time and renews it well before the end. A licence near its end was not renewed: the guest
    cannot reach the licence server. After its end the vGPU is slowed down and finally refuses CUDA.

    It is a warning where the licence has expired, and a note in the last hour before: leases can be that short on purpose.

    ## What to do
    Restart the licence client and read its log; check that the guest reaches the licence server.

    ## References
    - https://docs.nvidia.com/vgpu/latest/grid-licensing-user-guide/
    """
    seen = known(gpu)
    if offered(seen.virtualization) != "vgpu":
        not_applicable("not a virtual GPU")
    for one in (one for one in offered(seen.licences) if one.enabled and one.licensed):
        left = offered(one.seconds_left)
        if left > _SOON:
            continue
        when = f"expired at {one.expires}" if left <= 0 else f"expires in {max(1, round(left / 60))} min, at {one.expires}"
        yield Problem(
            message=f"{gpu.label}: the licence for {one.product} {when}.",
            severity=Severity.WARNING if left <= 0 else Severity.NOTE,
            evidence=(Evidence(f"end of the licence for {one.product}", str(one.expires), "nvmlDeviceGetGridLicensableFeatures"),),
            fixes=(
                Fix("Restart the licence client", "sudo systemctl restart nvidia-gridd", (ROOT,)),
                Fix("Read why it was not renewed", "sudo journalctl -u nvidia-gridd -n 30", (ROOT,), kind=FixKind.CHECK),
            ),
        )
