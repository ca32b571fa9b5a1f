"""Reads TensorFlow's tf_env_collect.sh, `tf.sysconfig.get_build_info()` and lists of devices; source: tools/tf_env_collect.sh."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpudoctor.read.readers.reader import RELEASE, Form, Reader
from gpudoctor.read.statements import Line, Rank, Statement

_IS = r"['\"], ?|['\"]?: ?"
"""Between key and value, in an OrderedDict and in a dict."""

_NAME = "TensorFlow build info"
_DEVICE = "PhysicalDevice(name='/physical_device:"
_MOST = 20
"""Lines of a list of devices."""


def _lists(lines: Sequence[Line]) -> Iterator[Statement]:
    """Yield whether a list of devices over several lines has a GPU."""
    named = [line for line in lines if 'name: "/device:' in line.text]
    if named:
        gpu = next((line for line in named if "/device:GPU:" in line.text), None)
        yield Statement("tensorflow devices", "GPU" if gpu else "[]", _NAME, (gpu or named[0]).number, Rank.LOG)
    for place, line in enumerate(lines):
        if _DEVICE not in line.text or "[" not in line.text or "]" in line.text:
            continue
        rest = [other.text for other in lines[place : place + _MOST]]
        last = next((number for number, text in enumerate(rest) if "]" in text), None)
        if last and all(_DEVICE in text and f"{_DEVICE}GPU:" not in text for text in rest[: last + 1]):
            yield Statement("tensorflow devices", "[]", _NAME, line.number, Rank.LOG)


READER = Reader(
    _NAME,
    forms=(
        Form("version:tensorflow", rf"^\s*tf\.(?:version\.)?VERSION = {RELEASE}"),
        Form("version:tensorflow", rf"^\W{{0,6}}v\d\.\d{{1,2}}\S{{1,20}}-g[0-9a-f]{{6,14}}\W{{1,4}}{RELEASE}\b"),
        Form("python", r"^\s*python version: (?P<value>\d+\.\d+\.\d+)"),
        Form("kernel platform", r"^\s*os platform: (?P<value>(?:Linux|Windows|Darwin|macOS)\S{3,160})"),
        Form("tensorflow cuda", rf"['\"]cuda_version(?:{_IS})['\"]?(?P<value>\d+(?:\.\d+)*)"),
        Form("tensorflow cuda", rf"['\"]is_cuda_build(?:{_IS})['\"]?(?P<value>False)"),
        Form("tensorflow cudnn", rf"['\"]cudnn_version(?:{_IS})['\"]?(?P<value>\d+(?:\.\d+)*)"),
        Form("tensorflow rocm", rf"['\"]is_rocm_build(?:{_IS})['\"]?(?P<value>True)"),
        Form("tensorflow architectures", rf"['\"]cuda_compute_capabilities(?:{_IS})\[(?P<value>[\w', \"]{{3,300}})\]"),
        Form("tensorflow devices", r"(?P<value>PhysicalDevice\(name='/physical_device:GPU:\d)", Rank.LOG),
        Form("tensorflow devices", r"^\W{0,8}Num GPUs Available:? {1,4}(?P<value>\d{1,3})\b", Rank.LOG),
    ),
    blocks=_lists,
)
