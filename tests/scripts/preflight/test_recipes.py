"""What holds for every recipe."""

from __future__ import annotations

import os
import re

import pytest

from gpudoctor import __version__
from tests.scripts.preflight import RECIPES

README = RECIPES / "README.md"
FILES = sorted(path for path in RECIPES.rglob("*") if path.is_file() and path != README)
each = pytest.mark.parametrize("file", FILES, ids=lambda path: str(path.relative_to(RECIPES)))


@each
def test_a_recipe_is_short_and_says_in_its_first_lines_what_it_is(file: os.PathLike[str]) -> None:
    lines = RECIPES.joinpath(file).read_text().splitlines()
    assert len(lines) < 80
    if RECIPES.joinpath(file).suffix != ".json":
        assert any(line.startswith(("# ", '"""')) and len(line) > 40 for line in lines[:5])


@each
def test_programs_are_executable_and_nothing_else_is(file: os.PathLike[str]) -> None:
    assert os.access(file, os.X_OK) == RECIPES.joinpath(file).read_text().startswith("#!/")


@each
def test_what_is_installed_is_this_version(file: os.PathLike[str]) -> None:
    for version in re.findall(r"gpudoctor(?:\.git)?[@:]v?([\d.]+\d)", RECIPES.joinpath(file).read_text() + README.read_text()):
        assert version == __version__


def test_the_index_links_every_recipe_and_no_other_file() -> None:
    linked = {RECIPES / target for target in re.findall(r"\]\(([^)]+)\)", README.read_text())}
    assert all(target.exists() for target in linked)
    assert [file for file in FILES if not {file, file.parent} & linked] == []
