"""Takes out of a report, where it leaves the machine, what the user would not put on a public ticket.

That is: secrets, home folders, user names, host names, network addresses and e-mail. A path is changed in the same way wherever it
stands, so two facts about one folder still agree. Pure; every pattern is linear and sees at most LONGEST characters.
"""

from __future__ import annotations

import enum
import operator
import re
from typing import Any, TypeVar

import msgspec

from gpudoctor.redact import names
from gpudoctor.redact.shapes import SHAPES

LONGEST = 1 << 16
"""Characters of one text that are looked through; what lies beyond is cut off."""

_PLAIN = frozenset((type(None), int, float, bool))

_BY_HINT = tuple((hint, shape) for shape in SHAPES for hint in shape.hints if not shape.folded)
_BY_FOLDED_HINT = tuple((hint, shape) for shape in SHAPES for hint in shape.hints if shape.folded)

T = TypeVar("T", bound=msgspec.Struct)

_HOMES = r"([/\\](?:home|Users))([/\\])(?!~)[^/\\\s:;,'\"]+"
_PATH = r"/[^\s:;,'\"]+"
_TOO_GENERAL = ("", "/", "/home", "/usr", "/opt", "/var", "/tmp", "/mnt", "/data", "/nonexistent")  # noqa: S108 -- names, not files
_ANYBODY_WORDS = (
    "root user admin ubuntu debian centos fedora rhel ec2-user azureuser vagrant docker jovyan jupyter nobody daemon bin lib lib64"
    " share local opt src home data test app work workspace localhost host server node machine container linux kernel driver wsl box"
    " pci nvml gpu cuda cudnn nvidia python python3 conda venv env torch pytorch tensorflow jax keras ray slurm"
)
_ANYBODY = frozenset(_ANYBODY_WORDS.split())
"""Names of users and hosts that name nobody, and stand for other things in a report."""


class Owner(msgspec.Struct, frozen=True):
    """Whom a report would name."""

    homes: tuple[str, ...] = ()
    """Of the examining user, with links resolved and without."""
    user: str = ""
    """The examining user: not named anywhere."""
    users: tuple[str, ...] = ()
    """Other people of the machine: not named in paths."""
    hosts: tuple[str, ...] = ()
    """What the machine is called, with and without its domain."""


class Redactor:
    """What to take out. Without an owner, as on a terminal or with --identify, that is secrets only."""

    def __init__(self, owner: Owner | None = None) -> None:
        """`owner` is whom the report would name."""
        self.owner = owner
        self._seen: dict[str, str] = {}
        self._ours: set[int] = set()  # words of enumerations, each of which there is once
        if owner is None:
            return
        homes = sorted((path for path in owner.homes if path not in _TOO_GENERAL and path.startswith("/")), key=len, reverse=True)
        self._homes = _any_of(homes, r"(?:(?<![\w.~-])|(?<=-[LI]))", r"(?![\w.-])")
        user = [owner.user] if owner.user and owner.user.lower() not in _ANYBODY else []
        self._users = {name for name in (*user, *owner.users) if name and name.lower() not in _ANYBODY}
        self._user = _any_of(user, r"(?<![\w.~-])", r"(?![\w-]|\.\w)")
        called = sorted((name for name in owner.hosts if len(name) > 1 and name.lower() not in _ANYBODY), key=len, reverse=True)
        self._called = tuple(name.lower() for name in called)
        self._hosts = _any_of(called, r"(?<![\w-])", r"(?:\.[A-Za-z][A-Za-z0-9-]{0,62}){0,8}(?![\w-])", re.IGNORECASE)

    def text(self, text: str) -> str:
        """`text` without what identifies the owner or opens a door."""
        done = self._seen.get(text)
        if done is None:
            done = self._seen[text] = self._redact(text)
        return done

    def _redact(self, text: str) -> str:
        beyond = len(text) - LONGEST
        if beyond > 0:  # what a cut leaves of a word might be half a secret
            text = text[:LONGEST].rpartition(" ")[0]
        for hint, shape in _BY_HINT:
            if hint in text and len(text) >= shape.shortest:
                text = re.sub(shape.pattern, shape.kept, text)
        lower = text.lower()
        for hint, shape in _BY_FOLDED_HINT:
            if hint in lower:
                text = re.sub(shape.pattern, shape.kept, text)
        if self.owner is not None:
            text = self._anonymous(text)
        return f"{text} ... ({beyond} characters more)" if beyond > 0 else text

    def _anonymous(self, text: str) -> str:
        text = names.mail(text)
        if "/" in text or "\\" in text:
            text = re.sub(_HOMES, r"\1\2~", self._homes.sub("~", text) if self._homes else text)
            if any(name in text for name in self._users):
                text = re.sub(_PATH, self._path, text)
        lower = text.lower()
        if self._hosts and any(name in lower for name in self._called):
            text = self._hosts.sub(names.HOST, text)
        text = names.addresses(names.hosts(text))
        return self._user.sub(names.USER, text) if self._user and self.owner and self.owner.user in text else text

    def _path(self, match: re.Match[str]) -> str:
        """A path in which a folder bears a user's name, as on shared storage."""
        return "/".join("~" if part in self._users else part for part in match.group().split("/"))

    def struct(self, struct: T) -> T:
        """The same struct with every text in it redacted; itself where nothing is to be taken out."""
        changed = {}
        for field in struct.__struct_fields__:
            value = getattr(struct, field)
            if type(value) in _PLAIN or id(value) in self._ours:
                continue
            kept = self._walk(value)
            if kept is not value:
                changed[field] = kept
        return msgspec.structs.replace(struct, **changed) if changed else struct

    def _walk(self, value: Any) -> Any:
        if type(value) is str:
            kept = self.text(value)
            return value if kept == value else kept
        if isinstance(value, msgspec.Struct):
            return self.struct(value)
        if isinstance(value, enum.Enum):
            return self._word(value)
        return value if type(value) in _PLAIN else self._several(value)

    def _several(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {self._walk(key): self._walk(item) for key, item in value.items()} if value else value
        several = [self._walk(item) for item in value]
        return value if all(map(operator.is_, several, value)) else tuple(several)

    def _word(self, value: enum.Enum) -> enum.Enum:
        """A word of an enumeration is ours, unless a newer writer made it up."""
        if value.name not in type(value).__members__:
            return type(value)(self.text(value.value))
        self._ours.add(id(value))
        return value


def _any_of(words: list[str], before: str, after: str, flags: int = 0) -> re.Pattern[str] | None:
    return re.compile(f"{before}(?:{'|'.join(map(re.escape, words))}){after}", flags) if words else None
