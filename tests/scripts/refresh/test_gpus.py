from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from gpudoctor.matrix.tables import GPUS
from gpudoctor.matrix_files import read_table
from scripts.refresh.common import dump_table
from scripts.refresh.gpus import (
    chips,
    disagreements,
    generation,
    kind_of,
    new_products,
    parse_open_modules,
    parse_pci_ids,
    parse_product_names,
    without_known,
)
from tests.scripts.programs import ROOT
from tests.shipped import shared_matrix

PCI_IDS = """\
# comment
1002  Advanced Micro Devices, Inc. [AMD/ATI]
\t2204  Not NVIDIA's
10de  NVIDIA Corporation
\t0ca0  GT215 [GeForce GT 330]
\t1b06  GP102 [GeForce GTX 1080 Ti]
\t\t1043 85e4  a board
\t1b80  GP104 [GeForce GTX 1080]
\t10ef  GP102 HDMI Audio Controller
\t1df6  GV100GL [Tesla V100S PCIe 32GB]
\t2204  GA102 [GeForce RTX 3090]
\t2206  GA102 [GeForce RTX 3080]
\t2b85  GB202 [GeForce RTX 5090]
\t2e12  GB20B [GB10]
10df  Emulex Corporation
\t2208  Not NVIDIA's either
"""
README = """\
| Product Name                   | PCI ID         |
| ------------------------------ | -------------- |
| NVIDIA GeForce RTX 3090        | 2204           |
| NVIDIA GB10                    | 2E12 10DE 21EC |
| NVIDIA GB10                    | 2E12 10DE 21ED |
| NVIDIA Two Chips               | 2204           |
| NVIDIA Two Chips               | 2B85           |
| NVIDIA Unlisted                | FFFF           |
| NVIDIA DRIVE P2021             | 2204           |
"""


def test_chips_of_pci_ids() -> None:
    rows = [(f"{row.first:04x}", f"{row.last:04x}", row.architecture, str(row.compute_capability)) for row in chips(parse_pci_ids(PCI_IDS))]
    assert rows == [
        ("1b06", "1b80", "Pascal", "6.1"),
        ("1df6", "1df6", "Volta", "7.0"),
        ("2204", "2206", "Ampere", "8.6"),
        ("2b85", "2b85", "Blackwell", "12.0"),
        ("2e12", "2e12", "Blackwell", "12.1"),
    ]


def test_an_unknown_chip_ends_a_range() -> None:
    listed = parse_pci_ids("10de  NVIDIA\n\t2200  GA102 [A]\n\t2201  ZZ100 [B]\n\t2202  GA102 [C]\n")
    assert [(row.first, row.last) for row in chips(listed)] == [(0x2200, 0x2200), (0x2202, 0x2202)]


@pytest.mark.parametrize(
    ("name", "capability"),
    [("GP100GL [Quadro GP100]", "6.0"), ("GP107 [GeForce GTX 1050]", "6.1"), ("GB10B [Jetson AGX Thor]", "11.0"), ("GB100 [B200]", "10.0")],
)
def test_the_longest_codename_wins(name: str, capability: str) -> None:
    found = generation(name)
    assert found is not None
    assert str(found.compute_capability) == capability


def test_the_products_of_the_readme() -> None:
    assert parse_open_modules(README)["NVIDIA GB10"] == {0x2E12}


def test_new_products_need_complete_facts() -> None:
    new = list(new_products(parse_open_modules(README), parse_pci_ids(PCI_IDS), {"nvidia geforce rtx 3090"}, ("open-kernel-modules",)))
    assert [(row.name, row.kind, str(row.compute_capability), row.source) for row in new] == [
        ("NVIDIA GB10", "data-center", "12.1", ("open-kernel-modules",))
    ]


NAMED = """\
10de  NVIDIA Corporation
\t06d1  GF100GL [Tesla C2050 / C2070]
\t0fc0  GK107 [GeForce GT 640 OEM]
\t0fc1  GK107 [GeForce GT 640]
\t1140  GF117M [GeForce 610M/710M / GT 620M/630M]
\t1280  GK208 [GeForce GT 640 Rev. 2]
\t1292  GK208M [GeForce 710M]
\t1b07  GP102 [P102-100]
\t1e30  TU102GL [Quadro RTX 6000/8000]
\t2080  GA100 [CMP 170HX]
\t2204  GA102 [GeForce RTX 3090 Engineering Sample]
\t2205  GA102 [GeForce RTX 3090 24GB]
\t20b8  GA100 [A100X]
\t2236  GA102GL [A10]
\t2237  GA102GL [PG133 SKU 210]
"""


def test_the_products_of_pci_ids() -> None:
    known = read_table(str(ROOT / "compat"), GPUS)
    known = tuple(row for row in known if row.name in {"NVIDIA A10", "NVIDIA GeForce RTX 3090", "Quadro RTX 6000", "Quadro RTX 8000"})
    unknown = without_known(parse_product_names(NAMED), known)
    new = new_products(unknown, parse_pci_ids(NAMED), (), ("pci-ids",))
    assert {row.name: str(row.compute_capability) for row in new} == {
        "Tesla C2050": "2.0",
        "Tesla C2070": "2.0",
        "NVIDIA GeForce 610M": "2.0",
        "NVIDIA GeForce GT 620M": "2.0",
        "NVIDIA GeForce GT 630M": "2.0",
        "NVIDIA P102-100": "6.1",
        "NVIDIA CMP 170HX": "8.0",
        "NVIDIA A100X": "8.0",
    }


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("Tesla T4", "data-center"),
        ("NVIDIA L40S", "data-center"),
        ("NVIDIA RTX PRO 6000 Blackwell Server Edition", "data-center"),
        ("NVIDIA RTX A6000", "workstation"),
        ("Quadro RTX 6000", "workstation"),
        ("NVIDIA GeForce RTX 5090", "geforce"),
        ("NVIDIA GeForce RTX 5090 Laptop GPU", "laptop"),
        ("NVIDIA GeForce GTX 1650 with Max-Q Design", "laptop"),
        ("Quadro K5000M", "laptop"),
        ("GRID K520", "data-center"),
        ("NVIDIA T4G", "data-center"),
        ("NVIDIA CMP 170HX", "workstation"),
    ],
)
def test_the_kind_of_a_product(name: str, kind: str) -> None:
    assert kind_of(name) == kind


def test_the_kinds_in_the_table_agree_with_the_script() -> None:
    differ = {
        row.name
        for row in shared_matrix().rows(GPUS)
        if ("open-kernel-modules" in row.source or row.source == ("pci-ids",)) and kind_of(row.name) != row.kind
    }
    assert differ == {"NVIDIA A800 40GB Active", "NVIDIA GeForce GTX 1650 Ti", "NVIDIA GeForce RTX 2050", "NVIDIA T500"}


def test_a_capability_that_contradicts_its_chip_is_reported() -> None:
    row = shared_matrix().gpu("rtx 5090")
    assert row is not None
    assert list(disagreements([row], {row.name: {0x2B85}}, parse_pci_ids(PCI_IDS))) == []
    assert list(disagreements([row], {row.name: {0x2204}}, parse_pci_ids(PCI_IDS))) == [
        "NVIDIA GeForce RTX 5090 has 12.0 in gpus.csv, but its chip has another compute capability."
    ]


def run(tmp_path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    files = ("--pci-ids", str(tmp_path / "pci.ids"), "--open-modules", str(tmp_path / "README.md"), "--compat", str(tmp_path))
    command = [sys.executable, "-m", "scripts.refresh.gpus", *files, *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_the_script_shows_checks_and_writes(tmp_path: Path) -> None:
    (tmp_path / "pci.ids").write_text(PCI_IDS, encoding="utf-8")
    (tmp_path / "README.md").write_text(README, encoding="utf-8")
    for table in ("chips", "gpus", "sources"):
        (tmp_path / f"{table}.csv").write_bytes((ROOT / "compat" / f"{table}.csv").read_bytes())
    rows = [row for row in read_table(str(tmp_path), GPUS) if row.name != "NVIDIA GB10"]
    (tmp_path / "gpus.csv").write_bytes(dump_table(GPUS, rows))
    shown = run(tmp_path)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "+NVIDIA GB10,,data-center,12.1,Blackwell,,,,,,,open-kernel-modules pci-ids,\n" in shown.stdout
    assert run(tmp_path, "--check").returncode == 1
    assert run(tmp_path, "--write").returncode == 0
    assert (run(tmp_path, "--check").returncode, len(read_table(str(tmp_path), GPUS))) == (0, len(rows) + 1)
