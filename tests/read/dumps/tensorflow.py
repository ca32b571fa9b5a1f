"""TensorFlow's build info and tf_env_collect.sh. Written for these tests."""

from __future__ import annotations

from typing import Final

TF_BI_OK: Final = """\
>>> tf.sysconfig.get_build_info()
OrderedDict([('cpu_compiler', '/usr/lib/llvm-18/bin/clang'), ('cuda_compute_capabilities', ['sm_60', 'sm_70', 'sm_80', 'sm_89', 'compute_90']), ('cuda_version', '12.5.1'), ('cudnn_version', '9'), ('is_cuda_build', True), ('is_rocm_build', False), ('is_tensorrt_build', False)])
>>> tf.config.list_physical_devices('GPU')
[PhysicalDevice(name='/physical_device:GPU:0', device_type='GPU')]
tensorflow                   2.18.0
GPU: NVIDIA GeForce RTX 4090
"""
TF_ENV: Final = """\
== check python ===================================================
python version: 3.8.10
python branch:
python implementation: CPython

== check os platform ===============================================
os: Linux
os kernel version: #74~20.04.1-Ubuntu SMP
os release version: 5.15.0-67-generic
os platform: Linux-5.15.0-67-generic-x86_64-with-glibc2.29
linux distribution: ('Ubuntu', '20.04', 'focal')
machine: x86_64

== are we in docker =============================================
No

== check pips ===================================================
numpy                        1.23.5
protobuf                     4.22.1
tensorflow                   2.12.0
tensorflow-estimator         2.12.0
tensorflow-io-gcs-filesystem 0.31.0

== check for virtualenv =========================================
False

== tensorflow import ============================================
tf.version.VERSION = 2.12.0
tf.version.GIT_VERSION = v2.12.0-rc1-12-g0db597d0d75
== env ==========================================================
LD_LIBRARY_PATH is unset
== nvidia-smi ===================================================
| NVIDIA-SMI 418.87.00    Driver Version: 418.87.00    CUDA Version: 10.1     |
|   0  Tesla V100-SXM2...  Off  | 00000000:00:1E.0 Off |                    0 |
"""
TF_ENV_OK: Final = TF_ENV.replace("418.87.00", "525.85.12").replace("CUDA Version: 10.1", "CUDA Version: 12.0")

HEALTHY: Final = (TF_BI_OK, TF_ENV_OK)
CASES: Final = (("driver-too-old", TF_ENV),)
