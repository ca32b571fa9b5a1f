"""Reads the architecture of the GPU at hand in sentences: "my card is sm_52", "on an sm_120 GPU". It counts if all sentences name one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpudoctor.expressions import expression
from gpudoctor.read.readers.reader import Reader
from gpudoctor.read.readers.sentences import SENTENCE
from gpudoctor.read.statements import Line, Rank, Statement
from gpudoctor.signatures.phrases import CARD

ARCHITECTURE = "architecture prose"
_SM = r"sm_?(?P<value>\d{2,3})[af]?\b"
_OF_GPU = expression(
    rf"(?i)\b{CARD}\b(?:'s)?,? ?(?:\(|(?:compute capability|architecture|arch)?\W{{0,3}}(?:is|has|with|being|reports|of|=|:) {{0,2}}(?:an? |compute capability |architecture |arch )?){_SM}(?![, ]{{1,2}}sm_)"
)
_NAMED_BY = expression(
    rf"(?i)(?<!for )(?<!for an )\b{_SM} (?:blackwell |hopper |ada |ampere |turing |volta |pascal |maxwell |kepler )?(?:gpu|card|device)\b"
)


def _statements(lines: Sequence[Line]) -> Iterator[Statement]:
    found = [(line, match["value"]) for line in lines for form in (_OF_GPU, _NAMED_BY) for match in form.finditer(line.text)]
    if len({digits for _, digits in found}) == 1:
        line, digits = found[0]
        yield Statement(ARCHITECTURE, f"{digits[:-1]}.{digits[-1]}", SENTENCE, line.number, Rank.PROSE)


READER = Reader(SENTENCE, blocks=_statements, cues=("sm_", "sm5", "sm6", "sm7", "sm8", "sm9", "sm1"))
