"""Turns a pasted text into plain lines: decodes it, and removes colour, control characters, quotation marks and log prefixes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from gpudoctor.errors import UsageError
from gpudoctor.expressions import expression
from gpudoctor.read.bug_report import lines_of_this_boot
from gpudoctor.read.east_asian import with_word_spaces
from gpudoctor.read.gpu_lines import gpu_related_lines
from gpudoctor.read.kernel_lines import are_by_kernel
from gpudoctor.read.prefixes import without_prefixes
from gpudoctor.read.statements import Line

MAX_BYTES = 20 << 20
"""Bytes of a text."""
_MAX_LINE = 4000
"""Characters of a line that are read as one; the rest of a longer line is read like lines of its own."""
_MAX_ALIKE = 160
"""Lines that differ only in numbers and are read: more than a machine has NVLinks, fewer than a training run has steps."""
_NUMBER_FORM = expression(r"\d+")
_NEXT_GPU = expression(r"(?<=\w), (?=GPU \d{1,2}: )")
_DOUBLED_SPACES = expression(r"\s*[^\s|]+(?:  [^\s|]+){4,}\s*")
"""Words that stand two spaces apart, all of them: no table of several columns."""
_COLOUR_CODES = expression(r"\x1b\[[0-9;?]{0,20}[ -/]?[@-~]|\x1b\][^\x07\x1b]{0,200}(?:\x07|\x1b\\)")
_INVISIBLE_CHARACTERS = expression(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
_TYPOGRAPHIC_CHARACTERS = {0x2018: "'", 0x2019: "'", 0x201C: '"', 0x201D: '"', 0xA0: " "}
"""What editors and web pages make of quotation marks and spaces."""
_SAMPLE_BYTES = 4096
"""Bytes that show whether a text without a byte order mark is UTF-16."""
_UTF_16_ZEROS = 0.45
_MAX_OTHER_ZEROS = 0.05
"""The least share of zero bytes in UTF-16, as ASCII's characters have there, and in what is no UTF-8: a message in Chinese quotes ASCII."""


def lines_of(data: bytes, name: str, file: str = "") -> list[Line]:
    """Return the lines of a text, or of a `file` of several, that are not empty; of many that differ only in numbers, the first. Raises UsageError if it is too large to be a pasted text."""
    if len(data) > MAX_BYTES:
        raise UsageError(
            f"{name} has more than {MAX_BYTES >> 20} MB, and gpudoctor reads up to {MAX_BYTES >> 20} MB; cut out the part around the error."
        )
    seen = list(lines_of_this_boot(seen_lines(data)))
    bare = [_with_single_spaces(with_word_spaces(line)) for line in without_prefixes(seen)]
    by_kernel = are_by_kernel(seen, bare)
    return list(_different_lines(gpu_related_lines(bare, by_kernel), [len(line) for line in seen], by_kernel, file))


def plain_lines(data: bytes) -> list[str]:
    """Return the lines of a text as their author saw them, without what was put before each."""
    return without_prefixes(seen_lines(data))


def seen_lines(data: bytes) -> list[str]:
    """Return the lines of a text without colour and control characters."""
    text = decoded_text(data)
    if "\x1b" in text:
        text = _COLOUR_CODES.sub("", text)
    if not text.isascii():
        text = text.translate(_TYPOGRAPHIC_CHARACTERS)
    lines = text.splitlines()
    if _INVISIBLE_CHARACTERS.search(text):
        lines = [_INVISIBLE_CHARACTERS.sub("", line) for line in lines]
    return [line.rstrip() for line in lines]


def _with_single_spaces(line: str) -> str:
    """Return the line with single spaces if all between its words were doubled, as some converters do."""
    return line.replace("  ", " ") if "  " in line and _DOUBLED_SPACES.fullmatch(line) else line


def _different_lines(lines: Sequence[str], widths: Sequence[int], by_kernel: Sequence[bool], file: str) -> Iterator[Line]:
    alike: Counter[int] = Counter()
    for number, (line, width, of_kernel) in enumerate(zip(lines, widths, by_kernel, strict=True), 1):
        for text in _gpu_lines(line) if len(line) <= _MAX_LINE else _line_pieces(line):
            shape = hash(_NUMBER_FORM.sub("0", text))
            alike[shape] += 1
            if text and not text.isspace() and alike[shape] <= _MAX_ALIKE:
                yield Line(number, text, width=width, file=file, by_kernel=of_kernel)


def _gpu_lines(line: str) -> Sequence[str]:
    """Return a line, or the GPUs that it lists: torch and nvidia-smi write each on a line of its own."""
    return _NEXT_GPU.split(line) if ", GPU " in line else (line,)


def _line_pieces(line: str) -> Iterator[str]:
    """Yield a long line in pieces that end between words where they can."""
    begin = 0
    while begin < len(line):
        end = begin + _MAX_LINE
        space = line.rfind(" ", begin + _MAX_LINE // 2, end) if end < len(line) else -1
        end = space if space > 0 else end
        yield line[begin:end]
        begin = end


def decoded_text(data: bytes) -> str:
    """Return the text, by its byte order mark if it has one: Windows tools write UTF-16, some of them without."""
    for mark, encoding in ((b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"), (b"\xef\xbb\xbf", "utf-8-sig")):
        if data.startswith(mark):
            return data.decode(encoding, "replace")
    sample = data[:_SAMPLE_BYTES]
    zeros = (sample[1::2].count(0), "utf-16-le"), (sample[::2].count(0), "utf-16-be")
    (rare, _), (many, encoding) = sorted(zeros)
    text = data.decode("utf-8", "replace")
    least = _MAX_OTHER_ZEROS if "\ufffd" in text else _UTF_16_ZEROS
    return data.decode(encoding, "replace") if many > max(len(sample) * least, 10 * rare) else text
