"""Patterns for what identifies a machine or a person: addresses, host names, e-mail. Each is linear in its text."""

from __future__ import annotations

import re
from functools import partial

from gpudoctor.redact.anybody import ANYBODY
from gpudoctor.redact.pseudonyms import Kind, Marks

_PUBLIC_WORDS = (
    "nvidia.com github.com githubusercontent.com pytorch.org tensorflow.org python.org google.com"
    " googleapis.com docker.com docker.io nvcr.io quay.io kernel.org debian.org ubuntu.com redhat.com fedoraproject.org anaconda.org"
    " anaconda.com conda.io huggingface.co microsoft.com intel.com amd.com keras.io readthedocs.io rfc-editor.org kubernetes.io k8s.io"
    " stackoverflow.com jax.dev openxla.org freedesktop.org slurm.schedmd.com schedmd.com ietf.org gnu.org abseil.io"
    " rpmfusion.org archlinux.org apptainer.org astral.sh cupy.dev k3s.io numpy.org onnxruntime.ai opennmt.net podman.io pypa.io rapids.ai vllm.ai"
    " aka.ms apple.com man7.org protobuf.dev qemu.org ray.io rust-for-linux.com"
)
PUBLIC = frozenset(_PUBLIC_WORDS.split())
"""Domains of documentation, package indexes and error messages: they identify no machine."""
_DOMAINS_WORDS = (
    "com net org edu gov mil io ai dev cloud tech systems network internal local localdomain lan corp intra intranet home arpa de uk"
    " fr nl be ch at it es pt se no dk fi cz hu gr ru ua tr il jp cn kr tw hk sg au nz br mx ar ca us eu za"
)
_DOMAINS = frozenset(_DOMAINS_WORDS.split())
"""The last parts of host names, without those that are also suffixes of files or parts of names in code (so, py, cc, rs, md, sh, in, is, int)."""
_NO_MAIL_WORDS = "service slice scope socket target timer mount device path swap"
_NO_MAIL = frozenset(_NO_MAIL_WORDS.split())
"""The suffixes of systemd's units: user@1000.service."""
_ANYBODY = ("127.", "0.0.0.0", "255.")  # noqa: S104 -- read, not bound to

_QUAD = r"(?<![\w.-])(?:\d{1,3}\.){3}\d{1,3}(?![\w-]|\.\d)"
_VERSION_BEFORE = r"(?i)(?:[=<>~!]\s?|\b(?:version|release|wants|needs|requires|is|than|by|\w{0,20}cu\w{1,20}|nv\w{1,20}|nccl|tensorrt)\s)$"
_ADDRESS_BEFORE = (
    r"(?i)(?:@|\[|//|[a-z]\d{1,3}:|\b(?:ip|inet|addr|address|host|peer|server|tcp|udp|connect(?:ed|ing)? to|bind(?:ing)? to|listen(?:ing)? on)"
    r"[ :=]\s?(?:is )?)$"
)
_ADDRESS_AFTER = r":\d{1,5}(?!\d)|/\d{1,2}(?!\d)|<\d>"
_LONG = r"(?i)(?<![\w:.])(?:[0-9a-f]{1,4}:){7}[0-9a-f]{1,4}(?![\w:]|\.\d)"
_SHORT = r"(?i)(?<![\w:.])(?:[23][0-9a-f]{3}|f[cdef][0-9a-f]{2}):(?:[0-9a-f]{1,4}:){0,5}(?::[0-9a-f]{1,4}){0,6}(?![\w:]|\.\d)"
_ZONED = r"(?i)(?<=:)fe80::[0-9a-f:]{1,40}(?=[%<])"
"""In a log of NCCL, after the interface's name."""
_HARDWARE = r"(?i)(?<![\w:])(?:[0-9a-f]{2}:){5}[0-9a-f]{2}(?![\w:]|\.\d)"
_MAIL = r"(?<![\w.+-])[\w.+-]{1,64}@([A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,8})"
_PROMPT = r"(?<![\w.+-])([A-Za-z_][\w.-]{0,31})@([A-Za-z0-9][\w.-]{0,252})(?=:(?!//)[~/][^\s#$]{0,200}[#$]| [^\s#$]{1,100}[#$](?:\s|$))"
_NAME = r"([A-Za-z0-9][\w.-]{0,252})"
_AUTHORITY = rf"(?<=://)((?:\*\*\*|<credentials-\d{{1,9}}>)@)?{_NAME}"
_DOTTED = r"(?<![\w./@-])[A-Za-z0-9][A-Za-z0-9-]{0,62}(?:\.[A-Za-z0-9-]{1,63}){2,8}(?![\w-]|\.\w)"
_NAMED_HOST = r"(?i)\b((?:host ?name|node ?name|nodelist|node|host)[\"']?:?[=:] {0,2}[\"']?)([A-Za-z0-9][\w.-]{0,252}(?:\[[\d,-]{1,64}\])?)"
_NCCL = rf"(?<![^\s\"'(])(){_NAME}(?=:\d{{1,9}}:\d{{1,9}} (?:\[\d{{1,4}}\] )?(?:NCCL|INFO|WARN) )"
_CONTEXTS = (
    # NCCL_DEBUG=INFO begins its lines with host:process:thread: https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html#nccl-debug
    (" nccl ", _NCCL),
    ("] info ", _NCCL),
    ("master_addr", rf"(?i)(\bmaster_addr(?:ess)?[\"']?[=: ] ?[\"']?){_NAME}"),
    # syslog: https://www.rfc-editor.org/rfc/rfc3164#section-4.1.2
    (": ", rf"(?<![^\s\"'>])((?:[A-Z][a-z]{{2}} [ \d]\d [\d:]{{8}}|\d{{4}}-\d\d-\d\dT[\d:.+Z-]{{8,24}}) ){_NAME}(?= [\w./@-]{{1,64}}(?:\[\d{{1,9}}\])?: )"),
    # c10d: "connect to [node17]:29500"; Gloo, gRPC and Slurm: node17:29500
    ("]:", rf"(\[){_NAME}(?=\]:\d{{2,5}}\b)"),
    (":", r"(?<![\w./:@-])()((?=[A-Za-z-]{0,62}\d)[A-Za-z][A-Za-z0-9-]{2,62})(?=:[1-9]\d{3,4}(?![\w:.]))"),
    ("host", _NAMED_HOST),
    ("node", _NAMED_HOST),
    # mounts of NFS, SSH and SMB: server:/export, user@server:/path, \\server\share
    (":/", rf"(?<![\w./:@-])(){_NAME}(?=:/(?:exports?|vol|srv|home|nfs|data|mnt|scratch|share)\b)"),
    ("@", rf"(?<![\w.+-])([\w.+-]{{1,64}}@){_NAME}(?=:(?!//)[/~\w])"),
    ("\\\\", rf"(?<![\\\w:])(\\\\){_NAME}(?=\\)"),
)  # fmt: skip
"""What lower-case text with such a host name contains, and the pattern: what precedes the name, and the name."""


def addresses(text: str, marks: Marks) -> str:
    """`text` without network addresses; four numbers in the place of a version are kept."""
    if "::" in text or text.count(":") > _COLONS:
        text = re.sub(_ZONED, lambda match: marks.of(Kind.ADDRESS, match.group()), text)
        text = re.sub(_LONG, lambda match: marks.of(Kind.ADDRESS, match.group()), text)
        text = re.sub(_SHORT, lambda match: marks.of(Kind.ADDRESS, match.group()) if "::" in match.group() else match.group(), text)
        text = re.sub(_HARDWARE, lambda match: marks.of(Kind.MAC, match.group()), text)
    return re.sub(_QUAD, lambda match: _quad(match, marks), text) if text.count(".") >= _DOTS else text


_COLONS, _DOTS = 4, 3
"""A hardware address has five colons, an IPv4 address three dots."""


def _quad(match: re.Match[str], marks: Marks) -> str:
    """No CUDA component's version begins with 14 or more, and only CUDA 11 and 12 libraries' with 10, as most private networks do."""
    found, whole = match.group(), match.string
    first, *rest = (int(part) for part in found.split("."))
    if max(first, *rest) > 255 or found.startswith(_ANYBODY):
        return found
    before, after = whole[max(0, match.start() - 24) : match.start()], whole[match.end() : match.end() + 8]
    if first > 13 or re.match(_ADDRESS_AFTER, after) or re.search(_ADDRESS_BEFORE, before):
        return marks.of(Kind.ADDRESS, found)
    version = first != 10 or found == whole or re.search(_VERSION_BEFORE, before)
    return found if version else marks.of(Kind.ADDRESS, found)


def prompts(text: str, marks: Marks) -> str:
    """`text` without the names in a shell's prompt: alice@node17:~$ and [alice@node17 ~]$."""
    return re.sub(_PROMPT, lambda match: f"{_user(match[1], marks)}@{_host(match[2], marks)}", text) if "@" in text else text


def _user(name: str, marks: Marks) -> str:
    return name if name.lower() in ANYBODY else marks.of(Kind.USER, name, everywhere=True)


def mail(text: str, marks: Marks) -> str:
    """`text` without addresses of e-mail."""
    return re.sub(_MAIL, lambda match: _mail(match, marks), text) if "@" in text else text


def _mail(match: re.Match[str], marks: Marks) -> str:
    ending = _ending(match[1])  # a tag of git's is a version: cocoapi.git@v0.7.3
    return match.group() if ending in _NO_MAIL or ending.isdecimal() else marks.of(Kind.MAIL, match.group())


def hosts(text: str, marks: Marks) -> str:
    """`text` without host names that show by their form or their context."""

    def in_context(match: re.Match[str], *, surely: bool = True) -> str:
        return (match[1] or "") + _host(match[2], marks, everywhere=surely)

    if "://" in text:
        text = re.sub(_AUTHORITY, in_context, text)
    if text.count(".") > 1:
        text = re.sub(_DOTTED, lambda match: _host(match.group(), marks) if _ending(match.group()) in _DOMAINS else match.group(), text)
    lower = text.lower()
    for hint, context in _CONTEXTS:
        if hint in lower:
            text = re.sub(context, partial(in_context, surely=context is not _NAMED_HOST), text)
    return text


def _ending(name: str) -> str:
    return name.rpartition(".")[2].lower()


def _host(name: str, marks: Marks, *, everywhere: bool = True) -> str:
    """`name` if it is a public name or one that any machine has, otherwise what stands for it."""
    lower = name.lower().rstrip(".")
    parts = lower.split(".")
    if lower == "localhost" or any(".".join(parts[number:]) in PUBLIC for number in range(len(parts))):
        return name
    return name if re.fullmatch(r"[\d.]+", name) else marks.of(Kind.HOST, lower, everywhere=everywhere)
