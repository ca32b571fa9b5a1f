"""Reads what tells the operating system without naming it as such: releases of packages, package managers, and names in running text.

They count only where nothing else names the system, and only if all tell the same one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpudoctor.expressions import expression
from gpudoctor.read.readers.reader import Reader
from gpudoctor.read.readers.sentences import GENERAL_WORDS, sentences
from gpudoctor.read.statements import Directness, Line, Statement

NAME = "hint of the system"
KEY = "system hint:"
"""Begins the keys; the rest is the system and its release."""
_MOST = 2000
_LONGEST = 400
"""Lines of a text, and characters of a sentence, that are looked at."""
_PACKAGES = (
    ("ubuntu", expression(r"(?<=[-+~\d])ubuntu\d{0,2}\.?(?:\d{1,2}\.)?(?P<release>\d{2}\.(?:04|10))\b")),
    ("debian", expression(r"(?<=\d)[+~]deb(?P<release>\d{1,2})u\d")),
    ("fedora", expression(r"\.fc(?P<release>\d{2})\b")),
    ("rhel", expression(r"\.el(?P<release>\d{1,2})(?:_\d{1,2})?\b")),
)
"""How distributions end the versions of their packages."""
_MANAGERS = (
    ("arch", expression(r"\b(?:pacman -(?:S|Q|U|R)|mkinitcpio\b|(?:yay|paru) -S)")),
    ("suse", expression(r"\bzypper (?:in|install|up|update|dup|se)\b")),
)
"""Commands that one family of distributions has."""
_NAMED = expression(
    r"(?i)(?<![\w/.:@-])(?P<name>ubuntu|debian|fedora|centos|rhel|red hat|rocky|alma|opensuse)"
    r"(?: ?linux| server| desktop| workstation| stream| enterprise linux| leap| lts){0,2}[ -]v?(?P<release>\d{1,2}(?:\.\d{1,2})?)(?![\w.]\d|\w)"
)
_ARCH = expression(
    r"(?i)(?:^\W{0,4}|\b(?:on|updated|my|under|using) )arch(?: linux)?(?=[,:.]| (?:today|yesterday|here|and|with|after|linux)\b)"
)
_WINDOWS = expression(
    r"(?i)(?:\b(?:on|under|in|with|using|runs?|running) (?:native )?|[\w)] )windows(?: 1[01])?(?=\s*(?:$|[.,;:!?)]))|\bwindows (?:7|8|10|11)\b|^\W{0,4}win ?(?:7|8|10|11)\b"
    r"|\[WinError \d{1,5}\]|\b\w{3,40}\.dll\b[^\n]{0,40}\b(?:not found|missing|could not be|library path)|\bdynamic library '\w{3,40}\.dll'"
)
_MAC = expression(
    r"(?i)(?:^\W{0,4}|\b(?:on|my|using|with|have) (?:an? |my |the )?)(?:apple )?(?:macbook|mac ?mini|imac|mac studio|m[1-5](?: (?:pro|max|ultra))? mac)\b"
)
_FOREIGN = expression(
    r"(?i)\b(?:guide|tutorial|docs?|documentation|instructions?|image|container|docker\w*|podman|vms?|virtual|guest|dual[- ]?boot\w*|wsl\w*|ssh|remote|friend|colleague|colab|runner)\b|\bfor (?:ubuntu|debian|fedora|windows|mac)"
)
"""Words of sentences whose system need not be the one with the GPU."""
_NAMES = {"red hat": "rhel", "alma": "almalinux", "opensuse": "suse"}


def _blocks(lines: Sequence[Line]) -> Iterator[Statement]:
    for line in lines[:_MOST]:
        for system, release in (*_of_packages(line.text), *_of_sentences(line)):
            yield Statement(f"{KEY}{system} {release}", release, NAME, line.number, Directness.PROSE)


def _of_packages(text: str) -> Iterator[tuple[str, str]]:
    for system, pattern in _PACKAGES:
        if found := pattern.search(text):
            yield system, found["release"]
    for system, pattern in _MANAGERS:
        if pattern.search(text):
            yield system, ""


def _of_sentences(line: Line) -> Iterator[tuple[str, str]]:
    for sentence in sentences(line):
        text = sentence.text
        if len(text) > _LONGEST or _FOREIGN.search(text):
            continue
        named = list(_NAMED.finditer(text))
        is_head = len(named) == 1 and not text[: named[0].start()].strip(" *>#-(")
        if GENERAL_WORDS.search(text) and not is_head:
            continue
        for found in named:
            name = found["name"].lower()
            yield _NAMES.get(name, name), found["release"]
        for system, pattern in (("arch", _ARCH), ("windows", _WINDOWS), ("macos", _MAC)):
            if pattern.search(text):
                yield system, ""


READER = Reader(NAME, blocks=_blocks)
