"""What programs say about the variables and settings that decide which GPU they use."""

from __future__ import annotations

from gpudoctor.signatures.signature import Signature

_SET_TOO_LATE = "cuda-visible-devices-set-too-late"
_NO_EFFECT = "CUDA_VISIBLE_DEVICES has no effect, usually because the program sets it after CUDA started"

COUNTS_NO_GPU = Signature(
    r"device_count\(\)\W{0,12}(?:(?:is|was|gives?|shows?|prints?|returns?|returned)\W{1,3})?0\b",
    ("cuda-init-fails", "cuda-visible-devices-uuid-unsupported", "cuda-visible-devices-masked", "scheduler-gpu-not-allocated"),
    "the framework counts no GPU",
    ("torch.cuda.device_count() returns 0",),
    vague=True,
)
"""https://github.com/pytorch/pytorch/issues/95784"""

SETTINGS = (
    # what a launcher gives a process without a GPU: Ray sets the variable to nothing
    Signature(
        r"(?i)\bCUDA_VISIBLE_DEVICES\b['\"`\]]{0,3} {0,2}(?:(?:=|(?:is|was|being|as|to|set|becomes|contains|with|an?|the|just)\b) {0,2}){1,4}(?:empty string|nothing)\b",
        ("cuda-visible-devices-masked",),
        "CUDA_VISIBLE_DEVICES is set to nothing, which hides every GPU",
        ("in the task CUDA_VISIBLE_DEVICES= with nothing behind it", "CUDA_VISIBLE_DEVICES is an empty string"),
        vague=True,
        said=True,
    ),
    # cuCtxCreate in an exclusive mode, as people say it
    Signature(
        r"(?i)\b(?:context|device|gpu)s?\b (?:is |are |was )?(?:already |still )?(?:in use|busy|occupied)\b",
        ("exclusive-compute-mode",),
        "the GPU accepts one process and has one",
        ("it stops with an error that the context is in use",),
        vague=True,
        said=True,
        needs_support=True,
    ),
    # tensorflow/python/eager/context.py; the sentences that people write: https://github.com/pytorch/pytorch/issues/9158
    Signature(
        r"Visible devices cannot be modified after being initialized",
        (_SET_TOO_LATE,),
        "the visible devices were set after the framework had initialised the GPU",
        ("RuntimeError: Visible devices cannot be modified after being initialized",),
    ),
    Signature(
        r"(?i)(?<!nv_)CUDA_VISIBLE_DEVICES?\b[^\n]{0,120}(?:\b(?:no effect|nothing\b|nor have (?:any|an) effect|without (?:any )?effect|not (?:working|work|respected|captured|effective|honou?red|taking effect|take effect|recogni[sz]ed|have (?:any|an) effect|change anything)|ignored|invalid\b(?! literal| device)|unavail\w{0,4}ble|unavailable)|n't (?:work|take effect|respected|have (?:any|an) effect|change anything))"
        r"|CUDA_VISIBLE_DEVICES?\b[^\n]{0,120}\b(?:set|setting|changed|assigned|defined|modified) (?:\w{1,20} ){0,3}after\b|(?:setting|set|chang\w{1,3}|ignor\w{1,4}) [^\n]{0,60}\bCUDA_VISIBLE_DEVICES?\b[^\n]{0,60}\bafter\b(?! program start)"
        r"|\bignor\w{1,4} [^\n]{0,30}CUDA_VISIBLE_DEVICES|\[['\"]CUDA_VISIBLE_DEVICES['\"]\][^\n]{0,160}\b(?:always (?:use|select)|still (?:use|run|select))",
        (_SET_TOO_LATE,),
        _NO_EFFECT,
        (
            "os.environ['CUDA_VISIBLE_DEVICES'] has no effect",
            "CUDA_VISIBLE_DEVICES is set after importing torch",
            "torch ignores CUDA_VISIBLE_DEVICES",
        ),
        vague=True,
    ),
    Signature(
        r"(?i)\b(?:always|still|only|keeps?) (?:us(?:e|es|ed|ing)\b|(?:select|run|train|pick|load)\w{0,3}) (?:on |in |with )?(?:the )?(?:first gpu|gpu[ :]{0,2}0|cuda ?: ?0|device 0|same gpu|all (?:the )?gpus)"
        r"|\b(?:lands?|landed|ends? up|ended up|is placed|goes|went|sits) (?:on|to|onto) (?:the )?(?:first gpu|gpu ?:? ?0|cuda ?: ?0)|\b(?:run|use|train|work)\w{0,3} only on (?:the )?(?:first gpu|gpu ?:? ?0|cuda ?: ?0)|\b(?:runs?|uses?|occup(?:y|ies)) (?:on )?all (?:the |(?:two|three|four|six|eight|\d) )?gpus\b|\ball (?:the |(?:two|three|four|six|eight|\d) )?gpus are (?:used|occupied|seen|visible)\b",
        (_SET_TOO_LATE, "cuda-visible-devices-masked"),
        "the program uses another GPU than CUDA_VISIBLE_DEVICES names",
        ("the code always uses cuda:0", "all processes run only on gpu:0"),
        vague=True,
        needs_support=True,
    ),
    # Python's int() on an entry of CUDA_VISIBLE_DEVICES: https://github.com/vllm-project/vllm/issues/13815
    Signature(
        r"invalid literal for int\(\) with base 10: '(?:MIG|GPU)-|CUDA_VISIBLE_DEVICES[^\n]{0,60}\b(?:must|should|to) be (?:a )?(?:comma-separated |list of )?(?:integers?|ints?|numbers?)\b",
        ("cuda-visible-devices-uuid-unsupported",),
        "a program reads CUDA_VISIBLE_DEVICES as numbers, and it holds UUIDs",
        ("ValueError: invalid literal for int() with base 10: 'MIG-",),
    ),
    # std::stoi, ast.literal_eval and float() on such an entry
    Signature(
        r"\bwhat\(\):\s{1,4}sto(?:i|l|ul|ll)\b|SyntaxError: invalid (?:decimal literal|token|syntax)|could not convert string to float: '(?:MIG|GPU)-|ValueError: malformed node or string",
        ("cuda-visible-devices-uuid-unsupported",),
        "a program reads CUDA_VISIBLE_DEVICES as numbers, and it holds UUIDs",
        ("  what():  stoi",),
        vague=True,
        needs_support=True,
    ),
    # what Slurm sets for a job without a GPU: https://slurm.schedmd.com/gres.html
    Signature(
        r"invalid literal for int\(\) with base 10: 'NoDevFiles'",
        ("scheduler-gpu-not-allocated",),
        "the job was given no GPU",
        ("ValueError: invalid literal for int() with base 10: 'NoDevFiles'",),
    ),
    Signature(
        r"CUDA_VISIBLE_DEVICES['\"\]]{0,2}\s?=\s?(?:['\"]?-1['\"]?(?![\d.,])|(?:''|\"\")\s{0,4}(?:$|;|#| python))",
        ("cuda-visible-devices-masked",),
        "CUDA_VISIBLE_DEVICES hides every GPU",
        ("os.environ['CUDA_VISIBLE_DEVICES'] = '-1'",),
        vague=True,
        said=True,
    ),
    Signature(
        r"(?i)CUDA_VISIBLE_DEVICES ?= ?['\"]?[\w,-]{1,40}['\"`]{0,2} (?:\w{1,12} ){0,2}(?:disables?|hides?|turns? off)\b",
        ("cuda-visible-devices-masked",),
        "CUDA_VISIBLE_DEVICES hides the GPU",
        ("CUDA_VISIBLE_DEVICES=1 disables CUDA",),
        vague=True,
        said=True,
    ),
    # xla/stream_executor and TensorFlow's gpu_device.cc
    Signature(
        r"FAILED_PRECONDITION: No visible GPU devices|\bNo visible GPU devices\b",
        ("cuda-visible-devices-masked", "no-gpu", "no-driver", "scheduler-gpu-not-allocated", "container-no-gpu-access"),
        "no GPU is visible to the framework",
        ("FAILED_PRECONDITION: No visible GPU devices.",),
        vague=True,
        last=True,
    ),
    COUNTS_NO_GPU,
    # torch/cuda/__init__.py and torch/nn/parallel of 0.4 to 2.15, TensorFlow's config.py
    Signature(
        r"AssertionError: Invalid device id|Attempting to deserialize object on CUDA device \d{1,2} but torch\.cuda\.device_count\(\) is|Invalid visible device id|'visible_device_list' listed an invalid (?:GPU|Device) id",
        ("cuda-visible-devices-masked",),
        "the program names a GPU that this process does not see",
        (
            "AssertionError: Invalid device id",
            "RuntimeError: Attempting to deserialize object on CUDA device 2 but torch.cuda.device_count() is 1.",
            "'visible_device_list' listed an invalid GPU id '1' but visible device count is 1",
        ),
    ),
    # aten/src/ATen/cuda/CUDAContext.cpp: https://github.com/pytorch/pytorch/issues/130181
    Signature(
        r"device >= 0 && device < num_gpus",
        ("cuda-visible-devices-masked", "mig-one-instance-per-process"),
        "PyTorch was asked for a GPU that CUDA does not show it",
        ("device >= 0 && device < num_gpus INTERNAL ASSERT FAILED",),
    ),
    # https://docs.nvidia.com/datacenter/tesla/mig-user-guide/
    Signature(
        r"(?i)\bMIG\b[^\n]{0,100}\b(?:only|just) (?:one|1|a single|the first) (?:gpu|device|instance|slice)|\bmultiple MIG (?:devices|instances|slices|CIs|GIs)\b"
        r"|\b(?:count\w{0,3}|always|only|still) (?:returns?|is|reports?|gives?|shows?) (?:1|one)\b[^\n.]{0,60}\bMIG\b|\bMIG\b[^\n.]{0,60}\b(?:count|always|only|still) (?:returns?|is|reports?|gives?|shows?) (?:1|one)\b"
        r"|\b(?:only|just) (?:one|1|a single) (?:gpu|device|instance)s?\b[^\n]{0,60}\bMIG\b",
        ("mig-one-instance-per-process",),
        "a CUDA process sees one MIG instance, however many there are",
        (
            "with MIG, PyTorch sees only one device",
            "the device count always returns 1 on a GPU in MIG mode",
            "torch.cuda.device_count() shows only one GPU with MIG",
        ),
        vague=True,
    ),
    Signature(
        r"device_count\(\)\W{0,12}(?:returns?\W{1,3})?1\b",
        ("mig-one-instance-per-process",),
        "a CUDA process sees one MIG instance, however many there are",
        ("torch.cuda.device_count(): 1",),
        vague=True,
        needs_support=True,
    ),
    Signature(
        r"No MIG(?:-enabled)? devices found|No (?:GPU|compute) instances found|(?i:\bMIG\b[^\n]{0,60}\b(?:enabled|on)\b[^\n]{0,60}\bno (?:gpu |mig )?(?:instances?|devices?))"
        # gpu-feature-discovery, whose strategy "single" wants instances of one size on every GPU
        r"|-MIG-INVALID\b",
        ("mig-no-instances",),
        "MIG is on and no instance exists",
        ("|  No MIG devices found                                                                |", "No GPU instances found: Not Found"),
        vague=True,
    ),
    # jax/_src/xla_bridge.py raises this, instead of going on with another platform, only for one that a setting names; "gpu" stands for cuda and rocm
    Signature(
        r"RuntimeError: Unable to initialize backend '(?:rocm|tpu|METAL|iree\w{0,8}|xpu)'|Unable to initialize backend '(?:rocm|tpu|METAL|xpu)'[^\n]{0,300}set JAX_PLATFORMS='' to automatically",
        ("env-hides-gpu",),
        "a setting names a platform that JAX cannot start here",
        ("RuntimeError: Unable to initialize backend 'rocm': module 'jaxlib.xla_extension' has no attribute 'GpuAllocatorConfig'",),
        cure="Set JAX_PLATFORMS=cuda, or unset it and do not set jax_platforms in the program.",
    ),
    # accelerate's configuration, transformers' TrainingArguments, JAX
    Signature(
        r"(?i)\b(?:use_cpu|no_cuda)\b\W{1,5}true\b|\bJAX_PLATFORMS?\W{1,5}cpu\b(?! to skip)|\bJAX_PLATFORM_NAME\W{1,5}cpu\b",
        ("env-hides-gpu",),
        "a setting makes the framework use the CPU",
        ("- use_cpu: True", "JAX_PLATFORMS=cpu"),
        vague=True,
    ),
    # options of the programs themselves: AUTOMATIC1111, Forge and Fooocus; ComfyUI's comfy/cli_args.py
    Signature(
        r"(?<![\w\[-])--(?:use|always|force)-cpu\b(?!-)|\bmain\.py\b[^\n\[]{0,80} --cpu\b",
        ("env-hides-gpu",),
        "an option makes the program use the CPU",
        ("set COMMANDLINE_ARGS=--use-cpu all --no-half",),
        vague=True,
        said=True,
        needs_support=True,
        cure="Start the program without the option that makes it use the CPU.",
    ),
)
