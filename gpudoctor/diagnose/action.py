"""The action of a finding: that of its first fix, unless only an administrator can carry it out."""

from __future__ import annotations

from gpudoctor.derive import Site
from gpudoctor.findings import DOWNLOAD, REBOOT, ROOT, Action, Fix, FixKind

_HOST_ACTIONS = frozenset((Action.UPDATE_DRIVER, Action.RESET_GPU, Action.REBOOT))
"""What no container can do."""


def action_of(fixes: tuple[Fix, ...], site: Site) -> Action:
    """Return what the first fix comes to at this site; without one, whether there is anything to check."""
    changing = [fix for fix in fixes if fix.kind is not FixKind.CHECK]
    first = next((fix for fix in changing if fix.kind is FixKind.FIX), next(iter(changing), None))
    if first is None:
        return Action.INVESTIGATE if fixes else Action.NONE
    action = action_of_fix(first)
    return Action.CONTACT_ADMINISTRATOR if _needs_administrator(first, action, site) else action


def action_of_fix(fix: Fix) -> Action:
    """Return the action of a fix: the one it names, or else by whether it downloads."""
    return fix.action or (Action.REINSTALL_PACKAGE if DOWNLOAD in fix.needs else Action.CHANGE_SETTING)


def _needs_administrator(fix: Fix, action: Action, site: Site) -> bool:
    """Whether a fix is for the host of a container, or needs root in a container or job that has not got it."""
    if site.container and (action in _HOST_ACTIONS or REBOOT in fix.needs or (ROOT in fix.needs and not fix.command)):
        return True
    return ROOT in fix.needs and not site.root and bool(site.container or site.scheduler)
