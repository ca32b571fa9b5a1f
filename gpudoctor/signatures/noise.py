"""Lines that look like errors and are none."""

from __future__ import annotations

HARMLESS = (
    # NCCL's plugin and InfiniBand messages of 2.8 to 2.28 (src/plugin/plugin_open.cc, before that src/net.cc), c10d's socket.cpp
    (
        r"Failed to open libibverbs\.so|(?:NET|TUNER|PROFILER|ENV|GIN)/Plugin ?: ?(?:No plugin found|Could not find|dlerror=|Plugin load returned)|\blibnccl-(?:net|tuner|profiler|env|gin)\S{0,24}\.so: cannot open",
        "NCCL works without InfiniBand and without plugins",
    ),
    (
        r"client socket cannot be initialized to connect to[^\n]{0,120}Address family not supported",
        "the host has no IPv6; c10d then uses IPv4",
    ),
    # xla/tsl/framework/cpu_allocator_impl.cc and bfc_allocator.cc
    (r"Allocation of \d{1,20} exceeds \d{1,3}% of (?:free )?system memory", "TensorFlow reports every large allocation in host memory"),
    (
        r"ran out of memory trying to allocate[^\n]{0,120}The caller indicates that this is not a failure",
        "TensorFlow tries again with less memory",
    ),
    # xla/stream_executor/plugin_registry.cc
    (r"Unable to register cu(?:FFT|DNN|BLAS) factory", "TensorFlow registers each CUDA library twice"),
    (r"computation_placer\.cc:\d+\] computation placer already registered", "TensorFlow registers its computation placer twice"),
    # xla/stream_executor/cuda/cuda_executor.cc
    (r"NUMA node read from SysFS had negative value|could not open file to read NUMA node", "a virtual machine has no NUMA nodes"),
    (
        r"Could not identify NUMA node of platform GPU|Your kernel may (?:not )?have been built with(?:out)? NUMA support",
        "a GPU works without NUMA nodes",
    ),
    # xla/backends/profiler/gpu/cupti_tracer.cc: https://developer.nvidia.com/ERR_NVGPUCTRPERM
    (r"\bCUPTI_ERROR_(?:INSUFFICIENT_PRIVILEGES|NOT_INITIALIZED)\b|CUPTI initialization failed", "only profilers need CUPTI"),
    (r"ARM64 does not support NUMA", "a GPU works without NUMA nodes"),
    # jax/_src/xla_bridge.py
    (
        r"(?<!RuntimeError: )Unable to initialize backend '(?:tpu|tpu_driver|rocm|plugin|metal|interpreter)': (?!.{0,80}GpuAllocatorConfig)",
        "JAX tries every backend that it knows",
    ),
    # https://numpy.org/doc/stable/user/troubleshooting-importerror.html: only as an error it stops an import
    (r"RuntimeWarning: numpy\.(?:dtype|ufunc|ndarray) size changed", "NumPy only warns of a module that was built for an older release"),
    # tensorflow/core/framework/op_kernel.cc
    (r"No registered '\w{2,60}' OpKernel for '?GPU'? devices", "TensorFlow has no kernel for this operation on a GPU; it runs on the CPU"),
    # src/cudamatrix/cu-device.cc of Kaldi
    (r"Not in compute-exclusive mode\.\s{1,3}Suggestion", "Kaldi works in any compute mode that admits several processes"),
    # xla/service/gpu/nvptx_compiler.cc
    (
        r"NVIDIA driver's CUDA version is [\d.]{3,8} which is older than the (?:ptxas|PTX compiler) CUDA version",
        "XLA then compiles its kernels one after another",
    ),
    # tensorflow/compiler/tf2tensorrt/utils/py_utils.cc; the older one is dso_loader.cc's
    (
        r"Could not find TensorRT|TF-TRT Warning: Cannot dlopen some TensorRT libraries|Could not load dynamic library 'libnvinfer",
        "TensorRT is optional",
    ),
    # c10/cuda/CUDAAllocatorConfig.h
    (r"expandable_segments not supported on this platform", "PyTorch then allocates memory as without the option"),
    # aten/src/ATen/native/cuda: an assertion of a kernel about its own input
    (
        r"\bdevice-side assert triggered|\bthread: \[\d[\d,]{1,12}\] Assertion\b",
        "a program passed an index or label out of range to a kernel",
    ),
    # https://docs.nvidia.com/deploy/xid-errors/
    (r"NVRM: Xid \([^)\n]{1,100}\): (?:13|31|43|45)\b", "Xid 13, 31, 43 and 45 are faults of the program that ran, not of the GPU"),
    # nv-fabricmanager on a machine without NVSwitches, which needs none
    (r"\bNV_WARN_NOTHING_TO_DO\b", "a machine without NVSwitches needs no fabric manager"),
    # lspci -vv: https://docs.kernel.org/PCI/pcieaer-howto.html does not count it among the errors
    (r"LnkSta:[^\n]{0,40}GT/s \(downgraded\), Width x\d{1,2}(?: \(ok\)|(?! \()|$)", "an idle GPU lowers the speed of its link"),
    (
        r"module verification failed: signature and/or required key missing",
        "a module without the distribution's signature only taints the kernel",
    ),
    # ldconfig of glibc, for the copies that the Windows driver mounts: https://github.com/microsoft/WSL/issues/5548
    (r"/usr/lib/wsl/\S{1,120}\.so[\d.]{0,12} is not a symbolic link", "Windows mounts copies of its libraries where Linux has links"),
    # onnxruntime/core/framework/session_state.cc; a session whose list begins so uses the GPU
    (
        r"Some nodes were not assigned to the preferred execution providers|\['(?:TensorrtExecutionProvider', ?')?CUDAExecutionProvider'",
        "ONNX Runtime runs what only concerns shapes on the CPU",
    ),
    # tensorflow/core/util/port.cc, tensorflow/core/platform/cpu_feature_guard.cc
    (r"oneDNN custom operations are on", "oneDNN works on the CPU"),
    (
        r"This TensorFlow binary is optimized (?:to use|with)|Your CPU supports instructions that this TensorFlow binary was not compiled to use",
        "the build uses fewer CPU instructions than it could",
    ),
)
"""Lines that look like errors and are none, and why."""
