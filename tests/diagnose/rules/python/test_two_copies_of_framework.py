from __future__ import annotations

import msgspec
import pytest

from gpudoctor.findings import Level, Severity
from gpudoctor.snapshot import Distribution, Missing, OverwrittenPackage, Packages
from tests.builders import ABSENT, machine, tensorflow, torch
from tests.diagnose.rules.asking import findings_of
from tests.diagnose.rules.packaged import found, live


@pytest.mark.parametrize(
    ("copies", "words"),
    [
        ([("tensorflow", "2.18.0", "/site"), ("tensorflow-cpu", "2.18.0", "/site")], "they own the same files"),
        ([("tensorflow", "2.17.0", "/home/user"), ("tensorflow", "2.18.0", "/site")], "Python imports the copy in /home/user/tensorflow"),
        ([("tensorflow", "2.17.0", "/site"), ("tensorflow", "2.18.0", "/site")], "they own the same files"),
        ([("tensorflow", "2.18.0", "/site"), ("tensorflow-intel", "2.18.0", "/site")], ""),
        ([("tensorflow", "2.18.0", "/site"), ("tensorflow", "2.18.0", "/site")], ""),
        ([("tensorflow", "2.18.0", "/site"), ("keras", "3.0", "/home/user")], ""),
    ],
)
def test_copies_of_a_framework_are_counted(copies: list[tuple[str, str, str]], words: str) -> None:
    snapshot = live(*(Distribution(*copy) for copy in copies), frameworks=(tensorflow(location="/home/user/tensorflow"),))
    findings = [finding for finding in found(snapshot, level=Level.LOOK) if finding.name == "two-copies-of-framework"]
    assert [words in finding.message for finding in findings] == ([True] if words else [])
    assert all(finding.severity is Severity.WARNING for finding in findings)


@pytest.mark.parametrize(
    ("owned_now", "words"),
    [
        ((0, 3), "they own the same files, and those of tensorflow-cpu 2.18.0 are there."),
        ((2, 1), "they own the same files, and these are mixed."),
        ((0, 0), "they own the same files."),
    ],
)
def test_whose_files_lie_there_is_said(owned_now: tuple[int, ...], words: str) -> None:
    pins = ("tensorflow==2.18.0", "tensorflow-cpu==2.18.0")
    snapshot = live(
        *(Distribution(pin.partition("==")[0], "2.18.0", "/site") for pin in pins), frameworks=(tensorflow(location="/site/tensorflow"),)
    )
    assert isinstance(snapshot.packages, Packages)
    overwritten = (OverwrittenPackage("tensorflow", pins, "/site", 3, owned_now),)
    snapshot = msgspec.structs.replace(snapshot, packages=msgspec.structs.replace(snapshot.packages, overwritten=overwritten))
    (finding,) = (finding for finding in found(snapshot, level=Level.LOOK) if finding.name == "two-copies-of-framework")
    assert finding.message.endswith(words)


def test_a_file_of_the_frameworks_name_hides_it() -> None:
    snapshot = live(frameworks=(torch(shadow="/project/torch.py"),))
    (finding,) = found(snapshot, level=Level.LOOK)
    assert (finding.name, finding.severity) == ("two-copies-of-framework", Severity.ERROR)
    assert "/project/torch.py shadows the package torch" in finding.message
    assert not found(live(frameworks=(torch(shadow=ABSENT),)), level=Level.LOOK)


OF_USER = "/home/user/.local/lib/python3.11/site-packages/torch"
CONDA = ("numpy-2.1.0-py311_0", "pytorch-2.8.0-cuda128_mkl_py311_300")


@pytest.mark.parametrize(
    ("conda", "location", "beside"),
    [
        (CONDA, OF_USER, "pytorch 2.8.0"),
        (("torch-2.8.0-py311_0",), OF_USER, "torch 2.8.0"),
        (("pytorch-lightning-2.5.0-py311_0",), OF_USER, ""),
        ((), OF_USER, ""),
        (ABSENT, OF_USER, ""),
        (CONDA, "/opt/conda/lib/python3.11/site-packages/torch", ""),
        (CONDA, ABSENT, ""),
    ],
)
def test_a_copy_of_the_users_before_condas_is_an_error(conda: tuple[str, ...] | Missing, location: str | Missing, beside: str) -> None:
    packages = Packages((Distribution("torch", "2.8.0", "/site"),), conda=conda)
    snapshot = machine(1, packages=packages, frameworks=(torch(location=location),))
    findings = [finding for finding in found(snapshot, level=Level.LOOK) if finding.name == "two-copies-of-framework"]
    assert [finding.severity for finding in findings] == ([Severity.ERROR] if beside else [])
    for finding in findings:
        assert f"from {OF_USER} instead of conda's {beside}." in finding.message
        ignore, remove = finding.fixes
        assert ignore.command == "export PYTHONNOUSERSITE=1"
        assert "uninstall" in (remove.command or "")


@pytest.mark.parametrize(
    ("leftovers", "versions", "folders"),
    [
        ((Distribution("torch", "2.7.0", "/site"),), "2.7.0", "/site/torch-2.7.0.dist-info"),
        (
            (Distribution("torch", "2.7.0", "/my site"), Distribution("torch", "2.5.1", "/site")),
            "2.7.0 and 2.5.1",
            "'/my site/torch-2.7.0.dist-info' /site/torch-2.5.1.dist-info",
        ),
        ((Distribution("numpy", "1.26.4", "/site"),), "", ""),
    ],
)
def test_metadata_without_files_is_removed(leftovers: tuple[Distribution, ...], versions: str, folders: str) -> None:
    packages = Packages((Distribution("torch", "2.6.0", "/site"),), leftovers=leftovers)
    findings = findings_of("two-copies-of-framework", machine(1, packages=packages, frameworks=(torch(),)))
    assert [finding.severity for finding in findings] == [Severity.NOTE] * bool(versions)
    for finding in findings:
        assert finding.message == f"torch 2.6.0 is installed, but metadata of {versions} was left behind."
        assert finding.fixes[0].command == f"rm -r {folders}"


@pytest.mark.parametrize(("other", "words"), [("torch", "Python imports 2.6.0, and pip lists 2.8.0"), ("torch-nightly", "")])
def test_a_text_that_names_two_versions_says_which_is_imported(other: str, words: str) -> None:
    copies = (Distribution("torch", "2.6.0", "line 1"), Distribution(other, "2.8.0", "line 2"))
    snapshot = machine(1, origin="text", frameworks=(torch(),), packages=Packages(copies))
    said = [finding.message for finding in findings_of("two-copies-of-framework", snapshot)]
    assert [words in message for message in said] == [True] * bool(words), said
