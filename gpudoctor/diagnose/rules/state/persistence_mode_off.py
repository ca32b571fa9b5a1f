from gpudoctor.derive import MachineView, Site, not_applicable, require_offered
from gpudoctor.derive.views.gpu import is_server_product
from gpudoctor.diagnose.advice.system import ask_administrator
from gpudoctor.diagnose.rule import rule
from gpudoctor.findings import Domain, Evidence, Fix, Problem, Problems, Rung, Severity

_RUN_ON_HOST = ask_administrator("Run nvidia-persistenced on the host.")
_TURN_ON = Fix(
    "Start the persistence daemon and turn persistence mode on",
    "sudo systemctl enable --now nvidia-persistenced; sudo nvidia-smi -pm 1",
)
_SERVICE_FOLDER = "/etc/systemd/system/nvidia-persistenced.service.d"
_KEEP_ON = Fix(
    "Keep it on after a reboot: Ubuntu starts the daemon with --no-persistence-mode",
    f"sudo mkdir -p {_SERVICE_FOLDER} && printf '[Service]\\nExecStart=\\nExecStart=/usr/bin/nvidia-persistenced --user nvidia-persistenced\\n'"
    f" | sudo tee {_SERVICE_FOLDER}/persistence.conf && sudo systemctl daemon-reload && sudo systemctl restart nvidia-persistenced",
)


@rule("GD712", severity=Severity.NOTE, breaks=Rung.TRAINED, domain=Domain.DRIVER, predicts=False)
def persistence_mode_off(machine: MachineView) -> Problems:
    """Persistence mode is off on server GPUs."""
    if not machine.site.has_pci:
        not_applicable("this platform's driver has no persistence mode")
    gpus = [gpu for gpu in machine.nvml_gpus if is_server_product(gpu.name)]
    if not gpus:
        not_applicable("there are no server GPUs")
    off = ", ".join(str(gpu.index) for gpu in gpus if gpu.persistence is False)
    if off:
        yield Problem(
            message=f"Persistence mode is off on {'GPUs' if ',' in off else 'GPU'} {off}, so the first program waits while the driver initialises the GPU.",
            evidence=(Evidence("persistence mode", f"off on GPU {off}", "nvmlDeviceGetPersistenceMode"),),
            fixes=_fixes(machine.site),
        )
    for gpu in gpus:
        require_offered(gpu.persistence, Rung.NVML)


def _fixes(site: Site) -> tuple[Fix, ...]:
    if site.container:
        return (_RUN_ON_HOST,)
    return (_TURN_ON, _KEEP_ON) if "ubuntu" in site.distribution else (_TURN_ON,)
