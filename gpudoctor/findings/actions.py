"""What a program does about a finding, and where the fault lies: words for automation. Part of gpudoctor.report/1."""

from __future__ import annotations

import enum


class Action(str, enum.Enum):
    """What the first fix of a finding comes to."""

    NONE = "none"  # there is nothing to do
    INVESTIGATE = "investigate"  # gather information first: the cause is not known well enough to act
    CHANGE_SETTING = "change-setting"  # a variable, file, module, service, or setting of the GPU or the firmware
    INSTALL_PACKAGE = "install-package"  # something is missing
    REINSTALL_PACKAGE = "reinstall-package"  # another version or build of it, or without it
    UPDATE_DRIVER = "update-driver"  # install or update the NVIDIA driver or firmware
    FREE_GPU = "free-gpu"  # end the processes that hold it
    RESTART_JOB = "restart-job"  # start the job or container again, asking for what it lacks
    RESET_GPU = "reset-gpu"
    REBOOT = "reboot"  # or power-cycle
    REPLACE_HARDWARE = "replace-hardware"  # repair, reseat or replace it, or use another machine
    CONTACT_ADMINISTRATOR = "contact-administrator"  # the fix is out of reach from here


class Domain(str, enum.Enum):
    """Where the fault lies."""

    HARDWARE = "hardware"
    DRIVER = "driver"
    CONTAINER = "container"
    ENVIRONMENT = "environment"
    JOB = "job"
