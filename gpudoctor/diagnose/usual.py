"""The rules that any machine may need: imported while the children of a check look at it."""

from __future__ import annotations

from gpudoctor.diagnose.rules import without
from gpudoctor.diagnose.rules.of_gpus import OF_GPUS
from gpudoctor.diagnose.rules.of_sections import OF_CUDA_BUILDS, OF_TRAINING, OF_WSL

USUAL = without(OF_GPUS.union(OF_WSL, OF_TRAINING, OF_CUDA_BUILDS))
