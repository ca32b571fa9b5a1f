"""What the rules about the NVLink fabric prescribe and show."""

from gpudoctor.derive import MachineView
from gpudoctor.derive.driver import Driver
from gpudoctor.derive.views.fabric import FabricView, ManagerPlace
from gpudoctor.diagnose.advice.driver import repository_command
from gpudoctor.diagnose.advice.system import ask_administrator, distribution_command
from gpudoctor.findings import DOWNLOAD, ROOT, Action, Evidence, Fix, FixKind
from gpudoctor.snapshot import FabricManager

START_MANAGER = Fix("Start the fabric manager now and at every boot", "sudo systemctl enable --now nvidia-fabricmanager")
RESTART_MANAGER = Fix("Restart the fabric manager", "sudo systemctl restart nvidia-fabricmanager")
_INSTALL_COMMANDS = {
    "ubuntu": "sudo apt install 'nvidia-fabricmanager-{branch}={version}-*'",
    "debian": "{repository} && sudo apt install 'nvidia-fabricmanager-{branch}={version}-*'",
    "rhel": "sudo dnf install nvidia-fabric-manager-{version}",
    "fedora": "sudo dnf install nvidia-fabric-manager-{version}",
}
"""Package names from NVIDIA's Fabric Manager user guide; Debian itself has none."""
START_ELSEWHERE = {
    ManagerPlace.CONTAINER_HOST: ask_administrator("Start nvidia-fabricmanager on the host."),
    ManagerPlace.RACK: ask_administrator(
        "Start the fabric manager (NMX-Controller) on the rack's NVLink switch trays and add this node's GPUs to a partition."
    ),
    ManagerPlace.VM_HOST: ask_administrator(
        "Ask the cloud provider or the host's administrator to activate this VM's fabric partition, or move to another VM."
    ),
}
"""What to do if the fabric manager runs elsewhere."""


def read_manager_log(title: str) -> Fix:
    """Return the check that shows the fabric manager's own log."""
    command = "sudo journalctl -u nvidia-fabricmanager -n 30; sudo tail -n 30 /var/log/fabricmanager.log"
    return Fix(title, command, kind=FixKind.CHECK)


def install_manager(machine: MachineView) -> Fix:
    """Return how to install the fabric manager in the driver's version."""
    driver = machine.driver_or_missing
    template = distribution_command(machine.site, _INSTALL_COMMANDS)
    source = repository_command(machine)
    if not template or not isinstance(driver, Driver) or ("{repository}" in template and not source):
        return Fix(
            "Install the fabric manager in exactly the driver's version, and start it.",
            needs=(ROOT, DOWNLOAD),
            action=Action.INSTALL_PACKAGE,
        )
    install = template.format(branch=driver.version.major, version=driver.version, repository=source)
    return Fix(
        f"Install fabric manager {driver.version} (the driver's version) and start it",
        f"{install} && {START_MANAGER.command}",
        (ROOT, DOWNLOAD),
        action=Action.INSTALL_PACKAGE,
    )


def manager_evidence(fabric: FabricView, state: str) -> tuple[Evidence, ...]:
    """Return the state of the fabric manager and its last error."""
    manager = fabric.observed.fabric_manager
    where = manager.unit if isinstance(manager, FabricManager) and isinstance(manager.unit, str) else "systemd units, /proc"
    return (Evidence("fabric manager", state, where), *last_error_evidence(fabric))


def last_error_evidence(fabric: FabricView) -> tuple[Evidence, ...]:
    """Return the last error that the fabric manager logged."""
    manager = fabric.observed.fabric_manager
    text = manager.complaint if isinstance(manager, FabricManager) else ""
    return (Evidence("last error in its log", text, "/var/log/fabricmanager.log"),) if isinstance(text, str) and text else ()
