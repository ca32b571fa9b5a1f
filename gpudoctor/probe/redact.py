"""Takes out of every text what the user would not put on a public ticket: home folders, user names in paths, credentials, tokens.

A path is changed in the same way wherever it stands, so that two facts about one folder still agree.
"""

from __future__ import annotations

import os
import re
from typing import Any, TypeVar

import msgspec

REMOVED = "***"

T = TypeVar("T", bound=msgspec.Struct)

_HOMES = re.compile(r"([/\\](?:home|Users))([/\\])(?!~)[^/\\\s:;,'\"]+")
_PATH = re.compile(r"/[^\s:;,'\"]+")
_SYSTEM = ("/usr/", "/opt/", "/etc/", "/lib", "/bin/", "/sbin/", "/var/", "/sys/", "/proc/", "/dev/")
_URL = re.compile(r"(://)[^/\s@]+@")
_TOKEN = re.compile(
    r"\b(?:hf_|gh[pousr]_|github_pat_|glpat-|pypi-|xox[abpr]-|nvapi-|sk-)[A-Za-z0-9_-]{16,}"
    r"|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"
    r"|\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*"
)
_SECRET = re.compile(
    r"((?:password|passwd|passphrase|secret|token|credentials?|api[_-]?key|access[_-]?key(?:[_-]?id)?|private[_-]?key|authorization)"
    r"[\"']?\s*[=:]\s*[\"']?)((?:bearer|basic)\s+)?[^\s\"',;&]+",
    re.IGNORECASE,
)
_SECRET_NAME = re.compile(r"_KEY$|API_?KEY|TOKEN|SECRET|PASSW|CREDENTIAL", re.IGNORECASE)
_HINTS = ("://", "_", "-", "=", ":", "AKIA", "ASIA", "eyJ")
_TOO_GENERAL = ("", "/", "/home", "/usr", "/opt", "/var", "/tmp", "/mnt", "/data", "/nonexistent")  # noqa: S108 -- names, not files


class Redactor:
    """What to take out, for one user."""

    def __init__(self, home: str = "", user: str = "", *, identify: bool = False) -> None:
        """The examining user's home folder and name; with `identify` paths keep their owner, and only secrets go."""
        self._identify = identify
        self._user = "" if user == "root" else user
        homes = {os.path.normpath(path) for path in (home, os.path.realpath(home) if home else "") if path}
        own = sorted((path for path in homes if path not in _TOO_GENERAL and path.startswith("/")), key=len, reverse=True)
        self._own = re.compile(rf"(?:(?<![\w.~-])|(?<=-[LI]))(?:{'|'.join(map(re.escape, own))})(?![\w.-])") if own else None

    def text(self, text: str) -> str:
        """`text` without what identifies the user or opens a door."""
        if any(hint in text for hint in _HINTS):
            text = _URL.sub(rf"\1{REMOVED}@", text)
            text = _SECRET.sub(rf"\1{REMOVED}", text)
            text = _TOKEN.sub(REMOVED, text)
        if self._identify or ("/" not in text and "\\" not in text):
            return text
        if self._own is not None:
            text = self._own.sub("~", text)
        text = _HOMES.sub(r"\1\2~", text)
        return _PATH.sub(self._path, text) if self._user and f"/{self._user}" in text else text

    def _path(self, match: re.Match[str]) -> str:
        """A path in which a folder bears the user's name, as on shared storage; a folder of the system that does so is another thing."""
        path = match.group()
        if path.startswith(_SYSTEM):
            return path
        parts = path.split("/")
        if self._user in parts:
            parts[parts.index(self._user)] = "~"
        return "/".join(parts)

    def variable(self, name: str, value: str) -> str:
        """An environment variable's value; one whose name speaks of a secret is removed whole."""
        return REMOVED if _SECRET_NAME.search(name) else self.text(value)

    def struct(self, struct: T) -> T:
        """The same struct with every text in it redacted; words of an enumeration and keys are no such texts."""
        fields = struct.__struct_fields__
        return type(struct)(**{field: self._walk(getattr(struct, field)) for field in fields})

    def _walk(self, value: Any) -> Any:
        if type(value) is str:
            return self.text(value)
        if isinstance(value, msgspec.Struct):
            return self.struct(value)
        if isinstance(value, dict):
            return {key: self._walk(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return tuple(self._walk(item) for item in value)
        return value
