"""Texts whose cause is Python or its packages, and texts that only look as if one were."""

from __future__ import annotations

from typing import Final

_TRACE: Final = 'Traceback (most recent call last):\n  File "train.py", line 1, in <module>\n    import torch\n'
_PYTHON: Final = "python-version-unsupported"

CASES: Final = (
    ("mkl-version-incompatible", _TRACE + "ImportError: /opt/conda/envs/sam/lib/python3.10/site-packages/torch/lib/libtorch_cpu.so: undefined symbol: iJIT_NotifyEvent\n"),
    ("mkl-version-incompatible", "mkl 2025.0.1, pytorch 2.3.1 from conda\nOSError: libtorch_cpu.so: undefined symbol: iJIT_IsProfilingActive\n"),
    ("mkl-version-incompatible", "Error: mkl-service + Intel(R) MKL: MKL_THREADING_LAYER=INTEL is incompatible with libgomp-a34b3233.so.1 library.\n\tTry to import numpy first or set the threading layer accordingly.\n"),
    ("mkl-version-incompatible", "INTEL MKL ERROR: The specified module could not be found. mkl_avx512.1.dll.\nIntel MKL FATAL ERROR: Cannot load mkl_avx512.1.dll or mkl_def.1.dll.\n"),
    ("numpy2-abi-mismatch", "AttributeError: _ARRAY_API not found\nSystemError: initialization of _pywrap_checkpoint_reader raised unreported exception\n"),
    ("numpy2-abi-mismatch", "ImportError: numpy.core.multiarray failed to import\n"),
    ("numpy2-abi-mismatch", "ValueError: numpy.dtype size changed, may indicate binary incompatibility. Expected 96 from C header, got 88 from PyObject\n"),
    ("numpy2-abi-mismatch", "AttributeError: `np.complex_` was removed in the NumPy 2.0 release. Use `np.complex128` instead.\n"),
    ("package-requirement-conflict", "RuntimeError: module compiled against API version 0x10 but this version of numpy is 0xe\nImportError: numpy.core.multiarray failed to import\n"),
    ("package-requirement-conflict", "ModuleNotFoundError: No module named 'torch._six'\n"),
    ("protobuf-mismatch", "TypeError: Descriptors cannot not be created directly.\nIf this call came from a _pb2.py file, your generated code is out of date\n"),
    ("protobuf-mismatch", "ImportError: cannot import name 'runtime_version' from 'google.protobuf' (/srv/env/lib/python3.11/site-packages/google/protobuf/__init__.py)\n"),
    ("protobuf-mismatch", "AttributeError: 'MessageFactory' object has no attribute 'GetPrototype'\n"),
    ("protobuf-mismatch", "[libprotobuf FATAL] This program was compiled against version 3.9.2 of the Protocol Buffer runtime library, which is not compatible with the installed version (3.21.12).\n"),
    ("protobuf-mismatch", "TypeError: __init__() got an unexpected keyword argument 'serialized_options'\n"),
    ("keras3-mismatch", "ModuleNotFoundError: No module named 'keras.src.engine'\n"),
    ("keras3-mismatch", "ValueError: Only instances of `keras.Layer` can be added to a Sequential model. Received: <tensorflow_hub.keras_layer.KerasLayer object>\n"),
    ("keras3-mismatch", "TypeError: Layer.add_weight() got multiple values for argument 'shape'\n"),
    ("two-copies-of-framework", _TRACE + '  File "/home/ana/study/torch.py", line 4, in <module>\n    x = torch.rand(2)\nAttributeError: partially initialized module \'torch\' has no attribute \'rand\' (most likely due to a circular import)\n'),
    ("two-copies-of-framework", "AttributeError: module 'tensorflow' has no attribute '__version__'\n"),
    ("two-copies-of-framework", _TRACE + '  File "/srv/job/random.py", line 3, in <module>\n    import numpy\nImportError: cannot import name \'randrange\'\n'),
    ("two-copies-of-framework", "ModuleNotFoundError: No module named 'tensorflow.python'; 'tensorflow' is not a package\n"),
    ("two-copies-of-framework", "AttributeError: module 'torch._C' has no attribute '_cuda_setDevice'\n"),
    ("keras3-mismatch", "AttributeError: module 'tensorflow._api.v2.compat.v2.__internal__' has no attribute 'register_load_context_function'\n"),
    ("mixed-conda-pip", "OMP: Error #15: Initializing libomp.dylib, but found libiomp5.dylib already initialized.\n"),
    ("glibc-too-old", "  - nothing provides __glibc >=2.28,<3.0.a0 needed by pytorch-2.6.0\n"),
    ("wrong-python-environment", "ModuleNotFoundError: No module named 'jax'\n"),
    ("wrong-python-environment", "$ which python\n/usr/bin/python\n$ python -c 'import tensorflow'\nImportError: No module named tensorflow\n"),
    ("wrong-python-environment", "Requirement already satisfied: torch in ./venv/lib/python3.11/site-packages (2.5.1)\nJupyter: ModuleNotFoundError: No module named 'torch'\n"),
    ("framework-import-fails", "ImportError: dlopen: libgomp-d22c30c5.so.1.0.0: cannot allocate memory in static TLS block\ntensorflow-aarch64 2.11\n"),
    ("framework-import-fails", "ImportError: /lib/aarch64-linux-gnu/libgomp.so.1: cannot allocate memory in static TLS block\n"),
    ("framework-import-fails", _TRACE + "ImportError: cannot import name 'default_restore_location' from 'torch.serialization'\n"),
    (_PYTHON, "Python 3.12.7\nERROR: torch-2.0.1+cu118-cp310-cp310-linux_x86_64.whl is not a supported wheel on this platform.\n"),
    (_PYTHON, "ERROR: Could not find a version that satisfies the requirement torch==1.9.0 (from versions: 2.0.0, 2.0.1, 2.1.0, 2.2.0)\n"),
    (_PYTHON, "  Could not find a version that satisfies the requirement torch==2.1.2 (from versions: 1.0.0, 1.4.0, 1.10.2)\nNo matching distribution found for torch==2.1.2\n"),
    (_PYTHON, "hint: You require CPython 3.14 (`cp314`), but we only found wheels for `tensorflow` (v2.19.0) with the following Python ABI tags: `cp39`, `cp312`\n"),
    (_PYTHON, "cause: Because the current Python version (3.9.18) does not satisfy Python>=3.10 and jax==0.4.36 depends on Python>=3.10\n"),
    (_PYTHON, "ERROR: Package 'vllm' requires a different Python: 3.13.1 not in '<3.13,>=3.9'\n"),
    ("package-not-installable", "ERROR: Could not find a version that satisfies the requirement torch==99.1.0 (from versions: 2.6.0, 2.7.1, 98.0.0)\nERROR: No matching distribution found for torch==99.1.0\n"),
    ("package-not-installable", "ERROR: Could not find a version that satisfies the requirement torch==2.4.7 (from versions: 2.3.0, 2.3.1, 2.4.0, 2.4.1, 2.5.0)\n"),
    ("package-not-installable", "error: No solution found when resolving dependencies\n  cause: Because there is no version of torch==2.2.9 and you require torch==2.2.9\n"),
    ("package-not-installable", "hint: Wheels are available for `tensorflow-macos` (v2.14.0) on the following platform: `macosx_12_0_arm64`\n"),
    ("package-not-installable", "ERROR: Could not find a version that satisfies the requirement torch==2.3.1+cu118 (from versions: 2.2.0, 2.3.0, 2.3.1, 2.4.0)\n"),
    ("package-requirement-conflict", "ERROR: Cannot install torch==2.5.1 and torchaudio==2.4.0 because these package versions have conflicting dependencies.\n"),
    ("package-requirement-conflict", "cause: Because torchvision==0.19.0 depends on torch==2.4.0 and you require torch==2.5.1, we can conclude that your requirements and torchvision==0.19.0 are incompatible.\n"),
    ("package-requirement-conflict", "LibMambaUnsatisfiableError: Encountered problems while solving:\n  - package pytorch-2.1.0 requires python >=3.8,<3.9.0a0\n"),
    ("torch-torchvision-mismatch", "torchvision 0.16.2 requires torch==2.1.2, but you have torch 2.5.1 which is incompatible.\n"),
    ("package-requirement-conflict", "peft 0.11.1 requires transformers>=4.40, but you have transformers 4.30.2 which is incompatible.\n"),
    ("package-requirement-conflict", "AttributeError: module 'ml_dtypes' has no attribute 'float8_e8m0fnu'\n"),
    ("package-requirement-conflict", "ImportError: cannot import name 'TypeIs' from 'typing_extensions' (/opt/venv/lib/python3.10/site-packages/typing_extensions.py)\n"),
    ("glibc-too-old", "/lib64/libstdc++.so.6: version `GLIBCXX_3.4.26' not found (required by torch)\n"),
    ("cpu-lacks-avx", "Intel(R) Celeron(R) N4020\nImportError: DLL load failed: A dynamic link library (DLL) initialization routine failed.\n"),
)  # fmt: skip
"""The cause that must lead, and a text."""
NEAR_MISSES: Final = (
    ("two-copies-of-framework", 'Traceback (most recent call last):\n  File "/env/lib/python3.12/site-packages/torch/random.py", line 8, in <module>\nPyTorch version: 2.5.1\n'),
    ("two-copies-of-framework", "AttributeError: module 'tensorflow' has no attribute 'Session'\ntensorflow==2.15.0\n"),
    ("mkl-version-incompatible", "undefined symbol: _ZN3c105ErrorC2ENS_14SourceLocationE\n"),
    ("protobuf-mismatch", "import google.protobuf\nprotobuf==4.25.3\n"),
    ("numpy2-abi-mismatch", "numpy==1.26.4\nmodule 'numpy' has no attribute 'bool'.\n"),
    ("framework-import-fails", "import torch\nprint(torch.__version__)\n2.5.1\ntorch==2.5.1\n"),
    (_PYTHON, "ERROR: Could not find a version that satisfies the requirement torch==2.4.7 (from versions: 2.3.0, 2.4.1, 2.5.0)\n"),
    ("package-requirement-conflict", "Requirement already satisfied: torch==2.5.1 in /env/lib/python3.12/site-packages (2.5.1)\ntorch==2.5.1\n"),
)  # fmt: skip
"""A cause that must not be found, and a text."""
