"""Removes from a report that leaves the machine what the user would not put on a public ticket.

Namely secrets, home folders, user names, host names, network addresses and e-mail; in a ticket UUIDs and serial numbers too.
A path is changed the same way everywhere, so two facts about one folder still agree. Pure; every pattern is linear and sees at
most LONGEST characters.
"""

from __future__ import annotations

import enum
import operator
import re
from typing import Any, TypeVar

import msgspec

from gpudoctor.redact import identifiers, names
from gpudoctor.redact.common_names import COMMON_NAMES, is_own_name
from gpudoctor.redact.pseudonyms import REMOVED_MARK, Pseudonyms, RemovalMarks, RemovedKind, is_removed
from gpudoctor.redact.shapes import BASE64_SHAPE, SECRET_SHAPES, SecretShape, is_repository_path

MAX_TEXT = 1 << 16
"""Characters of one text that are searched; the rest is cut off."""

_PLAIN_TYPES = frozenset((type(None), int, float, bool))

_SHAPES_BY_HINT = tuple((hint, shape) for shape in SECRET_SHAPES for hint in shape.hints if not shape.folded)
_SHAPES_BY_FOLDED_HINT = tuple((hint, shape) for shape in SECRET_SHAPES for hint in shape.hints if shape.folded)

Document = TypeVar("Document", bound=msgspec.Struct)

_HOME_FOLDER = r"([/\\](?:home|Users)[/\\])([^/\\\s:;,'\"]+)"
_PATH_FORM = r"/[^\s:;,'\"]+"
_GENERAL_FOLDERS = ("", "/", "/home", "/usr", "/opt", "/var", "/tmp", "/mnt", "/data", "/nonexistent")  # noqa: S108 -- names, not files
_IDENTIFYING_FIELDS = {
    "hostname": RemovedKind.HOST,
    "username": RemovedKind.USER,
    "serial": RemovedKind.SERIAL,
    "chassis_serial": RemovedKind.SERIAL,
}
"""Fields of a snapshot that hold nothing but what identifies."""
_MIN_LENGTH = 4
"""Letters of a name that is removed where nothing shows that it is one."""


class ReportOwner(msgspec.Struct, frozen=True):
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

    def __init__(self, owner: ReportOwner | None = None, pseudonyms: Pseudonyms | None = None) -> None:
        """`owner` is whom the report would identify; with `pseudonyms`, as in a ticket, UUIDs and serial numbers are removed too."""
        self.owner = owner
        self._marks = pseudonyms or RemovalMarks()
        self._pseudonyms = pseudonyms
        self._seen: dict[str, str] = {}
        self._ours: set[int] = set()  # members of enumerations, which are singletons
        if owner is None:
            return
        homes = [path for path in owner.homes if path not in _GENERAL_FOLDERS and path.startswith("/")]
        self._homes = _any_word_pattern(homes, r"(?:(?<![\w.~-])|(?<=-[LI]))", r"(?![\w.-])")
        met = pseudonyms.values(RemovedKind.USER) if pseudonyms else ()
        named = [name for name in (owner.user, *met) if len(name) > 1 and name.lower() not in COMMON_NAMES]
        self._users = {name.lower() for name in (*named, *owner.users) if name and name.lower() not in COMMON_NAMES}
        self._named = tuple(name.lower() for name in named)
        self._user = _any_word_pattern(named, r"(?<![\w.~-])", r"(?![\w-]|\.\w)", re.IGNORECASE if pseudonyms else 0)
        own = {name.lower(): owner.hosts[0] for name in owner.hosts if len(name) > 1 and name.lower() not in COMMON_NAMES}
        self._called = {name: name for name in (pseudonyms.values(RemovedKind.HOST) if pseudonyms else ()) if is_own_name(name)} | own
        self._hosts = _any_word_pattern(list(self._called), r"(?<![\w-])", r"(?:\.[A-Za-z][A-Za-z0-9-]{0,62}){0,8}(?![\w-])", re.IGNORECASE)
        self._uuids = pseudonyms.values(RemovedKind.UUID) if pseudonyms else ()
        self._serials = _any_word_pattern(
            list(pseudonyms.values(RemovedKind.SERIAL) if pseudonyms else ()), r"(?<![\w-])", r"(?![\w-])", re.IGNORECASE
        )

    def text(self, text: str) -> str:
        """`text` without secrets and what identifies the owner."""
        done = self._seen.get(text)
        if done is None:
            done = self._seen[text] = self._redacted_text(text)
        return done

    def _redacted_text(self, text: str) -> str:
        whole = len(text)
        if whole > MAX_TEXT:  # a word that was cut might be half a secret
            text = text[:MAX_TEXT].rpartition(" ")[0]
        left = whole - len(text)
        for hint, shape in _SHAPES_BY_HINT:
            if hint in text and len(text) >= shape.shortest:
                text = self._without_secrets(shape, text)
        lower = text.lower()
        for hint, shape in _SHAPES_BY_FOLDED_HINT:
            if hint in lower:
                text = self._without_secrets(shape, text)
        if self.owner is not None:
            text = self._anonymous_text(text)
        return f"{text} ... ({left} characters more)" if left else text

    def _without_secrets(self, shape: SecretShape, text: str) -> str:
        return re.sub(shape.pattern, lambda match: self._replaced_secret(shape, match), text)

    def _replaced_secret(self, shape: SecretShape, match: re.Match[str]) -> str:
        """What precedes a secret, as `shape` keeps it, and what stands in its place."""
        kept = match.expand(shape.kept)
        secret = match.group()[len(kept.partition(REMOVED_MARK)[0]) :]
        if is_removed(secret.removesuffix("@")) or (shape is BASE64_SHAPE and is_repository_path(secret)):
            return match.group()
        return kept.replace(REMOVED_MARK, self._marks.of(shape.kind, secret))

    def _anonymous_text(self, text: str) -> str:
        text = names.without_mail(names.without_prompts(text, self._marks), self._marks)
        if "/" in text or "\\" in text:
            text = self._homes.sub(lambda match: self._marks.of(RemovedKind.HOME, match.group()), text) if self._homes else text
            text = re.sub(_HOME_FOLDER, self._replaced_home, text) if "home" in text or "Users" in text else text
            if any(name in text.lower() for name in self._users):
                text = re.sub(_PATH_FORM, self._path, text)
        lower = text.lower()
        if self._hosts and any(name in lower for name in self._called):
            text = self._hosts.sub(self._replaced_host, text)
        text = names.without_addresses(names.without_hosts(text, self._marks), self._marks)
        if self._user and any(name in text.lower() for name in self._named):
            text = self._user.sub(lambda match: self._marks.of(RemovedKind.USER, match.group()), text)
        return self._without_devices(text) if self._pseudonyms else text

    def _without_devices(self, text: str) -> str:
        text = identifiers.without_serials(identifiers.without_uuids(text, self._marks, self._uuids), self._marks)
        return self._serials.sub(lambda match: self._marks.of(RemovedKind.SERIAL, match.group()), text) if self._serials else text

    def _replaced_home(self, match: re.Match[str]) -> str:
        """The folder of somebody else in /home, or among the users of Windows."""
        return match.group() if is_removed(match[2]) else match[1] + self._marks.folder(match[2])

    def _path(self, match: re.Match[str]) -> str:
        """A path in which a folder has a user's name, as on shared storage."""
        return "/".join(self._marks.folder(part) if part.lower() in self._users else part for part in match.group().split("/"))

    def _replaced_host(self, match: re.Match[str]) -> str:
        """One of the machine's names, or of another machine that the document names."""
        found = match.group().lower()
        return self._marks.of(RemovedKind.HOST, self._called[max((name for name in self._called if found.startswith(name)), key=len)])

    def struct(self, struct: Document) -> Document:
        """The struct with every text in it redacted; the same object if nothing was removed."""
        changed = {}
        for field, value in zip(struct.__struct_fields__, msgspec.structs.astuple(struct), strict=True):
            if type(value) in _PLAIN_TYPES or id(value) in self._ours:
                continue
            kept = (
                self._redacted_identity(_IDENTIFYING_FIELDS[field], value)
                if field in _IDENTIFYING_FIELDS and type(value) is str
                else self._redacted_value(value)
            )
            if kept is not value:
                changed[field] = kept
        return msgspec.structs.replace(struct, **changed) if changed else struct

    def _redacted_identity(self, kind: RemovedKind, value: str) -> str:
        """The value of a field that only identifies; in a ticket a pseudonym, unless it is one that identifies nobody."""
        kept = self.text(value)
        if self._pseudonyms is None or kept != value or not value or value.lower() in COMMON_NAMES:
            return value if kept == value else kept
        return self._pseudonyms.of(kind, value, everywhere=len(value) >= _MIN_LENGTH)

    def _redacted_value(self, value: Any) -> Any:
        if type(value) is str:
            kept = self.text(value)
            return value if kept == value else kept
        if isinstance(value, msgspec.Struct):
            return self.struct(value)
        if isinstance(value, enum.Enum):
            return self._redacted_word(value)
        return value if type(value) in _PLAIN_TYPES else self._several(value)

    def _several(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {self._redacted_value(key): self._redacted_value(item) for key, item in value.items()} if value else value
        several = [self._redacted_value(item) for item in value]
        return value if all(map(operator.is_, several, value)) else tuple(several)

    def _redacted_word(self, value: enum.Enum) -> enum.Enum:
        """A member of an enumeration is ours, unless a newer version added it."""
        if value.name not in type(value).__members__:
            return type(value)(self.text(value.value))
        self._ours.add(id(value))
        return value


def redactor_for_ticket(owner: ReportOwner, document: msgspec.Struct) -> tuple[Redactor, Pseudonyms]:
    """Return the redactor for a ticket about `document`, and its pseudonyms.

    A first reading finds the names that some place shows to be names, and they are removed at every other place too.
    """
    pseudonyms = Pseudonyms(msgspec.json.encode(document).decode())
    Redactor(owner, pseudonyms).struct(document)
    return Redactor(owner, pseudonyms), pseudonyms


def _any_word_pattern(words: list[str], before: str, after: str, flags: int = 0) -> re.Pattern[str] | None:
    longest_first = sorted(words, key=len, reverse=True)
    return re.compile(f"{before}(?:{'|'.join(map(re.escape, longest_first))}){after}", flags) if words else None
