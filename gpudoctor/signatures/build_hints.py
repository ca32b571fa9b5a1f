"""Words that speak for a cause in builds, packages and libraries."""

from __future__ import annotations

from gpudoctor.signatures.phrases import CUPY_USE, LIBRARY_STATED_INSTALLED, OLLAMA_PACKAGE, STATED_WHEEL, TENSORFLOW_TWICE, cure_pattern
from gpudoctor.signatures.signature import Hint

BUILD_HINTS = (
    # distributions split it by GPU: https://archlinux.org/packages/extra/x86_64/ollama-cuda/
    Hint(OLLAMA_PACKAGE, "cpu-only-build", "sudo pacman -S ollama"),
    # platforms of the wheels on the index: no framework has any for these
    Hint(
        r"(?i)\b(?:ppc64(?:le)?|s390x|armv[67]l?|armhf|riscv64|raspberry ?pi|raspbian)\b",
        "no-cuda-wheel-for-platform",
        "uname -m: ppc64le",
    ),
    Hint(
        r"(?i)\bunset(?:ting)? (?:the )?LD_LIBRARY_PATH|\bLD_LIBRARY_PATH (?:is |was )?(?:unset|cleared|emptied|empty)\b|\b(?:with(?:out)?|no|empty) (?:an? )?(?:empty )?LD_LIBRARY_PATH\b[^\n.]{0,20}\b(?:works?|worked|fine)|\bLD_LIBRARY_PATH ?=[^\n]{0,200}(?:cuda|nvidia|conda|/usr/lib)"
        # the loader with LD_DEBUG=libs
        r"|\bsearch path=[^\n]{0,400}(?:cuda|nvidia|conda)[^\n]{0,400}\(LD_LIBRARY_PATH\)",
        "ld-library-path-shadowing",
        "LD_LIBRARY_PATH=/usr/local/cuda-12.0/lib64",
    ),
    Hint(
        r"\bTORCH_CUDA_ARCH_LIST\b",
        "extension-missing-arch",
        "TORCH_CUDA_ARCH_LIST=7.0",
    ),
    # the driver keeps what it compiled: only the first start is slow
    Hint(
        r"(?i)\b(?:second|next|later|subsequent|following) (?:\w{1,12} )?(?:starts?|runs?|times?|calls?|sessions?|launch(?:es)?)\b[^\n.]{0,24}\b(?:fast|quick\w{0,2}|immediate\w{0,2}|instant\w{0,2}|seconds?|fine|normal)\b|\bonly (?:slow )?(?:the|on the|at the|for the) (?:very )?first (?:time|run|start|call|session)\b",
        "slow-ptx-jit",
        "the second start is fast",
    ),
    # where the driver keeps it: https://developer.nvidia.com/blog/cuda-pro-tip-understand-fat-binaries-jit-caching/
    Hint(r"\.nv/ComputeCache\b|\bCUDA_CACHE_(?:PATH|MAXSIZE|DISABLE)\b|\bcompute cache\b", "slow-ptx-jit", "du -sh ~/.nv/ComputeCache"),
    # what NVRTC was asked for
    Hint(r"-arch=compute_\d{2}\b", "", "Options: -ftz=true -arch=compute_21"),
    # the architectures that somebody compiled for
    Hint(
        r"(?i)\bCUDA_ARCH(?:ITECTURES|S|_BIN|_LIST)? ?=|\bCMAKE_CUDA_ARCHITECTURES\b|-gencode\b",
        "extension-missing-arch",
        "CUDA_ARCH = -gencode arch=compute_62,code=sm_62",
    ),
    # tensorflow/core/common_runtime/gpu/gpu_device.cc: whatever fails then, fails in the PTX that the driver compiles for this GPU
    Hint(
        r"not built with CUDA kernel binaries compatible with compute capability",
        "gpu-too-new-for-build",
        "TensorFlow was not built with CUDA kernel binaries compatible with compute capability 12.0",
    ),
    # names of GPUs from before Maxwell: https://developer.nvidia.com/cuda-gpus/legacy
    Hint(
        r"\b(?:GT[XS]? ?[4-7]\d{2}M?(?! ?Ti\b)|GeForce (?:[4-8]\d{2}M|GT[XS]? ?[4-7]\d{2})|Tesla [MK]\d{2}[a-z]{0,2}|Quadro (?:K?[1-6]000M?|K\d{3,4}M?|NVS)|NVS \d{3})\b|\bK(?:20X?|40[cmt]?|80) (?:GPUs?|cards?)\b|\b(?i:gpu|card)(?: is|:|,)? (?:an? )?K(?:20X?|40[cmt]?|80)\b|\b(?i:tesla k(?:10|20|40|80)[a-z]?)\b",
        "gpu-too-old-for-build",
        "GeForce GT 740M",
    ),
    # the package whose import fails
    Hint(r"\bimport torchaudio\b|/torchaudio/|\bfrom torchaudio\b", "torch-torchaudio-mismatch", "import torchaudio"),
    Hint(r"\bimport torchvision\b|/torchvision/|\bfrom torchvision\b", "torch-torchvision-mismatch", "import torchvision"),
    # what people say of a release
    Hint(
        r"(?i)\b(?:abandon|dropp?|deprecat|remov|leav|no longer support)\w{0,3}\b[^\n.]{0,40}\b(?:volta|pascal|maxwell|kepler|sm_?[3-7]\d)\b",
        "gpu-too-old-for-build",
        "did this release drop Volta?",
    ),
    # what shows that conda installed PyTorch, whose build is another one than the wheel's
    Hint(
        r"\bconda (?:install|create|list)\b[^\n]{0,120}\bpytorch\b|\bpy[23][.\d]{1,4}_cuda\d|\bpytorch [\d.]{1,8} (?:from|with|by|via) conda\b",
        "",
        "conda install pytorch cudatoolkit=10.1 -c pytorch",
    ),
    # what every build of TensorFlow logs first, and what only builds with CUDA log
    Hint(
        r"\b(?:cpu_feature_guard|gpu_device|dso_loader|cuda_\w{3,20})\.cc:\d{1,4}\]",
        "",
        "I tensorflow/core/platform/cpu_feature_guard.cc:140] Your CPU supports instructions",
    ),
    # jax alone brings no CUDA plugin: https://docs.jax.dev/en/latest/installation.html
    Hint(
        r"\bpip3? install (?:-U |--upgrade |-q ){0,3}[\"']?jax(?:lib)?[\"']?(?: jaxlib)?(?![\w\[=<>~-]|\.\w)",
        "cpu-only-build",
        "pip install --upgrade jax jaxlib",
    ),
    # the Python that an environment was requested with, in conda's account of a conflict
    Hint(
        r"^\s{0,4}- python (?:=|\d)[\d.=*]{1,10}\s{0,3}$|\bYour python: python|─ python[ =][\d.=*]{1,10} +is requested",
        "python-version-unsupported",
        "- python 3.12*",
    ),
    # which builds of PyTorch an index is asked for
    Hint(r"/whl/cu\d{2,3}\b", "", "Looking in indexes: https://download.pytorch.org/whl/cu131"),
    # what people set for the libraries of NVIDIA's packages
    Hint(
        r"LD_LIBRARY_PATH[^\n]{0,300}(?:site|dist)-packages/nvidia/",
        "pip-nvidia-libs-not-on-path",
        "export LD_LIBRARY_PATH=/opt/venv/lib/python3.11/site-packages/nvidia/cudnn/lib",
    ),
    Hint(r"tensorflow\[and-cuda\]|jax\[cuda1\d(?:_pip)?\]", "pip-nvidia-libs-not-on-path", "pip install tensorflow[and-cuda]"),
    # what tells that a missing package is installed for another Python: pip's and conda's words, notebooks, pip's own build environments
    Hint(
        r"already satisfied: (?:torch|tensorflow|jax)|Successfully installed|(?i:\bjupyter|\bnotebooks?\b|\bipykernel\b|<ipython-input|\bwhich (?:python|pip)\b|\bworks? (?:fine )?(?:in|with|on) (?:the )?(?:python|terminal|command))"
        r"|[Gg]etting requirements to build wheel|build isolation|get_requires_for_build_(?:wheel|editable)|prepare_metadata_for_build_wheel|[Bb]uild backend returned an error",
        "wrong-python-environment",
        "Requirement already satisfied: torch in ./venv/lib/python3.12/site-packages (2.7.1)",
    ),
    Hint(
        r"(?i)\b(?:have|has|had|was|is|already|successfully) installed\b[^\n]{0,60}(?:torch|tensorflow|jax)|\breinstall[^\n]{0,60}(?:torch|tensorflow|jax)"
        r"|(?:torch|tensorflow|jax)\b[^\n]{0,40} (?:is|was) (?:\w{1,12} ){0,2}installed"
        r"|\btwo (?:\w{1,12} ){0,2}versions? of python|\bpython ?2[^\n]{0,60}\bpython ?3|\bpython ?3[^\n]{0,60}\bpython ?2",
        "wrong-python-environment",
        "I have installed torch for the Python of the virtual environment",
    ),
    # a framework in the text sees the GPU, as another does not
    Hint(r"PhysicalDevice\(name='/physical_device:GPU:0'", "", "[PhysicalDevice(name='/physical_device:GPU:0', device_type='GPU')]"),
    # its packages too, each for one CUDA
    Hint(rf"{CUPY_USE}|\bcupy-cuda\d{{2,3}}", "", "CuPy failed to load libnvrtc.so.12"),
    # as people call the build, in English and in Chinese
    Hint(
        r"(?i)\bcpu[- ]?only (?:mode|version|build|wheel|package)|(?<![a-z])cpu ?(?:\u7248|\u7684\u7248)|(?<![a-z])gpu ?\u7248\u672c?\u7684?(?:\u600e\u4e48|\u5982\u4f55)",
        "cpu-only-build",
        "pip installed the CPU-only version",
    ),
    # what helped
    Hint(
        r"(?i)\b(?:after|once|until|when|solv\w{1,3}|fix\w{0,3}|help\w{0,3}|works?)\b[^\n]{0,40}\binstall\w{0,4} [^\n]{0,120}/whl/cu\d{2,3}\b|\binstall\w{0,4} [^\n]{0,120}/whl/cu\d{2,3}\b[^\n]{0,40}\b(?:solv|fix|help|work)|\breinstall\w{0,3} [^\n]{0,30}\b(?:gpu|cuda)[- ](?:version|build|wheel|variant)",
        "cpu-only-build",
        "after pip install torch --index-url https://download.pytorch.org/whl/cu121 it uses the GPU",
        said=True,
    ),
    Hint(
        rf"(?i){cure_pattern(r'install(?:ed|ing)? (?:the )?(?:nvidia-|lib)?cudnn')}|\bsudo apt(?:-get)? (?:-y )?install (?:-y )?(?:lib|nvidia-)?cudnn",
        "cudnn-missing",
        "solved by installing cuDNN",
    ),
    # bitsandbytes/cuda_setup/main.py of 0.35 to 0.42, where it finds the library only by its own search
    Hint(
        r"Possible options found for libcudart\.so: \{",
        "cuda-libs-not-on-loader-path",
        "DEBUG: Possible options found for libcudart.so: {PosixPath('/usr/local/cuda/lib64/libcudart.so')}",
    ),
    # who takes the variable from a program
    Hint(
        r"(?i)\b(?:resets?|nukes?|clears|drops|overwrites|loses|strips|discards|ignores)\b[^\n.]{0,16}\bLD_LIBRARY_PATH\b|\b(?:not|n't|never) (?:pass|inherit|forward|export|propagat|keep|set|see)\w{0,4}(?: on)? (?:the |my |our |its )?LD_LIBRARY_PATH\b|\bLD_LIBRARY_PATH\b[^\n.]{0,16}\b(?:(?:is|was|gets|got|were) (?:\w{1,12} )?(?:not|lost|reset|dropped|overwritten|stripped|missing)|isn't|wasn't)\b",
        "cuda-libs-not-on-loader-path",
        "the spawner does not pass LD_LIBRARY_PATH on",
        said=True,
    ),
    Hint(
        rf"(?i){cure_pattern(r'(?:set(?:ting)?|add(?:ed|ing)?|updat(?:ed|ing)|export(?:ed|ing)?|correct(?:ed|ing)|fix(?:ed|ing)) (?:[^ ]{1,40} ){0,4}LD_LIBRARY_PATH')}",
        "cuda-libs-not-on-loader-path",
        "I added it to LD_LIBRARY_PATH and it worked",
    ),
    Hint(
        rf"(?i){cure_pattern(r'install(?:ed|ing)? (?:the )?(?:tensorflow-gpu|tensorflow.and-cuda|jax.cuda|(?:gpu|cuda) (?:version|build))')}",
        "cpu-only-build",
        "installing tensorflow-gpu fixed it",
    ),
    # https://pytorch.org/get-started/previous-versions/, https://www.tensorflow.org/install/pip
    Hint(
        r"\binstall\b[^\n]{0,60} (?:tensorflow-cpu|tensorflow-intel|intel-tensorflow|faiss-cpu|cpuonly)\b|\binstall[-_]cpu(?:\.(?:bat|sh|py)|\b)|download\.pytorch\.org/whl/cpu\b|^\W{0,4}cpuonly\b",
        "cpu-only-build",
        "pip install torch --index-url https://download.pytorch.org/whl/cpu",
    ),
    # programs that state their oldest GPU themselves: no build of them has kernels for an older one
    Hint(r"(?i)\b(?:vllm|sglang|flash[-_]?attn|flashinfer|cudf|cuml)\b", "gpu-below-framework-minimum", "vllm serve on a P100"),
    # the system's glibc, as its program and people say it
    Hint(r"(?i)\bldd\b[^\n]{0,60}\b2\.\d{1,2}\b", "", "ldd (GNU libc) 2.17"),
    # triton/backends/nvidia/compiler.py
    Hint(
        r"(?i)Internal Triton PTX codegen error|\bPTXASError\b|\btriton[/\\](?:backends|compiler|runtime|common)\b|\btriton\b\W{0,30}(?:version\W{1,3})?\d\.\d",
        "triton-ptxas-too-old",
        "PTXASError: PTXAS error: Internal Triton PTX codegen error",
    ),
    Hint(rf"(?i){TENSORFLOW_TWICE}", "two-copies-of-framework", "pip install tensorflow tensorflow-gpu"),
    # where libraries are
    Hint(
        rf"(?:cudart|cublas|cufft|curand|cusolver|cusparse|cudnn)\w{{0,40}}(?:64_\d{{1,3}}\.dll|\.so\.\d)[^\n]{{0,50}} (?:in|inside|under|at) |{LIBRARY_STATED_INSTALLED}",
        "",
        "libcufft.so.10 is in /opt/cuda/lib64",
    ),
    # by which gpudoctor/diagnose/support_packages.py knows that a library is installed
    Hint(STATED_WHEEL, "", "nvidia-cublas-cu12 is installed"),
    Hint(
        r"(?:/\S{1,200}(?:/|: {1,2}(?=lib\S{1,60}(?:\s|$)))|(?<![\w/'])(?=\S{1,60}\.so\.\d{1,2}\.\d{1,3}\.\d))lib(?:cudart|cublas|cufft|curand|cusolver|cusparse|cudnn|nvrtc|nvJitLink)\w{0,40}\.so\.\d",
        "",
        "/opt/cuda/lib64/libcudart.so.12",
    ),
    # the compiled modules of extensions, as a traceback shows their import
    Hint(
        r"^\W{0,8}(?:import|from) (?:flash_attn(?:_\d)?_cuda|flash_attn_gpu|vllm\._C|selective_scan_cuda|causal_conv1d_cuda|fused_layer_norm_cuda|amp_C|sgl_kernel|exllamav2_ext)\b",
        "",
        "import flash_attn_2_cuda as flash_attn_cuda",
    ),
)
