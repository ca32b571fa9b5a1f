"""What frameworks, inference servers and the kernel say when GPU memory, host memory or shared memory runs out."""

from __future__ import annotations

from gpudoctor.expressions import expression
from gpudoctor.signatures.phrases import PINNING_CALL
from gpudoctor.signatures.signature import Hint, Signature

_GPU_MEMORY_CAUSES = (
    "gpu-memory-insufficient",
    "gpu-memory-held-by-other-process",
    "gpu-memory-preallocation",
    "wsl-multi-gpu-limit",
    "wsl-pinned-memory-limit",
)
_HELD_MEMORY_CAUSES = ("gpu-memory-held-by-other-process",)
_MEMORY_STAYS = "memory stays in use after a program ended, usually by a process of it that is left"
_PREALLOCATION_CAUSES = ("gpu-memory-preallocation", "gpu-memory-insufficient")
_MEMORY = r"\b(?:(?:gpu|device|nvidia|cuda|video|graphics)(?: ?\d{1,2}|'s)?[ -](?:memory|ram)|vram)\b"
_IN_USE = r"(?:occupied|held|used|allocated|taken|full|reserved|locked)\b"
_TAKES_MOST = "TensorFlow or JAX takes most GPU memory at start, by design"

_PROCESS_LINE = r"^\W{0,6}(?:PID\W{0,3})?\d{3,8}\b(?! ?[MG]i?B)[^\n|]{0,60}?\s(?P<size>\d{3,6}) ?MiB\W{0,3}$"
LISTED_PROCESS = expression(rf"(?m){_PROCESS_LINE}")
"""A process by its number and the GPU memory that it holds, as people copy it from nvidia-smi."""

MEMORY = (
    # torch/utils/data and csrc/DataLoader.cpp of 2.15; NCCL's sources; https://github.com/NVIDIA/nccl/issues/525 and 342
    Signature(
        r"Error(?: while|:) (?:creating|attaching to|failed to create|failed to extend|failed to open) (?:shared memory|/dev/shm)|Call to posix_fallocate failed"
        r"|insufficient shared memory \(shm\)|workers are out of shared memory|raise your shared memory limit|worker \(pid[^)\n]{0,60}\) is killed by signal: Bus error"
        r"|failed to (?:extend|open|create) /dev/shm|unable to write to file </torch_|unable to (?:open|allocate|resize|mmap) shared memory \S{0,20} ?(?:object )?</torch_[^\n]{0,60}(?:No space left|Cannot allocate)|/dev/shm[^\n]{0,80}No space left on device|No space left on device[^\n]{0,80}/dev/shm"
        r"|/dev/shm[^\n]{0,80}(?:is )?too small|shm (?:size )?is too small",
        ("container-shm-too-small",),
        "shared memory (/dev/shm) is too small",
        (
            "Error while creating shared memory segment",
            "insufficient shared memory (shm)",
            "RuntimeError: DataLoader worker (pid 4242) is killed by signal: Bus error. It is possible that dataloader's workers are out of shared memory.",
            "NCCL WARN Call to posix_fallocate failed : No space left on device",
            "Error: failed to extend /dev/shm/nccl-Vq2k1R to 9637892 bytes",
        ),
    ),
    Signature(
        r"\bncclShmOpen\b",
        ("container-shm-too-small",),
        "NCCL could not open shared memory (/dev/shm), which is usually too small",
        ("misc/shmutils.cc:87 -> 2 in ncclShmOpen",),
        vague=True,
    ),
    # the kernel ends what writes to shared memory that has no room for it: https://github.com/NVIDIA/nccl/issues/983
    Signature(
        r"(?<!PCIe )(?<!PCI )(?<!AER: )\bBus [Ee]rror(?=\s{1,24}\(|\s{0,4}$)|\bSIGBUS\b|\bexitcode\s{0,4}: -7\b",
        ("container-shm-too-small",),
        "a program ended with a bus error, usually because shared memory (/dev/shm) is too small",
        ("Signal: Bus error (7)", "Fatal Python error: Bus error", "died with <Signals.SIGBUS: 7>", "exitcode  : -7 (pid: 4242)"),
        vague=True,
        guess=True,
    ),
    Signature(
        r"(?i)\bdata ?loaders?\b[^\n]{0,60}\b(?:hang|hung|stuck|freez|froze|deadlock)",
        ("container-shm-too-small",),
        "shared memory (/dev/shm) is too small for the data loader's workers",
        ("the DataLoader hangs with four workers",),
        vague=True,
        needs_support=True,
    ),
    # before the next ones, whose words TensorFlow uses for the CPU's allocator too; mm/oom_kill.c, Kubernetes, Slurm, Ollama
    Signature(
        r"OOM when allocating tensor[^\n]{0,1000}device:CPU:|DefaultCPUAllocator: (?:can't|not enough|can not) (?:allocate )?memory|(?<!OutOf)(?<!OutOfGpu)(?<!pycuda\._driver\.)\bMemoryError\b(?!: std)|std::bad_alloc(?![^\n]{0,40}CUDA)"
        r"|\bOOMKilled\b|[Oo]ut of memory: Kill(?:ed)? process|Memory cgroup out of memory|invoked oom-killer|\boom[-_]kill event|unable to mmap \d+ bytes from file <[^\n]{1,200}Cannot allocate memory|after using all available RAM|tried to allocate more memory than is available\. It has restarted|oom_reaper: reaped process"
        r"|is killed by signal: Killed|requires more system memory \(|(?:exit(?:ed)?(?: with)?(?: code| status| status code)?|exitcode|returned)[ :=]{1,5}(?:137|-9)\b"
        r"|Unable to allocate [\d.]{1,12} ?[KMGT]iB for an array|Signal 9 \(SIGKILL\) received by PID|terminated with signal SIGKILL\b|died with <Signals\.SIGKILL",
        ("host-memory-insufficient",),
        "the machine ran out of memory, or the program reached its memory limit",
        (
            "MemoryError",
            "std::bad_alloc",
            "DefaultCPUAllocator: can't allocate memory",
            "Reason: OOMKilled",
            "RuntimeError: DataLoader worker (pid 4242) is killed by signal: Killed.",
            "Your session crashed after using all available RAM.",
        ),
    ),
    # gcc and nvcc, for a part of the compiler that got SIGKILL
    Signature(
        r"[Kk]illed signal terminated program \w|nvcc error\s{0,4}: '[^'\n]{1,40}' died due to signal 9\b|\bFAILED: \[code=137\]",
        ("host-memory-insufficient",),
        "a compiler was killed: the machine has too little memory for so many at a time",
        (
            "c++: fatal error: Killed signal terminated program cc1plus",
            "nvcc error   : 'cicc' died due to signal 9 (Kill signal)",
            "FAILED: [code=137] kernels.cuda.o",
        ),
        cure="Compile fewer files at a time: set MAX_JOBS=2 (CMake: --parallel 2), or add memory or swap.",
    ),
    # the shell, for a program that got SIGKILL
    Signature(
        r"^\s{0,8}(?:\S{1,40}: line \d{1,6}: {1,4}\d{1,7} )?Killed\s{0,40}(?:$|python)",
        ("host-memory-insufficient",),
        "the program was killed, usually because the machine or its container ran out of memory",
        ("Killed",),
        vague=True,
    ),
    # vllm/v1/worker/gpu_worker.py and utils of 0.6 to 0.20, sglang/srt/model_executor
    Signature(
        r"Free memory on device[^\n]{0,80}is less than desired GPU memory utilization|memory capacity is unbalanced\. Some GPUs may be occupied"
        r"|memory of GPU \S{1,40} is (?:used|occupied) by (?:other|another) process",
        ("gpu-memory-held-by-other-process", "gpu-memory-insufficient"),
        "other processes use the GPU memory that the program was told to take",
        (
            "ValueError: Free memory on device cuda:0 (3.12/23.64 GiB) on startup is less than desired GPU memory utilization (0.9, 21.28 GiB).",
        ),
    ),
    # vllm/v1/worker/gpu/buffer_utils.py and vllm/platforms: pinned memory is off in WSL alone
    Signature(
        r"\bUVA is not available\b",
        ("wsl-pinned-memory-limit",),
        "vLLM needs pinned memory, which it leaves off in WSL unless VLLM_WSL2_ENABLE_PIN_MEMORY is 1",
        ("RuntimeError: UVA is not available",),
        cure="Set VLLM_WSL2_ENABLE_PIN_MEMORY=1 for vLLM.",
    ),
    Signature(
        r"Using 'pin_memory=False' as WSL is detected",
        ("wsl-pinned-memory-limit",),
        "vLLM uses no pinned memory in WSL, which is slower",
        ("WARNING cache_engine.py:96] Using 'pin_memory=False' as WSL is detected. This may slow down the performance.",),
        last=True,
        vague=True,
    ),
    # as people say it of a call
    Signature(
        rf"(?:{PINNING_CALL})[^\n]{{0,80}}(?i:\b(?:out of memory|fail(?:s|ed|ure)?|(?:can ?not|unable to) allocate)\b)",
        ("wsl-pinned-memory-limit",),
        "page-locked memory cannot be allocated, which WSL limits",
        ("cudaHostAlloc of 2 GB fails", "pinned memory above 1 GB: out of memory"),
        vague=True,
        said=True,
        needs_support=True,
    ),
    # TensorFlow's and XLA's cuda_driver.cc, and PyCUDA, which need little memory for a context
    Signature(
        r"cu(?:DevicePrimaryCtxRetain|CtxCreate)\b[^\n]{0,24}(?:CUDA_ERROR_OUT_OF_MEMORY|out of memory)|CUDA runtime implicit initialization on GPU:\d{1,2} failed\. Status: out of memory",
        ("gpu-memory-held-by-other-process", "gpu-memory-insufficient", "wsl-multi-gpu-limit", "wsl-pinned-memory-limit"),
        "the GPU has no memory left for a CUDA context",
        ("failed call to cuDevicePrimaryCtxRetain: CUDA_ERROR_OUT_OF_MEMORY: out of memory; total memory reported: 8589934592",),
    ),
    # cuda_dnn.cc and cuda_blas.cc of TensorFlow and XLA, which have taken the memory that the handle needs
    Signature(
        r"(?i:(?:could not|failed to) create (?:cudnn|cublas|cusolver) handle: )\w{2,8}_STATUS_ALLOC_FAILED",
        ("gpu-memory-preallocation", "gpu-memory-insufficient", "gpu-memory-held-by-other-process"),
        "cuDNN or cuBLAS finds no GPU memory, usually because the framework holds all of it",
        (
            "Could not create cudnn handle: CUDNN_STATUS_ALLOC_FAILED",
            "failed to create cublas handle: CUBLAS_STATUS_ALLOC_FAILED",
        ),
    ),
    # torch/c10 of 0.4 to 2.15, TensorFlow 1.4 to 2.21, XLA, cuBLAS, cuDNN, CuPy, llama.cpp, Ollama, vLLM, SGLang, accelerate
    Signature(
        r"(?:CUDA|HIP) out of memory\. Tried to allocate|Tried to allocate [\d.]{1,12} ?[KMG]iB \(GPU \d|CUDA_ERROR_OUT_OF_MEMORY|[?.] Error 2: out of memory|cuda runtime error \(2\)|CUDA error 2 at [^\n]{1,200}: out of memory|CUDA error: out of memory|cudaMalloc failed: out of memory"
        r"|Status: out of memory|cudaErrorMemoryAllocation|torch\.(?:cuda\.)?OutOfMemoryError|Cuda failure (?:\d{1,4} )?'out of memory'|cuMem\w{1,20} failed: out of memory"
        r"|RESOURCE_EXHAUSTED: .{0,1000}(?:[Oo]ut of memory|OOM|[Ff]ailed to allocate)|[Rr]esource exhausted: .{0,200}[Oo]ut of memory|OOM when allocating tensor"
        r"|CUBLAS_STATUS_ALLOC_FAILED|CUDNN_STATUS_ALLOC_FAILED|No available memory for the cache blocks|larger than the (?:available KV cache memory|maximum number of tokens that can be stored in KV cache)"
        r"|\bCUDA (?:failure|error) 2: |BFCArena::AllocateRawInternal|out_of_memory: CUDA error|std::bad_alloc: (?:out_of_memory: )?(?:CUDA error[^\n]{1,200}cudaErrorMemoryAllocation|RMM failure)|ResourceExhaustedError\b(?![^\n]{0,300}device:CPU)[^\n]{0,100}failed to allocate memory|Failed to allocate \d+ bytes for new constant"
        r"|OutOfMemoryError: Out of memory allocating|Dst tensor is not initialized|[Rr]an out of memory trying to allocate(?![^\n]{0,160}not a failure)|unable to allocate CUDA\d{0,2} buffer|Not enough memory\. Please try to increase --mem-fraction-static|not enough (?:GPU memory|VRAM) to",
        _GPU_MEMORY_CAUSES,
        "the program ran out of GPU memory",
        (
            "CUDA out of memory. Tried to allocate",
            "CUDA_ERROR_OUT_OF_MEMORY",
            "CUBLAS_STATUS_ALLOC_FAILED",
            "OOM when allocating tensor",
            "ValueError: No available memory for the cache blocks.",
            "MemoryError: std::bad_alloc: out_of_memory: CUDA error at: /opt/env/include/rmm/mr/device/cuda_memory_resource.hpp",
            "CUDA failure 2: out of memory ; GPU=0",
            "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 5563.00 MiB on device 0: cudaMalloc failed: out of memory",
        ),
    ),
    # aten/src/ATen/mps/MPSAllocator.mm: a Mac's GPU shares the machine's memory
    Signature(
        r"\bMPS backend out of memory\b",
        ("gpu-memory-insufficient",),
        "the program ran out of the memory that a Mac's GPU may use",
        ("RuntimeError: MPS backend out of memory (MPS allocated: 17.53 GB, other allocations: 384.00 KB, max allowed: 18.13 GB).",),
    ),
    # c10/cuda/CUDACachingAllocator.cpp asks NVML for the memory in use where none is left: https://github.com/pytorch/pytorch/issues/112377 and 112950
    Signature(
        r"NVML_SUCCESS == DriverAPI::get\(\)->nvmlInit_v2_\(\) INTERNAL ASSERT FAILED",
        ("driver-library-mismatch", "gpu-memory-insufficient"),
        "NVML does not start, usually because the loaded driver is another than its library",
        ("RuntimeError: NVML_SUCCESS == DriverAPI::get()->nvmlInit_v2_() INTERNAL ASSERT FAILED",),
        vague=True,
        guess=True,
        tells="nvidia-smi",
    ),
    Signature(
        r"NVML_SUCCESS == (?:r|DriverAPI::get\(\)->nvmlDevice[^\n]{1,100}) INTERNAL ASSERT FAILED",
        ("gpu-memory-insufficient", "gpu-memory-held-by-other-process"),
        "PyTorch found no free GPU memory, and NVML did not tell how much is in use",
        ("RuntimeError: NVML_SUCCESS == r INTERNAL ASSERT FAILED",),
        vague=True,
        guess=True,
        tells="nvidia-smi",
    ),
    # as people say it; what else is known of the memory must speak for a cause
    Signature(
        r"(?i)\boom\b(?![-_ ]?kill)|\b(?:runs?|ran|running) out of (?:gpu |video |v)?(?:memory|ram)\b|\b(?:cuda|gpu|error|with(?: an?)?)\W{1,4}out[ -]of[ -]memory\b",
        _GPU_MEMORY_CAUSES,
        "the program ran out of memory",
        ("OOM at start although the model is small",),
        vague=True,
        last=True,
        said=True,
        needs_support=True,
    ),
    Signature(
        rf"(?i){_MEMORY}[^\n.]{{0,24}}\banother process (?:occupies|holds|takes|uses)\b|{_MEMORY} (?:is|was|are) (?:\w{{1,12}} )?(?:{_IN_USE}|in use) by (?:an)?other\b"
        r"|(?<!no )\b(?:another|other)(?: (?:user|person|people|student|team)'s)? (?:process|program|task|job|user|training|script|notebook)\w{0,3}(?: (?:is|was|are|were|has|have|had|\w{1,8}ly)){0,3} (?:occup(?:ies|y|ied|ying)|hold(?:s|ing)?|tak(?:es|ing|en)|us(?:es|ing|ed)|eat(?:s|ing)?)\b"
        rf"[^\n.]{{0,24}}?(?:{_MEMORY}|(?<=occupies )(?:\S{{1,2}} ?)?memory\b)",
        _HELD_MEMORY_CAUSES,
        "another program holds the GPU's memory",
        ("another process is using all of the GPU memory", "the GPU memory is taken by other users"),
        vague=True,
        said=True,
    ),
    # https://github.com/pytorch/pytorch/issues/5736
    Signature(
        rf"(?i)(?:{_MEMORY}|\bmemory\b[^\n]{{0,60}}\bgpus?\b)[^\n.]{{0,16}}(?:\bnot|\bnever|n't) (?:been |being |properly |fully ){{0,2}}(?:released|deallocated|freed|cleared)"
        rf"|{_MEMORY} (?:is |was |are |were )?(?:still|stays?|remains?|keeps being) (?:in use|{_IN_USE})|\b(?:still|keeps?) (?:occup|hold|us)\w{{1,4}} (?:the |all |most of the )?{_MEMORY}"
        rf"|\b(?:zombie|defunct|orphan\w{{0,2}}|killed|terminated|dead) (?:process|job)\w{{0,2}}\b[^\n]{{0,60}}{_MEMORY}"
        r"|\bgpu\b[^\n.]{0,30}\bha(?:s|ve|d) (?:\w{1,8} )?\d{1,3} ?[gm]i?b (?:allocated|occupied|used|taken)\b[^\n]{0,60}\bno process"
        rf"|\bno process(?:es)?\b[^\n]{{0,60}}\b[\d.]{{1,5}} ?(?:[gm]i?b )?(?:of|/) ?[\d.]{{1,5}} ?[gm]i?b (?:\w{{1,12}} ){{0,3}}(?:in use|{_IN_USE})"
        rf"|\b(?:kill|interrupt|terminat|exit|stopp|crash)\w{{0,6}}\b[^\n]{{0,80}}(?:\bnot|\bnever|n't) (?:release|free|clear)d? (?:up )?(?:the |all |its )?{_MEMORY}"
        rf"|\b(?:w(?:o|ill )n.?t|does ?n.?t|do ?n.?t) (?:let go of|give back|return) (?:the |its |all )?(?:{_MEMORY}|memory\b)|\b(?:hold|keep|hang)s? on ?to (?:the |its |all )?(?:{_MEMORY}|memory\b)[^\n.]{{0,16}}\bafter\b",
        _HELD_MEMORY_CAUSES,
        _MEMORY_STAYS,
        (
            "GPU memory is not released after the script was interrupted",
            "a zombie process keeps the GPU memory",
            "it still holds GPU memory",
            "memory of the first is freed but the other GPUs are not released",
            "the GPU memory stays occupied when the process has ended",
            "nvidia-smi lists no process, but 11 of 12 GB are still in use",
            "killing the server does not free the GPU memory",
        ),
        vague=True,
        said=True,
    ),
    Signature(
        r"(?i)\b(?:process|program|script|server|vllm|sglang|ollama|training|job|kernel|notebook)\b (?:has|have|had|was|were|is) (?:already |now |just )?(?:been )?(?:shut ?down|killed|stopped|terminated|closed|interrupted)(?:,? (?:but |and )?nvidia-smi\b[^\n]{0,20})?:?\s{0,4}$",
        _HELD_MEMORY_CAUSES,
        _MEMORY_STAYS,
        ("vLLM has been shut down:",),
        vague=True,
        last=True,
        said=True,
        needs_support=True,
    ),
    # https://docs.jax.dev/en/latest/gpu_memory_allocation.html, https://www.tensorflow.org/guide/gpu#limiting_gpu_memory_growth
    Signature(
        r"Physical devices cannot be modified after being initialized|Memory growth cannot differ between GPU devices",
        ("gpu-memory-preallocation",),
        "memory growth was set after TensorFlow had initialised the GPU, so TensorFlow takes nearly all memory",
        ("RuntimeError: Physical devices cannot be modified after being initialized",),
    ),
    Signature(
        r"(?i)\b(?:tensorflow|tf|keras|jax|xla)\b[^\n]{0,160}(?:\b(?:all|almost|nearly|entire|whole|full|most)\b|\b[6-9]\d ?%)[^\n]{0,40}\b(?:memory|vram)\b"
        r"|(?:\b(?:all|entire|whole)(?: [^\s,;]{1,16}){0,3} |\b[6-9]\d ?%[^\n]{0,40}\b)(?:gpu memory|vram)\b[^\n]{0,60}\b(?:jax|tensorflow|xla|keras)\b"
        r"|\bimporting\b[^\n]{0,100}\bgpu\b[^\n]{0,60}\b(?:memory|vram)\b|\b(?:jax|tensorflow|training)\b[^\n]{0,80}(?:around |about |~)?[6-9]\d ?% of (?:the )?gpu(?:'s)? memory",
        _PREALLOCATION_CAUSES,
        _TAKES_MOST,
        (
            "jax allocates 75% of the GPU memory at the first operation",
            "TensorFlow uses all GPU memory",
            "all GPU memory is taken by TensorFlow",
            "importing the package fills the GPU's memory",
        ),
        vague=True,
    ),
)
MEMORY_HINTS = (
    # a stack, whose innermost call found no memory for a context
    Hint(
        r"^\s{0,8}at [\w.]{1,80}\.cuCtxCreate\(",
        "gpu-memory-held-by-other-process",
        "at jcuda.driver.JCudaDriver.cuCtxCreate(JCudaDriver.java:1514)",
    ),
    Hint(_PROCESS_LINE, "", "4242 python train.py 5154MiB"),
    # nvidia-smi's row of a process that has ended, or that runs in another container
    Hint(
        r"^[\s|]{1,8}\d{1,2}\s[^\n|]{0,24}?\d{2,8}\s{1,8}[CG](?:\+[CG])?\s{1,8}(?:Unknown Error|\[Not Found\]|\[Unknown\])\s{1,60}\d{3,6}MiB",
        "gpu-memory-held-by-other-process",
        "|    0     31794    C   Unknown Error                                 5371MiB |",
    ),
)
