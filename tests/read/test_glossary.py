"""Sentences in other languages state what the English ones do, and English ones stay as they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpudoctor.matrix import Matrix
from gpudoctor.read.glossary import english_sentence
from gpudoctor.read.text_part import TextPart
from tests.read.reading import causes

FACTS = {"driver": "450.119.03", "version:torch": "2.3.0+cu121", "os": "Ubuntu 20.04"}
SENTENCES = (
    "I use driver 450.119.03 on Ubuntu 20.04 with torch 2.3.0+cu121.",
    "Ich benutze Treiber 450.119.03 unter Ubuntu 20.04 mit torch 2.3.0+cu121.",
    "Tengo el controlador 450.119.03 en Ubuntu 20.04 con torch 2.3.0+cu121.",
    "Tenho o driver 450.119.03 em Ubuntu 20.04 com torch 2.3.0+cu121.",
    "J'ai le pilote 450.119.03 sous Ubuntu 20.04 avec torch 2.3.0+cu121.",
    "\u042f \u0438\u0441\u043f\u043e\u043b\u044c\u0437\u0443\u044e \u0434\u0440\u0430\u0439\u0432\u0435\u0440 450.119.03 \u043d\u0430 Ubuntu 20.04 \u0441 torch 2.3.0+cu121.",
    "\u6211\u5728Ubuntu 20.04\u4f7f\u7528\u9a71\u52a8450.119.03\u548ctorch 2.3.0+cu121\u3002",
    "\u30c9\u30e9\u30a4\u30d0\u30fc450.119.03\u3068torch 2.3.0+cu121\u3092\u4f7f\u3063\u3066\u3001\u74b0\u5883\u306f Ubuntu 20.04\u3002",
)
EARLIER = (
    "Before it was driver 450.119.03",
    "Fr\u00fcher war es Treiber 450.119.03 auf dem Server",
    "Antes tenia el controlador 450.119.03 en mi servidor",
    "Avant j'avais le pilote 450.119.03 sur mon serveur",
    "\u6211\u4ee5\u524d\u4f7f\u7528\u9a71\u52a8450.119.03",
)


def _facts(text: str) -> dict[str, str]:
    return {statement.what: statement.value for statement in TextPart.of(text.encode(), "pasted.txt", file="").statements}


@pytest.mark.parametrize("sentence", SENTENCES)
def test_a_sentence_states_the_same_in_any_language(sentence: str, matrix: Matrix) -> None:
    found = _facts(sentence)
    assert {what: found.get(what) for what in ("driver", "version:torch")} == {what: FACTS[what] for what in ("driver", "version:torch")}
    assert causes(f"{sentence}\nTesla T4, torch.cuda.is_available() False\n", matrix)[:1] == ["driver-too-old"]


@pytest.mark.parametrize("sentence", EARLIER)
def test_what_was_before_is_not_stated_in_any_language(sentence: str) -> None:
    assert "driver" not in _facts(sentence)


def test_english_stays_as_it_is() -> None:
    folder = Path(__file__).parents[2]
    pages = [folder / "README.md", *(folder / "gpudoctor" / "diagnose" / "rules").rglob("*.md")]
    lines = [line for page in pages for line in page.read_text().splitlines() if line.isascii()]
    assert [line for line in lines if english_sentence(line) != line] == []
