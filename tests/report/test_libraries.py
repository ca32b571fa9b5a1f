"""The text of an X-ray: how it shortens paths."""

from __future__ import annotations

import pytest

from gpudoctor.report.libraries import _FolderShortener, environment_page
from gpudoctor.report.page import PageLook
from gpudoctor.snapshot import NOT_ASKED, Cause, Fact, Framework, Missing, ScriptFolder
from gpudoctor.snapshot.xray import EnvironmentXray

SITE = "/opt/environments/train/lib/python3.11/site-packages"


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        (f"{SITE}/nvidia/cudnn/lib/libcudnn.so.9", "<A>/nvidia/cudnn/lib/libcudnn.so.9"),
        (f"{SITE}/torch/lib/../../nvidia/./cudnn/lib/libcudnn.so.9", "<A>/nvidia/cudnn/lib/libcudnn.so.9"),
        (f"{SITE}-old/libcudnn.so.9", f"{SITE}-old/libcudnn.so.9"),
        ("/usr/lib/../lib64/./libcuda.so.1", "/usr/lib64/libcuda.so.1"),
        ("/../libcuda.so.1", "/libcuda.so.1"),
    ],
)
def test_a_path_is_shown_without_detours_and_without_the_long_folder(path: str, shown: str) -> None:
    framework = Framework("torch", "torch", Fact("2.6.0", "METADATA"), f"{SITE}/torch")
    seen = EnvironmentXray(python="/usr/bin/python3", why="named with --python", frameworks=(framework,), libraries=NOT_ASKED)
    assert _FolderShortener(seen).path(path) == shown


def test_a_letter_stands_for_one_folder_however_many_there_are() -> None:
    folders = [f"/opt/environments/number-{number}/lib/python3.11/site-packages" for number in range(40)]
    frameworks = tuple(Framework("torch", "torch", Fact("2.6.0", "METADATA"), f"{folder}/torch") for folder in folders)
    short = _FolderShortener(EnvironmentXray(python="/usr/bin/python3", why="", frameworks=frameworks, libraries=NOT_ASKED))
    shown = [short.path(f"{folder}/lib.so") for folder in folders]
    assert len({*shown}) == len(folders)
    assert shown[:2] == ["<A>/lib.so", "<B>/lib.so"]


def test_where_there_is_nothing_to_examine_the_reason_is_said() -> None:
    hidden = ScriptFolder("/srv/job", hides=("/srv/job/torch.py",))
    nothing = Missing(Cause.TIMED_OUT, "the import did not respond")
    seen = EnvironmentXray(python="/opt/python", why="named with --python", frameworks=(), libraries=nothing, script_folder=hidden)
    assert environment_page(seen, PageLook(width=200)).splitlines() == [
        "Libraries that /opt/python would load",
        "!! /srv/job/torch.py shadows the installed package for scripts in that folder",
        "Nothing to examine: the import did not respond.",
    ]
