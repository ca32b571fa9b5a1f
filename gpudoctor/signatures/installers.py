"""What pip, uv, conda and poetry say when a package cannot be installed, or packages do not fit each other."""

from __future__ import annotations

from gpudoctor.signatures.signature import Signature

_PYTHON, _PLATFORM = "python-version-unsupported", "no-cuda-wheel-for-platform"

INSTALLERS = (
    # tensorflow-gpu has wheels for Linux and Windows only, by its files on the index
    Signature(
        r"(?i)\b(?:mac(?:s|os|book\w{0,4})?|os ?x|apple silicon)\b[^\n]{0,160}\btensorflow[-_]gpu\b|\btensorflow[-_]gpu\b[^\n]{0,60}\b(?:on|for|in) (?:the |my |an? )?(?:mac(?:s|os|book\w{0,4})?|os ?x|apple silicon)\b",
        (_PLATFORM,),
        "there is no tensorflow-gpu for macOS",
        ("on my mac pip finds no tensorflow-gpu",),
        vague=True,
        said=True,
    ),
    # uv 0.1 to 0.13, crates/uv-distribution-types and uv-resolver; pip 9 to 26.3, exceptions and resolution; poetry-core
    Signature(
        r"You require C?Python 3\.\d{1,2}[^\n]{0,40}but we only found wheels|current Python version \([\d.]{3,9}\) does not satisfy Python"
        r"|requires a different Python: ?[23]\.|incompatible with the existing python installation in your environment|The current project's (?:supported )?Python requirement \([^)\n]{1,60}\) is not compatible with",
        (_PYTHON,),
        "no wheel of that release is published for this Python",
        (
            "hint: You require CPython 3.13 (`cp313`), but we only found wheels for `tensorflow` (v2.15.0)",
            "Because the current Python version (3.8.18) does not satisfy Python>=3.10",
            "ERROR: Package 'jax' requires a different Python: 3.8.18 not in '>=3.10'",
        ),
    ),
    # torch/__init__.py and torch/_dynamo/eval_frame.py of 2.0 to 2.9
    Signature(
        r"(?:Dynamo|torch\.compile) (?:is )?not (?:yet )?supported on Python 3\.\d{1,2}|Python 3\.\d{1,2}\+? not yet supported for torch\.compile",
        (_PYTHON,),
        "this release of PyTorch cannot compile on this Python",
        ("RuntimeError: Dynamo is not supported on Python 3.12+", "RuntimeError: torch.compile is not supported on Python 3.14+"),
    ),
    # setup.py of tensorflow-gpu 2.12
    Signature(
        r"\"tensorflow-gpu\" package has been removed|tensorflow-gpu has been removed",
        ("package-not-installable",),
        "tensorflow-gpu is an empty package: tensorflow replaces it",
        ('The "tensorflow-gpu" package has been removed!',),
    ),
    # its setup.py, which packaging 22 and later refuses
    Signature(
        r"tensorflow-gpu-2\.1[0-2]\.\d{1,2}\.tar\.gz|^\W{0,8}python_version>\"3\.7\"$",
        ("package-not-installable",),
        "tensorflow-gpu is an empty package: tensorflow replaces it",
        ("  Downloading tensorflow-gpu-2.12.0.tar.gz (2.6 kB)",),
        vague=True,
    ),
    Signature(
        r"THESE PACKAGES DO NOT MATCH THE HASHES|Hash mismatch for `",
        ("package-not-installable",),
        "a downloaded file is not the one that the requirements name: its hash differs",
        ("ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE.", "Hash mismatch for `torch==2.5.1`"),
    ),
    Signature(
        r"Ignored the following versions that require a different python"
        r"|has no wheels (?:are available )?with a matching Python (?:ABI|version|implementation)|no wheels are available with a matching Python|DEBUG No compatible version found for: ",
        (_PYTHON, "package-not-installable"),
        "no wheel of that release is published for this Python",
        (
            "torch==2.3.0 has no wheels with a matching Python ABI tag",
            "ERROR: Ignored the following versions that require a different python version",
        ),
    ),
    Signature(
        r"no wheels (?:are available )?with a matching platform|-compatible wheels and only the following versions|Wheels are available for `[^`\n]{1,80}` \([^)\n]{1,40}\) on the following platform"
        r"|only has wheels for the following platform|doesn't have a source distribution or wheel for the current platform",
        ("package-not-installable", _PLATFORM, "glibc-too-old"),
        "no wheel of that release is published for this platform",
        (
            "Because torch==2.3.0 has no wheels with a matching platform tag (e.g., `manylinux_2_36_x86_64`)",
            "error: Distribution `torch==2.6.0 @ registry` can't be installed because it doesn't have a source distribution or wheel for the current platform",
        ),
    ),
    Signature(
        r"ResolutionImpossible|because these package versions have conflicting dependencies|^\W{0,8}(?:The conflict is caused by:|The user requested [\w.-]{2,60}[=<>~!])"
        r"|[Bb]ecause \S{1,80} depends on [^\n]{1,200} we can conclude that (?:your requirements|the requirements|\S{1,80}) and \S{1,80} are incompatible"
        r"|\bversion solving failed\b|depends on both \S{1,80} \([^)\n]{1,40}\) and \S{1,80} \([^)\n]{1,40}\), version solving failed",
        ("package-requirement-conflict",),
        "the requested packages exclude each other's versions",
        (
            "ERROR: Cannot install torch==2.3.0 and torchvision==0.17.0 because these package versions have conflicting dependencies.",
            "ERROR: ResolutionImpossible: for help visit https://pip.pypa.io/",
        ),
    ),
    Signature(
        r"there (?:is|are) no versions? of \S{1,80}(?: and|,)|was found on \S{1,200}, but not at the requested version|was not found in the package registry|(?:Resolve)?Packages?NotFound(?:Error)?\b|[Nn]othing provides requested",
        ("package-not-installable", _PYTHON),
        "that release does not exist on the index or channel",
        (
            "Because there is no version of torch==2.3.9 and you require torch==2.3.9",
            "PackagesNotFoundError: The following packages are not available from current channels",
            "PackageNotFoundError: Package missing in current linux-64 channels:",
            "ResolvePackageNotFound:",
        ),
    ),
    # conda's virtual packages: https://docs.conda.io/projects/conda/en/stable/user-guide/tasks/manage-virtual.html
    Signature(
        r"nothing provides __glibc|__glibc[^\n]{0,60}missing on the system",
        ("glibc-too-old",),
        "the system's glibc is older than the package needs",
        ("nothing provides __glibc >=2.28 needed by pytorch",),
    ),
    Signature(
        r"nothing provides __cuda\b|requires? __cuda\b|__cuda\b[^\n]{0,60}missing on the system",
        ("no-driver", "driver-too-old", "conda-cuda-override-wrong"),
        "conda sees no driver for this CUDA version",
        ("nothing provides __cuda needed by pytorch-2.4.1",),
    ),
    # mamba 0.1 to 1: the driver serves an older CUDA than the package needs
    Signature(
        r"has constraint __cuda\b[^\n]{0,40}conflicting with __cuda-\d",
        ("driver-too-old", "conda-cuda-override-wrong"),
        "the package needs a newer CUDA than the driver serves",
        ("package cudatoolkit-11.3.1-ha36c431_9 has constraint __cuda >=11.3 conflicting with __cuda-11.1-0",),
    ),
    # conda 4 to 24 (libmamba too)
    Signature(
        r"UnsatisfiableError|LibMambaUnsatisfiableError|Could not solve for environment specs|The following specifications were found to be incompatible"
        r"|specifications were found\b.{0,80}to be incompatible|[Pp]ackage \S{1,80} requires \S{1,80}[^\n]{0,80}but none of the providers can be installed",
        ("package-requirement-conflict", _PYTHON),
        "conda finds no set of packages that fit each other",
        (
            "LibMambaUnsatisfiableError: Encountered problems while solving:",
            "Could not solve for environment specs",
            "UnsatisfiableError: The following specifications were found to be incompatible with each other:",
        ),
    ),
    # a version begins with a digit: https://packaging.python.org/en/latest/specifications/version-specifiers/
    Signature(
        r"(?:requirement|distribution found for) [A-Za-z][\w.-]{0,60}={2,3}[A-Za-z]",
        ("package-not-installable",),
        "what stands after == is not a version",
        ("ERROR: Could not find a version that satisfies the requirement keras==latest",),
    ),
    Signature(
        # modules/launch_utils.py of stable-diffusion-webui, which shows the command that failed
        r"\bCommand: [^\n]{0,200} -m pip install torch==\d|No matching distribution found for|[Cc]ould not find a(?: version|ny downloads) that satisf(?:ies|y) the requirement|No distributions at all found for|is not a supported wheel (?:on|for) this platform",
        (_PYTHON, "package-not-installable", "glibc-too-old", _PLATFORM),
        "the index has no wheel that fits the requirement",
        (
            "ERROR: Could not find a version that satisfies the requirement torch==1.13.1",
            "is not a supported wheel on this platform",
            "ERROR: No matching distribution found for torch==2.3.0",
        ),
    ),
    # as people say it
    Signature(
        r"(?i)\b(?:not|n't|cannot|unable to|fails? to|how to)\b[^\n]{0,24}\binstall(?:s|ing)?\b[^\n]{0,60}\b(?:torch|pytorch|tensorflow|onnxruntime|jax|cupy)\b"
        r"|\b(?:torch|pytorch|tensorflow|onnxruntime|jax|cupy)\b[^\n]{0,60}(?:\b(?:not|cannot|unable to|fails? to)\b|n't)[^\n]{0,16}\b(?:install(?:s|ing)?|be installed)\b",
        ("jetson-needs-vendor-wheel",),
        "the index has no build of the framework for this Jetson",
        ("pip3 install onnxruntime-gpu does not install",),
        vague=True,
        needs_support=True,
        last=True,
    ),
    Signature(
        r"\brequires nvidia-[\w-]{3,40}[<>=!~][^\n]{0,120}, but you have nvidia-",
        ("nvidia-wheel-version-conflict",),
        "a package of NVIDIA's is outside the bounds of the framework",
        ("torch 2.5.1 requires nvidia-cudnn-cu12==9.1.0.70, but you have nvidia-cudnn-cu12 9.5.1.17 which is incompatible.",),
    ),
    Signature(
        r"^ERROR: \S{1,80} \S{1,40} has requirement \S{1,80}, but you(?:'ll)? have"
        r"|\brequires [\w.-]{1,60}(?:\[\w{1,20}\])?[<>=!~][^\n]{0,80}, (?:but you have|which is not installed)",
        ("package-requirement-conflict",),
        "an installed package is outside the bounds of another",
        ("torchvision 0.17.0 requires torch==2.2.0, but you have torch 2.3.0 which is incompatible.",),
        vague=True,
        about_packages=True,
    ),
    Signature(
        r"pip's dependency resolver does not currently take into account",
        ("package-requirement-conflict", "nvidia-wheel-version-conflict"),
        "an installed package is outside the bounds of another",
        ("ERROR: pip's dependency resolver does not currently take into account all the packages that are installed",),
        vague=True,
        about_packages=True,
    ),
)
