"""Finds the guides of the manual: pages about the use of gpudoctor, which no rule and no exit code has."""

from __future__ import annotations

from importlib.resources import files

from gpudoctor.manual.answer import ManualAnswer

GUIDES = {"agents": "how a program uses gpudoctor"}
"""The guides by name, each a Markdown file beside this module, with its subject."""


def explain_guide(text: str) -> ManualAnswer:
    """Return the guide that the whole of `text` names."""
    name = text.strip().casefold()
    return ManualAnswer(guide=files(__package__).joinpath(f"{name}.md").read_text(encoding="utf-8")) if name in GUIDES else ManualAnswer()
