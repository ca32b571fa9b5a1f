"""The texts of fleets, diffs, plans, fits, tables, environments, tickets and some recorded machines, to be recorded word for word."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Final

from gpudoctor.changes import compare
from gpudoctor.fit.answer import answer
from gpudoctor.fit.asked import Asked
from gpudoctor.fit.card import Card
from gpudoctor.fit.counted import Sample
from gpudoctor.fit.presets import model
from gpudoctor.manual import facts
from gpudoctor.matrix import Source
from gpudoctor.matrix_files import open_matrix
from gpudoctor.redact.pseudonyms import Kind
from gpudoctor.report import (
    diff_text,
    environments,
    fit,
    fit_text,
    fleet_text,
    github,
    junit,
    libraries,
    plan_text,
    sarif,
    tables,
    terminal,
)
from gpudoctor.report.build import TOOL, build
from gpudoctor.report.diff import Diff
from gpudoctor.report.environments import EnvironmentsDocument
from gpudoctor.report.page import Look
from gpudoctor.report.ticket import facts as ticket_facts
from gpudoctor.report.ticket import markdown
from gpudoctor.snapshot.xray import Environment, File, Files, Need
from tests.fleet import generated
from tests.fleet.reports import merged
from tests.machines.store import recorded
from tests.plan.planned import TORCH, planned
from tests.report import fleets, machines, samples
from tests.report.ticket import tickets

WIDE: Final = Look(width=100, verbose=True)
MEASURED, BROKEN, XRAYED = "eight-trained-on-alike", "driver-470-tensorflow-cuda-12", "libraries-in-order"
BEFORE, AFTER = "healthy-eight", "eight-one-lost"
CHECKED: Final = (
    AFTER,
    BROKEN,
    XRAYED,
    "gpu-at-a-third-of-its-speed",
    "held-back-by-heat",
    "memory-held",
    "sums-hang-unless-without-p2p",
    "torch-dropped-one-of-two",
    "training-strays-to-cpu",
)
GIB: Final = 1 << 30


def _fleet(look: Look) -> str:
    names, planted = generated.plan(60, seed=4, faulty=0.1, slow=0.05, drifting=0.05)
    return fleet_text.render(merged(dict(generated.reports(names, planted, 4)) | {"gpu900": b"{", "gpu901": b""}), look)


def _diff(form: Callable[[Diff], str]) -> str:
    return form(compare(tickets.of_machine(BEFORE), tickets.of_machine(AFTER), open_matrix(), ("before", "after")))


def _fit(name: str, asked: Asked) -> str:
    cards = [
        Card(
            name=f"GPU of {gib} GiB",
            available=gib * GIB,
            total=(gib + 1) * GIB,
            observed=gib == 8,
            capability=(8, 9),
            flops={"fp32": 8e13, "bf16": 16e13},
            measured=gib == 8,
            bandwidth=1e12,
            host_rate=2e10 if gib == 24 else None,
            host_basis="PCIe 4.0 x16",
            against_cpu={("resnet50", 32): 11.5} if gib == 8 else {},
        )
        for gib in (8, 24)
    ]
    counted = model(name, Sample())
    answers = [answer(counted, asked, card) for card in cards]
    made = fit.document(counted, asked, answers, stated=True, fits_on=("L4", "A100"), notes=("A note.",), samples=10**6, price=2.5)
    return fit_text.render(made, WIDE, rule_of_thumb=True)


def _matrix(subject: str, name: str, version: str | None = None) -> str:
    source = Source("torch-wheels", "Wheels of torch", "https://example.org/torch", "2026-11-20")
    found = facts.find(open_matrix(), subject, name, version)
    return tables.render(subject, found.table, found.rows, [source], WIDE, support=found.support)


def _environment(name: str) -> str:
    seen = recorded(name)
    assert isinstance(seen.frameworks, tuple)
    return libraries.environment(Environment("/opt/venv/bin/python", "named with --python", seen.frameworks, seen.libraries), WIDE)


def _files() -> str:
    direct = Need("libcudart.so.12", "/opt/app/train", direct=True, path="/usr/lib/libcudart.so.12", why="the loader's cache")
    missing = Need("libcudnn.so.9", "libmodel.so", direct=False, path="", why="", looked_in=("/opt/app", "/usr/lib"))
    file = File(
        "/opt/app/train", machine="x86_64", soname="libtrain.so", runpath="$ORIGIN", needed=("libcudart.so.12",), needs=(direct, missing)
    )
    return libraries.files(
        Files("/opt/environments/of/a/long/path/" + "python" * 10, (file, File("/opt/app/notes", problem="it is not an ELF file"))), WIDE
    )


def _environments() -> str:
    machine = machines.report(MEASURED)
    known = {"kind": "virtual environment", "active": True, "kernels": ("python3",)}
    rows = [
        environments.row(machines.report(name), machine, {**known, "path": f"/home/ann/{name}", "python": f"/home/ann/{name}/bin/python"})
        for name in (MEASURED, BROKEN, "cudnn-nowhere", "no-framework")
    ]
    rows.append(
        environments.row(None, machine, {**known, "path": "/opt/old", "python": "/opt/old/bin/python", "verdict": "unknown", "why": "?"})
    )
    document = EnvironmentsDocument(
        tool=TOOL, created="2026-11-22T10:00:00Z", summary=machine.summary, verdict=machine.verdict, environments=tuple(rows), unlisted=2
    )
    return environments.draw(document, WIDE, "/home/ann")


def _sarif() -> str:
    return json.dumps(json.loads(sarif.render(build(samples.mismatch)))["runs"][0]["results"], indent=1)


def _check(name: str) -> str:
    return terminal.render(machines.report(name), WIDE)


def _facts(name: str) -> str:
    return "".join(
        f"{section.name}\n" + "".join(f"  {fact}\n" for fact in section.facts) for section in ticket_facts.sections(recorded(name))
    )


TEXTS: Final[dict[str, Callable[[], str]]] = {
    "fleet": lambda: _fleet(Look()),
    "fleet.verbose": lambda: _fleet(WIDE),
    "fleet.every_trouble": lambda: fleet_text.render(fleets.fleet(60), Look()),
    "diff": lambda: _diff(lambda found: diff_text.render(found, Look())),
    "diff.markdown": lambda: _diff(lambda found: diff_text.markdown(found, verbose=True)),
    "plan": lambda: plan_text.render(planned("h100", "550.54.14", TORCH), Look()),
    "plan.nothing": lambda: plan_text.render(planned("v100-sxm2", "535.104.05", "torch==2.12.0"), Look()),
    "fit.training": lambda: _fit("llama-8b", Asked(batch=4, precision="bf16", lora=8)),
    "fit.inference": lambda: _fit("llama-8b", Asked(precision="bf16", infer=True)),
    "fit.fits": lambda: _fit("resnet50", Asked(batch=32, precision="bf16")),
    "fit.data_parallel": lambda: _fit("resnet50", Asked(batch=64, gpus=4)),
    "fit.sharded": lambda: _fit("llama-8b", Asked(batch=1, precision="bf16", gpus=4, shard="zero3", offload=True)),
    "matrix.framework": lambda: _matrix("framework", "torch", "2.5.1"),
    "matrix.cuda": lambda: _matrix("cuda", "12.4"),
    "matrix.gpu": lambda: _matrix("gpu", "a100"),
    "matrix.driver": lambda: _matrix("driver", "470.256.02"),
    "environments": _environments,
    "xray": lambda: _environment(XRAYED),
    "xray.loaded": lambda: _environment("loaded-from-elsewhere"),
    "xray.files": _files,
    "ticket": lambda: markdown.render(machines.report(MEASURED), {Kind.HOME: 2, Kind.HOST: 1, Kind.CREDENTIALS: 3}),
    "ticket.broken": lambda: markdown.render(machines.report(BROKEN), {}),
    "ticket.facts": lambda: _facts("healthy-one"),
    "check.github": lambda: github.render(build(samples.mismatch)),
    "check.junit": lambda: junit.render(build(samples.mismatch)).decode(),
    "check.sarif": _sarif,
    **{f"check.{name}": partial(_check, name) for name in CHECKED},
}
