"""`transformers env` and `accelerate env`. Written for these tests."""

from __future__ import annotations

from typing import Final

HF_OK: Final = """\
- `transformers` version: 4.38.2
- Platform: Linux-5.15.0-97-generic-x86_64-with-glibc2.35
- Python version: 3.10.12
- Huggingface_hub version: 0.21.4
- Safetensors version: 0.4.2
- Accelerate version: 0.27.2
- PyTorch version (GPU?): 2.2.1+cu121 (True)
- Tensorflow version (GPU?): 2.15.0 (True)
- Flax version (CPU?/GPU?/TPU?): 0.8.1 (gpu)
- Jax version: 0.4.23
- JaxLib version: 0.4.23
- Using GPU in script?: yes
"""
ACC_OK: Final = """\
- `Accelerate` version: 0.25.0
- Platform: Linux-4.18.0-477.27.1.el8_8.x86_64-x86_64-with-glibc2.28
- Python version: 3.9.18
- Numpy version: 1.26.2
- PyTorch version (GPU?): 2.1.2+cu118 (True)
- PyTorch XPU available: False
- PyTorch NPU available: False
- System RAM: 503.23 GB
- GPU type: NVIDIA A100-SXM4-40GB
- `Accelerate` default config:
\tNot found
"""
HF_CPU: Final = """\
- `transformers` version: 4.38.2
- Platform: Windows-10-10.0.19045-SP0
- Python version: 3.11.4
- PyTorch version (GPU?): 2.2.1+cpu (False)
- Tensorflow version (GPU?): not installed (NA)
- Using GPU in script?: yes, RTX 3060
"""
ACC_CPU: Final = """\
- `Accelerate` version: 0.16.0
- Platform: Linux-5.4.15-1.el7.elrepo.x86_64-x86_64-with-glibc2.27
- Python version: 3.9.16
- Numpy version: 1.23.5
- PyTorch version (GPU?): 1.12.1+cu116 (True)
- `Accelerate` default config:
        - compute_environment: LOCAL_MACHINE
        - distributed_type: NO
        - mixed_precision: no
        - use_cpu: True
        - num_processes: 1
"""
ACC_NUMPY: Final = ACC_OK.replace("1.26.2", "2.0.1")

HEALTHY: Final = (HF_OK, ACC_OK)
CASES: Final = (
    ("cpu-only-build", HF_CPU),
    ("numpy2-abi-mismatch", ACC_NUMPY),
    ("env-hides-gpu", ACC_CPU),
)
