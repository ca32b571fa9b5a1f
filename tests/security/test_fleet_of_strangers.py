"""Reports of a fleet are foreign: whatever their texts and names say, merging them opens no other file, starts no program and loads no Ray."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gpudoctor.report import document
from tests.report import machines

WATCHED = """
import json, sys

kept, events = {"open", "subprocess.Popen", "os.exec", "os.posix_spawn", "os.system", "os.fork", "socket.connect"}, []
sys.addaudithook(lambda event, arguments: event in kept and events.append((event, str(arguments[0]) if arguments else "")))
from gpudoctor.cli import main

log = sys.argv.pop(1)
code = main()
seen = list(events)
with open(log, "w") as file:
    json.dump({"code": code, "events": seen, "modules": list(sys.modules)}, file)
"""
COMMANDS = (
    "$(touch {owned})",
    "`touch {owned}`",
    "gpu1; touch {owned} #",
    "-o{owned}",
    "|touch {owned}",
    "gpu1\ntouch {owned}",
    "../../{owned}",
)
OUTPUTS = ("html", "prometheus", "labels", "hostfile", "nodelist", "history", "output")


def places(value: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where a document has a text."""
    if isinstance(value, str):
        yield way
    elif isinstance(value, (dict, list)):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(inner, (*way, key))


def with_text(text: str, told: str, way: tuple[Any, ...]) -> bytes:
    made = json.loads(text)
    inner = made
    for key in way[:-1]:
        inner = inner[key]
    inner[way[-1]] = told
    return json.dumps(made).encode()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with reports; in each, one text is the path of a file beside it, and some names are commands."""
    place = tmp_path_factory.mktemp("strangers")
    secret, owned = place / "secret.json", place / "owned"
    plain = document.encode_document(machines.report("driver-470-tensorflow-cuda-12")).decode()
    secret.write_text(plain)
    told = [with_text(plain, str(secret), way) for way in places(json.loads(plain))]
    names = [command.format(owned=owned) for command in COMMANDS]
    told += [with_text(plain, name, ("snapshot", "host", "hostname")) for name in names]
    (place / "reports").mkdir()
    (place / "reports" / "all.jsonl").write_bytes(b"\n".join(told))
    for number, name in enumerate(names):
        (place / "reports" / f"{number}{name.replace('/', '_')}.json").write_text(plain)
    return place


def test_a_report_names_no_file_to_read_and_a_node_s_name_starts_nothing(folder: Path) -> None:
    options = [f"--{name}={folder / name}" for name in OUTPUTS]
    command = [sys.executable, "-c", WATCHED, str(folder / "log"), "fleet", "merge", str(folder / "reports"), "--format", "json", *options]
    done = subprocess.run(command, check=False, capture_output=True, timeout=100, cwd=folder)
    found = json.loads((folder / "log").read_bytes())
    assert found["code"] in {1, 3}, done.stderr
    merged = json.loads((folder / "output").read_bytes())
    assert len(merged["nodes"]) > 2 * len(COMMANDS)
    opened = {str(folder / path) for event, path in found["events"] if event == "open"}
    assert str(folder / "reports" / "all.jsonl") in opened
    assert str(folder / "secret.json") not in opened
    assert {event for event, _ in found["events"]} == {"open"}
    assert "ray" not in found["modules"]
    assert not (folder / "owned").exists()
