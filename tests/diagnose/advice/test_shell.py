"""Commands that take a library away, and what ldconfig makes of what they leave."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from gpudoctor.diagnose.advice.shell import hide_library, removal_command
from tests.diagnose.rules import said
from tests.machines import golden


@pytest.mark.parametrize("command", [hide_library, lambda path: removal_command([path])])
def test_ldconfig_links_a_library_no_more_that_was_taken_away(command: Callable[[str], str], tmp_path: Path) -> None:
    library = tmp_path / "a folder/libcuda.so.535.183.01"
    library.parent.mkdir()
    subprocess.run(["gcc", "-shared", "-Wl,-soname,libcuda.so.1", "-o", library, "-x", "c", "/dev/null"], check=True)
    ldconfig = f"/sbin/ldconfig -n '{library.parent}'"
    subprocess.run(ldconfig, shell=True, check=True)
    assert (library.parent / "libcuda.so.1").exists()
    done = command(str(library)).replace("sudo ldconfig", ldconfig).replace("sudo ", "")
    subprocess.run(done, shell=True, check=True)
    assert not (library.parent / "libcuda.so.1").exists()


def test_every_command_that_takes_a_library_away_hides_it_from_ldconfig() -> None:
    told = "\n".join((*golden.kept().values(), *(said.file_of(family).read_text() for family in ("driver", "platform"))))
    moved = re.findall(r"\bmv \S*/lib\S*\.so\S* \S*/(\S+)", told)
    removed = re.findall(r"\brm (\S*/lib\S*\.so\S*)", told)
    assert moved
    assert removed
    assert [name for name in moved if name.startswith("lib")] == []
    assert [path for path in removed if not path.endswith(".so*")] == []
