"""JAX's environment info and lists of its packages. Written for these tests."""

from __future__ import annotations

from typing import Final

JAX_OK: Final = """\
jax:    0.4.30
jaxlib: 0.4.30
numpy:  1.26.4
python: 3.11.9 (main, Apr 19 2024, 16:48:06) [GCC 11.2.0]
jax.devices (2 total, 2 local): [CudaDevice(id=0) CudaDevice(id=1)]
process_count: 1
platform: uname_result(system='Linux', node='n1', release='5.15.0-113-generic', version='#123-Ubuntu SMP', machine='x86_64')

$ nvidia-smi
| NVIDIA-SMI 550.90.07              Driver Version: 550.90.07      CUDA Version: 12.4     |
|   0  NVIDIA A100-SXM4-40GB          On  |   00000000:07:00.0 Off |                    0 |
"""
JAX_PIP_CPU: Final = """\
Package             Version
------------------- ---------
absl-py             2.1.0
flax                0.8.4
jax                 0.4.30
jaxlib              0.4.30
ml-dtypes           0.4.0
msgpack             1.0.8
numpy               1.26.4
opt-einsum          3.3.0
optax               0.2.2
orbax-checkpoint    0.5.15
pip                 24.0
rich                13.7.1
scipy               1.13.1
setuptools          70.0.0
toolz               0.12.1
typing_extensions   4.12.2
wheel               0.43.0
zipp                3.19.2
tqdm                4.66
six                 1.16.0
GPU 0: NVIDIA L4
"""

HEALTHY: Final = (JAX_OK,)
CASES: Final = (("cpu-only-build", JAX_PIP_CPU),)
