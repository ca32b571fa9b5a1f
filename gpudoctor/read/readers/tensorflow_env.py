"""Reads TensorFlow's tf_env_collect.sh, `tf.sysconfig.get_build_info()` and lists of devices; source: tools/tf_env_collect.sh."""

from __future__ import annotations

from gpudoctor.read.readers.reader import RELEASE, Form, Reader
from gpudoctor.read.statements import Rank

_IS = r"['\"], ?|['\"]?: ?"
"""Between key and value, in an OrderedDict and in a dict."""

READER = Reader(
    "TensorFlow build info",
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
)
