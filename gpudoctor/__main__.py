"""`python -m gpudoctor` is the command `gpudoctor`."""

from __future__ import annotations

from gpudoctor.cli import run

if __name__ == "__main__":
    run()
