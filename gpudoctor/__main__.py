"""The program `gpudoctor`, also as `python -m gpudoctor`."""

from __future__ import annotations

import gc
from importlib import import_module


def main() -> None:
    """Run the command line.

    A check lives a tenth of a second, half of which it imports: collecting garbage meanwhile would be a tenth of that.
    """
    gc.disable()
    import_module("gpudoctor.cli").run()


if __name__ == "__main__":
    main()
