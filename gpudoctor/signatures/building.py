"""What compilers and build scripts say when an extension or a kernel is compiled on this machine."""

from __future__ import annotations

from gpudoctor.signatures.signature import Signature

_HEADER = r"['\"]?(?:cuda(?:_\w{2,20})?\.h|cu(?:blas|rand|sparse|solver|fft)\w{0,12}\.h|(?:nvrtc|nvToolsExt|device_launch_parameters)\.h|(?:thrust|cub|cooperative_groups|cuda|crt)/\w[\w./]{1,40}|nv/target)"
"""What a CUDA toolkit has for compilers."""

BUILDING = (
    # triton/runtime/build.py of 3.9; gcc, clang, the TinyCC of Triton for Windows, MSVC
    Signature(
        r"No working C\+\+ compiler found in torch\._inductor|Failed to find C compiler\. Please specify via CC|No such file or directory: '(?:/usr/bin/)?(?:g?cc|[gc]\+\+|clang(?:\+\+)?)'",
        ("c-compiler-missing",),
        "Triton or Inductor found no compiler",
        (
            "RuntimeError: Failed to find C compiler. Please specify via CC environment variable",
            "InvalidCxxCompiler: No working C++ compiler found in torch._inductor.config.cpp.cxx: (None, 'g++')",
            "FileNotFoundError: [Errno 2] No such file or directory: 'gcc'",
        ),
    ),
    # torch/_dynamo/exc.py of 2.7, torch/_inductor/scheduler.py
    Signature(
        r"Cannot find a working triton installation|\bTritonMissing\b",
        ("package-not-installable",),
        "torch.compile found no Triton",
        ("RuntimeError: Cannot find a working triton installation. Either the package is not installed or it is too old.",),
        guess=True,
        cure="Install the Triton that belongs to this torch: triton on Linux, triton-windows on Windows",
    ),
    Signature(
        r"fatal error: (?:Python|pyconfig)\.h: No such file|'Python\.h' (?:file )?not found|fatal error C1083: [^\n]{0,60}\bPython\.h\b",
        ("python-headers-missing",),
        "the headers of this Python are not installed",
        (
            "fatal error: Python.h: No such file or directory",
            "cuda_utils.c:14: error: include file 'Python.h' not found",
            "main.c(5): fatal error C1083: Cannot open include file: 'Python.h'",
        ),
    ),
    # GNU ld, and libcuda_dirs of Triton 2: the driver is there, the link without a version is not. https://github.com/pytorch/pytorch/issues/94585
    Signature(
        r"cannot find -lcuda(?![\w-])|libcuda\.so cannot found!",
        ("libcuda-not-on-loader-path", "wsl-libcuda-not-on-path", "no-driver", "container-no-gpu-access"),
        "the linker found no libcuda.so",
        ("/usr/bin/ld: cannot find -lcuda: No such file or directory", "AssertionError: libcuda.so cannot found!"),
    ),
    # torch/utils/cpp_extension.py of 1.5 to 2.15, op_builder/builder.py of DeepSpeed, setup.py of apex
    Signature(
        r"The detected CUDA version \([\d.]{1,20}\) mismatches the version that was used to compile"
        r"|Installed CUDA version [\d.]{1,12} does not match the version torch was compiled with(?![^\n]{0,80}accepting this combination)"
        r"|being compiled with a version of Cuda that does not match the version used to compile Pytorch",
        ("nvcc-framework-cuda-mismatch",),
        "nvcc and PyTorch have different CUDA versions",
        (
            "The detected CUDA version (11.8) mismatches the version that was used to compile",
            "Installed CUDA version 12.2 does not match the version torch was compiled with 11.7",
            "Cuda extensions are being compiled with a version of Cuda that does not match the version used to compile Pytorch binaries",
        ),
    ),
    # nvcc 13.0, setup.py of flash-attn
    Signature(
        r"nvcc fatal\s{0,6}: (?:Unsupported gpu architecture|Value '(?:sm_\w{2,5}|compute_\w{2,5}|native|all(?:-major)?)' is not defined for option 'gpu-architecture')|Unknown CUDA arch \([\d.]{3,5}\w?(?:\+PTX)?\) or GPU not supported|[Uu]nsupported (?:gpu|CUDA) architecture 'compute_\d{2,3}|FlashAttention is only supported on CUDA \d{1,2}\.\d and above",
        ("nvcc-framework-cuda-mismatch",),
        "nvcc is of a CUDA release that cannot compile for this GPU",
        (
            "nvcc fatal   : Unsupported gpu architecture 'compute_86'",
            "nvcc fatal   : Value 'native' is not defined for option 'gpu-architecture'",
            "FlashAttention is only supported on CUDA 11.7 and above.",
        ),
    ),
    # flashinfer/jit/core.py, which says so too if the local nvcc knows no architecture of the GPU: https://github.com/flashinfer-ai/flashinfer/issues/3675
    Signature(
        r"FlashInfer requires GPUs with sm\d{2,3} or higher",
        ("nvcc-framework-cuda-mismatch", "gpu-below-framework-minimum"),
        "FlashInfer cannot compile for this GPU: it is too old, or nvcc is",
        ("RuntimeError: FlashInfer requires GPUs with sm75 or higher",),
        vague=True,
        tells="nvidia-smi --query-gpu=name,compute_cap --format=csv; nvcc --version",
    ),
    # flashinfer/compilation_context.py of 0.3 to 0.6, which asks the local nvcc
    Signature(
        r"\bSM ?\d{1,2}\.?[x\d]? requires CUDA >= ?\d{1,2}\.\d|No supported CUDA architectures found for major versions",
        ("nvcc-framework-cuda-mismatch",),
        "nvcc is of a CUDA release that cannot compile for this GPU",
        (
            "Failed to get device capability: SM 12.x requires CUDA >= 12.9.",
            "RuntimeError: No supported CUDA architectures found for major versions [12].",
        ),
    ),
    # an nvcc from before the option or the language that a build asks for
    Signature(
        r"nvcc fatal\s{1,6}: (?:Value 'c\+\+\d\w' is not defined for option 'std'|Unknown option '-{0,2}(?:std=c\+\+\d\w|threads|diag-suppress|static-global-template-stub|allow-unsupported-compiler)\b)",
        ("nvcc-framework-cuda-mismatch",),
        "nvcc is of a CUDA release that is too old for what is compiled",
        ("nvcc fatal   : Value 'c++17' is not defined for option 'std'", "nvcc fatal   : Unknown option '--threads'"),
    ),
    # crt/host_config.h of CUDA 9 to 13, torch/utils/cpp_extension.py
    Signature(
        r"unsupported (?:GNU|clang|ICC|Microsoft Visual Studio) version!|\btoo old version of (?:GCC|Clang)\b|greater than the maximum required version by CUDA \d|less than the minimum required version by CUDA \d"
        r"|parameter packs not expanded with|identifier \"(?:__builtin_ia32_\w{2,40}|_Float(?:16|32|64|128)x?)\" is undefined|exception specification is incompatible with that of previous function \"(?:cospi|sinpi|rsqrt)|of the host compiler \('[^'\n]{1,40}'\) is not supported|STL1002: Unexpected compiler version|nvcc cannot find a supported version of Microsoft Visual Studio"
        # nvcc's front end in the headers of a gcc that it does not know
        r"|/gcc/[^\s:]{1,120}/include/\w{3,24}intrin\.h\(\d{1,6}\): error",
        ("host-compiler-unsupported",),
        "nvcc or PyTorch does not support this version of the C++ compiler",
        (
            "unsupported GNU version! gcc versions later than 13 are not supported!",
            "You're trying to build PyTorch with a too old version of GCC. We need GCC 9 or later.",
            "unsupported Microsoft Visual Studio version! Only the versions between 2017 and 2022 (inclusive) are supported!",
            "The current installed version of g++ (13.2.0) is greater than the maximum required version by CUDA 11.8",
            "error: parameter packs not expanded with '...'",
        ),
    ),
    # torch/utils/cpp_extension.py, op_builder/builder.py of DeepSpeed, setup.py of flash-attn, CMake's FindCUDAToolkit
    Signature(
        r"CUDA_HOME environment variable is not set|CUDA_HOME does not exist, unable to compile CUDA|was requested, but nvcc was not found"
        r"|No CMAKE_CUDA_COMPILER could be found|Failed to find nvcc|Could NOT find CUDA(?:Toolkit)? \(missing:|Could not find nvcc(?:, please set CUDAToolkit_ROOT| and default cuda_home)",
        ("nvcc-toolkit-missing",),
        "a build found no CUDA toolkit",
        (
            "CUDA_HOME environment variable is not set. Please set it to your CUDA install root.",
            "CUDA_HOME does not exist, unable to compile CUDA op(s)",
            "flash_attn was requested, but nvcc was not found.",
            "No CMAKE_CUDA_COMPILER could be found.",
        ),
    ),
    # shells, Python, compilers and linkers
    Signature(
        r"nvcc: (?:command )?not found|nvcc compiler not found on \$PATH|No such file or directory: '[^'\n]{0,200}nvcc'|'[^'\n]{0,200}\bnvcc' ?(?:failed)?: No such file|nvcc: No such file or directory|'nvcc' is not recognized as an internal"
        rf"|fatal error: {_HEADER}['\"]?(?:: No such file| file not found)|Cannot open include file: '{_HEADER}'|cannot find -lcudart|cannot open input file 'cud\w{{1,8}}\.lib'|Could not find the cudart library|package configuration file provided by \"CUDA(?:Toolkit)?\"",
        ("nvcc-toolkit-missing",),
        "a build found no CUDA compiler or no CUDA headers",
        (
            "nvcc: command not found",
            "error: [Errno 2] No such file or directory: '/usr/local/cuda/bin/nvcc'",
            "error: command ':/usr/local/cuda/bin/nvcc' failed: No such file or directory",
            "fatal error: cuda_runtime.h: No such file or directory",
            "/usr/bin/ld: cannot find -lcudart",
        ),
    ),
    # setup.py of apex and flash-attn, which ask nvcc for its version and do not catch that there is none
    Signature(
        r"check_output\(\[cuda_dir \+ ['\"]/bin/nvcc",
        ("nvcc-toolkit-missing",),
        "a build script could not run nvcc",
        ('check_output([cuda_dir + "/bin/nvcc", "-V"], universal_newlines=True)',),
        vague=True,
    ),
    # groundingdino/models/GroundingDINO/ms_deform_attn.py, whose setup.py builds nothing for the GPU if it finds no toolkit
    Signature(
        r"Failed to load custom C\+\+ ops\. Running on CPU mode Only",
        ("nvcc-toolkit-missing", "extension-abi-mismatch"),
        "the package's compiled part is missing or does not load, usually because it was installed where no CUDA toolkit was found",
        ("UserWarning: Failed to load custom C++ ops. Running on CPU mode Only!",),
        guess=True,
        despite_versions=True,
        tells="echo $CUDA_HOME; nvcc --version",
    ),
    # setup.py of flash-attn, after a warning that nvcc is not there
    Signature(
        r"name 'bare_metal_version' is not defined",
        ("nvcc-toolkit-missing",),
        "a build script found no nvcc",
        ("NameError: name 'bare_metal_version' is not defined",),
    ),
    # setuptools and torch/utils/cpp_extension.py on Windows
    Signature(
        r"Microsoft Visual C\+\+ \d{2}\.\d (?:or greater )?is required|Error checking compiler version for (?:cl|c\+\+|g\+\+)|Compiler: cl is not found"
        # nvcc and gcc
        r"|Cannot find compiler 'cl\.exe' in PATH|cannot execute '?cc1plus|nvcc fatal\s{1,6}: Failed to preprocess host compiler properties",
        ("c-compiler-missing",),
        "a build found no C++ compiler",
        ("error: Microsoft Visual C++ 14.0 or greater is required.", "Error checking compiler version for cl: [WinError 2]"),
    ),
)
