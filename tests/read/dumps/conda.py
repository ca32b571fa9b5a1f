"""Lists by conda, mamba and pixi. Written for these tests."""

from __future__ import annotations

from typing import Final

CONDA_OK: Final = """\
# packages in environment at /opt/conda/envs/train:
#
# Name                    Version                   Build  Channel
_libgcc_mutex             0.1                        main
_openmp_mutex             5.1                       1_gnu
blas                      1.0                         mkl
ca-certificates           2023.12.12           h06a4308_0
cudatoolkit               11.3.1               h2bc3f7f_2
numpy                     1.22.3           py39he7a7128_0
openssl                   1.1.1w               h7f8727e_0
pip                       23.3.1           py39h06a4308_0
python                    3.9.18               h955ad1f_0
pytorch                   1.11.0          py3.9_cuda11.3_cudnn8.2.0_0    pytorch
pytorch-mutex             1.0                        cuda    pytorch
torchaudio                0.11.0               py39_cu113    pytorch
torchvision               0.12.0               py39_cu113    pytorch
"""
CONDA_TF_GPU_OK: Final = """\
tensorflow                2.4.1           gpu_py39h8236f22_0
tensorflow-base           2.4.1           gpu_py39h29c2da4_0
tensorflow-estimator      2.6.0              pyh7b7c402_0
tensorflow-gpu            2.4.1                h30adc30_0
"""
MAMBA_OK: Final = """\
List of packages in environment: "/home/u/micromamba/envs/x"

  Name                           Version       Build                          Channel
───────────────────────────────────────────────────────────────────────────────────────────
  _libgcc_mutex                  0.1           conda_forge                    conda-forge
  cuda-version                   12.6          h7480c83_3                     conda-forge
  numpy                          2.2.6         py312h72c5963_0                conda-forge
  pytorch                        2.6.0         cuda126_generic_py312_h3d5e67c_202 conda-forge
  pytorch-gpu                    2.6.0         cuda126_generic_ha9ae3d2_202   conda-forge
"""
PIXI_OK: Final = """\
Package         Version   Build                                Size       Kind   Source
libtorch        2.6.0     cuda126_mkl_h99b69db_304             506.2 MiB  conda  https://conda.anaconda.org/conda-forge/
numpy           2.2.6     py312h72c5963_0                      8 MiB      conda  https://conda.anaconda.org/conda-forge/
pytorch         2.6.0     cuda126_mkl_py312_h30b5a27_304       26.1 MiB   conda  https://conda.anaconda.org/conda-forge/
torchmetrics    1.7.1                                          4 MiB      pypi   torchmetrics-1.7.1-py3-none-any.whl
"""
CONDA_CPU: Final = """\
# packages in environment at /opt/conda/envs/train:
#
# Name                    Version                   Build  Channel
_libgcc_mutex             0.1                        main
_openmp_mutex             5.1                       1_gnu
blas                      1.0                         mkl
ca-certificates           2023.12.12           h06a4308_0
numpy                     1.22.3           py39he7a7128_0
openssl                   1.1.1w               h7f8727e_0
pip                       23.3.1           py39h06a4308_0
python                    3.9.18               h955ad1f_0
pytorch                   1.11.0          py3.9_cpu_0    pytorch
pytorch-mutex             1.0                        cuda    pytorch
torchaudio                0.11.0               py39_cu113    pytorch
torchvision               0.12.0               py39_cu113    pytorch
GPU 0: NVIDIA GeForce RTX 3090
"""
CONDA_FORGE_TF_CPU: Final = """\
  tensorflow                2.10.0          cpu_py39h4655687_0    conda-forge
  tensorflow-base           2.10.0          cpu_py39h4655687_0    conda-forge
  python                    3.9.15          hba424b6_0_cpython    conda-forge
GPU 0: NVIDIA RTX A4000
"""
CONDA_PIP_TWICE: Final = """\
[pip3] numpy==1.24.3
[pip3] torch==2.0.1
[conda] numpy                     1.24.3           py310h5f9d8c6_1
[conda] pytorch                   1.13.1          py3.10_cuda11.7_cudnn8.5.0_0    pytorch
[conda] torch                     2.0.1                    pypi_0    pypi
"""
CONDA_FORGE_TF_OK: Final = CONDA_FORGE_TF_CPU.replace("cpu_py39h4655687_0", "cuda112py39h01bd6f0_0").replace(
    "GPU 0", "Driver Version: 525.60.13\nGPU 0"
)

HEALTHY: Final = (CONDA_OK, CONDA_FORGE_TF_OK, CONDA_TF_GPU_OK, MAMBA_OK, PIXI_OK)
CASES: Final = (
    ("cpu-only-build", CONDA_CPU),
    ("cpu-only-build", CONDA_FORGE_TF_CPU),
    ("mixed-conda-pip", CONDA_PIP_TWICE),
)
