"""What the rules about the Windows Subsystem for Linux (WSL) share."""

WSL_LIBRARY_FOLDER = "/usr/lib/wsl/lib"
"""Where WSL 2 exposes the libraries of the Windows driver."""
NEEDED_LIBRARIES = ("libcuda.so.1", "libnvidia-ml.so.1")
