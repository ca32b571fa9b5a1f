"""Reads TensorFlow's tf_env_collect.sh, `tf.sysconfig.get_build_info()` and lists of devices; source: tools/tf_env_collect.sh."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpudoctor.read.readers.reader import RELEASE_FORM, Reader, StatementForm
from gpudoctor.read.statements import Directness, Line, Statement

_KEY_SEPARATOR = r"['\"], ?|['\"]?: ?"
"""Between key and value, in an OrderedDict and in a dict."""

_NAME = "TensorFlow build info"
_DEVICE_MARK = "PhysicalDevice(name='/physical_device:"
_MAX_LIST_LINES = 20
"""Lines of a list of devices."""


def _device_list_statements(lines: Sequence[Line]) -> Iterator[Statement]:
    """Yield whether a list of devices over several lines has a GPU."""
    named = [line for line in lines if 'name: "/device:' in line.text]
    if named:
        gpu = next((line for line in named if "/device:GPU:" in line.text), None)
        yield Statement("tensorflow devices", "GPU" if gpu else "[]", _NAME, (gpu or named[0]).number, Directness.LOG)
    for place, line in enumerate(lines):
        if _DEVICE_MARK not in line.text or "[" not in line.text or "]" in line.text:
            continue
        rest = [other.text for other in lines[place : place + _MAX_LIST_LINES]]
        last = next((number for number, text in enumerate(rest) if "]" in text), None)
        if last and all(_DEVICE_MARK in text and f"{_DEVICE_MARK}GPU:" not in text for text in rest[: last + 1]):
            yield Statement("tensorflow devices", "[]", _NAME, line.number, Directness.LOG)


READER = Reader(
    _NAME,
    forms=(
        StatementForm("version:tensorflow", rf"^\s*tf\.(?:version\.)?VERSION = {RELEASE_FORM}"),
        StatementForm("version:tensorflow", rf"^\W{{0,6}}v\d\.\d{{1,2}}\S{{1,20}}-g[0-9a-f]{{6,14}}\W{{1,4}}{RELEASE_FORM}\b"),
        StatementForm("python", r"^\s*python version: (?P<value>\d+\.\d+\.\d+)"),
        StatementForm("kernel platform", r"^\s*os platform: (?P<value>(?:Linux|Windows|Darwin|macOS)\S{3,160})"),
        StatementForm("tensorflow cuda", rf"['\"]cuda_version(?:{_KEY_SEPARATOR})['\"]?(?P<value>\d+(?:\.\d+)*)"),
        StatementForm("tensorflow cuda", rf"['\"]is_cuda_build(?:{_KEY_SEPARATOR})['\"]?(?P<value>False)"),
        StatementForm("tensorflow cudnn", rf"['\"]cudnn_version(?:{_KEY_SEPARATOR})['\"]?(?P<value>\d+(?:\.\d+)*)"),
        StatementForm("tensorflow rocm", rf"['\"]is_rocm_build(?:{_KEY_SEPARATOR})['\"]?(?P<value>True)"),
        StatementForm("tensorflow architectures", rf"['\"]cuda_compute_capabilities(?:{_KEY_SEPARATOR})\[(?P<value>[\w', \"]{{3,300}})\]"),
        StatementForm("tensorflow devices", r"(?P<value>PhysicalDevice\(name='/physical_device:GPU:\d)", Directness.LOG),
        StatementForm("tensorflow devices", r"^\W{0,8}Num GPUs Available:? {1,4}(?P<value>\d{1,3})\b", Directness.LOG),
    ),
    blocks=_device_list_statements,
)
