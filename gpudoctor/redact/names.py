"""Patterns for what identifies a machine or a person: addresses, host names, e-mail. Each is linear in its text."""

from __future__ import annotations

import re
from functools import partial

from gpudoctor.redact.common_names import COMMON_NAMES
from gpudoctor.redact.pseudonyms import RemovalMarks, RemovedKind

_PUBLIC_WORDS = (
    "nvidia.com github.com githubusercontent.com pytorch.org tensorflow.org python.org google.com"
    " googleapis.com docker.com docker.io nvcr.io quay.io kernel.org debian.org ubuntu.com redhat.com fedoraproject.org anaconda.org"
    " anaconda.com conda.io huggingface.co microsoft.com intel.com amd.com keras.io readthedocs.io rfc-editor.org kubernetes.io k8s.io"
    " stackoverflow.com jax.dev openxla.org freedesktop.org slurm.schedmd.com schedmd.com ietf.org gnu.org abseil.io"
    " rpmfusion.org archlinux.org apptainer.org astral.sh cupy.dev k3s.io numpy.org onnxruntime.ai opennmt.net podman.io pypa.io rapids.ai vllm.ai"
    " aka.ms apple.com man7.org protobuf.dev qemu.org ray.io rust-for-linux.com"
)
PUBLIC_DOMAINS = frozenset(_PUBLIC_WORDS.split())
"""Domains of documentation, package indexes and error messages: they identify no machine."""
_DOMAINS_WORDS = (
    "com net org edu gov mil io ai dev cloud tech systems network internal local localdomain lan corp intra intranet home arpa de uk"
    " fr nl be ch at it es pt se no dk fi cz hu gr ru ua tr il jp cn kr tw hk sg au nz br mx ar ca us eu za"
)
_DOMAINS = frozenset(_DOMAINS_WORDS.split())
"""The last parts of host names, without those that are also suffixes of files or parts of names in code (so, py, cc, rs, md, sh, in, is, int)."""
_NO_MAIL_WORDS = "service slice scope socket target timer mount device path swap"
_UNIT_SUFFIXES = frozenset(_NO_MAIL_WORDS.split())
"""The suffixes of systemd's units: user@1000.service."""
_COMMON_ADDRESSES = ("127.", "0.0.0.0", "255.")  # noqa: S104 -- read, not bound to

_IPV4_ADDRESS = r"(?<![\w.-])(?:\d{1,3}\.){3}\d{1,3}(?![\w-]|\.\d)"
_VERSION_BEFORE = r"(?i)(?:[=<>~!]\s?|\b(?:version|release|wants|needs|requires|is|than|by|\w{0,20}cu\w{1,20}|nv\w{1,20}|nccl|tensorrt)\s)$"
_ADDRESS_BEFORE = (
    r"(?i)(?:@|\[|//|[a-z]\d{1,3}:|\b(?:ip|inet|addr|address|host|peer|server|tcp|udp|connect(?:ed|ing)? to|bind(?:ing)? to|listen(?:ing)? on)"
    r"[ :=]\s?(?:is )?)$"
)
_ADDRESS_AFTER = r":\d{1,5}(?!\d)|/\d{1,2}(?!\d)|<\d>"
_LONG_IPV6 = r"(?i)(?<![\w:.])(?:[0-9a-f]{1,4}:){7}[0-9a-f]{1,4}(?![\w:]|\.\d)"
_SHORT_IPV6 = r"(?i)(?<![\w:.])(?:[23][0-9a-f]{3}|f[cdef][0-9a-f]{2}):(?:[0-9a-f]{1,4}:){0,5}(?::[0-9a-f]{1,4}){0,6}(?![\w:]|\.\d)"
_ZONED_IPV6 = r"(?i)(?<=:)fe80::[0-9a-f:]{1,40}(?=[%<])"
"""In a log of NCCL, after the interface's name."""
_HARDWARE_ADDRESS = r"(?i)(?<![\w:])(?:[0-9a-f]{2}:){5}[0-9a-f]{2}(?![\w:]|\.\d)"
_MAIL_ADDRESS = r"(?<![\w.+-])[\w.+-]{1,64}@([A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,8})"
_SHELL_PROMPT = (
    r"(?<![\w.+-])([A-Za-z_][\w.-]{0,31})@([A-Za-z0-9][\w.-]{0,252})(?=:(?!//)[~/][^\s#$]{0,200}[#$]| [^\s#$]{1,100}[#$](?:\s|$))"
)
_HOST_NAME = r"([A-Za-z0-9][\w.-]{0,252})"
_URL_AUTHORITY = rf"(?<=://)((?:\*\*\*|<credentials-\d{{1,9}}>)@)?{_HOST_NAME}"
_DOTTED_NAME = r"(?<![\w./@-])[A-Za-z0-9][A-Za-z0-9-]{0,62}(?:\.[A-Za-z0-9-]{1,63}){2,8}(?![\w-]|\.\w)"
_NAMED_HOST = r"(?i)\b((?:host ?name|node ?name|nodelist|node|host)[\"']?:?[=:] {0,2}[\"']?)([A-Za-z0-9][\w.-]{0,252}(?:\[[\d,-]{1,64}\])?)"
_NCCL_LINE = rf"(?<![^\s\"'(])(){_HOST_NAME}(?=:\d{{1,9}}:\d{{1,9}} (?:\[\d{{1,4}}\] )?(?:NCCL|INFO|WARN) )"
_HOST_CONTEXTS = (
    # NCCL_DEBUG=INFO begins its lines with host:process:thread: https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html#nccl-debug
    (" nccl ", _NCCL_LINE),
    ("] info ", _NCCL_LINE),
    ("master_addr", rf"(?i)(\bmaster_addr(?:ess)?[\"']?[=: ] ?[\"']?){_HOST_NAME}"),
    # syslog: https://www.rfc-editor.org/rfc/rfc3164#section-4.1.2
    (": ", rf"(?<![^\s\"'>])((?:[A-Z][a-z]{{2}} [ \d]\d [\d:]{{8}}|\d{{4}}-\d\d-\d\dT[\d:.+Z-]{{8,24}}) ){_HOST_NAME}(?= [\w./@-]{{1,64}}(?:\[\d{{1,9}}\])?: )"),
    # c10d: "connect to [node17]:29500"; Gloo, gRPC and Slurm: node17:29500
    ("]:", rf"(\[){_HOST_NAME}(?=\]:\d{{2,5}}\b)"),
    (":", r"(?<![\w./:@-])()((?=[A-Za-z-]{0,62}\d)[A-Za-z][A-Za-z0-9-]{2,62})(?=:[1-9]\d{3,4}(?![\w:.]))"),
    ("host", _NAMED_HOST),
    ("node", _NAMED_HOST),
    # mounts of NFS, SSH and SMB: server:/export, user@server:/path, \\server\share
    (":/", rf"(?<![\w./:@-])(){_HOST_NAME}(?=:/(?:exports?|vol|srv|home|nfs|data|mnt|scratch|share)\b)"),
    ("@", rf"(?<![\w.+-])([\w.+-]{{1,64}}@){_HOST_NAME}(?=:(?!//)[/~\w])"),
    ("\\\\", rf"(?<![\\\w:])(\\\\){_HOST_NAME}(?=\\)"),
)  # fmt: skip
"""What lower-case text with such a host name contains, and the pattern: what precedes the name, and the name."""


def without_addresses(text: str, marks: RemovalMarks) -> str:
    """`text` without network addresses; four numbers in the place of a version are kept."""
    if "::" in text or text.count(":") > _MAX_COLONS:
        text = re.sub(_ZONED_IPV6, lambda match: marks.of(RemovedKind.ADDRESS, match.group()), text)
        text = re.sub(_LONG_IPV6, lambda match: marks.of(RemovedKind.ADDRESS, match.group()), text)
        text = re.sub(
            _SHORT_IPV6, lambda match: marks.of(RemovedKind.ADDRESS, match.group()) if "::" in match.group() else match.group(), text
        )
        text = re.sub(_HARDWARE_ADDRESS, lambda match: marks.of(RemovedKind.MAC, match.group()), text)
    return re.sub(_IPV4_ADDRESS, lambda match: _replaced_quad(match, marks), text) if text.count(".") >= _MAX_DOTS else text


_MAX_COLONS, _MAX_DOTS = 4, 3
"""A hardware address has five colons, an IPv4 address three dots."""


def _replaced_quad(match: re.Match[str], marks: RemovalMarks) -> str:
    """No CUDA component's version begins with 14 or more, and only CUDA 11 and 12 libraries' with 10, as most private networks do."""
    found, whole = match.group(), match.string
    first, *rest = (int(part) for part in found.split("."))
    if max(first, *rest) > 255 or found.startswith(_COMMON_ADDRESSES):
        return found
    before, after = whole[max(0, match.start() - 24) : match.start()], whole[match.end() : match.end() + 8]
    if first > 13 or re.match(_ADDRESS_AFTER, after) or re.search(_ADDRESS_BEFORE, before):
        return marks.of(RemovedKind.ADDRESS, found)
    version = first != 10 or found == whole or re.search(_VERSION_BEFORE, before)
    return found if version else marks.of(RemovedKind.ADDRESS, found)


def without_prompts(text: str, marks: RemovalMarks) -> str:
    """`text` without the names in a shell's prompt: alice@node17:~$ and [alice@node17 ~]$."""
    return (
        re.sub(_SHELL_PROMPT, lambda match: f"{_replaced_user(match[1], marks)}@{_replaced_host(match[2], marks)}", text)
        if "@" in text
        else text
    )


def _replaced_user(name: str, marks: RemovalMarks) -> str:
    return name if name.lower() in COMMON_NAMES else marks.of(RemovedKind.USER, name, everywhere=True)


def without_mail(text: str, marks: RemovalMarks) -> str:
    """`text` without addresses of e-mail."""
    return re.sub(_MAIL_ADDRESS, lambda match: _replaced_mail(match, marks), text) if "@" in text else text


def _replaced_mail(match: re.Match[str], marks: RemovalMarks) -> str:
    ending = _last_label(match[1])  # a tag of git's is a version: cocoapi.git@v0.7.3
    return match.group() if ending in _UNIT_SUFFIXES or ending.isdecimal() else marks.of(RemovedKind.MAIL, match.group())


def without_hosts(text: str, marks: RemovalMarks) -> str:
    """`text` without host names that show by their form or their context."""

    def in_context(match: re.Match[str], *, surely: bool = True) -> str:
        return (match[1] or "") + _replaced_host(match[2], marks, everywhere=surely)

    if "://" in text:
        text = re.sub(_URL_AUTHORITY, in_context, text)
    if text.count(".") > 1:
        text = re.sub(
            _DOTTED_NAME,
            lambda match: _replaced_host(match.group(), marks) if _last_label(match.group()) in _DOMAINS else match.group(),
            text,
        )
    lower = text.lower()
    for hint, context in _HOST_CONTEXTS:
        if hint in lower:
            text = re.sub(context, partial(in_context, surely=context is not _NAMED_HOST), text)
    return text


def _last_label(name: str) -> str:
    return name.rpartition(".")[2].lower()


def _replaced_host(name: str, marks: RemovalMarks, *, everywhere: bool = True) -> str:
    """`name` if it is a public name or one that any machine has, otherwise what stands for it."""
    lower = name.lower().rstrip(".")
    parts = lower.split(".")
    if lower == "localhost" or any(".".join(parts[number:]) in PUBLIC_DOMAINS for number in range(len(parts))):
        return name
    return name if re.fullmatch(r"[\d.]+", name) else marks.of(RemovedKind.HOST, lower, everywhere=everywhere)
