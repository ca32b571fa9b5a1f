"""What a program does about a finding, and where the fault lies: words for automation. Part of gpudoctor.report/1."""

from __future__ import annotations

import enum
from typing import Final


class Action(str, enum.Enum):
    """What the first fix of a finding comes to."""

    NONE = "none"
    INVESTIGATE = "investigate"
    CHANGE_SETTING = "change-setting"
    INSTALL_PACKAGE = "install-package"
    REINSTALL_PACKAGE = "reinstall-package"
    UPDATE_DRIVER = "update-driver"
    FREE_GPU = "free-gpu"
    RESTART_JOB = "restart-job"
    RESET_GPU = "reset-gpu"
    REBOOT = "reboot"
    REPLACE_HARDWARE = "replace-hardware"
    CONTACT_ADMINISTRATOR = "contact-administrator"


ACTION_MEANINGS: Final = {
    Action.NONE: "nothing to do",
    Action.INVESTIGATE: "gather information first, since the cause is uncertain",
    Action.CHANGE_SETTING: "change a variable, file, service, kernel module, GPU setting or firmware setting",
    Action.INSTALL_PACKAGE: "install what is missing",
    Action.REINSTALL_PACKAGE: "install another version or build of a package, or remove it",
    Action.UPDATE_DRIVER: "install or update the NVIDIA driver or firmware",
    Action.FREE_GPU: "end the processes that hold the GPU",
    Action.RESTART_JOB: "start the job or container again with what it lacks",
    Action.RESET_GPU: "reset the GPU",
    Action.REBOOT: "reboot or power-cycle the machine",
    Action.REPLACE_HARDWARE: "repair, reseat or replace hardware, or use another machine",
    Action.CONTACT_ADMINISTRATOR: "the fix needs access that this job or container does not have",
}
"""What each action means."""


ROOT, REBOOT, DOWNLOAD = "root", "reboot", "download"
"""What a fix may need in addition to its command."""


class Domain(str, enum.Enum):
    """Where the fault lies."""

    HARDWARE = "hardware"
    DRIVER = "driver"
    CONTAINER = "container"
    ENVIRONMENT = "environment"
    JOB = "job"


DOMAIN_MEANINGS: Final = {
    Domain.HARDWARE: "GPU, board, power, cooling, links",
    Domain.DRIVER: "NVIDIA driver, its services and GPU settings",
    Domain.CONTAINER: "how the container gets the GPU",
    Domain.ENVIRONMENT: "Python packages and libraries",
    Domain.JOB: "what this job was given: variables, memory, GPUs",
}
"""What belongs to each domain."""
