"""Texts whose cause is a setting or the GPU's memory, and texts that only look as if one were."""

from __future__ import annotations

from typing import Final

_ROW: Final = "|   0  NVIDIA L40S                      On |   00000000:2B:00.0 Off |                    0 |\n| N/A   38C    P0    82W / 350W |  {used}MiB / 46068MiB |      0%      Default |\n"
_LATE: Final = "cuda-visible-devices-set-too-late"
_FULL: Final = "gpu-memory-insufficient"
_OTHERS: Final = "gpu-memory-held-by-other-process"
_BY_DESIGN: Final = "gpu-memory-preallocation"

CASES: Final = (
    ("gpu-memory-held-by-other-process", "My script was killed but device 1 memory hasn't been released.\n|   1  Tesla P100-PCIE...  Off  | 0000:82:00.0     Off |                    0 |\n| N/A   33C    P0    31W / 250W |  16021MiB / 16276MiB |      0%      Default |\n"),
    (_LATE, "```python\nimport os, torch\nif torch.cuda.is_available():\n    os.environ['CUDA_VISIBLE_DEVICES'] = '3'\n```\ntorch==2.5.1\n"),
    (_LATE, "import os, torch\nos.environ['CUDA_VISIBLE_DEVICES'] = '2'\nIt always uses cuda:0.\n"),
    (_LATE, "tensorflow 2.12: RuntimeError: Visible devices cannot be modified after being initialized\n"),
    (_LATE, "`CUDA_VISIBLE_DEVICES` is ignored once `import lightning` has run, device_count stays 8\n"),
    (_LATE, "torch 1.13.1: setting os.environ['CUDA_VISIBLE_DEVICES'] has no effect\n"),
    ("cuda-visible-devices-masked", "keras 2.15\nos.environ['CUDA_VISIBLE_DEVICES'] = '-1'\n>>> tf.config.list_physical_devices('GPU')\n[]\n"),
    ("mig-one-instance-per-process", "A30 with MIG 1g.6gb x4\ntorch.cuda.device_count(): 1\n"),
    ("cuda-visible-devices-uuid-unsupported", "CUDA_VISIBLE_DEVICES=MIG-2b71aa90-55c1 python\ntorch 1.13.1\ntorch.cuda.device_count() returns 0\n"),
    ("cuda-visible-devices-masked", "RuntimeError: Duplicate GPU detected : rank 3 and rank 1 both on CUDA device 3b000\n"),
    ("mig-one-instance-per-process", "MIG 1g.10gb     Device  0: (UUID: MIG-77ab01c2)\nDuplicate GPU detected : rank 1 and rank 0 both on CUDA device 17000\n"),
    ("mig-one-instance-per-process", "H100 with seven slices: with MIG on, jax.devices() shows only one device\n"),
    ("mig-no-instances", "|  No MIG devices found                                                                  |\n"),
    ("cuda-visible-devices-uuid-unsupported", "CUDA_VISIBLE_DEVICES=GPU-8f0c1a52 python serve.py\nValueError: invalid literal for int() with base 10: 'GPU-8f0c1a52'\n"),
    ("env-hides-gpu", "JAX_PLATFORMS=cpu python train.py\njax.devices(): [CpuDevice(id=0)]\n"),
    ("env-hides-gpu", "TrainingArguments(no_cuda=True, bf16=False)\nGPU utilisation stays at zero\n"),
    ("exclusive-compute-mode", "CUDA error: all CUDA-capable devices are busy or unavailable\nCompute Mode: Exclusive_Process\n"),
    ("exclusive-compute-mode", "| 33%   60C    P2    55W / 250W |   9011MiB / 11264MiB |     98%   E. Process |\ncudaErrorDevicesUnavailable: CUDA-capable device(s) is/are busy or unavailable\n"),
    ("compute-prohibited", "$ nvidia-smi -q\n    Compute Mode                          : Prohibited\nRuntimeError: CUDA error: all CUDA-capable devices are busy or unavailable\n"),
    ("mig-no-instances", "MIG mode is enabled on GPU 0, but there are no GPU instances\n"),
    ("mig-no-instances", "No MIG-enabled devices found.\n"),
    ("cuda-visible-devices-uuid-unsupported", "CUDA_VISIBLE_DEVICES=MIG-6fa2: ValueError: invalid literal for int() with base 10: 'MIG-6fa2'\n"),
    ("env-hides-gpu", "accelerate 1.1.0\n\t- use_cpu: True\n\t- num_processes: 1\n"),
    (_BY_DESIGN, "Driver: 550.54.14\nJAX allocates 75% of the memory of my A6000 at the first jnp call.\n"),
    (_BY_DESIGN, "tensorflow-gpu==2.6.0\n" + _ROW.format(used=44981) + "E tensorflow/stream_executor/cuda/cuda_dnn.cc:374] Could not create cudnn handle: CUDNN_STATUS_INTERNAL_ERROR\n"),
    (_BY_DESIGN, "UnknownError: Failed to get convolution algorithm. This is probably because cuDNN failed to initialize, so try looking to see\n"),
    (_BY_DESIGN, "RuntimeError: Physical devices cannot be modified after being initialized\n"),
    (_OTHERS, "ValueError: Free memory on device (9.81/79.19 GiB) on startup is less than desired GPU memory utilization (0.92, 72.86 GiB).\n"),
    (_OTHERS, _ROW.format(used=45711) + "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB.\n"),
    (_FULL, "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine.\n"),
    (_FULL, "The model's max seq len (131072) is larger than the maximum number of tokens that can be stored in KV cache (23504).\n"),
    (_FULL, "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 21504.00 MiB on device 0: cudaMalloc failed: out of memory\n"),
    (_FULL, "cupy.cuda.memory.OutOfMemoryError: Out of memory allocating 8,589,934,592 bytes (allocated so far: 0 bytes).\n"),
    (_FULL, "THCudaCheck FAIL file=/pytorch/aten/src/THC/generic/THCStorage.cu line=58 error=2 : out of memory\ncuda runtime error (2) : out of memory\n"),
    (_FULL, "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Failed to allocate request for 3.00GiB (3221225472B) on device ordinal 1\n"),
    (_FULL, "node4:771:802 [1] NCCL WARN Cuda failure 'out of memory'\n"),
    ("host-memory-insufficient", "RuntimeError: DataLoader worker (pid 2210) is killed by signal: Killed.\n"),
    ("host-memory-insufficient", "[ 9021.7] Out of memory: Killed process 5120 (python3) total-vm:98211100kB, anon-rss:64201188kB\n"),
    ("host-memory-insufficient", "    Last State:     Terminated\n      Reason:       OOMKilled\n      Exit Code:    137\n"),
    ("host-memory-insufficient", "Error: model requires more system memory (37.2 GiB) than is available (30.9 GiB)\n"),
    ("host-memory-insufficient", "slurmstepd: error: Detected 1 oom-kill event(s) in StepId=91.batch. Some of the step tasks have been OOM Killed.\n"),
    (_OTHERS, "nvidia-smi: 15 of 16 GiB used by another process\nCUDA out of memory. Tried to allocate 512.00 MiB\n"),
    (_OTHERS, "CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity of 44.32 GiB of which 7.12 MiB is free. Process 90 has 44.10 GiB memory in use.\n"),  # words: ok
    ("host-memory-insufficient", "docker run --memory=8g --rm trainer python prepare.py\nloading shard 12\nKilled\n"),
    ("host-memory-insufficient", "command terminated with exit code 137\n"),
    (_OTHERS, "GPU memory is not released after Ctrl-C\n" + _ROW.format(used=9120)),
    ("host-memory-insufficient", "torch.distributed.elastic: exitcode  : -9 (pid: 5120)\n"),
    ("container-shm-too-small", "RuntimeError: DataLoader worker (pid 812) is killed by signal: Bus error. \n"),
    ("container-shm-too-small", "worker-0:55:211 [2] NCCL WARN Error: failed to extend /dev/shm/nccl-8jXq1P to 33030532 bytes\n"),
    ("container-shm-too-small", "RuntimeError: unable to write to file </torch_118_2251799>: No space left on device (28)\n"),
    ("cuda-visible-devices-masked", "RuntimeError: Attempting to deserialize object on CUDA device 3 but torch.cuda.device_count() is 2.\n"),
    ("cuda-visible-devices-masked", '  File "torch/cuda/__init__.py", in get_device_properties\nAssertionError: Invalid device id\n'),
    ("gpu-memory-preallocation", "XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 1073741824 bytes.\nJAX preallocates most of the memory before TensorFlow starts.\n"),
    ("gpu-memory-insufficient", "CUDA out of memory. Tried to allocate 1.10 GiB. GPU 0 has a total capacity of 7.60 GiB of which 0 bytes is free. Of the allocated memory 6.90 GiB is allocated by PyTorch\n"),  # words: ok
    ("gpu-memory-held-by-other-process", "Tried to allocate 64.00 MiB (GPU 0; 10.91 GiB total capacity; 70.11 MiB already allocated; 12.50 MiB free; 88.00 MiB reserved in total by PyTorch)\n"),
    ("gpu-memory-held-by-other-process", "After Ctrl-C a zombie process keeps the GPU memory of my RTX 3080\n"),
    ("gpu-memory-held-by-other-process", "The killed job still holds GPU memory: 9012MiB / 24576MiB\n"),
    ("mig-no-instances", "$ sudo nvidia-smi mig -lgi\nNo GPU instances found: Not Found\n"),
    ("mig-no-instances", "|   0  NVIDIA A30                     On |   00000000:17:00.0 Off |                   On |\n| N/A   31C    P0    29W / 165W |       0MiB /  24576MiB |     N/A      Default |\n|                                         |                        |              Enabled |\nRuntimeError: No CUDA GPUs are available\n"),
    ("cuda-visible-devices-set-too-late", "os.environ['CUDA_VISIBLE_DEVICES'] = args.gpu\nall processes run only on gpu:0\n"),
    ("gpu-memory-preallocation", "tensorflow-gpu==2.0.1, GTX 1660 Ti, CUDA 10.0\nInternalError: Blas GEMM launch failed : a.shape=(32, 10), b.shape=(10, 64)\n"),
    ("cuda-visible-devices-masked", 'With os.environ["CUDA_VISIBLE_DEVICES"]=\'3\' in demo.py it ends with RuntimeError: No CUDA GPUs are available (3 runs)\n'),
    ("cuda-visible-devices-masked", "torch 2.4.1+cu121, one RTX 4090\nMy .bashrc has export CUDA_VISIBLE_DEVICES=1\nRuntimeError: No CUDA GPUs are available\n"),
    ("gpu-memory-held-by-other-process", "failed initializing StreamExecutor for CUDA device ordinal 1: Internal: failed call to cuDevicePrimaryCtxRetain: CUDA_ERROR_OUT_OF_MEMORY: out of memory; total memory reported: 16945512448\n"),
    ("cuda-visible-devices-masked", "(py39) ~/work$ CUDA_VISIBLE_DEVICES=4 python train.py\nGPU 0: Tesla V100-PCIE-16GB (UUID: GPU-7d7d7d7d-0000-0000-0000-000000000000)\nTHCudaCheck FAIL file=Module.cpp line=51 error=38 : no CUDA-capable device is detected\n"),
    ("mig-one-instance-per-process", "GPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-6e3a)\n  MIG 3g.40gb     Device  0: (UUID: MIG-0a11)\n  MIG 3g.40gb     Device  1: (UUID: MIG-0a12)\nRuntimeError: CUDA error: invalid device ordinal\n"),
    ("mig-one-instance-per-process", "torch.cuda.set_device(1) -> CUDA error: invalid device ordinal\nThe H100 is split in MIG instances 1g.10gb, CUDA_VISIBLE_DEVICES=MIG-3f2a,MIG-77b1\n"),
    ("host-memory-insufficient", "Epoch 3 ... Killed\nkernel: Out of memory: Killed process 22110 (python) total-vm:98213212kB, anon-rss:63321100kB\n"),
    ("host-memory-insufficient", "torch.multiprocessing.spawn.ProcessExitedException: process 0 terminated with signal SIGKILL\nRTX 4090, torch 2.6.0+cu124\n"),
    ("host-memory-insufficient", "torch.distributed.elastic.multiprocessing.errors.ChildFailedError:\ntrain.py FAILED\n  exitcode   : -9 (pid: 3312)\n  traceback : Signal 9 (SIGKILL) received by PID 3312\nGPU 0: NVIDIA A100-SXM4-80GB\n"),
    ("host-memory-insufficient", "RuntimeError: DataLoader worker (pid 4501) is killed by signal: Killed.\n"),
)  # fmt: skip
"""The cause that must lead, and a text."""
NEAR_MISSES: Final = (
    (_LATE, "CUDA unknown error - this may be due to an incorrectly set up environment, e.g. changing env variable CUDA_VISIBLE_DEVICES after program start.\n"),
    (_LATE, "import os\nos.environ['CUDA_VISIBLE_DEVICES'] = '0'\nimport torch\nprint(torch.cuda.is_available())\ntorch==2.5.1\n"),
    (_LATE, "import torch\nos.environ['CUDA_VISIBLE_DEVICES'] = '0'\nRuntimeError: mat1 and mat2 shapes cannot be multiplied\ntorch==2.5.1\n"),
    (_BY_DESIGN, "W tensorflow/core/framework/cpu_allocator_impl.cc:82] Allocation of 411041792 exceeds 10% of free system memory.\n"),
    ("mig-one-instance-per-process", "CUDA_VISIBLE_DEVICES=0\ntorch.cuda.device_count(): 1\ntorch==2.5.1\n"),
    ("env-hides-gpu", "RuntimeError: Unable to initialize backend 'cuda': (set JAX_PLATFORMS=cpu to skip this backend)\njax==0.4.35\n"),
    (_BY_DESIGN, "torch==2.5.1\n" + _ROW.format(used=45711) + "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB.\n"),
    (_BY_DESIGN, "jax==0.4.35\njaxlib==0.4.35\n" + _ROW.format(used=44012)),
    (_FULL, "Allocator (GPU_0_bfc) ran out of memory trying to allocate 2.20GiB with freed_by_count=0. The caller indicates that this is not a failure\nPyTorch version: 2.5.1\n"),
    ("host-memory-insufficient", "PyTorch version: 2.5.1\nKilled by the reviewer in round two\n"),
    ("host-memory-insufficient", "PyTorch version: 2.5.1\nworker exited with code 1\n"),
    ("mig-one-instance-per-process", "PyTorch version: 2.5.1\nThe pod gets a single GPU; MIG mode: Disabled\n"),
    ("env-hides-gpu", "accelerate 1.1.0\n\t- use_cpu: False\ntorch==2.5.1\n"),
    ("mig-no-instances", "|   0  NVIDIA A30                     On |   00000000:17:00.0 Off |                   On |\n| N/A   31C    P0    29W / 165W |       0MiB /  24576MiB |     N/A      Default |\n|                                         |                        |             Disabled |\nRuntimeError: No CUDA GPUs are available\n"),
)  # fmt: skip
"""A cause that must not be found, and a text."""
