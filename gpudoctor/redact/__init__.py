"""Removes from a report that leaves the machine what the user would not put on a public ticket.

Namely secrets, home folders, user names, host names, network addresses and e-mail. A path is changed the same way everywhere,
so two facts about one folder still agree. Pure; every pattern is linear and sees at most LONGEST characters.
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
"""Characters of one text that are searched; the rest is cut off."""

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
    " vm instance pod job cluster worker master login"
    " pci nvml gpu cuda cudnn nvidia python python3 conda venv env torch pytorch tensorflow jax keras ray slurm"
)
_ANYBODY = frozenset(_ANYBODY_WORDS.split())
"""Names of users and hosts that identify nobody and mean other things in a report."""


class Owner(msgspec.Struct, frozen=True):
    """Whose names must not appear in a report."""

    homes: tuple[str, ...] = ()
    """Of the examining user, with links resolved and without."""
    user: str = ""
    """The examining user, removed everywhere."""
    users: tuple[str, ...] = ()
    """Other people on the machine, removed from paths."""
    hosts: tuple[str, ...] = ()
    """The machine's names, with and without domain."""


class Redactor:
    """What to remove. Without an owner, as on a terminal or with --identify, only secrets."""

    def __init__(self, owner: Owner | None = None) -> None:
        """`owner` is whom the report would identify."""
        self.owner = owner
        self._seen: dict[str, str] = {}
        self._ours: set[int] = set()  # members of enumerations, which are singletons
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
        """`text` without secrets and what identifies the owner."""
        done = self._seen.get(text)
        if done is None:
            done = self._seen[text] = self._redact(text)
        return done

    def _redact(self, text: str) -> str:
        beyond = len(text) - LONGEST
        if beyond > 0:  # a word that was cut might be half a secret
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
        """A path in which a folder has a user's name, as on shared storage."""
        return "/".join("~" if part in self._users else part for part in match.group().split("/"))

    def struct(self, struct: T) -> T:
        """The struct with every text in it redacted; the same object if nothing was removed."""
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
        """A member of an enumeration is ours, unless a newer version added it."""
        if value.name not in type(value).__members__:
            return type(value)(self.text(value.value))
        self._ours.add(id(value))
        return value


def _any_of(words: list[str], before: str, after: str, flags: int = 0) -> re.Pattern[str] | None:
    return re.compile(f"{before}(?:{'|'.join(map(re.escape, words))}){after}", flags) if words else None
