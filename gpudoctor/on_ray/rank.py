"""One rank of an all-reduce between nodes, on its node; or, before that, where the others can meet it.

    start.py PARENT gpudoctor.on_ray.rank meet ADDRESS
    start.py PARENT gpudoctor.on_ray.rank PYTHON DEVICE ADDRESS RANK/COUNT STORE STALL

Each prints one JSON document: a port, or a RankResult.
"""

from __future__ import annotations

import fcntl
import os
import socket
import struct
import sys
from contextlib import suppress

import msgspec

from gpudoctor.children.channel import Heard, outcome_of, script
from gpudoctor.children.training import ACROSS, Failed, RankPart
from gpudoctor.frameworks import SPANNING_NODES
from gpudoctor.probe.target import named_target
from gpudoctor.process import Supervisor

_IMPORT_SECONDS = 100.0
"""Seconds that the import of PyTorch from a cold file system may take."""
_SIOCGIFADDR = 0x8915  # linux/sockios.h


class RankResult(msgspec.Struct, frozen=True):
    """What one rank saw."""

    parts: tuple[RankPart, ...] = ()
    trouble: str = ""
    """Why it has no result, as a clause; empty if it has all."""
    hung: bool = False


def main() -> None:
    """Run the rank, or find the port, that the arguments ask for."""
    first, *rest = sys.argv[1:]
    said = _free_port(rest[0]) if first == "meet" else _run_rank(first, rest)
    sys.stdout.buffer.write(msgspec.json.encode(said))


def _free_port(address: str) -> int:
    """Return a port that is free on this node now; a rank opens it a moment later."""
    with socket.create_server((address, 0), family=socket.AF_INET6 if ":" in address else socket.AF_INET) as one:
        return int(one.getsockname()[1])


def _run_rank(python: str, rest: list[str]) -> RankResult:
    device, address, rank, store, stall = rest
    arguments = ("--framework", SPANNING_NODES, "--devices", device, "--all-reduce", "--rank", f"{rank}/0/{store}")
    name, limit = "all-reduce", float(stall)
    with Supervisor() as supervisor:
        environment = {**_interface_variable(address), **os.environ}
        interpreter = (named_target(python, os.get_exec_path()).executable,)
        supervisor.start(
            script(name, "train/smoke.py", interpreter, environment, *arguments, stall=limit, deadline=_IMPORT_SECONDS + limit)
        )
        heard = Heard(outcome_of(supervisor, name), ACROSS, "the all-reduce")
    return RankResult(heard.all(RankPart), _trouble_text(heard), hung=heard.timed_out)


def _trouble_text(heard: Heard) -> str:
    failed = heard.first(Failed)
    if failed is not None:
        return f"{failed.stage.value} failed: {failed.error}"
    return heard.cut.reason if heard.cut else ""


def _interface_variable(address: str) -> dict[str, str]:
    """Return Gloo's variable for the interface with this address: by default it takes the one that the host name resolves to, often the loopback."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        for _, name in socket.if_nameindex():
            with suppress(OSError):  # an interface without an address
                answer = fcntl.ioctl(asking, _SIOCGIFADDR, struct.pack("256s", name.encode()[:15]))
                if socket.inet_ntoa(answer[20:24]) == address:
                    return {"GLOO_SOCKET_IFNAME": name}
    return {}
