"""Whom a report about this machine would identify: the user, other people, the machine itself."""

from __future__ import annotations

import os
from collections.abc import Mapping

from gpudoctor.probe import files
from gpudoctor.redact import ReportOwner

FIRST_PERSON, NOBODY = 1000, 65534
"""Lower numbers, and those from here on, belong to services: https://www.debian.org/doc/debian-policy/ch-opersys.html#uid-and-gid-classes"""


def owner_of_machine(root: str, environ: Mapping[str, str]) -> ReportOwner:
    """From the environment, /etc/passwd and the kernel's host name; for a tree `root` of another machine, from both machines."""
    if not hasattr(os, "geteuid"):
        return _owner_on_windows(environ)
    rows = [row for tree in dict.fromkeys((root, "/")) for row in _password_rows(tree)]
    own = [row for row in rows if row[2] == str(os.geteuid())]
    named = [environ.get(name, "") for name in ("USER", "LOGNAME", "SUDO_USER")]
    users = [row[0] for row in own] + named
    home = [environ.get("HOME", ""), *(row[5] for row in own)]
    people = [row[0] for row in rows if row[2].isdecimal() and FIRST_PERSON <= int(row[2][:9]) < NOBODY]
    return ReportOwner(
        homes=tuple(dict.fromkeys(os.path.normpath(path) for one in home if one for path in (one, os.path.realpath(one)))),
        user=next((name for name in users if name not in {"", "root"}), ""),
        users=tuple(dict.fromkeys([*users, *people])),
        hosts=_host_names(root),
    )


def _owner_on_windows(environ: Mapping[str, str]) -> ReportOwner:
    """From the environment alone: `compat` writes reports there too."""
    home, user, host = (environ.get(name, "") for name in ("USERPROFILE", "USERNAME", "COMPUTERNAME"))
    return ReportOwner(homes=(home,) if home else (), user=user, users=(user,) if user else (), hosts=(host,) if host else ())


def _password_rows(root: str) -> list[list[str]]:
    """The rows of /etc/passwd; passwd(5) gives them seven fields."""
    rows = (line.split(":") for line in files.lines_or_empty("/etc/passwd", root, 1 << 20))
    return [row for row in rows if len(row) > 6]


def _host_names(root: str) -> tuple[str, ...]:
    names = [os.uname().nodename, *(files.text_or_empty(path, root).strip() for path in ("/proc/sys/kernel/hostname", "/etc/hostname"))]
    whole = [name for name in names if name and not name.isspace() and name != "(none)"]
    return tuple(dict.fromkeys([*whole, *(name.partition(".")[0] for name in whole)]))
