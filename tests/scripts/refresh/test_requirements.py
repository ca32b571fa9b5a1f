from __future__ import annotations

from pathlib import Path

import pytest

from gpudoctor.matrix.tables import OTHER_RELEASES, RELEASE_TABLES, REQUIREMENTS
from scripts.refresh.metadata import bounds
from scripts.refresh.requirements import spans
from tests.matrix.samples import version

from .served import archive, metadata, run, served

pytest.importorskip("pip", reason="the refresh scripts read the index as pip is configured for it")

ROW = "torch,{},linux_x86_64,3.11,cpu,,,,,numpy>=1.26,,,,torch-wheels,\n"
WHEEL = "torch-{}-cp311-cp311-manylinux1_x86_64.whl"


def test_a_requirement_is_one_row_for_all_consecutive_releases_that_have_it() -> None:
    pinned, open_ = "sympy==1.13.1", "sympy>=1.13.3"
    releases = {"2.5.0": (pinned,), "2.5.1": (pinned, "jinja2>=3"), "2.6.0": (open_,), "2.7.0": (pinned,)}
    found = spans({version(text): texts for text, texts in releases.items()}, "torch", ("torch-wheels",))
    assert sorted((row.package, row.requirement, str(row.first), str(row.last)) for row in found) == [
        ("jinja2", "jinja2>=3", "2.5.1", "2.5.1"),
        ("sympy", pinned, "2.5.0", "2.5.1"),
        ("sympy", pinned, "2.7.0", "2.7.0"),
        ("sympy", open_, "2.6.0", "2.6.0"),
    ]


def test_only_what_excludes_a_release_of_another_package_counts() -> None:
    lines = (
        "filelock",
        "numpy<2",
        "peft<1",
        "mkl>=2021; platform_system == 'Windows'",
        "pytest>=8; extra == 'dev'",
        "xgrammar<1; extra == 'srt'",
    )
    text = "".join(f"Requires-Dist: {line}\n" for line in lines)
    assert bounds(text, {"peft"}, ("srt",)) == ('mkl>=2021;platform_system=="Windows"', 'xgrammar<1;extra=="srt"')


def test_the_program_reads_each_release_in_the_tables_and_keeps_other_rows(tmp_path: Path) -> None:
    header = ",".join(OTHER_RELEASES.columns) + "\n"
    for table in RELEASE_TABLES.values():
        (tmp_path / f"{table.name}.csv").write_text(header)
    (tmp_path / "others.csv").write_text(header)
    (tmp_path / "torch.csv").write_text(header + ROW.format("2.5.1") + ROW.format("2.6.0"))
    kept = "jax,opt-einsum,opt-einsum>=3,0.5.0,0.6.0,jax-wheels,\n"
    (tmp_path / "requirements.csv").write_text(",".join(REQUIREMENTS.columns) + "\n" + kept)
    sources = "id,title,url,read\njax-wheels,Wheels,,2020-01-01\ntorch-wheels,Wheels,,2020-01-01\n"
    (tmp_path / "sources.csv").write_text(sources)
    members = metadata("Requires-Dist: sympy==1.13.1\nRequires-Dist: numpy>=1.26")
    wheels = {WHEEL.format(release): archive(**members) for release in ("2.5.1", "2.6.0", "2.7.0")}
    with served({"torch": wheels}) as address:
        done = run("requirements", address, tmp_path, "torch", "--write")
    assert done.returncode == 0, done.stderr
    written = (tmp_path / "requirements.csv").read_text().splitlines()[1:]
    assert written == [kept.strip(), "torch,sympy,sympy==1.13.1,2.5.1,2.6.0,torch-wheels,"]
    assert (tmp_path / "sources.csv").read_text() == sources, "what else these wheels say was not read"
