"""JUnit reports are valid by the schema that Jenkins' reader has and pytest tests itself with."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from gpudoctor.report import junit
from gpudoctor.report.build import build_report
from tests.report import machines, samples

pytestmark = pytest.mark.index
_PIP = (sys.executable, "-m", "pip", "-qq")
_SCHEMA = "testing/example_scripts/junit-10.xsd"
"""Of pytest's source distribution."""
_VALIDATE = "import sys; from lxml import etree; schema, *files = map(etree.parse, sys.argv[1:]); [*map(etree.XMLSchema(schema).assertValid, files)]"


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the schema and, in lib, a validator."""
    folder = tmp_path_factory.mktemp("tools")
    subprocess.run((*_PIP, "install", "--target", folder / "lib", "lxml>=5"), check=True, timeout=250)
    subprocess.run((*_PIP, "download", "--no-deps", "--no-binary=pytest", "-d", folder, "pytest==8.4.2"), check=True, timeout=250)
    (archive,) = folder.glob("pytest-*.tar.gz")
    with tarfile.open(archive) as opened:
        found = opened.extractfile(f"pytest-8.4.2/{_SCHEMA}")
        assert found is not None
        (folder / "junit.xsd").write_bytes(found.read())
    return folder


def validate(tools: Path, *files: Path) -> subprocess.CompletedProcess[str]:
    """Run the validator."""
    command: list[str | Path] = [sys.executable, "-c", _VALIDATE, tools / "junit.xsd", *files]
    env = {**os.environ, "PYTHONPATH": str(tools / "lib")}
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=250, check=False)


@pytest.mark.untraced
def test_every_sample_and_recorded_machine_is_valid(tools: Path, tmp_path: Path) -> None:
    reports = {name: build_report(sample) for name, sample in samples.ALL.items()}
    reports |= {name: machines.report(name) for name in machines.NAMES}
    files = [tmp_path / f"{name}.xml" for name in reports]
    for file, report in zip(files, reports.values(), strict=True):
        file.write_bytes(junit.render(report))
    ended = validate(tools, *files)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_the_schema_refuses_what_is_wrong(tools: Path, tmp_path: Path) -> None:
    file = tmp_path / "report.xml"
    file.write_bytes(junit.render(build_report(samples.mismatch)).replace(b"<failure ", b"<fail ").replace(b"</failure>", b"</fail>"))
    assert "fail" in validate(tools, file).stderr
