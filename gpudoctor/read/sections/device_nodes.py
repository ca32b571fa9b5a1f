"""The driver's device files that a text lists, and whether the user whom it names may open them."""

from __future__ import annotations

from gpudoctor.expressions import expression
from gpudoctor.read.sections.statement_index import NOT_STATED, StatementIndex
from gpudoctor.read.statements import Statement
from gpudoctor.snapshot import DeviceNodes, Missing, Node

_ID_ENTRY = expression(r"(\d{1,10})\(([^)\s]{1,60})\)")
_SHARED_FILES = ("/dev/nvidiactl", "/dev/dxg")
"""Every list of a working driver's files has one of these; a list without was asked for single files."""


class StatedUser:
    """Who runs the programs, by `id` or `groups`."""

    def __init__(self, stated: StatementIndex) -> None:
        told, names = stated.get("id"), stated.get("groups")
        pairs = _ID_ENTRY.findall(told.value) if told else []
        self.uid = int(pairs[0][0]) if pairs else None
        self.name = pairs[0][1] if pairs else ""
        self.gids = tuple(sorted({int(number) for number, _ in pairs[1:]}))
        self.groups = {name for _, name in pairs[1:]} | set(names.value.split() if names else ())

    @property
    def has_groups(self) -> bool:
        """Whether the text names the user's groups."""
        return bool(self.groups)


def stated_device_nodes(stated: StatementIndex) -> DeviceNodes | Missing:
    """Return the listed files; none if `ls` found none; not stated if only some were asked for or two lists contradict each other."""
    rows, none = stated.all("node:"), stated.get("no nodes")
    if none:
        return NOT_STATED if rows else DeviceNodes(())
    if not any(path in rows for path in _SHARED_FILES):
        return NOT_STATED
    user = StatedUser(stated)
    return DeviceNodes(tuple(_stated_node(path, row, user) for path, row in sorted(rows.items())))


def _stated_node(path: str, row: Statement, user: StatedUser) -> Node:
    words = row.value.split()
    if len(words) < 5:
        return Node(path=path)
    mode, owner, group, major, minor = words
    return Node(
        path=path,
        mode=f"{sum(1 << (8 - place) for place, letter in enumerate(mode) if letter not in '-ST'):04o}",
        uid=0 if owner == "root" else NOT_STATED,
        group=group,
        major=int(major) if major.isdecimal() else NOT_STATED,
        minor=int(minor) if minor.isdecimal() else NOT_STATED,
        accessible=_can_open(mode, owner, group, user),
    )


def _can_open(mode: str, owner: str, group: str, user: StatedUser) -> bool | Missing:
    if mode[6:8] == "rw":
        return True
    if not user.has_groups:
        return NOT_STATED if "rw" in {mode[:2], mode[3:5]} else False  # root alone may open it
    return user.uid == 0 or (owner == user.name and mode[:2] == "rw") or (group in user.groups and mode[3:5] == "rw")
