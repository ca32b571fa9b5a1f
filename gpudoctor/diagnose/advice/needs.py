"""What a fix takes besides its command."""

ROOT, REBOOT, DOWNLOAD = "root", "reboot", "download"
