"""Starts the gpudoctor that was unpacked around this file, in a process that ends with the Ray worker that started it.

    PYTHON -I start.py PARENT MODULE [ARGUMENT…]

Runs `main()` of MODULE. PARENT is the worker's process number.
"""

import ctypes
import importlib
import os
import signal
import sys
from pathlib import Path

PR_SET_PDEATHSIG = 1  # linux/prctl.h


def main() -> None:
    """Run the named module with the arguments after its name."""
    parent, module = sys.argv[1:3]
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    if os.getppid() != int(parent):
        sys.exit(1)
    del sys.argv[1:3]
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    importlib.import_module(module).main()


if __name__ == "__main__":
    main()
