"""GD340: container-cdi-spec-missing."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Hardware, Site
from gpudoctor.diagnose.advice.needs import DOWNLOAD, ROOT
from gpudoctor.diagnose.rule import need, not_applicable, rule
from gpudoctor.diagnose.rules.platform.cdi import _GPU, GENERATE, asked_by, asking, tools_of
from gpudoctor.findings import Evidence, Fix, Problem, Rung, Severity
from gpudoctor.snapshot import ContainerTools, Missing


@rule("GD340", severity=Severity.ERROR, breaks=Rung.DEVICE_NODE, since="0.1", predicts=False)
def container_cdi_spec_missing(site: Site, tools: ContainerTools | Missing, hardware: Hardware) -> Iterator[Problem]:
    """Containers are to be given GPUs by CDI, and there is no CDI specification.

    ## Why it matters
    With CDI an engine reads in /etc/cdi or /var/run/cdi what "nvidia.com/gpu=all" stands for. Without such a file no container with a GPU
    starts: "unresolvable CDI devices nvidia.com/gpu=all".

    ## What to do
    Let the NVIDIA Container Toolkit write the file, and do so again after each update of the driver. Toolkits since 1.18 bring a service
    for that, nvidia-cdi-refresh.

    ## References
    - https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/cdi-support.html
    - https://github.com/NVIDIA/nvidia-container-toolkit/issues/146
    """
    found = tools_of(site, tools)
    if not hardware:
        not_applicable("there is no NVIDIA GPU to give to a container")
    if not need(found.cdi_asked_by):
        not_applicable("no configuration here uses CDI")
    if any(one.kind == _GPU for one in need(found.cdi)):
        return
    first = asking(found)[0]
    yield Problem(
        message=f"{first.where} has containers given GPUs by CDI, and neither /etc/cdi nor /var/run/cdi has a specification for {_GPU}.",
        evidence=(*asked_by(found), Evidence("CDI specifications of NVIDIA", "none", "/etc/cdi, /var/run/cdi")),
        fixes=(
            *(() if found.toolkit else (_TOOLKIT,)),
            Fix("Generate the specification", GENERATE, (ROOT,)),
        ),
    )


_TOOLKIT = Fix(
    "Install the NVIDIA Container Toolkit from NVIDIA's package source: "
    "https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/install-guide.html",
    needs=(ROOT, DOWNLOAD),
)
