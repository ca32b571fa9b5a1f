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
from gpudoctor.on_ray.shipment import shipment_archive
from gpudoctor.smoke import scratch

_LOCAL_CLUSTER = "auto"
"""Ray's word for the cluster on this machine."""
_PORT = 6379  # of `ray start --head`, unless it is given another
_CONNECT_SECONDS = 10.0
"""Seconds to connect to a cluster."""
_WAIT_SECONDS = 1.0
"""Seconds that a wait for answers lasts at most."""
_CANCEL_SECONDS = task.GRACE_SECONDS + 5
"""Seconds in which cancelled tasks end by themselves."""
_SHOW_ALL_GPUS = {"RAY_EXPERIMENTAL_NOSET_CUDA_VISIBLE_DEVICES": "1"}
"""Older Ray hides all GPUs from a task that claims none: ray/_private/accelerators/nvidia_gpu.py."""


class RayNode(msgspec.Struct, frozen=True):
    """A node of the cluster."""

    id: str
    name: str
    address: str
    gpus: float = 0.0


class NodeTask(msgspec.Struct, frozen=True):
    """What to run on one node."""

    node: RayNode
    module: str
    """The module of gpudoctor whose `main` is run."""
    arguments: tuple[str, ...]
    gpus: float = 0.0
    """How many GPUs to claim."""


class NodeAnswer(msgspec.Struct, frozen=True):
    """What one node answered."""

    work: NodeTask
    output: bytes = b""
    code: int = 0
    errors: bytes = b""
    silence: str = ""
    """Why there is no answer; empty if there is one."""


class Cluster:
    """A connection to a cluster."""

    def __init__(self, runtime_env: Mapping[str, Any]) -> None:
        self._runtime_env = dict(runtime_env)
        self._shipment = ray.put(shipment_archive())
        self._run = ray.remote(max_retries=0)(task.run_shipped)
        self.poll: Callable[[], None] = lambda: None
        """Called between waits for answers; may raise."""

    def nodes(self) -> tuple[RayNode, ...]:
        """Return the nodes that are alive, by name; each name is unique."""
        alive = [node for node in ray.nodes() if node["Alive"]]  # type: ignore[no-untyped-call]
        called = Counter(_node_name(one) for one in alive)
        nodes = (
            RayNode(
                id=one["NodeID"],
                name=_node_name(one) if called[_node_name(one)] == 1 else f"{_node_name(one)}-{one['NodeID'][:8]}",
                address=one["NodeManagerAddress"],
                gpus=one["Resources"].get("GPU", 0.0),
            )
            for one in alive
        )
        return tuple(sorted(nodes, key=lambda node: node.name))

    def run(self, works: Sequence[NodeTask], seconds: float) -> Iterator[NodeAnswer]:
        """Yield each node's answer as it comes; after `seconds` those that are missing. Whatever ends the iteration ends the tasks."""
        until = time.monotonic() + seconds
        tasks = {self._start(work, seconds): work for work in works}
        try:
            while tasks and time.monotonic() < until:
                self.poll()
                done, _ = ray.wait(list(tasks), num_returns=1, timeout=max(0.0, min(_WAIT_SECONDS, until - time.monotonic())))
                for one in done:
                    yield _node_answer(one, tasks.pop(one), seconds)
            for work in tasks.values():
                yield NodeAnswer(work, silence=_late_reason(work, seconds))
        finally:
            _cancel_tasks(list(tasks))

    def _start(self, work: NodeTask, seconds: float) -> Any:
        variables = {} if work.gpus else _SHOW_ALL_GPUS
        environment = {**self._runtime_env, "env_vars": {**variables, **self._runtime_env.get("env_vars", {})}}
        placed = self._run.options(
            name="gpudoctor",
            num_cpus=0,
            num_gpus=work.gpus,
            scheduling_strategy=NodeAffinitySchedulingStrategy(work.node.id, soft=False),
            runtime_env=environment,
        )
        return placed.remote(self._shipment, work.module, work.arguments, max(1.0, seconds - task.GRACE_SECONDS))


@contextmanager
def connected_cluster(address: str, runtime_env: Mapping[str, Any]) -> Iterator[Cluster]:
    """Connect to the cluster at `address`; by default to that of RAY_ADDRESS, or the one that runs on this machine.

    Raises UsageError if there is none.
    """
    for module in (task, scratch):
        ray.cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]
    os.environ.setdefault("RAY_ENABLE_UV_RUN_RUNTIME_ENV", "0")  # `uv run gpudoctor` must not ship its own environment
    where = address or os.environ.get("RAY_ADDRESS") or _LOCAL_CLUSTER
    with Path(os.devnull).open("w") as nowhere, redirect_stdout(nowhere):  # Ray prints there which nodes it loses, until it is shut down
        try:
            _require_listener(where)
            ray.init(where, log_to_driver=False, logging_level=logging.ERROR, configure_logging=False)
        except (OSError, exceptions.RayError, ValueError, RuntimeError) as error:
            raise UsageError(_unreachable_text(where, error)) from None
        try:
            yield Cluster(runtime_env)
        finally:
            ray.shutdown()


def _require_listener(where: str) -> None:
    """Raise OSError or ValueError if nothing listens at an address: Ray itself would try for minutes."""
    if where != _LOCAL_CLUSTER:
        place = urlsplit(where if "://" in where else f"//{where}")
        socket.create_connection((place.hostname, place.port or _PORT), _CONNECT_SECONDS).close()


def _unreachable_text(where: str, error: Exception) -> str:
    if where == _LOCAL_CLUSTER:
        return "No Ray cluster runs on this machine; name the address of its head: --ray HOST:6379."
    check = (
        "Check that the Ray client server runs on the head."
        if "://" in where
        else f"Check the address with `ray status --address {where}`."
    )
    return f"The Ray cluster at {where} cannot be reached: {_last_line(error)} {check}"


def _node_name(node: Mapping[str, Any]) -> str:
    """Return the name that somebody gave a node, or else its host's: Ray calls a node by its address by default."""
    given = node.get("NodeName") or ""
    return str(node["NodeManagerHostname"] if given in {"", node["NodeManagerAddress"]} else given)


def _node_answer(done: Any, work: NodeTask, seconds: float) -> NodeAnswer:
    try:
        code, output, errors = ray.get(done)
    except exceptions.RayError as error:
        if isinstance(error, TimeoutExpired):  # the error of a task also has the type of what was raised in it
            return NodeAnswer(work, silence=f"no answer in {seconds:.0f} s")
        return NodeAnswer(work, silence=_error_reason(error))
    return NodeAnswer(work, output, code, errors)


def _late_reason(work: NodeTask, seconds: float) -> str:
    """Return why a node's answer is late."""
    claimed = f"; it may have waited for its {work.gpus:g} GPUs, which --level look does not claim" if work.gpus else ""
    return f"no answer in {seconds:.0f} s{claimed}"


_ERROR_REASONS: tuple[tuple[type[Exception], str], ...] = (
    (exceptions.RuntimeEnvSetupError, "Ray could not set up the runtime environment"),
    (exceptions.OutOfMemoryError, "Ray killed the check because the node ran out of memory"),
    (exceptions.NodeDiedError, "the node left the cluster"),
    (exceptions.TaskUnschedulableError, "the node left the cluster"),
    (exceptions.LocalRayletDiedError, "the node left the cluster"),
    (exceptions.ObjectLostError, "the node left the cluster"),
    (exceptions.TaskCancelledError, "somebody cancelled the check"),
    (exceptions.WorkerCrashedError, "the Ray worker died"),
)


def _error_reason(error: exceptions.RayError) -> str:
    """Return why a task has no result, as a clause."""
    known = next((words for kind, words in _ERROR_REASONS if isinstance(error, kind)), "")
    if isinstance(error, exceptions.RuntimeEnvSetupError) or not known:
        return f"{known or 'gpudoctor could not be started'}: {_last_line(error)}"
    return known


def _last_line(error: Exception) -> str:
    """Return the last line of an error, which says what happened."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return f"{lines[-1].strip()[:200].rstrip('.')}."


def _cancel_tasks(tasks: list[Any]) -> None:
    """End tasks: first by an interrupt, after which gpudoctor cleans up, then by force."""
    for force in (False, True):
        for one in tasks:
            with suppress(exceptions.RayError, ValueError):
                ray.cancel(one, force=force)
        _, tasks = ray.wait(tasks, num_returns=len(tasks), timeout=0 if force else _CANCEL_SECONDS) if tasks else ([], [])
