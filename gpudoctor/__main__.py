"""The program `gpudoctor`, also as `python -m gpudoctor`."""

from __future__ import annotations

import gc
from importlib import import_module


def main() -> None:
    """Run the command line.

    A check takes a tenth of a second, half of it imports: garbage collection would add a tenth to those.
    """
    gc.disable()
    import_module("gpudoctor.cli").run()


if __name__ == "__main__":
    main()
