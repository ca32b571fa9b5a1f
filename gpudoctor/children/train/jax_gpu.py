"""Has JAX code that asks for a GPU run as if one were there: it gets the CPU, on which it is only traced."""

GPUS = ("gpu", "cuda")
CHOSEN = ("jax_platforms", "jax_platform_name")
"""What a builder may set, and the CPU alone is left."""


def prepare(jax):
    """Answer for GPUs in this process from now on, whatever platform variables say."""
    from jax._src import xla_bridge

    backend, update = xla_bridge.get_backend, jax.config.update
    update(CHOSEN[0], "cpu")
    xla_bridge.get_backend = lambda platform=None: backend("cpu" if platform in GPUS else platform)
    jax.config.update = lambda name, value: None if name in CHOSEN else update(name, value)
    jax.default_backend = lambda: "gpu"
