"""The licence client in a VM with a virtual GPU."""

from gpudoctor.findings import Fix, FixKind

LICENCE_CALL = "nvmlDeviceGetGridLicensableFeatures"
RESTART_CLIENT = Fix("Restart the licence client", "sudo systemctl restart nvidia-gridd")


def read_client_log(title: str) -> Fix:
    """Return the check that shows the licence client's log."""
    return Fix(title, "sudo journalctl -u nvidia-gridd -n 30", kind=FixKind.CHECK)
