"""Fixes that many rules share: variables, processes, the kernel log, a reboot."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping

from gpudoctor.derive import GpuView, MachineView, Site
from gpudoctor.diagnose.advice.shell import shell_path
from gpudoctor.findings import DOWNLOAD, REBOOT, ROOT, Action, Fix, FixKind
from gpudoctor.findings.wording import singular_or_plural
from gpudoctor.snapshot import GpuProcess, Missing, Python

LIST_GPU_USERS = Fix("Find the processes that have the GPU open", "sudo fuser -v /dev/nvidia*", kind=FixKind.CHECK)
WITHOUT_COMPILE = Fix("Run without torch.compile", "export TORCHDYNAMO_DISABLE=1", kind=FixKind.INSTEAD)
DISABLE_P2P = Fix("Disable NCCL peer-to-peer transfers until the cause is fixed", "export NCCL_P2P_DISABLE=1")
USE_WSL = Fix(
    "Install WSL 2 and use the Linux build there", "wsl --install", (ROOT, DOWNLOAD, REBOOT), action=Action.INSTALL_PACKAGE, os="wsl"
)


def ask_administrator(title: str) -> Fix:
    """Return the fix that only an administrator of the host can carry out."""
    return Fix(title, action=Action.CONTACT_ADMINISTRATOR)


RESTART_CONTAINER = ask_administrator(
    "Create the device files on the host (`sudo nvidia-smi; sudo nvidia-modprobe -u -c 0`), then restart the container with its GPUs."
)


def distribution_command(site: Site, commands: Mapping[str, str]) -> str:
    """Return the command for this distribution, or for one it is like; empty where none is known."""
    return next((commands[name] for name in site.distribution if name in commands), "")


def unset_variable(name: str, machine: MachineView, where: str = "the profile, image or job script that sets it") -> Fix:
    """Return the fix that unsets a variable."""
    return unset_at_start(name, machine) or Fix(f"Unset {name}, here and in {where}", f"unset {name}")


def unset_at_start(name: str, machine: MachineView) -> Fix | None:
    """Return the fix for a variable that the start of the examined Python sets, where the shell's value has no effect; None for any other."""
    variables = machine.observed.variables
    if isinstance(variables, Missing) or name not in variables.set_by:
        return None
    python = machine.observed.python
    started = python.executable if isinstance(python, Python) else "Python"
    place = variables.set_by[name] or "the module that its sitecustomize.py, usercustomize.py or a .pth file imports for this"
    return Fix(f"Remove {name} from {place}. It is set whenever {started} starts.", action=Action.CHANGE_SETTING)


def set_variable(name: str, value: str, title: str) -> Fix:
    """Return the fix that sets a variable to `value`, which is already quoted for the shell."""
    return Fix(title, f"export {name}={value}")


def process_names(processes: Iterable[GpuProcess]) -> str:
    """Return processes by name and pid, separated by commas; empty where there are none."""
    return ", ".join(process.label for process in processes)


def end_processes(processes: Iterable[GpuProcess], site: Site) -> Fix | None:
    """Return the fix that ends processes which hold a GPU; None where there are none."""
    found = [process for process in processes if process.pid > 0]
    if not found:
        return None
    names = process_names(found)
    if site.container:  # NVML reports pids of the host
        return Fix(f"End {names} on the host, if {_they_are(found)} no longer needed.", needs=(ROOT,), action=Action.FREE_GPU)
    pids = " ".join(str(process.pid) for process in found)
    return Fix(f"End {names}, if {_they_are(found)} no longer needed", f"sudo kill {pids}", action=Action.FREE_GPU)


def _they_are(processes: list[GpuProcess]) -> str:
    return singular_or_plural(len(processes), "it is", "they are")


def read_log(pattern: str = "NVRM|Xid", title: str = "Read the driver's messages in the kernel log") -> Fix:
    """Return the check that shows the kernel log's lines matching an extended regular expression."""
    return Fix(title, f"sudo dmesg -T | grep -E {shlex.quote(pattern)}", kind=FixKind.CHECK)


def reboot(title: str = "Reboot") -> Fix:
    """Return the fix that restarts the machine."""
    return Fix(title, "sudo reboot", (REBOOT,), action=Action.REBOOT)


def power_cycle() -> Fix:
    """Return the fix that power-cycles the machine and with it the GPUs."""
    return Fix("Shut the machine down, wait 30 s, and switch it on again", "sudo poweroff", (REBOOT,), action=Action.REBOOT)


def read_page(cause: str) -> Fix:
    """Return the check that shows the page of a rule."""
    return Fix(f"Read the page of {cause}", f"gpudoctor explain {cause}", kind=FixKind.CHECK)


def set_default_mode(gpu: GpuView) -> Fix:
    """Return the fix that sets the GPU's compute mode to DEFAULT."""
    if gpu.machine.site.container:
        return ask_administrator("On the host, set the GPU's compute mode to DEFAULT.")
    return Fix(
        "Set the GPU's compute mode to DEFAULT, so any number of programs can use it", f"sudo nvidia-smi -i {gpu.selector} -c DEFAULT"
    )


def rename_file(path: str) -> Fix:
    """Return the fix that renames a file which shadows a package."""
    folder, _, name = path.rpartition("/")
    return Fix(f"Rename {path}", f"mv {shell_path(path)} {shell_path(f'{folder}/my_{name}')}")
