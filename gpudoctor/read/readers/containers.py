"""Reads how containers are started, whether their start requests a GPU, and what shows that a text is from inside one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from gpudoctor.expressions import expression
from gpudoctor.read.readers.reader import Reader, StatementForm
from gpudoctor.read.statements import Directness, Line, Statement

_NAME = "containers"
_RUN_COMMAND = expression(r"(?:^|[^\w-])(?P<command>(?:nvidia-docker|docker|podman) (?:container )?(?:run|create)\b.*)")
_CONTINUATION_ENDS = ("\\", "^", "`")
_MAX_COMMAND_LINES = 30
"""Lines of one command."""
_DEMONSTRATION = expression(r"\bhello-world\b|--help\b")
# https://docs.docker.com/engine/containers/gpu/, https://docs.docker.com/compose/how-tos/gpu-support/
# https://kubernetes.io/docs/tasks/manage-gpus/scheduling-gpus/
_GPU_REQUEST = expression(
    r"nvidia-docker |--gpus\b|--runtime[ =][\"']?nvidia|nvidia\.com/(?:gpu|mig-)|/dev/nvidia|\bNVIDIA_VISIBLE_DEVICES\b"
    r"|\bruntime: [\"']?nvidia|\bdriver: [\"']?nvidia|\bgpus: |\n\s{1,60}- [\"']?gpu\b|runtimeClassName: |\"gpu\": ?(?:true|\"optional\"|\{)|\bcapabilities: ?\[[^\]\n]{0,60}gpu|Runtime Class Name: "
)
_CUT_MARKS = ("...", "…", "[...]", "# ...")
_YAML_LINE = expression(r"\s{2,60}\S|\s?(?:- |-$|#|[\w./\"'$<{&*-]{1,120} ?:(?:\s|$))")
_IMAGE_KEY = expression(r"\s{1,60}(?:- )?(?:image|build):")
# https://containers.dev/implementors/json_reference/
_DEVCONTAINER = expression(r"(?i)\bdevcontainer\.json\b")
_IMAGE_OF_JSON = expression(r"\"(?:image|build|dockerFile|dockerComposeFile)\"\s{0,4}:")
_COMPOSE_FILE = expression(r"(?i)\b(?:docker-)?compose(?:\.override)?\.ya?ml\W{0,6}$")
"""A heading above what somebody pasted of a compose file, often a service alone."""
_OF_POD = expression(r"(?:cpu|memory): ?[\"']?\d")
"""What the limits of a pod's container name; Compose calls the first cpus."""
_KUBERNETES_KIND = expression(r"kind: [\"']?(?:Pod|Deployment|Job|StatefulSet|DaemonSet|CronJob|ReplicaSet)\b")


def _statements(lines: Sequence[Line]) -> Iterator[Statement]:
    done = 0
    for place, line in enumerate(lines):
        text = line.text
        command = _RUN_COMMAND.search(text) if " run" in text or " create" in text else None
        if command:
            whole = "\n".join([command["command"], *_continuation_lines(lines, place)])
            if not _DEMONSTRATION.search(whole):
                yield _request_statement(whole, command["command"].strip(' `"'), line)
        elif place < done:  # a document is read once
            continue
        elif text.rstrip() == "services:" or _KUBERNETES_KIND.match(text):
            begin, done = _yaml_document(lines, place, done)
            yield from _request_statements(lines[begin:done], lines[done : done + 1], line)
        elif text.rstrip() == "Containers:":
            done = _end_of_containers(lines, place)
            described = [other.text for other in lines[place:done]]
            if (done < len(lines) and lines[done].text.startswith("QoS Class:")) or _has_resources(described):
                yield _request_statement("\n".join(described), "kubectl describe pod", line)
        elif _DEVCONTAINER.search(text):
            done = next((at for at in range(place, len(lines)) if lines[at].text.startswith("}")), place)
            document = "\n".join(other.text for other in lines[place : done + 1])
            was_cut = any(other.text.strip(" /").startswith(_CUT_MARKS) for other in lines[place:done])
            if _IMAGE_OF_JSON.search(document) and not was_cut:
                yield _request_statement(document, "devcontainer.json", line)


def _fragments(lines: Sequence[Line]) -> Iterator[Statement]:
    """Yield whether parts of files request a GPU: a service below the name of a compose file, and the limits of a pod's container."""
    if any(line.text.rstrip() == "services:" or _KUBERNETES_KIND.match(line.text) for line in lines):
        return
    for place, line in enumerate(lines):
        if _COMPOSE_FILE.search(line.text):
            _, end = _yaml_document(lines, place + 1, place + 1)
            yield from _request_statements(lines[place + 1 : end], lines[end : end + 1], msgspec.structs.replace(line, text="services:"))
        elif line.text.strip() == "resources:":
            _, end = _yaml_document(lines, place, place)
            asked = [other.text.strip() for other in lines[place:end]]
            was_cut = any(other.text.strip().startswith(_CUT_MARKS) for other in lines[place : end + 1])
            if "limits:" in asked and any(map(_OF_POD.match, asked)) and not was_cut:
                yield _request_statement("\n".join(asked), "kubernetes resources", line)


def _blocks(lines: Sequence[Line]) -> Iterator[Statement]:
    yield from _statements(lines)
    yield from _fragments(lines)


def _request_statement(text: str, label: str, line: Line) -> Statement:
    kind = "requested" if _GPU_REQUEST.search(text) else "none"
    return Statement(f"gpu request:{kind}", label, _NAME, line.number, Directness.TOOL)


def _continuation_lines(lines: Sequence[Line], place: int) -> Iterator[str]:
    for above, line in zip(lines[place : place + _MAX_COMMAND_LINES], lines[place + 1 : place + _MAX_COMMAND_LINES], strict=False):
        if not above.text.rstrip().endswith(_CONTINUATION_ENDS):
            return
        yield line.text


def _yaml_document(lines: Sequence[Line], place: int, done: int) -> tuple[int, int]:
    """Return where the YAML document around a line begins and ends; it begins after the last one."""
    begin = end = place
    while begin > done and _YAML_LINE.match(lines[begin - 1].text):
        begin -= 1
    while end < len(lines) and (_YAML_LINE.match(lines[end].text) or not lines[end].text.strip()):
        end += 1
    return begin, end


def _request_statements(document: Sequence[Line], after: Sequence[Line], line: Line) -> Iterator[Statement]:
    """Yield whether a document with images requests a GPU. What was cut from a document may be the request."""
    texts = [other.text for other in document]
    whole = "\n".join(texts)
    was_cut = any(other.text.strip().startswith(_CUT_MARKS) for other in (*document, *after))
    if any(map(_IMAGE_KEY.match, texts)) and (_GPU_REQUEST.search(whole) or not was_cut):
        yield _request_statement(whole, "compose file" if line.text.startswith("services") else line.text.strip(), line)


def _end_of_containers(lines: Sequence[Line], place: int) -> int:
    """Return the line after the containers that `kubectl describe pod` shows: "QoS Class", or the next pod's."""
    ends = ("QoS Class:", "Containers:")
    return next((at for at in range(place + 1, len(lines)) if lines[at].text.startswith(ends)), len(lines))


def _has_resources(described: Sequence[str]) -> bool:
    """Return whether containers are described with their whole limits and requests, which would name a GPU."""
    headings = [text.strip() for text in described if text.strip() in {"Limits:", "Requests:"}]
    return "Limits:" in headings and "Requests:" in headings


READER = Reader(
    _NAME,
    forms=(
        StatementForm(
            "toolkit",
            r"(?:^\s{0,4}FROM |\b(?:built|based) (?:with|from|on) |[Bb]ase image:? )(?:docker\.io/)?nvidia/cuda:(?P<value>\d{1,2}\.\d)[\d.]{0,3}-(?!base|runtime)",
            Directness.LOG,
        ),
        # the entry point of NVIDIA's images
        StatementForm("driver", r"version (?P<value>\d{3}\.\d{1,3}(?:\.\d{1,3})?) was detected and compatibility mode"),
        StatementForm("gpu:0", r"WARNING: Detected (?:NVIDIA )?(?P<value>[A-Z][\w .-]{2,50}) GPU, which is not yet supported"),
        # cgroup v1 and v2 of Docker, Podman and Kubernetes in /proc/1/cgroup
        StatementForm("container", r"^\d{1,3}:[\w,=]{0,60}:/(?:system\.slice/)?(?P<value>docker|libpod)[-/]"),
        StatementForm("container", r"^\d{1,3}:[\w,=]{0,60}:/(?P<value>kubepods)[-./]"),
        StatementForm("container", r"^(?:[d-][rwx-]{9}.{10,80}\s)?/?\.(?P<value>docker)env$"),
        # Docker names a container's host after the first twelve digits of its id
        StatementForm("container by prompt", r"^(?:\([\w.-]{1,40}\) )?root@(?P<value>[0-9a-f]{12}):\S{0,100}# ", Directness.LOG),
    ),
    blocks=_blocks,
    cues=("docker", "podman", "services:", "kind: ", "containers:", "devcontainer.json", "compose.y", "resources:"),
)
