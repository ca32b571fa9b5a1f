"""TensorFlow."""

from __future__ import annotations

from gpudoctor.frameworks.spec import AcceptedValues, Addon, BuildFile, FrameworkSpec, Names, OnWindows, Rewritten

_BUILD_INFO = "python/platform/build_info.py"

TENSORFLOW = FrameworkSpec(
    name="tensorflow",
    title="TensorFlow",
    distributions=(
        "tensorflow", "tensorflow-gpu", "tensorflow-cpu", "tensorflow-cpu-aws", "tensorflow-aarch64", "tensorflow-rocm", "tensorflow-macos",
        "tensorflow-intel", "tensorflow-directml", "tensorflow-base", "intel-tensorflow", "intel-tensorflow-avx512", "nvidia-tensorflow",
        "tf-nightly", "tf-nightly-gpu", "tf-nightly-cpu", "tf-nightly-rocm", "tf-nightly-cpu-aws",
    ),
    parts=Names("tensorflow-*", "tf-keras*", "keras"),
    rewritten=Rewritten("keras", 3, former="tf-keras"),
    compiled=Names("tensorflow*"),
    related=Names("tensorflow*", "tf-nightly*", "tf-keras*", "keras*", "intel-tensorflow*"),
    tabled=("tensorflow", "tensorflow-cpu", "tensorflow-cpu-aws", "tensorflow-gpu", "tensorflow-macos"),
    stand_ins=Names("tensorflow-intel", "tensorflow-macos", "tensorflow-cpu-aws", "tensorflow-aarch64", "tensorflow-base"),
    addons={
        "tensorflow-addons": Addon(folder="tensorflow_addons/custom_ops"),
        "tensorflow-text": Addon(folder="tensorflow_text/python/ops"),
    },
    modules=("tensorflow", "keras"),
    version_headers=("tensorflow/include/tensorflow/core/public/release_version.h", "tensorflow/include/tensorflow/core/public/version.h"),
    build=BuildFile(
        files=(f"tensorflow/{_BUILD_INFO}", f"tensorflow_core/{_BUILD_INFO}"),  # 1.15 to 2.1 lie in tensorflow_core
        dictionary="build_info",  # since 2.3; plain names before, and no CUDA version up to 1.13
        cuda=("cuda_version", "cuda_version_number"),
        cudnn=("cudnn_version", "cudnn_version_number"),
        is_cuda="is_cuda_build",
        is_rocm="is_rocm_build",
        architectures="cuda_compute_capabilities",
    ),
    accepted_values=(
        AcceptedValues("KERAS_BACKEND", "keras/src/backend/__init__.py", r"Unable to import backend", each=r"backend\(\) == \"(\w+)\""),
        AcceptedValues(
            "PYTHONOPTIMIZE",
            "tensorflow/python/util/all_util.py",
            r"finditer\(doc_module\.__doc__\)",
            refused=r"0*([2-9]|[1-9]\d+)",
            why="it removes docstrings, which the import reads",
        ),
    ),
    gpu_extra="and-cuda",
    metal_plugin="tensorflow-metal",
    conda=("tensorflow-gpu",),
    image="tensorflow/tensorflow",
    image_tag=r"(?P<release>\d+\.\d+\.\d+(?:rc\d+)?)(?P<gpu>-gpu)?(?:-jupyter)?",
    without_cuda="tensorflow-cpu",
    vendor_image="nvcr.io/nvidia/tensorflow",
    container="https://catalog.ngc.nvidia.com/orgs/nvidia/containers/tensorflow",
    conda_names={"tensorflow": "tensorflow", "tensorflow-base": "tensorflow", "libtensorflow": "tensorflow"},
    mistaken={"tf": "tensorflow", "tensorflow-cuda": "tensorflow[and-cuda]"},
    preallocates=("TF_FORCE_GPU_ALLOW_GROWTH", "true"),
    directml=("tensorflow-directml", "tensorflow-directml-plugin"),
    chosen_by={"keras": ""},
    on_windows=OnWindows("TensorFlow 2.10 was the last release with CUDA there", "https://www.tensorflow.org/install/pip#windows-wsl2"),
    xrayed=True,
    trains=True,
    traced_checkpointing="Checkpointing is not counted for a Keras model.",
    traced_within="parameters and FLOPs are exact; activations within 3.5% of a real step",
    xla=True,
)  # fmt: skip
