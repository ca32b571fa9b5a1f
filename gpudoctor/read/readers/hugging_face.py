"""Reads `transformers env`, `accelerate env` and `diffusers-cli env`; sources: transformers/commands/env.py, accelerate/commands/env.py, diffusers/commands/env.py."""

from __future__ import annotations

from gpudoctor.read.readers.reader import RELEASE_FORM, Reader, StatementForm
from gpudoctor.read.statements import Directness

_ITEM_MARK = r"^\s{0,8}(?:[-*] {1,3})?"
"""Where every line of a text is an item, the mark of the list is gone."""
_QUESTION_SUFFIX = r"\((?:GPU|accelerator|XPU|NPU|HPU)[^)]{0,20}\)"
_PACKAGE_NAMES = "[Tt]ransformers|[Aa]ccelerate|[Dd]iffusers|Huggingface_hub|Safetensors|PEFT|bitsandbytes|xFormers|DeepSpeed"

READER = Reader(
    "Hugging Face env",
    forms=(
        StatementForm("package:torch", rf"{_ITEM_MARK}PyTorch version(?: {_QUESTION_SUFFIX})?: {RELEASE_FORM}"),
        StatementForm("torch devices", rf"{_ITEM_MARK}PyTorch version \(GPU\?\): \S{{3,60}} \((?P<value>True|False)\)"),
        StatementForm("torch devices", rf"{_ITEM_MARK}PyTorch version \(accelerator\?\): \S{{3,60}} \((?P<value>CUDA|NA)\)"),
        StatementForm("torch devices", rf"{_ITEM_MARK}PyTorch CUDA available: (?P<value>True|False)"),
        StatementForm("torch devices", rf"{_ITEM_MARK}PyTorch accelerator: (?P<value>CUDA|N/A)"),
        StatementForm("version:tensorflow", rf"{_ITEM_MARK}Tensorflow version \(GPU\?\): {RELEASE_FORM}", Directness.LISTING),
        StatementForm("tensorflow devices", rf"{_ITEM_MARK}Tensorflow version \(GPU\?\): \S{{3,60}} \((?P<value>True)\)"),
        StatementForm("jax devices", rf"{_ITEM_MARK}Flax version \(CPU\?/GPU\?/TPU\?\): \S{{3,60}} \((?P<value>gpu)\)"),
        StatementForm("version:jax", rf"{_ITEM_MARK}Jax version: {RELEASE_FORM}", Directness.LISTING),
        StatementForm("version:jaxlib", rf"{_ITEM_MARK}JaxLib version: {RELEASE_FORM}", Directness.LISTING),
        StatementForm("python", rf"{_ITEM_MARK}Python version: (?P<value>\d+\.\d+(?:\.\d+)?)"),
        StatementForm("kernel platform", rf"{_ITEM_MARK}Platform: (?P<value>(?:Linux|Windows|macOS|Darwin)\S{{3,160}})"),
        StatementForm("package:numpy", rf"{_ITEM_MARK}Numpy version: {RELEASE_FORM}"),
        StatementForm("gpu:0", rf"{_ITEM_MARK}GPU type: (?P<value>[A-Z][^\n]{{3,80}})"),
        StatementForm("gpu:0", rf"{_ITEM_MARK}Accelerator: (?P<value>(?:NVIDIA|Tesla|GeForce|Quadro)[^,\n]{{3,80}}), ?\d"),
        StatementForm("variable:ACCELERATE_USE_CPU", r"^\s{0,12}- use_cpu: (?P<value>[Tt]rue)$"),
        StatementForm("package", rf"{_ITEM_MARK}(?:🤗 )?`?(?P<name>{_PACKAGE_NAMES})`? version: {RELEASE_FORM}", Directness.LISTING),
    ),
)
"""TensorFlow's and JAX's distributions are not named. Both are often installed beside PyTorch without a GPU build, so only a GPU that they see counts."""
