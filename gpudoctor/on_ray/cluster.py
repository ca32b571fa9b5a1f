"""A Ray cluster: its nodes, and one task on each of them."""

from __future__ import annotations

import logging
import os
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout, suppress
from pathlib import Path
from subprocess import TimeoutExpired
from typing import Any
from urllib.parse import urlsplit

import msgspec
import ray
from ray import exceptions
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from gpudoctor.errors import UsageError
from gpudoctor.on_ray import task
from gpudoctor.on_ray.shipment import shipment
from gpudoctor.smoke import scratch

_LOCAL = "auto"
"""Ray's word for the cluster on this machine."""
_PORT = 6379  # of `ray start --head`, unless it is given another
_CONNECT = 10.0
"""Seconds to connect to a cluster."""
_TURN = 1.0
"""Seconds that a wait for answers lasts at most."""
_PATIENCE = task.GRACE + 5
"""Seconds in which cancelled tasks end by themselves."""
_SEE_ALL = {"RAY_EXPERIMENTAL_NOSET_CUDA_VISIBLE_DEVICES": "1"}
"""Older Ray hides all GPUs from a task that claims none: ray/_private/accelerators/nvidia_gpu.py."""


class RayNode(msgspec.Struct, frozen=True):
    """A node of the cluster."""

    id: str
    name: str
    address: str
    gpus: float = 0.0


class Work(msgspec.Struct, frozen=True):
    """What to run on one node."""

    node: RayNode
    module: str
    """The module of gpudoctor whose `main` is run."""
    arguments: tuple[str, ...]
    gpus: float = 0.0
    """How many GPUs to claim."""


class NodeAnswer(msgspec.Struct, frozen=True):
    """What one node answered."""

    work: Work
    output: bytes = b""
    code: int = 0
    errors: bytes = b""
    silence: str = ""
    """Why there is no answer; empty if there is one."""


class Cluster:
    """A connection to a cluster."""

    def __init__(self, runtime_env: Mapping[str, Any]) -> None:
        self._runtime_env = dict(runtime_env)
        self._shipment = ray.put(shipment())
        self._run = ray.remote(max_retries=0)(task.run)
        self.poll: Callable[[], None] = lambda: None
        """Called between waits for answers; may raise."""

    def nodes(self) -> tuple[RayNode, ...]:
        """Return the nodes that are alive, by name; each name is unique."""
        alive = [node for node in ray.nodes() if node["Alive"]]  # type: ignore[no-untyped-call]
        called = Counter(_name(one) for one in alive)
        nodes = (
            RayNode(
                id=one["NodeID"],
                name=_name(one) if called[_name(one)] == 1 else f"{_name(one)}-{one['NodeID'][:8]}",
                address=one["NodeManagerAddress"],
                gpus=one["Resources"].get("GPU", 0.0),
            )
            for one in alive
        )
        return tuple(sorted(nodes, key=lambda node: node.name))

    def run(self, works: Sequence[Work], seconds: float) -> Iterator[NodeAnswer]:
        """Yield each node's answer as it comes; after `seconds` those that are missing. Whatever ends the iteration ends the tasks."""
        until = time.monotonic() + seconds
        tasks = {self._start(work, seconds): work for work in works}
        try:
            while tasks and time.monotonic() < until:
                self.poll()
                done, _ = ray.wait(list(tasks), num_returns=1, timeout=max(0.0, min(_TURN, until - time.monotonic())))
                for one in done:
                    yield _answer(one, tasks.pop(one), seconds)
            for work in tasks.values():
                yield NodeAnswer(work, silence=_late(work, seconds))
        finally:
            _cancel(list(tasks))

    def _start(self, work: Work, seconds: float) -> Any:
        variables = {} if work.gpus else _SEE_ALL
        environment = {**self._runtime_env, "env_vars": {**variables, **self._runtime_env.get("env_vars", {})}}
        placed = self._run.options(
            name="gpudoctor",
            num_cpus=0,
            num_gpus=work.gpus,
            scheduling_strategy=NodeAffinitySchedulingStrategy(work.node.id, soft=False),
            runtime_env=environment,
        )
        return placed.remote(self._shipment, work.module, work.arguments, max(1.0, seconds - task.GRACE))


@contextmanager
def connected(address: str, runtime_env: Mapping[str, Any]) -> Iterator[Cluster]:
    """Connect to the cluster at `address`; by default to that of RAY_ADDRESS, or the one that runs on this machine.

    Raises UsageError if there is none.
    """
    for module in (task, scratch):
        ray.cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]
    os.environ.setdefault("RAY_ENABLE_UV_RUN_RUNTIME_ENV", "0")  # `uv run gpudoctor` must not ship its own environment
    where = address or os.environ.get("RAY_ADDRESS") or _LOCAL
    with Path(os.devnull).open("w") as nowhere, redirect_stdout(nowhere):  # Ray prints there which nodes it loses, until it is shut down
        try:
            _require_listener(where)
            ray.init(where, log_to_driver=False, logging_level=logging.ERROR, configure_logging=False)
        except (OSError, exceptions.RayError, ValueError, RuntimeError) as error:
            raise UsageError(_unreachable(where, error)) from None
        try:
            yield Cluster(runtime_env)
        finally:
            ray.shutdown()


def _require_listener(where: str) -> None:
    """Raise OSError or ValueError if nothing listens at an address: Ray itself would try for minutes."""
    if where != _LOCAL:
        place = urlsplit(where if "://" in where else f"//{where}")
        socket.create_connection((place.hostname, place.port or _PORT), _CONNECT).close()


def _unreachable(where: str, error: Exception) -> str:
    if where == _LOCAL:
        return "No Ray cluster runs on this machine; name the address of its head: --ray HOST:6379."
    check = (
        "Check that the Ray client server runs on the head."
        if "://" in where
        else f"Check the address with `ray status --address {where}`."
    )
    return f"The Ray cluster at {where} cannot be reached: {_sentence(error)} {check}"


def _name(node: Mapping[str, Any]) -> str:
    """Return the name that somebody gave a node, or else its host's: Ray calls a node by its address by default."""
    given = node.get("NodeName") or ""
    return str(node["NodeManagerHostname"] if given in {"", node["NodeManagerAddress"]} else given)


def _answer(done: Any, work: Work, seconds: float) -> NodeAnswer:
    try:
        code, output, errors = ray.get(done)
    except exceptions.RayError as error:
        if isinstance(error, TimeoutExpired):  # the error of a task also has the type of what was raised in it
            return NodeAnswer(work, silence=f"no answer in {seconds:.0f} s")
        return NodeAnswer(work, silence=_why(error))
    return NodeAnswer(work, output, code, errors)


def _late(work: Work, seconds: float) -> str:
    """Return why a node's answer is late."""
    claimed = f"; it may have waited for its {work.gpus:g} GPUs, which --level look does not claim" if work.gpus else ""
    return f"no answer in {seconds:.0f} s{claimed}"


_WHY: tuple[tuple[type[Exception], str], ...] = (
    (exceptions.RuntimeEnvSetupError, "Ray could not set up the runtime environment"),
    (exceptions.OutOfMemoryError, "Ray killed the check because the node ran out of memory"),
    (exceptions.NodeDiedError, "the node left the cluster"),
    (exceptions.TaskUnschedulableError, "the node left the cluster"),
    (exceptions.LocalRayletDiedError, "the node left the cluster"),
    (exceptions.ObjectLostError, "the node left the cluster"),
    (exceptions.TaskCancelledError, "somebody cancelled the check"),
    (exceptions.WorkerCrashedError, "the Ray worker died"),
)


def _why(error: exceptions.RayError) -> str:
    """Return why a task has no result, as a clause."""
    known = next((words for kind, words in _WHY if isinstance(error, kind)), "")
    if isinstance(error, exceptions.RuntimeEnvSetupError) or not known:
        return f"{known or 'gpudoctor could not be started'}: {_sentence(error)}"
    return known


def _sentence(error: Exception) -> str:
    """Return the last line of an error, which says what happened."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return f"{lines[-1].strip()[:200].rstrip('.')}."


def _cancel(tasks: list[Any]) -> None:
    """End tasks: first by an interrupt, after which gpudoctor cleans up, then by force."""
    for force in (False, True):
        for one in tasks:
            with suppress(exceptions.RayError, ValueError):
                ray.cancel(one, force=force)
        _, tasks = ray.wait(tasks, num_returns=len(tasks), timeout=0 if force else _PATIENCE) if tasks else ([], [])
