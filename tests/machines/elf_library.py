"""Small empty shared libraries, made by gcc once and kept in the cache that test processes share."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.seams.build import locked


@dataclass(frozen=True)
class Library:
    """A shared library; `needs` are the sonames it links, `code` becomes its fat binaries, `undefined` is a function it calls, `defines` are others."""

    soname: str = ""
    needs: tuple[str, ...] = ()
    runpath: str = ""
    rpath: str = ""
    code: bytes = b""
    undefined: str = ""
    defines: tuple[str, ...] = ()

    def put(self, place: Path) -> None:
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(self._built(), place)

    def _built(self) -> Path:
        """From the cache that test processes share."""
        key = hashlib.sha256(repr(self).encode()).hexdigest()[:20]
        stubs = {name: Library(name)._built() for name in self.needs}
        with locked("elf") as cache:
            library = cache / "elf" / key / (self.soname or "library.so")
            if not library.exists():
                library.parent.mkdir(parents=True, exist_ok=True)
                unfinished = library.with_name("unfinished")
                self._link(unfinished, stubs)
                unfinished.rename(library)
        return library

    def _link(self, place: Path, stubs: dict[str, Path]) -> None:
        flags = [f"-Wl,-soname,{self.soname}"] if self.soname else []
        flags += [f"-Wl,--enable-new-dtags,-rpath,{self.runpath}"] if self.runpath else []
        flags += [f"-Wl,--disable-new-dtags,-rpath,{self.rpath}"] if self.rpath else []
        linked = ["-Wl,--no-as-needed", *map(str, stubs.values())] if stubs else []
        source = f"void {self.undefined}(void); void calls(void) {{ {self.undefined}(); }}" if self.undefined else "int nothing;"
        source += "".join(f" int {name}(void) {{ return 0; }}" for name in self.defines)
        command = ["gcc", "-x", "c", "-", "-x", "none", "-shared", "-fPIC", "-nostdlib", "-o", str(place), *flags, *linked]
        subprocess.run(command, input=source.encode(), check=True)
        if self.code:
            part = place.with_suffix(".bin")
            part.write_bytes(self.code)
            subprocess.run(["objcopy", "--add-section", f".nv_fatbin={part}", place], check=True)
            part.unlink()
