"""Every pattern for foreign text takes linear time, and every text has a length limit before it."""

from __future__ import annotations

import ast
import importlib
import itertools
import math
import re
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import pytest

from gpudoctor import conditions
from gpudoctor.children.channel import in_our_code
from gpudoctor.derive import specifiers
from gpudoctor.derive.framework_log import relevant_lines
from gpudoctor.frameworks import CATALOGUE
from gpudoctor.line_forms import CUES_BY_PATTERN
from gpudoctor.matrix import gpu_names as names_of_gpus
from gpudoctor.matrix import gpu_slices
from gpudoctor.redact import Redactor, ReportOwner, names, shapes
from gpudoctor.redact.shell import runnable_command
from gpudoctor.signatures import recognised_signatures
from gpudoctor.signatures.hints import HINTS
from gpudoctor.signatures.noise import HARMLESS
from gpudoctor.signatures.table import SIGNATURES
from tests.seams.every import as_subtest
from tests.seams.once import once

if sys.version_info >= (3, 11):
    from re import _parser as sre
else:
    import sre_parse as sre

PACKAGE = Path(__file__).parents[1] / "gpudoctor"
MATCHING = ("compile", "search", "match", "fullmatch", "sub", "subn", "findall", "finditer", "split")
SHORT, LONG = 4_000, 16_000
"""Numbers of characters to time; a quadratic pattern takes sixteen times as long for the longer ones."""
Use = Callable[[re.Pattern[str], str], object]
AT_ONCE = 0.006
"""Seconds; below, timings are too noisy to compare."""
PAST_DOUBT = 0.5
"""Seconds; a run above is slow, whatever else the machine does."""
LONGEST = 60
"""Characters of a beginning that is repeated."""
NARROW = SHORT // 4
"""Characters; a pattern that looks at fewer from where it starts takes linear time: what remains to be tried is how much for each."""
DEAR = 0.03
"""Seconds for a narrow pattern on a text of that length; none takes a tenth of it."""
TABLES: dict[str, Callable[[], list[str]]] = {
    "signatures/__init__.py": lambda: [*(hint.pattern for hint in HINTS), *(pattern for pattern, _ in HARMLESS)],
    "line_forms/__init__.py": lambda: [
        *(pattern for pattern in CUES_BY_PATTERN if pattern not in {signature.pattern for signature in SIGNATURES}),
        # explain tries them in any case, so the others need not try them where case counts
        *(signature.pattern if signature.pattern.startswith("(?i)") else f"(?i){signature.pattern}" for signature in SIGNATURES),
    ],
    "read/readers/field_keys.py": lambda: [
        text for field in _module("read/readers/field_keys.py").FIELD_KEYS for text in (field.name, field.answer)
    ],
    "read/readers/version_lists.py": lambda: [one.pattern for _, one in _module("read/readers/version_lists.py")._ITEM_KINDS],
    "read/readers/conda_plan.py": lambda: [form.pattern for _, form in _module("read/readers/conda_plan.py")._LINE_FORMS],
    "redact/__init__.py": lambda: (
        [shape.pattern for shape in shapes.SECRET_SHAPES] + _of(Redactor(ReportOwner(("/home/al",), "al", ("al",), ("n7",))))
    ),
    "redact/names.py": lambda: [pattern for _, pattern in names._HOST_CONTEXTS],
    "probe/kernel_log.py": lambda: [getattr(_module("probe/kernel_log.py"), name) for name in ("_XID_LINE", "_SXID_LINE")],
    "probe/container_tools.py": lambda: [pattern for _, pattern, _ in _module("probe/container_tools.py").CDI_SETTINGS],
    "matrix/gpu_names.py": lambda: list(_module("matrix/gpu_names.py")._OTHER_VENDORS.values()),
    "derive/views/kernel.py": lambda: list(_asked_of_the_log()),
    "requirement_files/reading.py": lambda: [
        pattern
        for name in ("_READERS_BY_NAME", "_READERS_BY_CONTENT")
        for pattern, _ in getattr(_module("requirement_files/reading.py"), name)
    ],
    "requirement_files/images.py": lambda: [spec.image_tag for spec in CATALOGUE if spec.image_tag],
    "report/plan_files.py": lambda: [pattern for pattern, _ in _module("report/plan_files.py")._WRITERS_BY_PATTERN],
}
"""Patterns that are not written beside their use: the file that uses each, and all its values."""


def _of(redactor: Redactor) -> list[str]:
    return [var.pattern for var in vars(redactor).values() if isinstance(var, re.Pattern)]


def _module(file: str) -> ModuleType:
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, True  # the folders of children's scripts stay without __pycache__
    try:
        return importlib.import_module(f"gpudoctor.{file[:-3].replace('/', '.')}".removesuffix(".__init__"))
    finally:
        sys.dont_write_bytecode = before


def _asked_of_the_log() -> Iterator[str]:
    """The patterns that rules look for in the kernel log: the second arguments."""
    for file in PACKAGE.rglob("diagnose/**/*.py"):
        for call in _calls(file, lambda function: function in {"logged", "refusal"}, "logged(", "refusal("):
            yield _value(call.args[1], _module(str(file.relative_to(PACKAGE))))


def _calls(file: Path, wanted: Callable[[str], bool], *names: str) -> Iterator[ast.Call]:
    """The calls of functions in a file, which is not parsed if it has none of their names."""
    text = file.read_text()
    if not any(name in text for name in names):
        return
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and wanted(_dotted(node.func)):
            yield node


def _dotted(function: ast.expr) -> str:
    if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
        return f"{function.value.id}.{function.attr}"
    return function.id if isinstance(function, ast.Name) else ""


def _value(node: ast.expr, module: ModuleType) -> str:
    """The pattern as written; a local variable's part becomes a word."""
    if isinstance(node, ast.JoinedStr):
        return "".join(_value(part, module) for part in node.values)
    if isinstance(node, ast.FormattedValue):
        return _value(node.value, module)
    try:
        return str(eval(compile(ast.Expression(node), "", "eval"), vars(module)))
    except (NameError, AttributeError):
        return "word"


def _strings(file: Path) -> list[str]:
    """Everything in a file that looks like a pattern."""
    texts = (node.value for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Constant))
    found = [text for text in texts if isinstance(text, str) and "\\" in text and "\n" not in text]
    assert found, f"{file}: say in TABLES where its patterns come from"
    return found


def _matches(function: str) -> bool:
    return function == "expression" or (function.startswith("re.") and function[3:] in MATCHING)


def _methods(file: Path) -> dict[str, set[str]]:
    """The methods that a file calls on its own compiled patterns, by the text of the call that compiles; "" is any other use."""
    tree = ast.parse(file.read_text())
    compiled = {
        node.targets[0].id: ast.unparse(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and isinstance(node.value, ast.Call)
    }
    private = {name for name in compiled if name.startswith("_")}
    called = {
        id(node.func.value): node.func.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    }
    found: dict[str, set[str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in private:
            found.setdefault(compiled[node.id], set()).add(called.get(id(node), ""))
    return found


class Pattern(NamedTuple):
    """Where a pattern is used, and by which methods; "" stands for an unknown way."""

    file: str
    methods: set[str]


@pytest.fixture(scope="session")
def patterns(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Pattern]:
    """Every pattern of the package: found when a test asks, since parsing the package takes longer than collecting all tests."""
    return once(tmp_path_factory, "patterns", in_the_package)


def in_the_package() -> dict[str, Pattern]:
    found: dict[str, Pattern] = {}
    for file in sorted(PACKAGE.rglob("*.py")):
        if "/child/" in str(file) or file.name == "expressions.py":  # compiles what others pass to it
            continue
        place = str(file.relative_to(PACKAGE))
        uses = list(_calls(file, _matches, "re.", "expression("))
        module, methods = (_module(place), _methods(file)) if uses else (None, {})
        for call in uses:
            node, function = call.args[0], _dotted(call.func).removeprefix("re.")
            pattern = _value(node, module) if module else ""
            used = {function} if function not in {"compile", "expression"} else methods.get(ast.unparse(call), {""})
            texts = [pattern] if pattern != "word" else TABLES[place]() if place in TABLES else _strings(file)
            for text in texts:
                before = found[text].methods if text in found else set()
                found[text] = Pattern(place, before | used)
    return found


SHARES = 64
"""Tests among which the patterns are divided."""
_AT_THE_BEGINNING = {specifiers._LEXEME, conditions._SIZE_FORM}
"""Used with match or fullmatch only."""
NAMES_OF_GPUS = ("matrix/gpu_names.py", "matrix/gpu_slices.py")
"""Files whose texts are cut to the length of a name, and must match whole."""


def reach(parsed: Any) -> float:
    """Return how many characters a pattern looks at from where it starts, at most; endless if a repetition is."""
    return _extent(parsed)[1]


def _extent(parsed: Any) -> tuple[float, float]:
    """Return how many characters a pattern takes, and how many it looks at, at most: an assertion takes none."""
    taken = seen = 0.0
    for kind, value in parsed:
        takes, sees = _extent_of_one(str(kind), value)
        seen = max(seen, taken + sees)
        taken += takes
    return taken, seen


def _extent_of_one(kind: str, value: Any) -> tuple[float, float]:
    if kind.endswith("_REPEAT"):
        takes, sees = _extent(value[2])
        times = math.inf if value[1] is sre.MAXREPEAT else value[1]
        return takes and takes * times, sees + (takes and takes * max(times - 1, 0))
    if kind in {"LITERAL", "NOT_LITERAL", "ANY", "IN"}:
        return 1, 1
    if kind == "BRANCH":
        branches = [_extent(one) for one in value[1]]
        return max(takes for takes, _ in branches), max(sees for _, sees in branches)
    if kind == "SUBPATTERN":
        return _extent(value[3])
    if kind in {"ASSERT", "ASSERT_NOT"}:
        return 0, _extent(value[1])[1]
    return (0, 0) if kind == "AT" else (math.inf, math.inf)


class _Sample:
    """Texts that a pattern almost matches: its parts, one after the other and repeated."""

    def __init__(self, pattern: str) -> None:
        self.pieces: list[str] = []
        self.branches: list[str] = []
        self.beginnings: set[str] = set()
        self.wholes = [self._text(sre.parse(pattern), most=most) for most in (False, True)]

    def few(self) -> set[str]:
        """What to repeat for a narrow pattern: its wholes and pieces, and none of their combinations."""
        return {*self.wholes, *self.branches, *self.pieces} - {""}

    def pumps(self) -> set[str]:
        """What to repeat."""
        beginnings = {text for text in self.beginnings if len(text) <= LONGEST}
        pieces = [piece for piece in dict.fromkeys(self.pieces) if piece][:10]
        pairs = {one + other for one, other in itertools.product(pieces, repeat=2)}
        return {*beginnings, *pieces, *pairs} - {""}

    def _text(self, parsed: Any, before: str = "", *, most: bool) -> str:
        text = literal = ""
        for kind, value in parsed:
            if str(kind) != "LITERAL":
                self._begins(before, text)
            added = self._one(str(kind), value, before + text, most=most)
            literal = literal + added if str(kind) == "LITERAL" else ""
            self.pieces.append(literal or added)
            text += added
        self._begins(before, text)
        return text

    def _begins(self, before: str, text: str) -> None:
        """Note what ends here, of the pattern and of the part that is being read: not within a word, which half of it would not match."""
        self.beginnings |= {before + text, text}

    def _one(self, kind: str, value: Any, before: str, *, most: bool) -> str:
        if kind == "LITERAL":
            return chr(value)
        if kind == "NOT_LITERAL":
            return "x" if value != ord("x") else "y"
        if kind == "ANY":
            return "z"
        if kind == "IN":
            return self._letter(value)
        if kind in {"MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"}:
            least, highest, inner = value
            return self._repeated(inner, max(least, min(int(highest), 2 if most else 1)), before, most=most)
        if kind == "SUBPATTERN":
            return self._text(value[3], before, most=most)
        if kind == "BRANCH":
            texts = [self._text(branch, before, most=most) for branch in value[1]]
            self.branches += texts
            return texts[-1 if most else 0]
        return ""

    def _repeated(self, inner: Any, times: int, before: str, *, most: bool) -> str:
        text = ""
        for _ in range(times):
            text += self._text(inner, before + text, most=most)
        return text

    def _letter(self, members: list[Any]) -> str:
        allowed = re.compile("".join(("[", *map(_class, members), "]")))
        letters = [letter for letter in "a0A-_./ :\\\"'@~%" if allowed.match(letter)]
        self.pieces += letters[-2:]
        return next(iter(letters), "a")


def _class(member: Any) -> str:
    kind, value = str(member[0]), member[1]
    if kind == "NEGATE":
        return "^"
    if kind == "LITERAL":
        return re.escape(chr(value))
    if kind == "RANGE":
        return f"{re.escape(chr(value[0]))}-{re.escape(chr(value[1]))}"
    return {
        "CATEGORY_WORD": r"\w",
        "CATEGORY_DIGIT": r"\d",
        "CATEGORY_SPACE": r"\s",
        "CATEGORY_NOT_SPACE": r"\S",
        "CATEGORY_NOT_WORD": r"\W",
    }[str(value)]


def everywhere(pattern: re.Pattern[str], text: str) -> None:
    for _match in pattern.finditer(text):
        pass


def timed(pattern: re.Pattern[str], pump: str, length: int, use: Use) -> float:
    """One run over all of a text."""
    text = (pump * (length // len(pump) + 1))[:length]
    began = time.process_time()
    use(pattern, text)
    return time.process_time() - began


def seconds(pattern: re.Pattern[str], pump: str, length: int, use: Use) -> float:
    """The least of three runs over all of a text, or the first that is clearly slow."""
    taken = []
    for _ in range(3):
        taken.append(timed(pattern, pump, length, use))
        if not AT_ONCE < taken[-1] < PAST_DOUBT:
            break
    return min(taken)


def clearly_linear(pattern: re.Pattern[str], pump: str, once: float, use: Use) -> bool:
    """Whether short texts, one of which took `once`, already show it; dear patterns are timed at full length only if they do not.

    Of a n + b n**2, four times as much text takes less than 5 times as long only if sixteen times takes less than 9 * 5 times.
    """
    if once <= AT_ONCE:
        return once < AT_ONCE / 64  # even in cubic time the long text stays below AT_ONCE
    bound = 5 * seconds(pattern, pump, SHORT // 4, use)
    return once < bound or seconds(pattern, pump, SHORT, use) < bound


def slow(text: str, use: Use = everywhere) -> str:
    """A text on which a pattern takes more than linear time; empty if none was found."""
    pattern, sample = re.compile(text), _Sample(text)
    if reach(sre.parse(text)) < NARROW:
        dear = (pump for pump in sorted(sample.few()) if seconds(pattern, pump, NARROW, use) > DEAR)
        return next((f"{NARROW} characters of {pump!r} take over {DEAR} s" for pump in dear), "")
    for pump in sorted(sample.pumps()):
        short = timed(pattern, pump, SHORT, use)
        if short > PAST_DOUBT:
            return f"{SHORT} characters of {pump!r} take {short:.2f} s"
        if clearly_linear(pattern, pump, short, use):
            continue
        once = timed(pattern, pump, LONG, use)
        if once <= AT_ONCE or once < 6 * min(short, timed(pattern, pump, SHORT, use)):
            continue
        long = once if once > PAST_DOUBT else seconds(pattern, pump, LONG, use)
        if long > AT_ONCE and long > 9 * seconds(pattern, pump, SHORT, use):
            return f"{LONG} characters of {pump!r} take {long:.2f} s"
    return ""


@pytest.mark.untraced
@pytest.mark.parametrize("share", range(SHARES))
def test_a_pattern_takes_linear_time(share: int, patterns: dict[str, Pattern], subtests: pytest.Subtests) -> None:
    for pattern in list(patterns)[share::SHARES]:
        with as_subtest(subtests, pattern[:40]):
            takes_linear_time(pattern, *patterns[pattern])


def takes_linear_time(pattern: str, file: str, methods: set[str]) -> None:
    used = {"match"} if pattern in _AT_THE_BEGINNING else methods
    if file in NAMES_OF_GPUS:
        assert all(
            seconds(re.compile(pattern), pump, names_of_gpus.MAX_NAME_LENGTH, re.Pattern.fullmatch) < AT_ONCE
            for pump in _Sample(pattern).pumps()
        )
        return
    uses = [getattr(re.Pattern, one) for one in used] if used <= {"match", "fullmatch"} else [everywhere]
    assert [slow(pattern, use) for use in uses] == [""] * len(uses), file


def test_all_patterns_are_known(patterns: dict[str, Pattern]) -> None:
    assert len(patterns) > 130
    assert {*TABLES} <= {one.file for one in patterns.values()}


@pytest.mark.untraced
@pytest.mark.parametrize(
    "pattern",
    [
        r"\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*",
        r"(?m)^Package: nvidia[\w.-]*\n(?:(?!^$).*\n)*?Version: (\d+)",
        r"RESOURCE_EXHAUSTED: .*(?:out of memory|OOM)",
        r"[\w.+-]+@[\w-]+\.com",
        r"libcudnn\S*: cannot open",
        r"(\w+\s?)+:$",
        r"(?:\w{0,30}\w){0,3}:",
    ],
)
def test_a_pattern_that_is_not_linear_is_noticed(pattern: str) -> None:
    assert slow(pattern)


MEGABYTES = 4 << 20
ENTRIES: dict[str, Callable[[str], object]] = {
    "redacted": Redactor(ReportOwner(homes=("/home/al",), user="al", users=("al",), hosts=("n7",))).text,
    "recognised": recognised_signatures,
    "log": relevant_lines,
    "command": runnable_command,
    "version": specifiers.pep440_version,
    "requirement": specifiers.parse_requirement,
    "marker": lambda text: specifiers.marker_holds(text, {}, ()),
    "specifier": lambda text: specifiers.satisfies("1.0", text),
    "vendor": names_of_gpus.other_vendor,
    "slice": lambda text: gpu_slices.find_slice(text, {}),
    "crash": in_our_code,
}


@pytest.mark.parametrize(
    "piece", ["eyJ-", "eyJ", "a@", "1.", "/home/", "'~/", "== ", "RESOURCE_EXHAUSTED: ", 'File "', "9", "(", "token= ", "x"]
)
@pytest.mark.parametrize("entry", ENTRIES)
def test_four_megabytes_are_searched_quickly(entry: str, piece: str) -> None:
    began = time.process_time()
    ENTRIES[entry]((piece * MEGABYTES)[:MEGABYTES])
    assert time.process_time() - began < 2
