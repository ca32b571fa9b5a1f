"""Rows of the compatibility tables on a page, with the source of each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any

from gpudoctor.derive.gpu_support import KERNELS, PTX, UNKNOWN, GpuSupport
from gpudoctor.matrix import Source
from gpudoctor.matrix.table import Table
from gpudoctor.report.page import Page, PageLook
from gpudoctor.report.words import capitalised

Cell = str | int | float | bool | list[str] | None
_MAX_WHOLE_ROWS = 3
"""Up to so many rows are shown with everything they say; more as one table."""
_COLUMNS_BY_SUBJECT = {
    "framework": ("release", "platform", "pythons", "accelerator", "built_with_cuda", "cudnn"),
    "cuda": ("release", "driver_linux", "minor_driver_linux", "driver_windows", "minor_driver_windows"),
    "cudnn": ("release", "cuda", "platform", "sass"),
    "gpu": ("name", "compute_capability", "memory_gib", "architecture", "kind"),
    "driver": ("branch", "cuda_served", "oldest_capability", "newest_capability", "kind", "end_of_life"),
}
"""What a table of many rows shows of a subject."""
_TITLE_PREFIXES = {"driver": "Driver ", "cuda": "CUDA ", "cudnn": "cuDNN "}
_NONE_IS_KNOWN = {"sass", "ptx"}
"""Columns in which no value is knowledge; in others it may be that nobody looked."""
_COLUMN_LABELS = {
    "compute_capability": "compute capability",
    "memory_gib": "memory",
    "bandwidth_gbs": "memory bandwidth",
    "fp32_tflops": "FP32",
    "tf32_tflops": "TF32",
    "bf16_tflops": "BF16",
    "fp16_tflops": "FP16",
    "cuda_served": "newest CUDA",
    "oldest_capability": "compute capability from",
    "newest_capability": "compute capability to",
    "modules": "kernel modules",
    "open_from": "open modules from",
    "open_only_from": "open modules only from",
    "end_of_life": "end of life",
    "compat_packages": "cuda-compat packages",
    "driver_linux": "toolkit driver, Linux",
    "driver_windows": "toolkit driver, Windows",
    "minor_driver_linux": "minimum driver, Linux",
    "minor_driver_windows": "minimum driver, Windows",
    "sass": "machine code (SASS)",
    "ptx": "PTX",
    "ptx_isa": "PTX ISA version",
    "host_gcc": "newest gcc for nvcc",
    "sonames": "libraries",
    "components": "packages",
    "cuda": "CUDA",
    "cudnn": "cuDNN",
    "pythons": "Python",
    "built_with_cuda": "CUDA",
    "numpy_abi": "newest NumPy major",
    "builds": "other builds",
    "unreachable": "outside RUNPATH",
}
_COLUMN_HEADS = {
    "compute_capability": "capability",
    "oldest_capability": "capability from",
    "newest_capability": "to",
    "driver_linux": "toolkit, Linux",
    "minor_driver_linux": "minimum",
    "driver_windows": "toolkit, Windows",
    "minor_driver_windows": "minimum",
}
"""Shorter labels for the head of a table."""
_COLUMN_UNITS = {
    "memory_gib": "GiB",
    "bandwidth_gbs": "GB/s",
    **dict.fromkeys(("fp32_tflops", "tf32_tflops", "bf16_tflops", "fp16_tflops"), "TFLOP/s"),
}
_COLUMN_GAP = 2
_UNKNOWN_TEXT = "not known"


def plain_cell(value: object) -> Cell:
    """Return a cell for programs: null is unknown, an empty list is none."""
    if value is None or (isinstance(value, bool | int | float | str) and type(value) in {bool, int, float, str}):
        return value
    if isinstance(value, tuple) and type(value) is tuple:
        return [str(one) for one in value]
    return str(value)


def render(
    subject: str, table: Table[Any], rows: Sequence[Any], sources: Iterable[Source], look: PageLook, *, support: GpuSupport | None = None
) -> str:
    """Return the rows as text that ends with a newline."""
    page = Page(look)
    if len(rows) <= _MAX_WHOLE_ROWS:
        for row in rows:
            page.gap()
            _draw_whole_row(page, _TITLE_PREFIXES.get(subject, ""), table, row)
    else:
        _draw_rows(page, _COLUMNS_BY_SUBJECT[subject], rows)
    if support is not None:
        _draw_support(page, support)
    page.heading("Sources")
    for source in sources:
        address = f", {source.url}" if source.url else ""
        page.paragraph(f"{source.title}{address}, read {source.read}", f"{source.id}: ", lead_style="bold", indent=2, hang=2)
    return page.render()


def listing_text(subject: str, rows: Sequence[Any], look: PageLook) -> str:
    """Return all rows of a subject, one line each, and the command that shows one of them."""
    page = Page(look)
    _draw_rows(page, _COLUMNS_BY_SUBJECT[subject], rows)
    page.gap()
    page.paragraph(f"One with its sources: gpudoctor matrix {subject} NAME")
    return page.render()


def packages_text(releases: Iterable[tuple[str, str, str]], look: PageLook) -> str:
    """Return the packages that the tables know, each with its oldest and newest release."""
    page = Page(look)
    _draw_aligned(page, [("package", "oldest", "newest"), *releases])
    page.gap()
    page.paragraph("One with its sources: gpudoctor matrix framework PACKAGE [VERSION]")
    return page.render()


def _draw_whole_row(page: Page, title: str, table: Table[Any], row: Any) -> None:
    """Everything that one row says, its key first."""
    first, *others = table.columns
    page.paragraph(_cell_text(getattr(row, first)), title, style="bold")
    labels = {column: label if (label := _column_label(column)).startswith("cu") else capitalised(label) for column in others}
    width = max(map(len, labels.values())) + _COLUMN_GAP
    for column in others:
        value = getattr(row, column)
        text = "none known" if value == () and column not in _NONE_IS_KNOWN else _cell_text(value, _COLUMN_UNITS.get(column, ""))
        if column != "note" or text != _UNKNOWN_TEXT:
            page.paragraph(text, f"{labels[column]:<{width}}", indent=2, hang=width, lead_style="dim")


def _draw_support(page: Page, support: GpuSupport) -> None:
    """What a GPU is enough for, the driver branches that support it, and the releases with kernels for it."""
    if support.suitability:
        page.heading("Suitability")
        page.paragraph(f"{support.suitability}.", indent=2)
    page.heading("Drivers")
    capability = "by compute capability; a model that came later can need a newer one"
    page.paragraph(
        f"{support.oldest_driver or _UNKNOWN_TEXT} ({capability})", f"{'Oldest branch':<15}", indent=2, hang=15, lead_style="dim"
    )
    if support.dropped:
        page.paragraph(
            f"{support.newest_driver}; later branches do not support it", f"{'Newest branch':<15}", indent=2, hang=15, lead_style="dim"
        )
    page.heading(f"Wheels with kernels for it ({support.platform})")
    if not support.wheels:
        page.paragraph("Jetson needs NVIDIA's own builds: gpudoctor explain jetson-needs-vendor-wheel", indent=2, hang=2)
        return
    width = max(len(wheel.distribution) for wheel in support.wheels) + len(", other builds") + _COLUMN_GAP
    for distribution, group in groupby(support.wheels, key=lambda wheel: wheel.distribution):
        every = list(group)
        indexed = [(_release_range(releases.releases), releases.code) for releases in every if not releases.build]
        _draw_releases(page, distribution, indexed, width)
        built = [(f"{releases.build} ({', '.join(releases.releases)})", releases.code) for releases in every if releases.build]
        if built:
            _draw_releases(page, f"{distribution}, other builds", built, width)


def _draw_releases(page: Page, label: str, found: list[tuple[str, str]], width: int) -> None:
    words = {KERNELS: "", PTX: "PTX only, compiled at first start: ", UNKNOWN: "not known: "}
    parts = [f"{lead}{', '.join(texts)}" for code, lead in words.items() if (texts := [text for text, one in found if one == code])]
    page.paragraph("; ".join(parts) or "none", f"{label:<{width}}", indent=2, hang=width, lead_style="dim")


def _release_range(releases: Sequence[str]) -> str:
    return releases[0] if len(releases) == 1 else f"{releases[0]} to {releases[-1]}"


def _draw_rows(page: Page, columns: Sequence[str], rows: Sequence[Any]) -> None:
    labels = [
        " ".join(filter(None, (_COLUMN_HEADS.get(column, _column_label(column)), _COLUMN_UNITS.get(column, "")))) for column in columns
    ]
    _draw_aligned(page, [labels, *([_short_cell(getattr(row, column)) for column in columns] for row in rows)])


def _draw_aligned(page: Page, cells: Sequence[Sequence[str]]) -> None:
    """Lines of columns as wide as they need, the last ones left out if they do not fit; the first line is the head."""
    cells = [[page.text(cell) for cell in row] for row in cells]
    widths = [max(len(row[place]) for row in cells) + _COLUMN_GAP for place in range(len(cells[0]))]
    while sum(widths) - _COLUMN_GAP > page.look.width and len(widths) > 1:
        widths.pop()
    for number, row in enumerate(cells):
        line = "".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=False))
        page.cut(line.rstrip(), indent=0, style="" if number else "bold")


def _column_label(column: str) -> str:
    """Return a column's name as a person writes it."""
    return _COLUMN_LABELS.get(column, column.replace("_", " "))


def _cell_text(value: object, unit: str = "") -> str:
    if value is None or value == "":
        return _UNKNOWN_TEXT
    if type(value) is tuple:
        return " ".join(map(str, value)) or "none"
    text = f"{value:g}" if isinstance(value, float) else str(value)
    return f"{text} {unit}".rstrip()


def _short_cell(value: object) -> str:
    """Return a cell of a narrow column: of several values the first and the last."""
    if type(value) is tuple and len(value) > 2:
        return f"{value[0]} … {value[-1]}"
    return "" if value is None else _cell_text(value)
