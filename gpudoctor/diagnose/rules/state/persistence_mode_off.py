"""GD712: persistence-mode-off."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Site
from gpudoctor.diagnose.advice.needs import ROOT
from gpudoctor.diagnose.gpu_facts import for_data_centres, offered
from gpudoctor.diagnose.rule import need, not_applicable, rule
from gpudoctor.findings import Evidence, Fix, Problem, Rung, Severity
from gpudoctor.snapshot import Nvml


@rule("GD712", severity=Severity.NOTE, breaks=Rung.TRAINED, since="0.1", predicts=False)
def persistence_mode_off(nvml: Nvml, site: Site) -> Iterator[Problem]:
    """Persistence mode is off on cards for servers.

    ## Why it matters
    Without it the driver starts a GPU anew for each first program and shuts it down after the last: seconds at every start, more with
    many cards, and settings and error counters are lost each time. On desktops the display keeps the driver awake.

    ## What to do
    Run nvidia-persistenced, or set the mode by hand until the next reboot.

    ## References
    - https://docs.nvidia.com/deploy/driver-persistence/
    """
    if not site.has_pci:
        not_applicable("the driver of this platform has no persistence mode")
    gpus = [gpu for gpu in need(nvml.gpus, Rung.NVML) if for_data_centres(gpu.name)]
    if not gpus:
        not_applicable("no cards for servers")
    off = [str(gpu.index) for gpu in gpus if gpu.persistence is False]
    if off:
        yield Problem(
            message=f"Persistence mode is off on GPU {', '.join(off)}: each first program waits for the driver to start the GPU.",
            evidence=(Evidence("persistence mode", f"off on GPU {', '.join(off)}", "nvmlDeviceGetPersistenceMode"),),
            fixes=(
                Fix("Have the host run nvidia-persistenced.")
                if site.container
                else Fix(
                    "Run the persistence daemon",
                    "sudo systemctl enable --now nvidia-persistenced",
                    (ROOT,),
                ),
            ),
        )
    for gpu in gpus:
        offered(gpu.persistence)
