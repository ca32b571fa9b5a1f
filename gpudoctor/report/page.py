"""A page of wrapped, styled lines: commands are never wrapped, everything else fits the width."""

from __future__ import annotations

import textwrap
from types import ModuleType

import msgspec

from gpudoctor.report.words import Mark, printable_text


class PageLook(msgspec.Struct, frozen=True):
    """What the page is shown on. The width is in columns."""

    width: int = 80
    colour: bool = False
    plain: bool = False
    """Only ASCII can be written."""
    verbose: bool = False
    """Nothing is left out."""

    def encoded_text(self, text: str) -> bytes:
        """Return a text as what it is shown on takes it."""
        return text.encode("ascii" if self.plain else "utf-8", "backslashreplace")


class Page:
    """Lines, collected from the top."""

    def __init__(self, look: PageLook) -> None:
        self.look = look
        self._lines: list[tuple[tuple[str, str], ...]] = []
        """Each line in pieces: text and style."""
        self.shortened = False
        """Whether something was left out."""

    def text(self, text: str) -> str:
        """`text` as this page can show it."""
        return printable_text(text, plain=self.look.plain)

    def sign(self, mark: Mark) -> str:
        """The sign of a mark as this page can show it."""
        return mark.ascii if self.look.plain else mark.sign

    def gap(self) -> None:
        """An empty line, unless one is there or nothing stands above."""
        if self._lines and any(text for text, _ in self._lines[-1]):
            self._lines.append(())

    def heading(self, text: str) -> None:
        """The title of a section, after an empty line."""
        self.gap()
        self.paragraph(text, style="bold")

    def paragraph(self, text: str, lead: str = "", *, lead_style: str = "", style: str = "", indent: int = 0, hang: int = 0) -> None:
        """`lead`, in its own style, and `text`, wrapped; the lines after the first stand `hang` columns further in."""
        lead = self.text(lead)
        for number, line in enumerate(self.wrapped_lines(text, lead, indent=indent, hang=hang)):
            if number or not lead_style:
                self._lines.append(((line, style),))
                continue
            end = indent + len(lead)
            self._lines.append(((line[:indent], style), (line[indent:end], f"{style} {lead_style}".strip()), (line[end:], style)))

    def wrapped_lines(self, text: str, lead: str = "", *, indent: int = 0, hang: int = 0) -> list[str]:
        """Return the lines that a paragraph takes."""
        return textwrap.wrap(
            self.text(lead) + self.text(text),
            self.look.width,
            initial_indent=" " * indent,
            subsequent_indent=" " * (indent + hang),
            break_long_words=False,
            break_on_hyphens=False,
        )

    def parts(self, parts: list[str], lead: str = "", *, lead_style: str = "", style: str = "", indent: int = 0, hang: int = 0) -> None:
        """Add parts with a dot between them, broken between two parts where they do not fit one line."""
        room = self.look.width - indent - hang
        lines = [lead]
        for part in parts:
            longer = f"{lines[-1]} · {part}" if lines[-1] not in {"", lead} else lines[-1] + part
            if len(self.text(longer)) <= room + (hang if len(lines) == 1 else 0) or lines[-1] == lead:
                lines[-1] = longer
            else:
                lines.append(part)
        self.paragraph(lines[0].removeprefix(lead), lead, lead_style=lead_style, style=style, indent=indent, hang=hang)
        for line in lines[1:]:
            self.paragraph(line, style=style, indent=indent + hang)

    def cells(self, cells: list[tuple[str, int, str]]) -> None:
        """One line of a table: texts, each with its column's width and its style."""
        pieces: list[tuple[str, str]] = []
        for text, width, style in cells:
            shown = self.text(text)
            pieces += [(shown, style), (" " * (width - len(shown)), "")]
        while pieces and not pieces[-1][0].strip():
            pieces.pop()
        self._lines.append((*pieces[:-1], *((text.rstrip(), style) for text, style in pieces[-1:])))

    def cut(self, text: str, *, indent: int = 0, style: str = "") -> None:
        """Exactly one line, its end left out where it does not fit."""
        room = self.look.width - indent
        shown = self.text(text)
        if len(shown) > room:
            self.shortened = True
            more = self.text("…")
            shown = shown[: room - len(more)].rstrip() + more
        self._lines.append(((" " * indent + shown, style),))

    def command(self, command: str, *, indent: int) -> None:
        """A command to paste: as long as it is, with nothing but blanks before it."""
        for line in command.splitlines():
            self._lines.append(((" " * indent + self.text(line), "cyan"),))

    def render(self) -> str:
        """The page as text, with colour codes where the look has colour."""
        if not self.look.colour:
            return "".join(f"{''.join(text for text, _ in line)}\n" for line in self._lines)
        coloured: str = drawing_module().coloured_text(self._lines, self.look.width)
        return coloured


def drawing_module() -> ModuleType:
    """Return the module that draws with rich."""
    from gpudoctor.report import drawing as module  # noqa: PLC0415 -- 20 ms for rich, only for a terminal or colour

    return module
