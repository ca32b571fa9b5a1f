"""What torch/__init__.py does before it imports torch._C: follows its code with the simulated process behind ctypes, glob and os."""

from __future__ import annotations

import os.path
from typing import Any

from gpudoctor.children.own.xray.components import component
from gpudoctor.children.own.xray.patient import Patient
from gpudoctor.children.own.xray.script import Failure, Program, Space, Unknown
from gpudoctor.elf.loader import OpenResult

ENTRY = "_load_global_deps"
WHY = "preloaded by torch/__init__.py"


class TorchStart:
    """One import of torch up to torch._C."""

    def __init__(self, patient: Patient, home: str, cuda: str) -> None:
        self._patient = patient
        self._disk = patient.around.disk
        self._home = home
        self._cuda = cuda or None
        self._failed: OpenResult | None = None
        self._asked = ("", "")
        """Folder and pattern of the last search for a library."""

    def follow(self) -> None:
        """Load what it loads. Raises Unknown if its code cannot be followed."""
        source = self._disk.text(f"{self._home}/__init__.py")
        if ENTRY not in source:
            if "torch._C" not in source:  # up to 1.4 it only imports torch._C
                raise Unknown("it does not import torch._C")
            return
        try:
            Program(source, self._names(), self._modules()).call(ENTRY)
        except Failure as failure:
            self._keep(failure)
        except (TypeError, ValueError, LookupError, AttributeError, RecursionError) as error:
            raise Unknown(f"{type(error).__name__}: {error}") from None

    def _names(self) -> dict[str, Any]:
        raising = {name: _raising_function(name) for name in ("OSError", "ValueError", "AssertionError", "RuntimeError")}
        plain = {"int": int, "str": _path_text, "len": len, "bool": bool, "print": lambda *_, **__: None, "object": object}
        return {**self._modules(), **raising, **plain, "open": self._open, "__file__": f"{self._home}/__init__.py"}

    def _modules(self) -> dict[str, Any]:
        path = Space(join=os.path.join, dirname=os.path.dirname, basename=os.path.basename, abspath=os.path.normpath, exists=self._exists)
        metadata = Space(distribution=self._distribution)
        util = Space(find_spec=self._find_spec)
        return {
            "sys": Space(path=list(self._disk.path), executable=self._patient.around.program, modules={}),
            "os": Space(path=path, listdir=self._disk.names),
            "glob": Space(glob=self._glob),
            "platform": Space(system=lambda: "Linux"),
            "ctypes": Space(CDLL=self._cdll, RTLD_GLOBAL=256),
            "importlib": Space(metadata=metadata, util=util),
            "importlib.metadata": metadata,
            "importlib.util": util,
            "torch.version": Space(cuda=self._cuda),
        }

    def _exists(self, path: str) -> bool:
        return self._disk.exists(path)

    def _open(self, path: str, *_: Any) -> Space:
        if path != "/proc/self/maps":
            raise Unknown(f"it opens {path}")
        text = "\n".join(self._disk.real(library.path) for library in self._patient.loader.objects)
        return Space(read=lambda: text)

    def _glob(self, pattern: str) -> list[str]:
        folder, _, last = pattern.rpartition("/")
        self._asked = (folder, last)
        if any(letter in folder for letter in "*?["):
            return []
        return [f"{folder}/{name}" for name in self._disk.names(folder) if matches(last, name)]

    def _cdll(self, path: str, **_: Any) -> None:
        own = path.startswith(f"{self._home}/") or os.path.basename(path).startswith("libtorch")
        if own:
            self._patient.forget()
        opening = self._patient.load(path, why="" if own else WHY, note=own)
        if opening.missing:
            self._failed = opening
            raise Failure("OSError", _loader_message(opening))
        self._failed = None

    def _find_spec(self, name: str) -> None:
        if any(name in self._disk.names(folder) for folder in self._disk.path):
            raise Unknown(f"it loads {name}")

    def _distribution(self, name: str) -> Space:
        """Where an editable install keeps the compiled files that its sources lack."""
        for site in self._disk.path:
            if any(entry.startswith(f"{name}-") and entry.endswith(".dist-info") for entry in self._disk.names(site)):
                return Space(locate_file=lambda inside, site=site: self._located(f"{site}/{inside}"))
        raise Failure("PackageNotFoundError", name)

    def _located(self, path: str) -> Space:
        return Space(exists=lambda: self._disk.exists(path), path=path)

    def _keep(self, failure: Failure) -> None:
        """Record why the import fails."""
        patient = self._patient
        if self._failed is not None:
            for lookup in self._failed.missing:
                patient.note(lookup, asking="linked", vital=True)
                patient.note_broken(lookup)
        folder, pattern = self._asked
        stem = pattern.partition(".so")[0]
        part = component(f"{stem}.so")
        if failure.kind == "ValueError" and part and not any(use["component"] == part for use in patient.uses.values()):
            patient.lack(f"{stem}.so", part, f"{self._home}/__init__.py", folder)
        elif not patient.uses and not patient.broken:
            patient.break_off(f"{self._home}/__init__.py", "missing", failure.message)


def _raising_function(kind: str) -> Any:
    return lambda message="", *_: Failure(kind, str(message))


def _path_text(value: Any) -> str:
    return str(value.members["path"]) if isinstance(value, Space) and "path" in value.members else str(value)


def _loader_message(opening: OpenResult) -> str:
    """The loader's message, in the part that torch compares: it begins with the name or path of the file."""
    lookup = opening.missing[0]
    if lookup.damaged:
        return f"{lookup.damaged[0][0]}: {lookup.damaged[0][1].reason}"
    return f"{lookup.wanted}: cannot open shared object file: No such file or directory"


def matches(pattern: str, name: str) -> bool:
    """Whether a name matches a pattern of `*`, `?` and `[0-9]`, like fnmatch."""
    if not pattern:
        return not name
    if pattern[0] == "*":
        return any(matches(pattern[1:], name[start:]) for start in range(len(name) + 1))
    if pattern.startswith("[0-9]"):
        return name[:1].isdecimal() and matches(pattern[5:], name[1:])
    if pattern[0] in "[]":
        raise Unknown(f"the pattern {pattern}")
    return bool(name) and pattern[0] in {"?", name[0]} and matches(pattern[1:], name[1:])
