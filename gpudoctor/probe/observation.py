"""Assembles a snapshot from the answers of an inventory's children and what this process reads while they run."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from gpudoctor.probe import answers
from gpudoctor.probe.container import container
from gpudoctor.probe.cuda_files import cuda_files
from gpudoctor.probe.frameworks import frameworks
from gpudoctor.probe.host import host
from gpudoctor.probe.inside import inside
from gpudoctor.probe.interpreter import heard
from gpudoctor.probe.inventory import MASK, NODE, Inventory
from gpudoctor.probe.kernel_driver import kernel_driver
from gpudoctor.probe.kernel_side import afterwards, with_kernel_side
from gpudoctor.probe.libraries import NOTHING, arguments, libraries, subjects, xray
from gpudoctor.probe.other_environments import elsewhere
from gpudoctor.probe.packages import installers, packages, site_packages
from gpudoctor.probe.pci import pci
from gpudoctor.probe.python_start import start
from gpudoctor.probe.script_folder import script_folder
from gpudoctor.probe.surroundings import with_surroundings
from gpudoctor.probe.toolkits import compilers, toolkits
from gpudoctor.probe.tried import WHEN, extended, nothing_seen, tried
from gpudoctor.process import Outcome
from gpudoctor.snapshot import NOT_ASKED, Cause, Framework, Libcuda, Missing, Packages, Python, Snapshot, readable

_SOON = 0.05
"""Seconds; the target's interpreter starts in thirty milliseconds, and its answer is awaited later too."""
First = TypeVar("First")
Second = TypeVar("Second")


def no_more(_seen: Snapshot) -> None:
    """Do nothing else while the children look."""


def finished(inventory: Inventory, meanwhile: Callable[[Snapshot], object] = no_more) -> Snapshot:
    """Read what this process can read itself, wait for the children of an inventory that has begun, and assemble the snapshot.

    `meanwhile` is called with what needs no child, before the children are waited for.
    Raises UsageError if --python names something that is not a Python interpreter.
    """
    if inventory.crash:
        return nothing_seen(inventory.crash)
    return extended(Snapshot(created=time.strftime(WHEN, time.gmtime())), _observed, inventory, meanwhile)


def _observed(empty: Snapshot, inventory: Inventory, meanwhile: Callable[[Snapshot], object]) -> Snapshot:
    scope = inventory.scope
    python, environment = _two(tried(_target, inventory))
    seen = extended(empty, _machine, inventory)
    meanwhile(seen)
    masked, unmasked = _two(tried(_libcuda, inventory, python))
    whole = msgspec.structs.replace(
        seen,
        **_all_sections(environment, python, inventory),
        nvml=tried(answers.nvml, inventory.wait("nvml")),
        libcuda=masked,
        libcuda_unmasked=unmasked,
        script_folder=NODE if scope.node else tried(script_folder, scope.cwd),
        remarks=tuple(inventory.remarks),
    )
    return extended(whole, afterwards, scope.root, inventory.supervisor)


def ahead(inventory: Inventory) -> None:
    """Start the X-ray, which takes longest of all children, if the target answers soon: the rest of a check is imported meanwhile."""
    waits = inventory.crash is None and not inventory.scope.node
    if waits and inventory.supervisor.has_ended("python", time.monotonic() + _SOON) and not inventory.wait("python").trouble:
        _target(inventory)


def _two(answers: tuple[First, Second] | Missing) -> tuple[First | Missing, Second | Missing]:
    """Return two answers, or for both why there is none."""
    return (answers, answers) if isinstance(answers, Missing) else answers


def target_sections(inventory: Inventory) -> dict[str, Any]:
    """The snapshot's sections about the target alone, whose interpreter was asked; libcuda's too if its start changes the mask."""
    python, environment = _two(tried(_target, inventory))
    sections = _all_sections(environment, python, inventory)
    if inventory.suffix:
        masked, unmasked = _two(tried(_libcuda, inventory, python))
        sections |= {"libcuda": masked, "libcuda_unmasked": unmasked}
    return {**sections, "variables": inventory.start.variables}


def _target(inventory: Inventory) -> tuple[Python | Missing, _Environment | Missing]:
    """Read what the target said of itself, and its packages; starts the X-ray."""
    if inventory.scope.node:
        return NODE, NODE
    if inventory.target_read is None:
        answered = inventory.wait("python")
        python, path = heard(answered, inventory.target, inventory.supervisor, inventory.environ)
        environment = python if isinstance(python, Missing) else tried(_environment, inventory, python, path, answered)
        inventory.target_read = python, environment
    read: tuple[Python | Missing, _Environment | Missing] = inventory.target_read
    return read


class _Environment(msgspec.Struct, frozen=True):
    """What was read of the target's packages, and the frameworks that the X-ray looks at."""

    python: Python
    packages: Packages
    frameworks: tuple[Framework, ...]
    xrayed: tuple[Framework, ...]


def _environment(inventory: Inventory, python: Python, path: tuple[str, ...], answered: Outcome) -> _Environment:
    """Read the target's packages, and start the X-ray of its frameworks."""
    inventory.interpreter = inventory.target.executable
    prefix = python.prefix if python.kind == "conda" and isinstance(python.prefix, str) else ""
    installed = packages(path, prefix, site_packages(python))
    own = inside(answered)
    python = msgspec.structs.replace(installers(python, path), shadowing=tuple(map(readable, own.shadowing.values())))
    inventory.started(start(inventory.environ, own, inventory.target.executable, path))
    found = frameworks(path, installed.distributions, own)
    xrayed = subjects(found)
    root = inventory.scope.root
    if xrayed:
        limit = inventory.patience.libraries
        inventory.supervisor.start(
            xray(arguments(python.executable, path, xrayed, root, own, installed=installed.distributions), inventory.environ, limit, limit)
        )
    if not found:
        python = msgspec.structs.replace(python, elsewhere=tried(elsewhere, inventory.environ, inventory.target.executable, path, root))
    return _Environment(python, installed, found, xrayed)


def _all_sections(environment: _Environment | Missing, python: Python | Missing, inventory: Inventory) -> dict[str, Any]:
    """Return the snapshot's sections about the target environment, whatever crashes."""
    seen = tried(_sections, environment, python, inventory)
    return {"python": python, **dict.fromkeys(("packages", "frameworks", "libraries"), seen)} if isinstance(seen, Missing) else seen


def _sections(environment: _Environment | Missing, python: Python | Missing, inventory: Inventory) -> dict[str, Any]:
    """Return the snapshot's sections about the target environment; waits for the X-ray."""
    if isinstance(environment, Missing):
        return {"python": python, **dict.fromkeys(("packages", "frameworks", "libraries"), environment)}
    seen = tried(libraries, inventory.wait("libraries"), environment.xrayed) if environment.xrayed else NOTHING
    return {"python": environment.python, "packages": environment.packages, "frameworks": environment.frameworks, "libraries": seen}


def _machine(empty: Snapshot, inventory: Inventory) -> Snapshot:
    """What needs no child."""
    root, environ = inventory.scope.root, inventory.environ
    seen = msgspec.structs.replace(
        empty,
        host=tried(host, root, environ, identify=inventory.scope.identify),
        container=tried(container, root, environ),
        variables=inventory.start.variables,
        pci=tried(pci, root),
        kernel_driver=tried(kernel_driver, root),
        device_nodes=inventory.nodes,
        toolkits=tried(toolkits, root, environ),
        compilers=tried(compilers, root, environ),
    )
    seen = msgspec.structs.replace(seen, cuda_files=tried(cuda_files, root, environ, seen.kernel_driver))
    return extended(extended(seen, with_kernel_side, root), with_surroundings, root, environ)


def _libcuda(inventory: Inventory, python: Python | Missing) -> tuple[Libcuda | Missing, Libcuda | Missing]:
    """libcuda's answers with and without the mask; through our own interpreter if the target's cannot ask."""
    # an interpreter that hung in one script and has not begun the other gets no more time
    given_up = isinstance(python, Missing) and python.cause is Cause.TIMED_OUT and "libcuda" not in inventory.spoke
    outcome = inventory.wait(f"libcuda{inventory.suffix}", time.monotonic() if given_up else float("inf"))
    reason = answers.unable(outcome)
    if reason and inventory.target.executable != sys.executable:
        given_up = False
        target = readable(inventory.target.executable)
        inventory.remarks.append(f"libcuda was queried with gpudoctor's own Python: {target} {reason}")
        inventory.ask_libcuda("-own", sys.executable)
        outcome = inventory.wait(f"libcuda{inventory.suffix}")
    else:
        inventory.libcuda_interpreter = inventory.target.executable
    if MASK not in inventory.start.environ:
        return tried(answers.libcuda, outcome), NOT_ASKED
    until = time.monotonic() if given_up else float("inf")
    return tried(answers.libcuda, outcome), tried(answers.libcuda, inventory.wait(f"unmasked{inventory.suffix}", until))
