"""Reads the architecture of the GPU at hand in sentences: "my card is sm_52", "on an sm_120 GPU". It counts if all sentences name one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpudoctor.expressions import expression
from gpudoctor.read.readers.reader import Reader
from gpudoctor.read.readers.sentences import SENTENCE_READER
from gpudoctor.read.statements import Directness, Line, Statement
from gpudoctor.signatures.phrases import GPU_WORDS

ARCHITECTURE = "architecture prose"
_SM_FORM = r"sm_?(?P<value>\d{2,3})[af]?\b"
_GPU_WITH_ARCHITECTURE = expression(
    rf"(?i)\b{GPU_WORDS}\b(?:'s)?,? ?(?:\(|(?:compute capability|architecture|arch)?\W{{0,3}}(?:is|has|with|being|reports|of|=|:) {{0,2}}(?:an? |compute capability |architecture |arch )?){_SM_FORM}(?![, ]{{1,2}}sm_)"
)
_ARCHITECTURE_WITH_GPU = expression(
    rf"(?i)(?<!for )(?<!for an )\b{_SM_FORM} (?:blackwell |hopper |ada |ampere |turing |volta |pascal |maxwell |kepler )?(?:gpu|card|device)\b"
)


def _statements(lines: Sequence[Line]) -> Iterator[Statement]:
    found = [
        (line, match["value"])
        for line in lines
        for form in (_GPU_WITH_ARCHITECTURE, _ARCHITECTURE_WITH_GPU)
        for match in form.finditer(line.text)
    ]
    if len({digits for _, digits in found}) == 1:
        line, digits = found[0]
        yield Statement(ARCHITECTURE, f"{digits[:-1]}.{digits[-1]}", SENTENCE_READER, line.number, Directness.PROSE)


READER = Reader(SENTENCE_READER, blocks=_statements, cues=("sm_", "sm5", "sm6", "sm7", "sm8", "sm9", "sm1"))
