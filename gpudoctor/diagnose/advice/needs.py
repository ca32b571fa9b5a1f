"""What a fix needs in addition to its command."""

ROOT, REBOOT, DOWNLOAD = "root", "reboot", "download"
