"""Smoke training in JAX: pure functions, value_and_grad, jit. Tested from 0.4.30 on; attempted from 0.4.14 on."""

import contextlib
import functools
import os

SETTINGS = {
    "XLA_PYTHON_CLIENT_PREALLOCATE": "false",  # otherwise JAX allocates three quarters of the GPU's memory
    "XLA_CLIENT_MEM_FRACTION": None,  # newer JAX refuses to start with both this and its older name, which all know
    "XLA_PYTHON_CLIENT_MEM_FRACTION": None,
    "JAX_DEFAULT_MATMUL_PRECISION": None,
    "JAX_ENABLE_X64": None,
    "JAX_DISABLE_JIT": None,
    "JAX_DEBUG_NANS": None,
}


class Trainer:
    """A network with its fixed initial weights on one device."""

    def __init__(self, engine, jax, initial, device, functions):
        self._engine, self._jax, self._device = engine, jax, device
        self._weights = jax.device_put(initial, device)
        zeros = jax.tree_util.tree_map(lambda weight: weight * 0, initial)
        self._moments = jax.device_put((zeros, zeros), device)
        self._count = 0
        self._step, self._forward = functions
        self._outputs, self._gradients = None, None

    def place(self, images, labels):
        return self._jax.device_put((images, labels), self._device)

    def step(self, images, labels):
        self._count += 1
        state = (self._weights, self._moments, float(self._count))
        loss, self._weights, self._moments, self._gradients, self._outputs = self._step(state, (images, labels))
        return loss

    def accuracy(self, images, labels):
        outputs = self._forward(self._weights, self._jax.device_put(images, self._device))
        return float((outputs.argmax(axis=1) == labels).mean())

    def weights(self):
        return list(self._jax.device_get(self._weights))

    def places(self):
        parts = {"variables": self._weights, "gradients": self._gradients, "outputs": self._outputs}
        return {name: self._engine.places(tree) for name, tree in parts.items()}


def _network_output(jax, task, weights, images):
    """A network's output; a four-dimensional kernel is a convolution's."""
    hidden = images.reshape(-1, task.SIDE, task.SIDE, 1)
    strides, axes = (task.STRIDE, task.STRIDE), ("NHWC", "HWIO", "NHWC")
    *inner, last = list(zip(weights[::2], weights[1::2]))
    for kernel, bias in inner:
        if kernel.ndim == 4:
            hidden = jax.lax.conv_general_dilated(hidden, kernel, strides, "VALID", dimension_numbers=axes)
        else:
            hidden = hidden.reshape(len(hidden), -1) @ kernel
        hidden = jax.numpy.tanh(hidden + bias)
    return hidden.reshape(len(hidden), -1) @ last[0] + last[1]


def _adam_step(jax, task, state, batch):
    """One step of Adam; JAX itself has no optimiser."""
    (weights, moments, count), (images, labels) = state, batch

    def loss_of(weights):
        outputs = _network_output(jax, task, weights, images)
        logs = jax.nn.log_softmax(outputs)
        return -jax.numpy.take_along_axis(logs, labels[:, None], axis=1).mean(), outputs

    (loss, outputs), gradients = jax.value_and_grad(loss_of, has_aux=True)(weights)
    first, second = task.DECAYS
    means = [first * mean + (1 - first) * gradient for mean, gradient in zip(moments[0], gradients)]
    squares = [second * square + (1 - second) * gradient**2 for square, gradient in zip(moments[1], gradients)]
    rate = task.LEARNING_RATE / (1 - first**count)
    roots = [jax.numpy.sqrt(square / (1 - second**count)) for square in squares]
    moved = [weight - rate * mean / (root + task.EPSILON) for weight, mean, root in zip(weights, means, roots)]
    return loss, moved, (means, squares), gradients, outputs


def _shard_map(jax):
    """Its name since 0.6, or the earlier one."""
    with contextlib.suppress(AttributeError):
        return jax.shard_map
    from jax.experimental.shard_map import shard_map

    return shard_map


class Engine:
    """JAX behind the interface of stages.py; a logical name is a device."""

    name = "JAX"
    oldest = (0, 4, 14)
    cpu = "CPU:0"
    settings = SETTINGS
    pins = False
    ranked = False
    compiler = "XLA"

    def __init__(self, task):
        self._task = task
        self.memory = {}
        self._jax = self._np = None
        self._devices = {}
        self._step = self._forward = None

    def load(self, facts, mark, accept):
        if self.memory:  # one share for all devices
            shares = [limit / total for limit, total in self.memory.values()]
            os.environ["XLA_PYTHON_CLIENT_MEM_FRACTION"] = "{:.4f}".format(min(shares))
        import jax

        accept(jax.__version__)
        mark("importing its library")
        import jaxlib
        import numpy as np

        facts["build"] = {"jaxlib": jaxlib.__version__}
        facts["platforms"] = os.environ.get("JAX_PLATFORMS") or os.environ.get("JAX_PLATFORM_NAME")
        self._jax, self._np = jax, np
        self._step, self._forward = (jax.jit(functools.partial(body, jax, self._task)) for body in (_adam_step, _network_output))

    def choose(self, ordinals):
        """JAX opens every device that it lists, so the others are hidden first; naming the platform makes it say why it is unavailable."""
        if not os.environ.get("JAX_PLATFORMS"):
            self._jax.config.update("jax_platforms", "cuda,cpu" if ordinals else "cpu")
        if ordinals:
            self._jax.config.update("jax_cuda_visible_devices", ",".join(str(ordinal) for ordinal in ordinals))
        self._devices = {"CPU:{}".format(device.id): device for device in self._jax.devices("cpu")}
        gpus = sorted(self._jax.devices("cuda"), key=lambda device: device.id) if ordinals else []
        self._devices.update(("GPU:{}".format(ordinal), device) for ordinal, device in zip(sorted(ordinals), gpus))

    def gpus(self):
        """The ordinals up to the highest visible one."""
        return 1 + max([int(name[4:]) for name in self._devices if name.startswith("GPU:")], default=-1)

    def describe(self):
        return [self._describe(name, device) for name, device in sorted(self._devices.items())]

    def _describe(self, name, device):
        kind = name[:3].lower()
        capability = getattr(device, "compute_capability", None)
        return {"name": name, "kind": kind, "model": device.device_kind if kind == "gpu" else None, "compute_capability": capability}

    def open(self, ordinals):
        names = ["GPU:{}".format(ordinal) for ordinal in ordinals] or [name for name in sorted(self._devices) if name.startswith("CPU:")]
        return [(name, name) for name in names if name in self._devices]

    def full_float32(self):
        """Otherwise matmul on GPUs since Ampere rounds its inputs to TF32; on the CPU this would compile everything again."""
        return self._jax.default_matmul_precision("highest") if self.gpus() else contextlib.nullcontext()

    def product(self, logical, left, right):
        device = self._devices[logical]
        product = self._jax.numpy.matmul(self._jax.device_put(left, device), self._jax.device_put(right, device))
        return self._np.asarray(product), ",".join(self.places(product))

    def places(self, tree):
        """Where the arrays of a tree are, in our names for devices."""
        names = {device: name for name, device in self._devices.items()}
        return [names.get(device, str(device)) for array in self._jax.tree_util.tree_leaves(tree) for device in array.devices()]

    def trainer(self, logical, network):
        initial = self._task.initial_weights(self._np, network)
        return Trainer(self, self._jax, initial, self._devices[logical], (self._step, self._forward))

    def host(self, array, _pinned):
        return array

    def upload(self, logical, host):
        return self._jax.device_put(host, self._devices[logical]).block_until_ready()

    def download(self, there, _pinned):
        return self._np.asarray(there + 0)  # an array caches its first copy

    def doubler(self, logical, count):
        there = self._jax.device_put(self._np.ones(count, self._np.float32), self._devices[logical])
        double = self._jax.jit(lambda array: array * 2)
        return lambda: double(there)

    def multiplier(self, logical, left, right, precision):
        """GPUs since Ampere have TF32 and BF16."""
        device, jnp = self._devices[logical], self._jax.numpy
        gpu = logical.startswith("GPU")
        modern = gpu and float(device.compute_capability) >= 8
        if not {"fp32": True, "tf32": modern, "bf16": modern or not gpu, "fp16": gpu}[precision]:
            return None
        kind = {"bf16": jnp.bfloat16, "fp16": jnp.float16}.get(precision, jnp.float32)
        there = [self._jax.device_put(factor, device).astype(kind) for factor in (left, right)]
        multiply = self._jax.jit(functools.partial(jnp.matmul, precision="tensorfloat32" if precision == "tf32" else "highest"))
        return lambda: multiply(*there)

    def rows(self, product, numbers):
        return self._np.asarray(product[self._np.array(numbers)]).astype(self._np.float64)

    def wait(self, result):
        result.block_until_ready()

    def compiled(self, logical, network):
        step = self._jax.jit(functools.partial(_adam_step, self._jax, self._task))
        initial = self._task.initial_weights(self._np, network)
        return Trainer(self, self._jax, initial, self._devices[logical], (step, self._forward))

    def spread(self, count):
        flags = os.environ.get("XLA_FLAGS", "")
        os.environ["XLA_FLAGS"] = "{} --xla_force_host_platform_device_count={}".format(flags, count)

    def adders(self, logicals, arrays, count):
        """Each device holds its part of one array; the sum over the parts is computed in place."""
        jax, devices = self._jax, [self._devices[logical] for logical in logicals]
        mesh, split = jax.sharding.Mesh(self._np.array(devices), ("devices",)), jax.sharding.PartitionSpec("devices")
        add = jax.jit(_shard_map(jax)(lambda part: jax.lax.psum(part, "devices"), mesh=mesh, in_specs=split, out_specs=split))
        parts = [jax.device_put(array, device) for array, device in zip(arrays, devices)]
        shape, sharding = (sum(map(len, arrays)),), jax.sharding.NamedSharding(mesh, split)
        whole = jax.make_array_from_single_device_arrays(shape, sharding, parts)

        def start():
            held = {shard.device: shard.data for shard in add(whole).addressable_shards}
            return [held[device] for device in devices]

        return [start] * count
