"""Checks whether a machine can train on its GPU and, if not, names the one thing to change."""

__version__ = "0.1.0"

import sys

if sys.flags.optimize > 1:
    from gpudoctor import docstrings

    docstrings.keep_docstrings()
