"""Assembles a snapshot from the answers of an inventory's children and what this process reads while they run."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from gpudoctor.probe import answers
from gpudoctor.probe.container import container
from gpudoctor.probe.crash_guard import TIME_FORMAT, empty_snapshot, result_or_gap, snapshot_with_step
from gpudoctor.probe.cuda_files import cuda_files
from gpudoctor.probe.frameworks import frameworks
from gpudoctor.probe.host import host
from gpudoctor.probe.interpreter import python_of_answer
from gpudoctor.probe.inventory import MASK_VARIABLE, NODE_ONLY, Inventory
from gpudoctor.probe.kernel_driver import kernel_driver
from gpudoctor.probe.kernel_side import with_kernel_side, with_late_kernel_facts
from gpudoctor.probe.libraries import NO_CUDA_FRAMEWORK, libraries, xray_arguments, xray_child, xrayed_frameworks
from gpudoctor.probe.other_environments import frameworks_elsewhere
from gpudoctor.probe.packages import installed_packages, site_packages, with_installers
from gpudoctor.probe.pci import pci
from gpudoctor.probe.python_start import variables_after_start
from gpudoctor.probe.script_folder import script_folder
from gpudoctor.probe.surroundings import with_surroundings
from gpudoctor.probe.target_facts import target_facts
from gpudoctor.probe.toolkits import host_compilers, toolkits_on_disk
from gpudoctor.process import ChildOutcome
from gpudoctor.snapshot import NOT_ASKED, Cause, Framework, Libcuda, Missing, Packages, Python, Snapshot, printable_text

_SOON_SECONDS = 0.05
"""Seconds; the target's interpreter starts in thirty milliseconds, and its answer is awaited later too."""
First = TypeVar("First")
Second = TypeVar("Second")


def do_nothing(_seen: Snapshot) -> None:
    """Do nothing else while the children look."""


def finished_snapshot(inventory: Inventory, meanwhile: Callable[[Snapshot], object] = do_nothing) -> Snapshot:
    """Read what this process can read itself, wait for the children of an inventory that has begun, and assemble the snapshot.

    `meanwhile` is called with what needs no child, before the children are waited for.
    Raises UsageError if --python names something that is not a Python interpreter.
    """
    if inventory.crash:
        return empty_snapshot(inventory.crash)
    return snapshot_with_step(Snapshot(created=time.strftime(TIME_FORMAT, time.gmtime())), _observed_snapshot, inventory, meanwhile)


def _observed_snapshot(empty: Snapshot, inventory: Inventory, meanwhile: Callable[[Snapshot], object]) -> Snapshot:
    scope = inventory.scope
    python, environment = _both_or_missing(result_or_gap(_target_answers, inventory))
    seen = snapshot_with_step(empty, _with_machine, inventory)
    meanwhile(seen)
    masked, unmasked = _both_or_missing(result_or_gap(_libcuda_answers, inventory, python))
    whole = msgspec.structs.replace(
        seen,
        **_sections_or_missing(environment, python, inventory),
        nvml=result_or_gap(answers.nvml_answer, inventory.wait("nvml")),
        libcuda=masked,
        libcuda_unmasked=unmasked,
        script_folder=NODE_ONLY if scope.node else result_or_gap(script_folder, scope.cwd),
        remarks=tuple(inventory.remarks),
    )
    return snapshot_with_step(whole, with_late_kernel_facts, scope.root, inventory.supervisor)


def start_xray_early(inventory: Inventory) -> None:
    """Start the X-ray, which takes longest of all children, if the target answers soon: the rest of a check is imported meanwhile."""
    waits = inventory.crash is None and not inventory.scope.node
    if waits and inventory.supervisor.has_ended("python", time.monotonic() + _SOON_SECONDS) and not inventory.wait("python").trouble:
        _target_answers(inventory)


def _both_or_missing(answers: tuple[First, Second] | Missing) -> tuple[First | Missing, Second | Missing]:
    """Return two answers, or for both why there is none."""
    return (answers, answers) if isinstance(answers, Missing) else answers


def target_sections(inventory: Inventory) -> dict[str, Any]:
    """The snapshot's sections about the target alone, whose interpreter was asked; libcuda's too if its start changes the mask."""
    python, environment = _both_or_missing(result_or_gap(_target_answers, inventory))
    sections = _sections_or_missing(environment, python, inventory)
    if inventory.suffix:
        masked, unmasked = _both_or_missing(result_or_gap(_libcuda_answers, inventory, python))
        sections |= {"libcuda": masked, "libcuda_unmasked": unmasked}
    return {**sections, "variables": inventory.start.variables}


def _target_answers(inventory: Inventory) -> tuple[Python | Missing, _TargetPackages | Missing]:
    """Read what the target said of itself, and its packages; starts the X-ray."""
    if inventory.scope.node:
        return NODE_ONLY, NODE_ONLY
    if inventory.target_read is None:
        answered = inventory.wait("python")
        python, path = python_of_answer(answered, inventory.target, inventory.supervisor, inventory.environ)
        environment = python if isinstance(python, Missing) else result_or_gap(_target_packages, inventory, python, path, answered)
        inventory.target_read = python, environment
    read: tuple[Python | Missing, _TargetPackages | Missing] = inventory.target_read
    return read


class _TargetPackages(msgspec.Struct, frozen=True):
    """What was read of the target's packages, and the frameworks that the X-ray looks at."""

    python: Python
    packages: Packages
    frameworks: tuple[Framework, ...]
    xrayed: tuple[Framework, ...]


def _target_packages(inventory: Inventory, python: Python, path: tuple[str, ...], answered: ChildOutcome) -> _TargetPackages:
    """Read the target's packages, and start the X-ray of its frameworks."""
    inventory.interpreter = inventory.target.executable
    prefix = python.prefix if python.kind == "conda" and isinstance(python.prefix, str) else ""
    installed = installed_packages(path, prefix, site_packages(python))
    own = target_facts(answered)
    python = msgspec.structs.replace(with_installers(python, path), shadowing=tuple(map(printable_text, own.shadowing.values())))
    inventory.started(variables_after_start(inventory.environ, own, inventory.target.executable, path))
    found = frameworks(path, installed.distributions, own)
    xrayed = xrayed_frameworks(found, cpu_builds=inventory.scope.cpu_builds)
    root = inventory.scope.root
    if xrayed:
        limit = inventory.patience.libraries
        inventory.supervisor.start(
            xray_child(
                xray_arguments(python.executable, path, xrayed, root, own, installed=installed.distributions),
                inventory.environ,
                limit,
                limit,
            )
        )
    if not found:
        python = msgspec.structs.replace(
            python, elsewhere=result_or_gap(frameworks_elsewhere, inventory.environ, inventory.target.executable, path, root)
        )
    return _TargetPackages(python, installed, found, xrayed)


def _sections_or_missing(environment: _TargetPackages | Missing, python: Python | Missing, inventory: Inventory) -> dict[str, Any]:
    """Return the snapshot's sections about the target environment, whatever crashes."""
    seen = result_or_gap(_target_sections, environment, python, inventory)
    return {"python": python, **dict.fromkeys(("packages", "frameworks", "libraries"), seen)} if isinstance(seen, Missing) else seen


def _target_sections(environment: _TargetPackages | Missing, python: Python | Missing, inventory: Inventory) -> dict[str, Any]:
    """Return the snapshot's sections about the target environment; waits for the X-ray."""
    if isinstance(environment, Missing):
        return {"python": python, **dict.fromkeys(("packages", "frameworks", "libraries"), environment)}
    seen = result_or_gap(libraries, inventory.wait("libraries"), environment.xrayed) if environment.xrayed else NO_CUDA_FRAMEWORK
    return {"python": environment.python, "packages": environment.packages, "frameworks": environment.frameworks, "libraries": seen}


def _with_machine(empty: Snapshot, inventory: Inventory) -> Snapshot:
    """What needs no child."""
    root, environ = inventory.scope.root, inventory.environ
    seen = msgspec.structs.replace(
        empty,
        host=result_or_gap(host, root, environ, identify=inventory.scope.identify),
        container=result_or_gap(container, root, environ),
        variables=inventory.start.variables,
        pci=result_or_gap(pci, root),
        kernel_driver=result_or_gap(kernel_driver, root),
        device_nodes=inventory.nodes,
        toolkits=result_or_gap(toolkits_on_disk, root, environ),
        compilers=result_or_gap(host_compilers, root, environ),
    )
    seen = msgspec.structs.replace(seen, cuda_files=result_or_gap(cuda_files, root, environ, seen.kernel_driver))
    return snapshot_with_step(snapshot_with_step(seen, with_kernel_side, root), with_surroundings, root, environ)


def _libcuda_answers(inventory: Inventory, python: Python | Missing) -> tuple[Libcuda | Missing, Libcuda | Missing]:
    """libcuda's answers with and without the mask; through our own interpreter if the target's cannot ask."""
    # an interpreter that hung in one script and has not begun the other gets no more time
    given_up = isinstance(python, Missing) and python.cause is Cause.TIMED_OUT and "libcuda" not in inventory.spoke
    outcome = inventory.wait(f"libcuda{inventory.suffix}", time.monotonic() if given_up else float("inf"))
    reason = answers.libcuda_failure(outcome)
    if reason and inventory.target.executable != sys.executable:
        given_up = False
        target = printable_text(inventory.target.executable)
        inventory.remarks.append(f"libcuda was queried with gpudoctor's own Python: {target} {reason}")
        inventory.start_libcuda("-own", sys.executable)
        outcome = inventory.wait(f"libcuda{inventory.suffix}")
    else:
        inventory.libcuda_interpreter = inventory.target.executable
    if MASK_VARIABLE not in inventory.start.environ:
        return result_or_gap(answers.libcuda_answer, outcome), NOT_ASKED
    until = time.monotonic() if given_up else float("inf")
    return result_or_gap(answers.libcuda_answer, outcome), result_or_gap(
        answers.libcuda_answer, inventory.wait(f"unmasked{inventory.suffix}", until)
    )
