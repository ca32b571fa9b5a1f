"""`python -m gpudoctor` is the command `gpudoctor`."""

from __future__ import annotations

import sys

from gpudoctor.cli import main

if __name__ == "__main__":
    sys.exit(main())
