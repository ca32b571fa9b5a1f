"""What Python, NumPy, protobuf, Keras and MKL say when a package cannot be imported."""

from __future__ import annotations

import msgspec

from gpudoctor.signatures.phrases import CUDA_BUILD_FUNCTION, NOTEBOOK, TENSORFLOW_TWICE, TERMINAL
from gpudoctor.signatures.signature import Signature

_FRAMEWORKS = "torch|tensorflow|jax|jaxlib|keras"
_SHADOWING_CAUSES = ("two-copies-of-framework", "script-folder-hides-package")
_RENAME_FILE = "Rename the file or folder of the package's name beside the program; if there is none, uninstall the copies of the package until none is left, then install one."

_SEES_NO_GPU = r"\b(?:returns? false|is false|says false|gives? false|false|no gpus?)\b"
_SEES_GPU = r"\b(?:returns? true|is true|says true|gives? true|true|works)\b"

IMPORTS = (
    # numpy/core/src/multiarray/multiarraymodule.c and numpy/_core/_internal.py of 1.26 to 2.3; torch/csrc/utils/tensor_numpy.cpp
    Signature(
        r"A module that was compiled using NumPy 1\.x cannot be run in|RuntimeError: Numpy is not available|Could not infer dtype of numpy\.|_ARRAY_API not found"
        r"|downgrade to ['\"]?numpy<2|was removed in the NumPy 2\.0 release|compiled against ABI version 0x1\w{1,12} but this version of numpy is 0x2"
        r"|numpy\.dtype size changed, may indicate binary incompatibility\. Expected 96 from C header, got 88"
        # modules that NumPy 2.0 made private: https://numpy.org/doc/stable/numpy_2_0_migration_guide.html
        r"|No module named 'numpy\.lib\.(?:function_base|index_tricks|shape_base|twodim_base|type_check|ufunclike|utils|nanfunctions|arraysetops|polynomial|histograms|arraypad)'",
        ("numpy2-abi-mismatch",),
        "a module built for NumPy 1 runs with NumPy 2",
        (
            "A module that was compiled using NumPy 1.x cannot be run in NumPy 2",
            "RuntimeError: Numpy is not available",
            "AttributeError: _ARRAY_API not found",
            "downgrade to 'numpy<2' or try to upgrade the affected module.",
            "AttributeError: `np.float_` was removed in the NumPy 2.0 release. Use `np.float64` instead.",
        ),
        despite_versions=True,  # it may be another module than the framework
    ),
    Signature(
        r"compiled against (?:API|ABI) version (?:0x)?\w{1,12}(?: \([^)\n]{1,40}\))? but this version of numpy is (?:0x)?(?!2|0x)|module 'numpy' has no attribute '(?:bool|object|int|float|complex|typeDict)'"
        r"|No module named 'torch\._six'|cannot import name '\w{1,60}' from 'torch\._six'|No module named 'torchvision\.transforms\.functional_tensor'",
        ("package-requirement-conflict",),
        "a package needs another release of NumPy or of the framework than the installed one",
        (
            "RuntimeError: module compiled against API version 0xf but this version of numpy is 0xe",
            "ModuleNotFoundError: No module named 'torch._six'",
        ),
    ),
    Signature(
        r"numpy\.core\.(?:_multiarray_umath|multiarray|umath) failed to import|numpy\._core\.multiarray failed to import|No module named 'numpy\._core|(?<!RuntimeWarning: )numpy\.(?:dtype|ndarray) size changed",
        ("numpy2-abi-mismatch", "package-requirement-conflict"),
        "a module was built for another release of NumPy than the installed one",
        ("ImportError: numpy.core.multiarray failed to import", "ModuleNotFoundError: No module named 'numpy._core'"),
    ),
    # Numba 0.49 and its _ensure_critical_deps; Cython, for cuda-python 11.7.1 and RAPIDS 22.06: https://docs.rapids.ai/notices/rsn0020/
    Signature(
        r"cannot import name '(?:numpy_support|six)'(?: from 'numba|$| \()|Numba needs NumPy [\d.]{1,6} or (?:less|greater)|C function cuda\.\w{3,20}\.\w{3,60} has wrong signature",
        ("package-requirement-conflict", "extension-abi-mismatch"),
        "a package needs another release of Numba, NumPy or cuda-python than the installed one",
        (
            "ImportError: cannot import name 'numpy_support' from 'numba'",
            "ImportError: Numba needs NumPy 1.24 or less",
            "TypeError: C function cuda.ccudart.cudaStreamSynchronize has wrong signature (expected __pyx_t_4cuda_7ccudart_cudaError_t",
        ),
    ),
    Signature(
        r"module 'ml_dtypes' has no attribute|cannot import name '\w{1,40}' from 'typing_extensions'|module 'typing_extensions' has no attribute",
        ("package-requirement-conflict",),
        "the installed package is older than the framework needs",
        ("AttributeError: module 'ml_dtypes' has no attribute 'float4_e2m1fn'", "cannot import name 'TypeIs' from 'typing_extensions'"),
    ),
    # google/protobuf of 3.6 to 6.33, protobuf's stubs/common.cc
    Signature(
        r"Detected incompatible Protobuf Gencode/Runtime|Descriptors (?:cannot|should) (?:not )?be created directly|google\.protobuf\.runtime_version\.VersionError"
        r"|cannot import name '?(?:builder|runtime_version|service_reflection|reflection|symbol_database|message_factory|descriptor(?:_pool|_pb2)?)\b'?(?: from 'google\.protobuf|$| \()"
        r"|'(?:MessageFactory|SymbolDatabase)' object has no attribute '|module 'google\.(?:\w{0,20}\.?_\w{1,20}|protobuf[\w.]{0,40})' has no attribute|_CheckCalledFromGeneratedFile"
        r"|unexpected keyword argument '(?:serialized_options|create_key|has_options)'|Couldn't (?:build|parse) (?:proto )?file (?:content|into descriptor pool)"
        r"|Protocol Buffer runtime library, (?:which is not compatible|but the installed version)|No module named '?google\.protobuf|Downgrade the protobuf package to 3\.20|generated code is out of date and must be regenerated with protoc"
        r"|Couldn't find field google\.protobuf|unexpected keyword argument '(?:syntax|serialized_pb)'",
        ("protobuf-mismatch",),
        "protobuf does not match the generated code",
        (
            "Detected incompatible Protobuf Gencode/Runtime",
            "Descriptors cannot be created directly",
            "ImportError: cannot import name 'builder' from 'google.protobuf.internal'",
            "ImportError: cannot import name 'runtime_version' from 'google.protobuf'",
            "AttributeError: 'MessageFactory' object has no attribute 'GetPrototype'",
        ),
        despite_versions=True,  # code that another package brings was generated by another release than the framework's
    ),
    # tensorflow/python/util/lazy_loader.py of 2.21, transformers 4, keras 3.0 to 3.12 (keras/src/models, saving, layers), tensorflow_hub
    Signature(
        r"Keras cannot be imported\. Check that it is installed|cannot import name '\w{1,60}' from 'keras\.\w{1,40}|No module named '(?:tf_keras|keras\.\w{1,40}|tensorflow\.keras\.(?:wrappers|layers\.experimental|optimizers\.(?:legacy|experimental)))"
        r"|is Keras 3, but this is not yet supported in Transformers|not supported in [`']?Keras 3|Keras 3 only supports V3|module 'keras\._tf_keras\.keras|installed tf\.keras is Keras 3"
        r"|'(?:Sequential|Functional)' object has no attribute '(?:input_names|output_names|_get_distribution_strategy)'"
        r"|module 'keras\.(?:api|src|_tf_keras|utils|backend|initializers|engine)[\w.]{0,60}' has no attribute|version of Keras is Keras 3|module 'tensorflow\.(?:keras|(?:_api\.v\d\.)?compat\.v2)(?:\.\w{1,20}){0,2}' has no attribute '__internal__'"
        r"|Only instances of `?keras\.Layer`? can be added[^\n]{0,200}tensorflow_hub|A KerasTensor (?:cannot be used as input to a TensorFlow function|is symbolic)"
        r"|Received: <tf_keras\.|Expected [^\n]{0,120}keras[^\n]{0,160}\btf_keras\.src|you do not have the tf_keras package installed|add_weight\(\) got multiple values for argument 'shape'|KerasTensor'?>? is not allowed|Could not interpret optimizer identifier: <keras\.src|has no attribute 'register_load_context_function'"
        # keras/src/ops/operation.py; Keras 2 leaves out the layer's name
        r"|AttributeError: The layer \w{1,60} has never been called and thus has no defined"
        # a model saved by Keras 2, which Keras 3 cannot load
        # as people say it, in the languages that they report in
        r"|(?i:\bkeras ?(?:v?3|版本|version)\b[^\n.?]{0,80}(?:\b(?:incompatible|not (?:yet )?(?:compatible|supported)|(?:no es|incompatible|pas|não é) ?compatible?|несовместим\w{0,3}|nicht kompatibel)\b|不兼容|不支持|尚未支持|未対応|非対応|互換性がな|호환되지))"
        r"|because its parent module keras\.[\w.]{1,60} cannot be imported"
        r"|Unrecognized keyword arguments(?: passed to \w{1,60})?: [\[{]'(?:batch_shape|batch_input_shape)'",
        ("keras3-mismatch",),
        "the installed Keras is not the one that the code or TensorFlow needs",
        (
            "ImportError: Keras cannot be imported. Check that it is installed.",
            "ModuleNotFoundError: No module named 'tf_keras'",
            "ModuleNotFoundError: No module named 'tensorflow.keras.layers.experimental'",
            "Your currently installed version of Keras is Keras 3, but this is not yet supported in Transformers",
            "`keras.optimizers.legacy` is not supported in Keras 3.",
        ),
        despite_versions=True,  # TensorFlow and Keras fit each other, and the code needs Keras 2
    ),
    # https://github.com/pytorch/pytorch/issues/123097; mkl-service's _mklinitmodule.c; libmkl_rt
    Signature(
        r"undefined symbol: iJIT_\w{1,40}|undefined symbol: mkl_\w{1,60}|libmkl_\w{1,40}\.so[.\d]{0,6}: undefined symbol|MKL_THREADING_LAYER=\w{1,20} is (?:incompatible|not compatible) with"
        r"|libmkl_\w{1,40}\.so[.\d]{0,6}: cannot open shared object file|MKL (?:FATAL )?ERROR: (?:Cannot load|Error on loading function)|Cannot load (?:neither )?(?:lib)?mkl_\w{1,40}\.(?:so|dll)",
        ("mkl-version-incompatible",),
        "the installed MKL does not fit the packages that load it",
        (
            "libtorch_cpu.so: undefined symbol: iJIT_NotifyEvent",
            "Error: mkl-service + Intel(R) MKL: MKL_THREADING_LAYER=INTEL is incompatible with libgomp.so.1 library.",
            "Intel MKL FATAL ERROR: Cannot load libmkl_avx2.so or libmkl_def.so.",
        ),
    ),
    # what Python 3.12 no longer has; Debian and Ubuntu leave out only parts of distutils
    Signature(
        r"No module named '(?:distutils|imp)'|module 'pkgutil' has no attribute 'ImpImporter'",
        ("python-version-unsupported", "framework-import-fails"),
        "what is imported or built is older than this Python, which lacks a module that it needs",
        ("ModuleNotFoundError: No module named 'distutils'", "AttributeError: module 'pkgutil' has no attribute 'ImpImporter'"),
        vague=True,
    ),
    Signature(
        r"'(?:"
        + _FRAMEWORKS
        + r")' is not a package|cannot import name '\w{1,40}' from '(?:random|types|typing|queue|logging|tokenize|copy|platform|inspect|math|code)' \(",
        _SHADOWING_CAUSES,
        "a file or another copy is imported instead of the package",
        ("No module named 'tensorflow.python'; 'tensorflow' is not a package",),
        cure=_RENAME_FILE,
    ),
    # torch/__init__.py, whose compiled module has another version; Python 2 does not name it: https://github.com/pytorch/pytorch/issues/2094
    Signature(
        rf"module 'torch\._C' has no attribute '(?!{CUDA_BUILD_FUNCTION})|'module' object has no attribute '(?:_init_names|\w{{3,20}}(?:Tensor|Storage)Base)'",
        ("two-copies-of-framework",),
        "the Python files and the compiled module of PyTorch have different versions",
        (
            "AttributeError: module 'torch._C' has no attribute 'BFloat16StorageBase'",
            "AttributeError: 'module' object has no attribute 'DoubleTensorBase'",
        ),
        despite_versions=True,  # the text may name only one of the releases
    ),
    # LLVM's OpenMP runtime, kmp_i18n
    Signature(
        r"OMP: Error #15: Initializing",
        ("mixed-conda-pip", "mkl-version-incompatible"),
        "two copies of the OpenMP runtime are loaded",
        ("OMP: Error #15: Initializing libiomp5.so, but found libiomp5.so already initialized.",),
    ),
    # CPython 3.6 to 3.13, Objects/moduleobject.c; a traceback's path of a file that has the name of a package or of a standard module
    Signature(
        r"consider renaming '[^'\n]{1,300}' (?:since|if) it has the same name|partially initialized module '(?:"
        + _FRAMEWORKS
        + r")[.\w]{0,40}'"
        r"|module '(?:torch|tensorflow|jax)' has no attribute '(?:__version__|nn|cuda|Tensor|tensor|device|keras|constant|config|numpy|jit|devices)'",
        _SHADOWING_CAUSES,
        "a file or folder of the same name is imported instead of the package",
        (
            "partially initialized module 'torch' has no attribute",
            "(consider renaming '/home/me/torch.py' if it has the same name",
            "AttributeError: module 'torch' has no attribute 'cuda'",
        ),
        cure=_RENAME_FILE,
    ),
    Signature(
        r'File "(?![^"\n]{0,200}(?:site-packages|dist-packages|lib/python|/torch/|/jax/|/numpy/|/tensorflow/))(?:[^"\n]{0,200}[/\\])?(?:torch|tensorflow|jax|keras|numpy|random|types|typing|queue|logging|tokenize|copy|platform|profile)\.py", line \d{1,6}, in <module>',
        _SHADOWING_CAUSES,
        "a file has the name of a package or of a standard module",
        ('File "/home/me/torch.py", line 4, in <module>',),
        cure=_RENAME_FILE,
    ),
    # as people compare two programs that run Python
    Signature(
        rf"(?i)\b{NOTEBOOK}\b[^\n]{{0,100}}{_SEES_NO_GPU}[^\n]{{0,120}}(?:\b{TERMINAL}|\.py)\b[^\n]{{0,80}}{_SEES_GPU}"
        rf"|{_SEES_NO_GPU} (?:in|inside|from) (?:the |my |a )?{NOTEBOOK}\b[^\n]{{0,60}}{_SEES_GPU} (?:in|from) (?:the |my |a )?{TERMINAL}\b"
        rf"|\b{TERMINAL}\b[^\n]{{0,80}}{_SEES_GPU}[^\n]{{0,80}}\b{NOTEBOOK}\b[^\n]{{0,80}}{_SEES_NO_GPU}",
        ("wrong-python-environment",),
        "one program sees the GPU and another does not, so each starts another Python",
        ("torch: it is False in my Jupyter notebook but True in the terminal.",),
        cure="Select the environment that sees the GPU as the kernel or interpreter; for Jupyter run `python -m ipykernel install --user` in it.",
    ),
    # what pip show answers
    Signature(
        r"Package\(s\) not found: (?:torch|tensorflow|jax)\s{0,4}$",
        ("framework-missing", "wrong-python-environment"),
        "the framework is not installed for this Python",
        ("WARNING: Package(s) not found: torch",),
        vague=True,
    ),
    # uv's hint about a build, which runs in an environment of its own
    Signature(
        r"depends on `(?:torch|tensorflow|jax)`, but doesn't declare it as a build dependency",
        ("wrong-python-environment",),
        "a package that is being built does not see the installed framework",
        ("This error likely indicates that `flash-attn@2.7.4` depends on `torch`, but doesn't declare it as a build dependency.",),
        cure="Install the framework first, then build the package with pip's --no-build-isolation.",
    ),
    Signature(
        r"No module named ['\"`]?(?:torch|(?i:tensorflow)|jax|jaxlib)(?![\w-]|\.\w)",
        ("framework-missing", "wrong-python-environment"),
        "the framework is not installed for this Python",
        ("ModuleNotFoundError: No module named 'torch'",),
    ),
)
# tensorflow/python/pywrap_tensorflow.py
_NATIVE_RUNTIME = Signature(
    r"Failed to load the native TensorFlow runtime",
    ("framework-import-fails",),
    "the installed framework cannot be imported",
    ("Failed to load the native TensorFlow runtime.",),
    vague=True,
)
UNEXPLAINED_IMPORTS = (
    # 0xC000001D, STATUS_ILLEGAL_INSTRUCTION: https://learn.microsoft.com/openspecs/windows_protocols/ms-erref/596a1078-e883-4972-9bbc-49e60bebca55
    Signature(
        r"DLL load failed with error code -1073741795",
        ("cpu-lacks-avx",),
        "the CPU lacks an instruction that the build uses",
        ("ImportError: DLL load failed with error code -1073741795",),
    ),
    Signature(
        r"(?i)\b(?:torch|tensorflow|jax)\.__file__\W{1,6}[^\n]{0,200}(?:/\.local/lib/|\\AppData\\Roaming\\Python\\)|\b(?:two|another|old|stray) (?:versions|copies|copy) of (?:torch|pytorch|tensorflow|jax)\b|\bold (?:torch|tensorflow|jax) version\b"
        # two folders of packages that one sentence names for one framework
        r"|\b(?:tensorflow|torch|pytorch|jax|keras|onnxruntime|cupy)\b[^\n]{0,100}?(?P<one>[~/][\w./~-]{2,100}/(?:site|dist)-packages)\b[^\n:]{2,160}? [^\n:]{0,60}?(?!(?P=one))[~/][\w./~-]{2,100}/(?:site|dist)-packages\b",
        ("two-copies-of-framework",),
        "more than one copy of the framework is installed",
        (
            "two versions of torch are installed",
            "torch 2.1 is in /opt/venv/lib/python3.10/site-packages and pip writes to /usr/lib/python3/dist-packages",
        ),
        vague=True,
        despite_versions=True,
    ),
    Signature(
        rf"(?i)(?:{TENSORFLOW_TWICE})(?=[^\n]{{0,160}}\b(?:us(?:es?|ing)|runs?|on|finds?|sees?) (?:only |just |still |always )?(?:the |my |a )?cpu\b)",
        ("two-copies-of-framework", "cpu-only-build"),
        "two packages of TensorFlow own the same files, and the one without CUDA was installed last",
        ("I have both tensorflow and tensorflow-gpu installed and it uses the CPU",),
        vague=True,
        said=True,
    ),
    # before 1.14 it links CUDA's libraries, so another release of them fails the import
    msgspec.structs.replace(_NATIVE_RUNTIME, causes=("cuda-version-mismatch",), needs_support=True),
    _NATIVE_RUNTIME,
    # glibc's dl-tls
    Signature(
        r"cannot allocate memory in static TLS block|cannot load any more object with static TLS",
        ("framework-import-fails",),
        "a library with static TLS is loaded after others have used up the space for it",
        ("libgomp.so.1: cannot allocate memory in static TLS block",),
        vague=True,
        cure="Load the named library first: name its path in LD_PRELOAD, or import the package that needs it before all others.",
    ),
    # Python in a clone of PyTorch, or in a folder into which a wheel was unpacked: https://github.com/pytorch/pytorch/issues/574, /issues/1633
    Signature(
        r'File "(?![^"\n]{0,200}(?:site-packages|dist-packages|lib(?:64)?/python))(?:[^"\n]{0,200}[/\\])?torch[/\\]__init__\.pyc?", line \d{1,5}, in <module>',
        _SHADOWING_CAUSES,
        "PyTorch is imported from a source folder instead of the installed package",
        ('File "torch/__init__.py", line 45, in <module>',),
        vague=True,
        despite_versions=True,
        cure="Start Python in another folder, which has no folder torch.",
    ),
    # Python in a clone of vLLM or Detectron2, whose folder holds no compiled module: https://github.com/vllm-project/vllm/issues/1814
    Signature(
        r"No module named ['\"]?(?!torch\b)[a-z]\w{2,30}\._C\b",
        ("two-copies-of-framework", "extension-abi-mismatch"),
        "the package's compiled part is missing: the package is imported from a source folder, or was not built",
        ("ModuleNotFoundError: No module named 'detectron2._C'",),
        vague=True,
        despite_versions=True,
    ),
    # tensorflow/python/pywrap_tensorflow.py; torch/__init__.py
    Signature(
        r"No module named '_?pywrap_tensorflow(?:_internal)?'|No module named ['\"]?tensorflow\.python['\"]?\s{0,4}$|No module named ['\"]?(?:torch\._C|_C)\b|\bname '_C' is not defined"
        r"|Failed to load PyTorch C extensions|^ImportError: [^\n]{0,200}libtorch\w{0,20}\.so|cannot import name '\w{1,60}' from '(?:torch|tensorflow|jax|jaxlib)[\w.]{0,60}'",
        ("framework-import-fails",),
        "the installed framework cannot be imported",
        ("Failed to load PyTorch C extensions:",),
        vague=True,
    ),
)
"""What only says that an import failed."""
