"""JAX, which is pure Python; its compiled code is in jaxlib and, for CUDA, in a plugin."""

from __future__ import annotations

from gpudoctor.frameworks.spec import AcceptedValues, CudaPlugin, FrameworkSpec, HidingVariable, MemoryPool, Names, OnWindows

_VERSION = ("_release_version", "_version", "__version__")
_GPU = ("cuda", "gpu")

JAX = FrameworkSpec(
    name="jax",
    title="JAX",
    vendor_image="nvcr.io/nvidia/jax",
    distributions=("jax",),
    parts=Names("jaxlib*", "jax-cuda*"),
    compiled=Names("jaxlib*", "jax-cuda*"),
    related=Names("jax*"),
    tabled=("jax", "jaxlib", "jax-cuda12-plugin", "jax-cuda12-pjrt", "jax-cuda13-plugin", "jax-cuda13-pjrt"),
    modules=("jax", "jaxlib"),
    version_files={"jax": ("jax/version.py", _VERSION), "jaxlib": ("jaxlib/version.py", _VERSION)},
    plugin=CudaPlugin(beginning="jax-cuda", plugin="-plugin", client="-pjrt", extra="cuda", majors=("13", "12"), library="jaxlib"),
    metal_plugin="jax-metal",
    conda=("jax", "jaxlib=*=*cuda*"),
    conda_names={"jax": "jax", "jaxlib": "jaxlib"},
    chosen_by={"keras": "KERAS_BACKEND=jax"},
    hidden_by=(HidingVariable("JAX_PLATFORMS", devices=_GPU), HidingVariable("JAX_PLATFORM_NAME", devices=_GPU)),
    accepted_values=(
        AcceptedValues(
            r"JAX_\w+",
            "jax/_src/config.py",
            r"= (?:define_)?bool_state\(\s*name='(NAME)'",
            values=("y", "yes", "t", "true", "on", "1", "n", "no", "f", "false", "off", "0"),
            any_case=True,
        ),
        AcceptedValues(
            r"JAX_\w+", "jax/_src/config.py", r"= (?:define_)?(?:optional_)?enum_state\(\s*name='NAME',\s*enum_values=\[([^\]]*)\]"
        ),
    ),
    preallocates=("XLA_PYTHON_CLIENT_PREALLOCATE", "false"),
    # https://docs.jax.dev/en/latest/gpu_memory_allocation.html, and generate_pjrt_gpu_plugin_options in jaxlib/xla_client.py
    pool=MemoryPool(0.75, ("XLA_CLIENT_MEM_FRACTION", "XLA_PYTHON_CLIENT_MEM_FRACTION"), ("XLA_PYTHON_CLIENT_ALLOCATOR", "platform")),
    on_windows=OnWindows("JAX publishes its CUDA plugin for Linux only", "https://docs.jax.dev/en/latest/installation.html"),
    xrayed=True,
    trains=True,
    traced_checkpointing="Checkpointing is counted where the builder uses jax.checkpoint or keras.RematScope; --checkpointing adds none.",
    traced_within="parameters and FLOPs are exact; activations within 0.3% of what autodiff saves; workspace as XLA allocates it on the CPU",
    xla=True,
    # by _cuda_path in jax/_src/lib/__init__.py
    xla_folders=("jaxlib/cuda", "nvidia/cu13", "nvidia/cuda_nvcc"),
)
