"""The environment variables that change how a GPU is found or used; no others are looked at."""

from __future__ import annotations

from collections.abc import Mapping

from gpudoctor.probe.redact import Redactor
from gpudoctor.snapshot import Variables, readable

BEGINNINGS = (
    "CUDA_",
    "NVIDIA_",
    "NCCL_",
    "CUDNN_",
    "NVCC_",
    "TF_",
    "XLA_",
    "JAX_",
    "TORCH_",
    "PYTORCH_",
    "ROCR_",
    "HIP_",
    "HSA_",
    "MKL_",
    "OMP_",
)
NAMES = (
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "PYTHONPATH",
    "PYTHONHOME",
    "PYTHONNOUSERSITE",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "CONDA_DEFAULT_ENV",
    "CUDAHOSTCXX",
    "KERAS_BACKEND",
    "KERAS_TORCH_DEVICE",
    "ACCELERATE_USE_CPU",
    "GPU_DEVICE_ORDINAL",
    "LIBGL_ALWAYS_SOFTWARE",
    "KUBERNETES_SERVICE_HOST",
    "SINGULARITY_NV",
    "APPTAINER_NV",
    "SLURM_JOB_ID",
    "SLURM_JOB_GPUS",
    "SLURM_STEP_GPUS",
    "SLURM_GPUS",
    "SLURM_GPUS_ON_NODE",
    "SLURM_GPUS_PER_NODE",
    "SLURM_GPUS_PER_TASK",
    "PBS_JOBID",
    "PBS_GPUFILE",
    "LSB_JOBID",
    "COLAB_GPU",
    "WSL_DISTRO_NAME",
)
NEVER = ("TF_VAR_", "TF_TOKEN_", "TF_CLI_", "TF_CLOUD_", "TF_WORKSPACE")
"""Terraform's, which may hold secrets and mean nothing here."""
LONGEST = 8192
"""Characters of a value that are kept."""


def variables(environ: Mapping[str, str], redactor: Redactor) -> Variables:
    """The variables on the allow-list that are set, by name; an empty value is kept, since it means something."""
    wanted = (name for name in environ if (name in NAMES or name.startswith(BEGINNINGS)) and not name.startswith(NEVER))
    return Variables(values={readable(name): redactor.variable(name, readable(environ[name])[:LONGEST]) for name in sorted(wanted)})
