"""scripts/words: finds a word wherever people read it, and leaves code alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.scripts.programs import script

words = script("words")
USED = (
    "renewed", "proved to", "how far each GPU got", "could not be told", "what was supposed", "to see whether it helped",
    "of another release than", "holds no code for", "hidden by the environment", "matrix product", "sums over", "for want of", "found no room",
    "allotted", "the maker", "anew", "brought by", "wins over", "goes for", "is meant for", "not for long", "mends", "telling line", "tells whether",
    "besides", "likewise", "thereby", "wherein", "hence", "lest", "whilst", "trainings", "the one that would be loaded", "of which", "so that",
    "as far as", "by which it", "for the sake of", "is to be had", "alike", "is of one kind", "stands for itself", "the like", "what is not",
    "to no avail", "reach into", "befit",
)  # fmt: skip
SHOWN_ONLY = ("the newest branch", "proven", "rung", "ladder", "a training")
PLACES = {
    "comment.py": "x = 1  # it says {} here\n",
    "docstring.py": '"""A module.\n\nIt says {} here.\n"""\n',
    "string.py": 'x = (\n    "a string over "\n    "lines: {} here"\n)\n',
    "f_string.py": 'x = 1\ny = f"{{x}} {} {{x}}"\n',
    "page.md": "# Title\n\nIt says {} here.\n",
    "table.csv": 'name,notes\nx,"it says {}, here"\n',
    "script.sh": "#!/bin/sh\ntrue # it says {} here\n",
    "program": "#!/usr/bin/env python3\n# it says {} here\n",
}


def hits(path: Path, text: str) -> list[str]:
    path.write_text(text)
    return list(words.hits(path))


@pytest.mark.parametrize("phrase", USED)
def test_a_word_is_found_wherever_people_read_it(tmp_path: Path, phrase: str) -> None:
    for place, template in PLACES.items():
        text = template.format(phrase)
        line = next(number for number, line in enumerate(text.splitlines(), 1) if phrase in line)
        found = hits(tmp_path / place, text)
        assert any(hit.startswith(f"{tmp_path / place}:{line}: “{phrase}") and ": write " in hit for hit in found), place


def test_every_entry_of_the_table_is_tried() -> None:
    for word in words.WORDS:
        assert any(words.compiled(word.pattern).search(phrase) for phrase in (*USED, *SHOWN_ONLY)), word.pattern


@pytest.mark.parametrize("phrase", SHOWN_ONLY)
def test_a_word_of_the_code_is_kept_from_users_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, phrase: str) -> None:
    monkeypatch.setattr(words, "ROOT", tmp_path)
    (tmp_path / "gpudoctor").mkdir()
    module = tmp_path / "gpudoctor" / "module.py"
    assert not hits(module, f'"""It says {phrase} here."""\n\nx = 1  # {phrase}\n')
    assert len(hits(module, f'x = "it says {phrase} here"\n')) == 1
    assert len(hits(tmp_path / "page.md", f"It says {phrase} here.\n")) == 1


def test_a_phrase_is_found_across_lines_and_in_a_test_name(tmp_path: Path) -> None:
    assert hits(tmp_path / "page.md", "First.\n\nIt ends as\nfar as we know.\n") == [
        f"{tmp_path / 'page.md'}:3: “as far as”: write a second sentence: what is and what is not"
    ]
    assert len(hits(tmp_path / "test_x.py", "def test_a_driver_is_loaded_so_that_it_works() -> None:\n    pass\n")) == 1


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("code.py", "def proved_to(hence: int) -> int:\n    return hence\n"),
        ("key.py", 'x = {"likewise": 1}["likewise"]\n'),
        ("quoted.py", '"""The field `hence` is kept."""\n'),
        ("quotation.md", "Write so, not “hence”.\n"),
        ("allowed.py", 'x = "the kernel says: hence"  # words: ok\n'),
        ("page.md", "See [it](docs/hence.md) and `hence`, --hence and hence_forth.\n"),
        ("script.sh", "hence=1\n$hence --lest hence.txt\n"),
    ],
)
def test_code_names_and_marked_lines_are_left_alone(tmp_path: Path, name: str, text: str) -> None:
    assert hits(tmp_path / name, text) == []


def test_without_a_path_it_reads_the_clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(words, "ROOT", tmp_path)
    monkeypatch.setattr("sys.argv", ["words"])
    (tmp_path / "README.md").write_text("A page.\n")
    assert (words.main(), capsys.readouterr().out) == (0, "")
    (tmp_path / "compat").mkdir()
    (tmp_path / "compat" / "README.md").write_text("Likewise.\n")
    (tmp_path / "elsewhere.md").write_text("Likewise.\n")
    assert (words.main(), capsys.readouterr().out) == (1, "compat/README.md:1: “Likewise”: write also, the same\n")
    monkeypatch.setattr("sys.argv", ["words", str(tmp_path / "README.md")])
    assert words.main() == 0
