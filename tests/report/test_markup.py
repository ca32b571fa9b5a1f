"""Text in Markdown stays text, read by a parser of Markdown that is not ours."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from gpudoctor.report import markup
from gpudoctor.report.words import printable_text

READER = MarkdownIt("commonmark", {"linkify": True}).enable(["table", "strikethrough", "linkify"])
assert READER.linkify is not None
READER.linkify.set({"fuzzy_link": False, "fuzzy_email": False})  # GitHub makes no link of example.org, nor of an address with U+200B
TELLING = st.text(alphabet=st.sampled_from("ab1_*`~<>[]()|#+-.!&;:=\\@/ \n\tx"), max_size=40)


def inline(document: str) -> list[Token]:
    """Return what stands in the only paragraph of `document`."""
    tokens = READER.parse(document)
    assert [token.type for token in tokens] in (["paragraph_open", "inline", "paragraph_close"], [])
    return [child for token in tokens for child in token.children or ()]


@given(TELLING)
@example("1. first")
@example("- item")
@example("<script>alert(1)</script> &amp; [x](http://example.org) **b** __init__ ~~c~~")
@example("=== a")
@example("see https://example.org/x, www.example.org and mail@example.org")
@example("    code")
def test_text_is_nothing_but_text(told: str) -> None:
    found = inline(markup.markup_text(told))
    assert {token.type for token in found} <= {"text", "text_special"}
    assert "".join(token.content for token in found).replace("\u200b", "") == printable_text(told, plain=False).strip()


@pytest.mark.parametrize("told", ["@octocat", "ping @octocat", "#12", "see #12", "torch@v2"])
def test_nobody_and_no_issue_is_called(told: str) -> None:
    shown = "".join(token.content for token in inline(markup.markup_text(told)))
    assert not re.search(r"@\w|(?<!\w)#\d", shown)
    assert shown.replace("\u200b", "") == told


@given(TELLING)
def test_code_is_nothing_but_code(told: str) -> None:
    found = inline(f"a {markup.code_span(told)} b")
    shown = printable_text(told, plain=False).strip()
    assert [token.content for token in found if token.type == "code_inline"] == ([shown] if shown else [])
    assert {token.type for token in found} <= {"text", "code_inline"}


@given(TELLING)
def test_a_command_is_one_block(told: str) -> None:
    (block,) = READER.parse("\n".join(markup.code_block([told])))
    lines = [printable_text(line, plain=False) for line in told.split("\n")]
    assert (block.type, block.info, block.content) == ("fence", "sh", "\n".join((*lines, "")))


@given(st.lists(TELLING, min_size=2, max_size=2))
def test_a_cell_stays_in_its_cell(told: list[str]) -> None:
    lines = markup.table_lines(["a", "b"], [[markup.markup_text(told[0]), markup.code_span(told[1], in_table=True)]])
    tokens = READER.parse("\n".join(lines))
    assert [token.type for token in tokens].count("td_open") == 2
    assert [token.type for token in tokens].count("tr_open") == 2


@pytest.mark.parametrize("word", ["CUDA_VISIBLE_DEVICES", "torch.cuda.is_available()", "libcudnn.so.9", "/opt/venv/lib64"])
def test_names_of_the_trade_stand_as_they_are(word: str) -> None:
    assert markup.markup_text(word) == word
