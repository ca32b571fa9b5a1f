"""What a fix needs in addition to its command."""

ROOT, REBOOT, DOWNLOAD = "root", "reboot", "download"


def root_for(command: str) -> tuple[str, ...]:
    """Return that a command needs root, if it asks for it."""
    return (ROOT,) if "sudo " in command else ()
