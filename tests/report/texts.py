"""The texts of fleets, diffs, plans, fits, tables, environments, tickets and some recorded machines, to be recorded word for word."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import partial
from typing import Final

from msgspec.structs import replace

from gpudoctor.changes import compare_examinations
from gpudoctor.derive.gpu_support import KERNELS, PTX, UNKNOWN, GpuSupport, Releases
from gpudoctor.findings import MACHINE, Unchecked
from gpudoctor.fit.answer import fit_answer
from gpudoctor.fit.card import Card
from gpudoctor.fit.counted_models import SampleSize
from gpudoctor.fit.presets import model_of_name
from gpudoctor.fit.run_options import Asked
from gpudoctor.manual import facts
from gpudoctor.matrix import Source
from gpudoctor.redact.pseudonyms import RemovedKind
from gpudoctor.report import (
    diff_text,
    environments,
    fallback_text,
    fit,
    fit_notes,
    fit_text,
    fleet_metrics,
    fleet_nodes,
    fleet_page,
    fleet_text,
    github,
    junit,
    libraries,
    oneline,
    plan_files,
    plan_text,
    sarif,
    tables,
    terminal,
)
from gpudoctor.report import markdown as report_markdown
from gpudoctor.report.build import TOOL, build_report
from gpudoctor.report.diff import Diff
from gpudoctor.report.environments import EnvironmentsDocument
from gpudoctor.report.model import Report
from gpudoctor.report.page import PageLook
from gpudoctor.report.ticket import facts as ticket_facts
from gpudoctor.report.ticket import markdown, page
from gpudoctor.snapshot.xray import EnvironmentXray, File, FilesXray, Need
from tests.fleet import generated
from tests.fleet.reports import merged
from tests.machines.store import recorded
from tests.plan.planned import TORCH, planned
from tests.report import fleets, machines, rich, rich_environments, rich_fleet, samples
from tests.report.ticket import tickets
from tests.shipped import shared_matrix

WIDE: Final = PageLook(width=100, verbose=True)
NARROW: Final = PageLook(width=44, colour=True, verbose=True)
"""Nearly every line is broken, which shows how its next lines are indented, and in which style."""
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

RICH: Final = build_report(rich.EXAMINATION, "smoke", ("gpudoctor", "smoke", "--python", "~/my env"))
"""As `gpudoctor smoke` reports it: with the numbers of the training."""
NOT_OURS: Final = re.compile(
    r"<style>.*?</style>\n|-----BEGIN GPUDOCTOR REPORT-----.*?-----END|```json\n.*?\n```|<pre>{.*?}</pre>", re.DOTALL
)
"""What a recorded ticket leaves out: the style sheet and the report in JSON, packed or not."""


def _fleet(look: PageLook) -> str:
    names, planted = generated.plan(60, seed=4, faulty=0.1, slow=0.05, drifting=0.05)
    return fleet_text.render(merged(dict(generated.reports(names, planted, 4)) | {"gpu900": b"{", "gpu901": b""}), look)


def _diff(form: Callable[[Diff], str]) -> str:
    return form(compare_examinations(tickets.of_machine(BEFORE), tickets.of_machine(AFTER), shared_matrix(), ("before", "after")))


def _fit_unknown() -> str:
    """Return the answers that no model of the presets gives: unknown, impossible, and of no GPU."""
    counted, asked = model_of_name("resnet50", SampleSize()), Asked(batch=8, precision="fp8", checkpointing=True)
    card = Card(name="GPU", available=8 * GIB, total=9 * GIB, observed=True, capability=(7, 0), flops={}, measured=False, bandwidth=None)
    answers = [fit.gpu_document(card, asked, fit_answer(counted, asked, card))]
    made = fit.fit_document(counted, asked, answers, stated=False, fits_on=(), notes=fit_notes.fit_notes(counted, asked, answers, 1.0))
    (gpu,) = made.gpus
    gpus = (gpu, replace(gpu, fits=None, why=""), replace(gpu, fits=False, why="", needed_bytes=None, largest_batch=None))
    return "".join(fit_text.render(replace(made, gpus=some), PageLook(plain=True)) for some in (gpus, ()))


def _fit(name: str, asked: Asked, look: PageLook = WIDE) -> str:
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
    counted = model_of_name(name, SampleSize())
    answers = [fit.gpu_document(card, asked, fit_answer(counted, asked, card, 10**6, 2.5)) for card in cards]
    made = fit.fit_document(
        counted, asked, answers, stated=True, fits_on=("L4", "A100"), notes=fit_notes.fit_notes(counted, asked, answers, 1.0)
    )
    return fit_text.render(made, look, rule_of_thumb=True)


def _matrix(subject: str, name: str, version: str | None = None, look: PageLook = WIDE) -> str:
    source = Source("torch-wheels", "Wheels of torch", "https://example.org/torch", "2026-11-20")
    found = facts.find_rows(shared_matrix(), subject, name, version)
    sources = [source, Source("a-file", "A file", "", "2026-11-20")]
    return tables.render(subject, found.table, found.rows, sources, look, support=found.support)


def _support() -> str:
    wheels = (
        Releases("jaxs", "", ("0.1",), KERNELS),
        Releases("jaxs", "", ("0.2", "0.3"), PTX),
        Releases("jaxs", "", ("0.4", "0.5"), UNKNOWN),
        Releases("jaxs", "cu12", ("0.2", "0.3"), KERNELS),
        Releases("old", "", ("1.0",), "none"),
    )
    found = facts.find_rows(shared_matrix(), "gpu", "a100")
    support = GpuSupport(None, 580, dropped=True, platform="linux_x86_64", wheels=wheels, source=())
    return tables.render("gpu", found.table, found.rows, [], NARROW, support=support)


def _listings(width: int = 60) -> str:
    look = PageLook(width=width)
    packages = tables.packages_text((("torch", "1.0", "2.9.1"), ("jax", "", "0.6")), look)
    return packages + "".join(
        tables.listing_text(name, facts.find_rows(shared_matrix(), name, one).rows[:1], look) for name, one in _LISTED
    )


_LISTED: Final = (("gpu", "a100"), ("driver", "470.256.02"), ("cuda", "11.8"))


def _environment(name: str) -> str:
    seen = recorded(name)
    assert isinstance(seen.frameworks, tuple)
    return libraries.environment_page(EnvironmentXray("/opt/venv/bin/python", "named with --python", seen.frameworks, seen.libraries), WIDE)


def _files() -> str:
    direct = Need("libcudart.so.12", "/opt/app/train", direct=True, path="/usr/lib/libcudart.so.12", why="the loader's cache")
    missing = Need("libcudnn.so.9", "libmodel.so", direct=False, path="", why="", looked_in=("/opt/app", "/usr/lib"))
    file = File(
        "/opt/app/train", machine="x86_64", soname="libtrain.so", runpath="$ORIGIN", needed=("libcudart.so.12",), needs=(direct, missing)
    )
    return libraries.files_page(
        FilesXray("/opt/environments/of/a/long/path/" + "python" * 10, (file, File("/opt/app/notes", problem="it is not an ELF file"))),
        WIDE,
    )


def _environments(look: PageLook = WIDE, *, broken: bool = False) -> str:
    """Return the page of five environments, or that of a broken machine with one that has no framework."""
    machine = machines.report(MEASURED)
    known = {"kind": "virtual environment", "active": True, "kernels": ("python3",)}
    rows = [
        environments.environment_row(
            machines.report(name), machine, {**known, "path": f"/home/ann/{name}", "python": f"/home/ann/{name}/bin/python"}
        )
        for name in (MEASURED, BROKEN, "cudnn-nowhere", "no-framework")
    ]
    rows.append(
        environments.environment_row(
            None, machine, {**known, "path": "/opt/old", "python": "/opt/old/bin/python", "verdict": "unknown", "why": "?"}
        )
    )
    document = EnvironmentsDocument(
        tool=TOOL, created="2026-11-22T10:00:00Z", summary=machine.summary, verdict=machine.verdict, environments=tuple(rows), unlisted=2
    )
    if broken:
        without = tuple(replace(row, active=False, kernels=()) for row in rows if row.verdict == environments.NO_FRAMEWORK)
        document = replace(document, verdict="broken", code="GD101", why="No GPU.", environments=without, unlisted=0)
    return environments.draw(document, PageLook(plain=broken) if broken else look, "" if broken else "/home/ann")


def _sarif(report: Report) -> str:
    run = json.loads(sarif.render(report))["runs"][0]
    return json.dumps([run["results"], run["invocations"]], indent=1)


def _openings() -> str:
    """Return how a report begins where too much was not checked for a headline, by how many names there are."""
    lines = []
    for count in (0, 1, 2, 3, 5):
        unchecked = tuple(Unchecked(MACHINE, f"package {number}", "no table lists it") for number in range(count))
        long = replace(samples.unknown.diagnosis, unchecked=unchecked, unproven=("it is long " * 30,))
        lines += terminal.render(build_report(replace(samples.unknown, diagnosis=long))).splitlines()[:4]
    return "\n".join(lines)


def _each(form: Callable[[Report], str]) -> str:
    """Return what a form says of every examination made by hand."""
    made = {**{name: build_report(examination) for name, examination in samples.ALL.items()}, "rich": RICH}
    return "".join(f"{name}\n{form(report)}\n" for name, report in made.items())


def _ticket(form: Callable[[Report, dict[RemovedKind, int]], str], report: Report) -> str:
    return NOT_OURS.sub("", form(report, {RemovedKind.HOME: 2, RemovedKind.HOST: 1, RemovedKind.CREDENTIALS: 3, RemovedKind.MAIL: 1}))


def _plan_files() -> str:
    names = ("requirements.txt", "pyproject.toml", "pylock.toml", "Dockerfile", "environment.yml")
    plans = (rich_environments.PLAN, replace(rich_environments.PLAN, environment=rich_environments.ON_CPU, resolver="tables"))
    return "".join(f"{name}\n{plan_files.file_content(plan, 'lock = 1', name)}\n" for plan in plans for name in names)


def _nodes() -> str:
    fleet = fleets.fleet(8)
    return "".join(line for form in (fleet_nodes.hostfile, fleet_nodes.node_list, fleet_nodes.labels) for line in form(fleet))


def _check(name: str, look: PageLook = WIDE) -> str:
    return terminal.render(machines.report(name), look)


def _facts(name: str) -> str:
    return "".join(
        f"{section.name}\n" + "".join(f"  {fact}\n" for fact in section.facts) for section in ticket_facts.fact_sections(recorded(name))
    )


TEXTS: Final[dict[str, Callable[[], str]]] = {
    "fleet": lambda: _fleet(PageLook()),
    "fleet.verbose": lambda: _fleet(WIDE),
    "fleet.every_trouble": lambda: fleet_text.render(fleets.fleet(60), PageLook()),
    "fleet.narrow": lambda: _fleet(NARROW),
    "fleet.every_trouble.narrow": lambda: fleet_text.render(fleets.fleet(60), replace(NARROW, verbose=False)),
    "diff.narrow": lambda: _diff(lambda found: diff_text.render(found, NARROW)),
    "diff": lambda: _diff(lambda found: diff_text.render(found, PageLook())),
    "diff.verbose": lambda: _diff(lambda found: diff_text.render(found, WIDE)),
    "diff.far": lambda: diff_text.render(
        compare_examinations(tickets.of_machine(BROKEN), tickets.of_machine(MEASURED), shared_matrix(), ("before", "after")), PageLook()
    ),
    "diff.none": lambda: diff_text.render(
        compare_examinations(*2 * (tickets.of_machine(BEFORE),), shared_matrix(), ("before", "after")), PageLook()
    ),
    "diff.markdown": lambda: _diff(lambda found: diff_text.diff_as_markdown(found, verbose=True)),
    "plan": lambda: plan_text.render(planned("h100", "550.54.14", TORCH), PageLook()),
    "plan.nothing": lambda: plan_text.render(planned("v100-sxm2", "535.104.05", "torch==2.12.0"), PageLook()),
    "fit.training": lambda: _fit("llama-8b", Asked(batch=4, precision="bf16", lora=8)),
    "fit.inference": lambda: _fit("llama-8b", Asked(precision="bf16", infer=True)),
    "fit.fits": lambda: _fit("resnet50", Asked(batch=32, precision="bf16")),
    "fit.data_parallel": lambda: _fit("resnet50", Asked(batch=64, gpus=4)),
    "fit.sharded": lambda: _fit("llama-8b", Asked(batch=1, precision="bf16", gpus=4, shard="zero3", offload=True)),
    "fit.narrow": lambda: _fit("llama-8b", Asked(batch=4, precision="bf16", lora=8), NARROW),
    "fit.unknown": _fit_unknown,
    "matrix.framework": lambda: _matrix("framework", "torch", "2.5.1"),
    "matrix.cuda": lambda: _matrix("cuda", "12.4"),
    "matrix.gpu": lambda: _matrix("gpu", "a100"),
    "matrix.driver": lambda: _matrix("driver", "470.256.02"),
    "fleet.rich": lambda: fleet_text.render(rich_fleet.FLEET, PageLook()),
    "fleet.rich.verbose": lambda: fleet_text.render(rich_fleet.FLEET, NARROW),
    "fleet.page": lambda: NOT_OURS.sub("", "".join(fleet_page.render(rich_fleet.FLEET))),
    "fleet.page.hostile": lambda: NOT_OURS.sub("", "".join(fleet_page.render(fleets.fleet(12)))),
    "fleet.metrics": lambda: "".join(fleet_metrics.render(rich_fleet.FLEET)),
    "fleet.nodes": _nodes,
    "plan.rich": lambda: plan_text.render(rich_environments.PLAN, NARROW),
    "plan.files": _plan_files,
    "matrix.support": _support,
    "matrix.jetson": lambda: _matrix("gpu", "Jetson AGX Orin"),
    "matrix.cudnn": lambda: _matrix("cudnn", "9.1"),
    "matrix.narrow": lambda: _matrix("gpu", "a100", look=NARROW),
    "matrix.listings": _listings,
    "matrix.listings.too_narrow": lambda: _listings(width=4),
    "environments": _environments,
    "environments.narrow": lambda: _environments(NARROW),
    "environments.none": lambda: _environments(broken=True),
    "xray": lambda: _environment(XRAYED),
    "xray.rich": lambda: libraries.environment_page(rich_environments.XRAY, NARROW),
    "xray.files": _files,
    "ticket": lambda: _ticket(markdown.render, machines.report(MEASURED)),
    "ticket.broken": lambda: _ticket(markdown.render, machines.report(BROKEN)),
    "ticket.rich": lambda: _ticket(markdown.render, RICH),
    "ticket.page": lambda: _ticket(page.render, RICH),
    "ticket.facts": lambda: _facts("healthy-one"),
    "each.oneline": lambda: _each(oneline.render),
    "each.github": lambda: _each(github.render),
    "each.markdown": lambda: _each(report_markdown.render),
    "openings": _openings,
    "check.bare": lambda: fallback_text.render(RICH, ValueError("no\x1b[m")),
    "check.junit": lambda: junit.render(build_report(samples.mismatch)).decode(),
    "check.sarif": lambda: _sarif(build_report(samples.mismatch)),
    "rich.junit": lambda: junit.render(RICH).decode(),
    "rich.sarif": lambda: _sarif(RICH),
    "rich": lambda: terminal.render(RICH, PageLook(plain=True)),
    "rich.check": lambda: terminal.render(build_report(rich.EXAMINATION), NARROW),
    "rich.stages": lambda: terminal.render(build_report(rich.EXAMINATION), PageLook()),
    "rich.verbose": lambda: terminal.render(RICH, NARROW),
    **{f"check.{name}": partial(_check, name) for name in CHECKED},
    **{f"check.{name}.narrow": partial(_check, name, NARROW) for name in (AFTER, BROKEN, MEASURED)},
}
