"""Reads what shows the kernel's modules: lsmod, modinfo, modprobe, dkms, mokutil and /proc/driver/nvidia."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from gpudoctor.expressions import expression
from gpudoctor.read.readers.reader import VERSION_FORM, Reader, StatementForm
from gpudoctor.read.statements import Directness, Line, Statement

_NAME = "kernel modules"
_MODULE_ROW = expression(r"^[a-z0-9]\w{1,60}\s{1,60}\d{4,9}\s{1,4}-?\d{1,6}(?:\s|$)")
_MIN_WHOLE_LIST = 20
"""Modules that every machine with a GPU has loaded; a shorter list was cut or searched."""
_VERSION_COMMANDS = {
    "module": expression(r"/sys/module/nvidia/version[`\"']?\s{0,4}$"),
    "module version": expression(r"\bmodinfo (?:-F ?|--field[= ])version nvidia[`\"']?\s{0,4}$"),
}
"""Commands that print the version of the loaded module, or of the installed one, and nothing else."""
_VERSION_ANSWER = expression(r"\s{0,4}(?P<value>\d{3}\.\d{1,3}(?:\.\d{1,3})?)\s{0,4}")


def _statements(lines: Sequence[Line]) -> Iterator[Statement]:
    yield from _whole_list_statements(lines)
    for line, following in pairwise(lines):
        answer = _VERSION_ANSWER.fullmatch(following.text) if "version" in line.text else None
        asked = (what for what, command in _VERSION_COMMANDS.items() if command.search(line.text)) if answer else ()
        yield from (Statement(what, answer["value"], _NAME, following.number, Directness.TOOL) for what in asked if answer)


def _whole_list_statements(lines: Sequence[Line]) -> Iterator[Statement]:
    """Yield that a list of lsmod is complete: its head is there, and many modules follow."""
    for place, line in enumerate(lines):
        if not line.text.startswith("Module") or line.text.split() != ["Module", "Size", "Used", "by"]:
            continue
        end = next((at for at in range(place + 1, len(lines)) if not _MODULE_ROW.match(lines[at].text)), len(lines))
        cut = end < len(lines) and lines[end].text.strip().startswith(("...", "[", "…"))
        if end - place > _MIN_WHOLE_LIST and not cut:
            yield Statement("lsmod", str(end - place - 1), _NAME, line.number, Directness.TOOL)


_FLAVOUR_FORM = r"(?:open|closed|proprietary)(?:[ -]source)? (?:nvidia )?(?:kernel )?(?:driver|module)s?\b"

READER = Reader(
    _NAME,
    forms=(
        StatementForm(
            "loaded",
            r"^(?P<name>nvidia(?:_uvm|_modeset|_drm|_peermem|_fs)?|nouveau|nova_core|nova_drm|vfio_pci)\s{1,60}(?P<value>\d{4,9}\s{1,6}-?\d{1,6}(?: [\w,-]{1,200})?)\s*$",
        ),
        # /proc/driver/nvidia/version
        StatementForm("module", rf"NVRM version: NVIDIA UNIX .{{0,60}}?Kernel Module .{{0,30}}?{VERSION_FORM}"),
        StatementForm("flavour", r"NVRM version: NVIDIA UNIX (?P<value>(?:\w{3,10} )?Kernel Module)"),
        # the head of a report in NVIDIA's tracker of the open modules, and modinfo
        StatementForm("flavour", r"^\W{0,6}NVIDIA (?P<value>Open) GPU Kernel Modules Version\b", Directness.PROSE),
        StatementForm("flavour", r"^license:\s{1,20}(?P<value>Dual MIT/GPL|NVIDIA)\s*$", Directness.LISTING),
        # packages of distributions, and what people say
        StatementForm(
            "flavour",
            r"(?<![\w/-])(?P<value>nvidia-(?:driver|dkms|kernel-source|headless)-\d{3}(?:-server)?-open|nvidia-open(?:-dkms|-lts|-\d{3})?|nvidia-kernel-open-dkms|nvidia-open-driver-G0\d|(?:akmod|kmod)-nvidia-open\S{0,10})(?![\w-])",
            Directness.PROSE,
        ),
        StatementForm(
            "flavour",
            r"(?i)\b(?:with|have|has|using|use|installed|running|run|on|loaded)\b[^\n.?]{0,24}\b(?P<value>open(?:-source)?(?: nvidia)?(?: gpu)? kernel modules?)\b",
            Directness.PROSE,
        ),
        StatementForm("flavour", rf"(?i)\b\d{{3}}\.\d{{2,3}}(?:\.\d{{2,3}})? (?P<value>{_FLAVOUR_FORM})", Directness.PROSE),
        StatementForm("driver", rf"(?i)\b(?P<value>\d{{3}}\.\d{{2,3}}(?:\.\d{{2,3}})?) {_FLAVOUR_FORM}", Directness.PROSE),
        StatementForm(
            "module", rf"/sys/module/nvidia/version['`\"]?(?: {{1,4}}(?:->|=>|is|says|prints|shows|returns)|:) {{1,4}}['`\"]?{VERSION_FORM}"
        ),
        StatementForm(
            "no module", r"(?P<value>(?:/proc/driver/nvidia(?:/version)?|/sys/module/nvidia(?:/version)?)'?: No such file or directory)"
        ),
        # dkms 2 and 3
        StatementForm(
            "dkms",
            r"^\s*(?P<name>nvidia[\w-]{0,40}(?:/|, )\d[\w.~+-]{2,30}, \S{4,60}), \w{3,12}: (?P<value>installed|built|added)\b",
        ),
        StatementForm("dkms", r"^\s*(?P<name>nvidia[\w-]{0,40}(?:/|, )\d[\w.~+-]{2,30}): (?P<value>added)\b"),
        StatementForm("secure boot", r"^\s*SecureBoot (?P<value>enabled|disabled)"),
        StatementForm("secure boot", r"secureboot: Secure boot (?P<value>enabled|disabled)"),
        # modinfo nvidia
        StatementForm("module file", r"^filename:\s{1,12}(?P<value>/\S{5,200}/nvidia\.ko(?:\.\w{1,4})?)$"),
        StatementForm("module signer", r"^signer:\s{1,16}(?P<value>\S.{0,80})"),
        StatementForm("module version", r"^version:\s{1,12}(?P<value>\d{3}\.\d{1,3}(?:\.\d{1,3})?)$"),
        # kmod
        StatementForm(
            "no module for",
            r"modprobe: FATAL: Module nvidia(?:[-_](?!uvm)\w{1,12})? not found in directory /lib/modules/(?P<value>\S{3,80})",
        ),
        StatementForm(
            "module error",
            r"modprobe: ERROR: could not insert '?nvidia\w{0,12}'?: (?P<value>Key was rejected by service|Required key not available|Operation not permitted"
            r"|No such device|Unknown symbol in module|Exec format error|Invalid argument|Function not implemented)",
        ),
        StatementForm("no module for", r"modinfo: ERROR: Module (?P<value>nvidia) not found"),
    ),
    blocks=_statements,
    of_kernel=True,
)
