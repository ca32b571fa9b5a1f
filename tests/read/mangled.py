"""Texts as they arrive: cut off, with other lines in between, in another order."""

from __future__ import annotations

from hypothesis import strategies as st


@st.composite
def mangled(draw: st.DrawFn, text: str) -> str:
    """Draw a text that has some of the lines of `text`, cut, shuffled and mixed with others."""
    lines = text.splitlines()
    kept = draw(st.lists(st.sampled_from(lines), max_size=len(lines) + 5)) if draw(st.booleans()) else lines
    noise = st.one_of(st.text(max_size=60), st.sampled_from(lines).map(lambda line: line[: len(line) // 2]))
    for place, line in draw(st.lists(st.tuples(st.integers(0, len(kept)), noise), max_size=6)):
        kept = [*kept[:place], line, *kept[place:]]
    whole = "\n".join(kept)
    return whole[: draw(st.integers(0, len(whole)))]
