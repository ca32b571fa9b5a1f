#!/usr/bin/env python3
"""Rebuilds compat/chips.csv, and adds new products to gpus.csv, from pci.ids and from the README of NVIDIA's open kernel modules."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import msgspec

from gpudoctor import versions
from gpudoctor.matrix import gpu_names
from gpudoctor.matrix.machine_rows import Chip, GpuProduct
from gpudoctor.matrix.tables import CHIPS, GPUS
from gpudoctor.matrix_files import read_table
from gpudoctor.versions import Version
from scripts.refresh.common import COMPAT, finish

KEPLER, MAXWELL, NEWER = "cuda-gpus-2022", "cuda-gpus-legacy", "cuda-gpus"
GENERATIONS = {
    "GF": ("Fermi", "2.0", "driver-architectures"),
    "GK10": ("Kepler", "3.0", KEPLER),
    "GK11": ("Kepler", "3.5", KEPLER),
    "GK18": ("Kepler", "3.5", KEPLER),
    "GK208": ("Kepler", "3.5", "cuda-gpus-copy-2020"),
    "GK210": ("Kepler", "3.7", KEPLER),
    "GM10": ("Maxwell", "5.0", MAXWELL),
    "GM20": ("Maxwell", "5.2", MAXWELL),
    "GP100": ("Pascal", "6.0", MAXWELL),
    "GP10": ("Pascal", "6.1", MAXWELL),
    "GV100": ("Volta", "7.0", MAXWELL),
    "TU1": ("Turing", "7.5", KEPLER),
    "GA100": ("Ampere", "8.0", KEPLER),
    "GA10": ("Ampere", "8.6", NEWER),
    "GH100": ("Hopper", "9.0", NEWER),
    "AD10": ("Ada Lovelace", "8.9", NEWER),
    "GB100": ("Blackwell", "10.0", NEWER),
    "GB110": ("Blackwell", "10.3", NEWER),
    "GB10B": ("Blackwell", "11.0", NEWER),
    "GB20B": ("Blackwell", "12.1", NEWER),
    "GB20": ("Blackwell", "12.0", NEWER),
}
"""Architecture and compute capability of a chip, by the longest prefix of its codename in pci.ids, and the copy of NVIDIA's list of
compute capabilities that has a product on it. Of Fermi, the lowest."""
LOWEST = "lowest of its generation"
NO_GPU = re.compile(r"Audio|NVSwitch|USB|UCSI|[Bb]ridge|PCIe host|FPGA|Tegra")
NO_PRODUCT = re.compile(
    r"Matrox|DRIVE|DGX|PG50|Embedded|PCIe LC| Super$|3050Ti|^NVIDIA H100$|A100-SXM-64GB|A4000H|T400E|2000E|AX800|H20 NVL16"
)
"""Products for other uses, for single customers, or equal to another in every column."""
SOLD = re.compile(r"(GeForce|Quadro|Tesla|TITAN|NVS|GRID|RTX|CMP|P10\d-|[ABHL]\d{2,3}[A-Z]?\b|T4G)")
"""How the names of products begin in the brackets of pci.ids; codenames, sizes and the ends of lists stand there too."""
NOT_SOLD = re.compile(r"Engineering|FAKE|SKU|PG\d|USM|vGPU|Stella|IceCube|Service Provider|Reference|A100[AB]")
"""Samples, forgeries, board numbers and virtual GPUs."""
BRAND_OF = {"GT": "GeForce", "GTX": "GeForce", "C2": "Tesla"}
"""The brand of a name that follows another in the same brackets without it, by how the name begins: "Tesla C2050 / C2070"."""
VARIANT = re.compile(r" (\(.*\)|OEM|Mac Edition|Rev\. \w|Lite Hash Rate|Refresh|GDDR\dX?|\d+ ?GB( Rev\. \w)?)$")
"""What a name ends in where another board is sold under the same name."""
LAPTOP = re.compile(r"Laptop|Mobile|Max-Q Design|GeForce MX|Quadro (T\d|RTX 3000)|\d{3}(M|MX|A)\b")
DATA_CENTRE = re.compile(r"^(Tesla|GRID|NVIDIA (?:(A|H|L|B|GB|GH)\d|T4G))|Server Edition")


class Generation(NamedTuple):
    """A chip's architecture and compute capability, with the source."""

    architecture: str
    compute_capability: Version
    source: str


def generation(name: str) -> Generation | None:
    """Return the generation of a GPU by its name in pci.ids ("GA102 [GeForce RTX 3090]"); None if its chip is not in GENERATIONS."""
    prefixes = [prefix for prefix in GENERATIONS if name.startswith(prefix)]
    if not prefixes:
        return None
    architecture, capability, source = GENERATIONS[max(prefixes, key=len)]
    version = versions.parse_version(capability)
    return Generation(architecture, version, source) if version else None


def devices_of_nvidia(text: str) -> Iterator[tuple[int, str]]:
    """Yield NVIDIA's devices in pci.ids, id and name, without secondary functions and board parts."""
    ours = False
    for line in text.splitlines():
        if re.match(r"[0-9a-f]{4}  ", line):
            ours = line.startswith("10de")
        device = re.match(r"\t([0-9a-f]{4})  (.*)", line) if ours else None
        if device and not NO_GPU.search(device[2]):
            yield int(device[1], 16), device[2]


def parse_pci_ids(text: str) -> dict[int, Generation | None]:
    """Return the generation of each of NVIDIA's devices in pci.ids."""
    return {device: generation(name) for device, name in devices_of_nvidia(text)}


def products_in(brackets: str) -> Iterator[str]:
    """Yield each product of "GeForce 610M/710M / GT 620M/630M"."""
    for listed in brackets.split(" / "):
        brand = next((brand for beginning, brand in BRAND_OF.items() if listed.startswith(beginning)), "")
        name = f"{brand} {listed}".strip()
        together = next((word for word in name.split() if "/" in word), "")
        yield from (name.replace(together, one) for one in together.split("/")) if together else (name,)


def parse_product_names(text: str) -> dict[str, set[int]]:
    """Return the device ids of each product that pci.ids names in brackets ("GK107 [GeForce GT 640 OEM]"), without variants.

    One name may stand for several chips: "GeForce GT 640" alone has compute capability 3.0, its "Rev. 2" has 3.5.
    """
    found: dict[str, set[int]] = {}
    for device, name in devices_of_nvidia(text):
        bracketed = re.search(r"\[(.+)\]", name)
        for product in products_in(bracketed[1]) if bracketed else ():
            if SOLD.match(product) and not NOT_SOLD.search(product):
                found.setdefault(VARIANT.sub("", product), set()).add(device)
    return {name if name.startswith(("Quadro", "Tesla", "GRID")) else f"NVIDIA {name}": devices for name, devices in found.items()}


def parse_open_modules(text: str) -> dict[str, set[int]]:
    """Return the device ids of each product in the README's table."""
    found: dict[str, set[int]] = {}
    for name, device in re.findall(r"^\| (\S.*?) +\| ([0-9A-F]{4})\b[^|]*\|", text, flags=re.MULTILINE):
        found.setdefault(name, set()).add(int(device, 16))
    return found


def chips(listed: Mapping[int, Generation | None]) -> list[Chip]:
    """Return rows that join neighbouring device ids with one compute capability."""
    rows: list[Chip] = []
    before: Generation | None = None
    for device, chip in sorted(listed.items()):
        if chip and before and before[:2] == chip[:2]:
            rows[-1] = msgspec.structs.replace(rows[-1], last=device)
        elif chip:
            note = LOWEST if chip.architecture == "Fermi" else ""
            rows.append(Chip(device, device, chip.architecture, chip.compute_capability, ("pci-ids", chip.source), note))
        before = chip
    return rows


def without_known(products: Mapping[str, set[int]], rows: Collection[GpuProduct]) -> dict[str, set[int]]:
    """Return the products that the table does not find by name, whole or without its last words."""
    known = gpu_names.products_by_key(rows)
    return {
        name: devices
        for name, devices in products.items()
        if not (gpu_names.find_product(name, known) or gpu_names.product_family(name, known))
    }


def kind_of(name: str) -> str:
    """Return the kind of a product, by its name."""
    if LAPTOP.search(name):
        return "laptop"
    if DATA_CENTRE.search(name):
        return "data-center"
    return "geforce" if "GeForce" in name or "TITAN" in name else "workstation"


def new_products(
    products: Mapping[str, set[int]], listed: Mapping[int, Generation | None], known: Collection[str], source: tuple[str, ...]
) -> Iterator[GpuProduct]:
    """Yield rows for products that the table lacks, unless their chips are unlisted or differ in compute capability."""
    for name, devices in products.items():
        found = {listed.get(device) for device in devices} - {None}
        if name.casefold() in known or NO_PRODUCT.search(name) or len(found) != 1:
            continue
        chip = found.pop()
        if chip is not None:
            yield GpuProduct(
                name=name,
                aliases=tuple(re.findall(r"^Quadro ([A-Z]\S+)$", name.casefold(), flags=re.IGNORECASE)),
                kind=kind_of(name),
                compute_capability=chip.compute_capability,
                architecture=chip.architecture,
                memory_gib=None,
                bandwidth_gbs=None,
                fp32_tflops=None,
                tf32_tflops=None,
                bf16_tflops=None,
                fp16_tflops=None,
                source=source,
                note=LOWEST if chip.architecture == "Fermi" else "",
            )


def disagreements(rows: Collection[GpuProduct], products: Mapping[str, set[int]], listed: Mapping[int, Generation | None]) -> Iterator[str]:
    """Yield a sentence for each product whose compute capability in the table differs from its chip's."""
    for row in rows:
        found = {listed.get(device) for device in products.get(row.name, ())}
        if any(chip and chip.compute_capability != row.compute_capability for chip in found):
            yield f"{row.name} has {row.compute_capability} in gpus.csv, but its chip has another compute capability."


def main() -> int:
    """Rebuild both tables from the two files; show, check or write the difference; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pci-ids", type=Path, default=Path("/usr/share/misc/pci.ids"), help="pci.ids, of the package of that name")
    parser.add_argument("--open-modules", type=Path, metavar="README", help="README.md of open-gpu-kernel-modules; default: only pci.ids")
    parser.add_argument("--compat", type=Path, default=COMPAT, help="the folder of the tables")
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument("--write", action="store_true", help="write the tables")
    choice.add_argument("--check", action="store_true", help="exit with 1 if a table differs")
    options = parser.parse_args()
    pci_ids = options.pci_ids.read_text(encoding="utf-8")
    listed = parse_pci_ids(pci_ids)
    products = parse_open_modules(options.open_modules.read_text(encoding="utf-8")) if options.open_modules else {}
    rows = read_table(str(options.compat), GPUS)
    wrong = list(disagreements(rows, products, listed))
    if wrong:
        print(*wrong, sep="\n", file=sys.stderr)
        return 1
    known = {row.name.casefold() for row in rows}
    rows = (*rows, *new_products(products, listed, known, ("open-kernel-modules", "pci-ids")))
    rows = (*rows, *new_products(without_known(parse_product_names(pci_ids), rows), listed, known, ("pci-ids",)))
    return max(finish(options, CHIPS, chips(listed)), finish(options, GPUS, sorted(rows, key=GPUS.key)))


if __name__ == "__main__":
    sys.exit(main())
