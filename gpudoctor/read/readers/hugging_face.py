"""Reads `transformers env`, `accelerate env` and `diffusers-cli env`; sources: transformers/commands/env.py, accelerate/commands/env.py, diffusers/commands/env.py."""

from __future__ import annotations

from gpudoctor.read.readers.reader import RELEASE, Form, Reader
from gpudoctor.read.statements import Rank

_ITEM = r"^\s{0,8}(?:[-*] {1,3})?"
"""Where every line of a text is an item, the mark of the list is gone."""
_ASKED = r"\((?:GPU|accelerator|XPU|NPU|HPU)[^)]{0,20}\)"
_PACKAGES = "[Tt]ransformers|[Aa]ccelerate|[Dd]iffusers|Huggingface_hub|Safetensors|PEFT|bitsandbytes|xFormers|DeepSpeed"

READER = Reader(
    "Hugging Face env",
    forms=(
        Form("package:torch", rf"{_ITEM}PyTorch version(?: {_ASKED})?: {RELEASE}"),
        Form("torch devices", rf"{_ITEM}PyTorch version \(GPU\?\): \S{{3,60}} \((?P<value>True|False)\)"),
        Form("torch devices", rf"{_ITEM}PyTorch version \(accelerator\?\): \S{{3,60}} \((?P<value>CUDA|NA)\)"),
        Form("torch devices", rf"{_ITEM}PyTorch CUDA available: (?P<value>True|False)"),
        Form("torch devices", rf"{_ITEM}PyTorch accelerator: (?P<value>CUDA|N/A)"),
        Form("version:tensorflow", rf"{_ITEM}Tensorflow version \(GPU\?\): {RELEASE}", Rank.LISTING),
        Form("tensorflow devices", rf"{_ITEM}Tensorflow version \(GPU\?\): \S{{3,60}} \((?P<value>True)\)"),
        Form("jax devices", rf"{_ITEM}Flax version \(CPU\?/GPU\?/TPU\?\): \S{{3,60}} \((?P<value>gpu)\)"),
        Form("version:jax", rf"{_ITEM}Jax version: {RELEASE}", Rank.LISTING),
        Form("version:jaxlib", rf"{_ITEM}JaxLib version: {RELEASE}", Rank.LISTING),
        Form("python", rf"{_ITEM}Python version: (?P<value>\d+\.\d+(?:\.\d+)?)"),
        Form("kernel platform", rf"{_ITEM}Platform: (?P<value>(?:Linux|Windows|macOS|Darwin)\S{{3,160}})"),
        Form("package:numpy", rf"{_ITEM}Numpy version: {RELEASE}"),
        Form("gpu:0", rf"{_ITEM}GPU type: (?P<value>[A-Z][^\n]{{3,80}})"),
        Form("gpu:0", rf"{_ITEM}Accelerator: (?P<value>(?:NVIDIA|Tesla|GeForce|Quadro)[^,\n]{{3,80}}), ?\d"),
        Form("variable:ACCELERATE_USE_CPU", r"^\s{0,12}- use_cpu: (?P<value>[Tt]rue)$"),
        Form("package", rf"{_ITEM}(?:🤗 )?`?(?P<name>{_PACKAGES})`? version: {RELEASE}", Rank.LISTING),
    ),
)
"""TensorFlow's and JAX's distributions are not named. Both are often installed beside PyTorch without a GPU build, so only a GPU that they see counts."""
