"""Smoke training in TensorFlow: Keras layers, tf.function, GradientTape. Tested with 1.14 to 2.21, Keras 2 and 3.

TensorFlow 1.14 and 1.15 train eagerly too after tf.compat.v1.enable_v2_behavior().
"""

import contextlib
import inspect
import os
import sys

SETTINGS = {
    "TF_CPP_MIN_LOG_LEVEL": "0",  # only TensorFlow's log says why it ignores a GPU
    "TF_FORCE_GPU_ALLOW_GROWTH": "true",  # a limit excludes set_memory_growth; the allocator reads this variable either way
    "KERAS_BACKEND": "tensorflow",
    "KERAS_HOME": "/dev/null/keras",  # cannot exist: keras.json may select float16, and Keras would create one
    # keep float32 on the CPU, which is the reference
    "TF_SET_ONEDNN_FPMATH_MODE": None,
    "ONEDNN_DEFAULT_FPMATH_MODE": None,
    "DNNL_DEFAULT_FPMATH_MODE": None,
}


_FORMER_NAMES = {  # tf.config before 2.4
    "LogicalDeviceConfiguration": "VirtualDeviceConfiguration",
    "set_logical_device_configuration": "set_virtual_device_configuration",
}


class Config:
    """tf.config by its names since 2.4; earlier, most were in tf.config.experimental, where some still are."""

    def __init__(self, tf):
        self._places = (tf.config, tf.config.experimental)

    def __getattr__(self, name):
        for place in self._places:
            for spelling in (name, _FORMER_NAMES.get(name, name)):
                if hasattr(place, spelling):
                    return getattr(place, spelling)
        raise AttributeError(name)


def create_slots(tf, optimizer, variables):
    """Create the optimizer's variables, which Keras before 2.11 only does in the first step."""
    if hasattr(optimizer, "build"):
        optimizer.build(variables)
        return
    optimizer.apply_gradients([(tf.zeros_like(variable), variable) for variable in variables])
    optimizer.iterations.assign(0)


class Trainer:
    """The network with its fixed initial weights on one device."""

    def __init__(self, tf, task, np, logical, network, **options):
        self._tf, self._logical = tf, logical
        with tf.device(logical):
            self._model = tf.keras.Sequential(_network_layers(tf.keras.layers, task, network))
            self._model.build((None, task.SIDE, task.SIDE))
            self._model.set_weights(task.initial_weights(np, network))
            self._optimizer = tf.keras.optimizers.Adam(task.LEARNING_RATE, *task.DECAYS, epsilon=task.EPSILON)
            create_slots(tf, self._optimizer, self._model.trainable_variables)
        kept = self._optimizer.variables
        self._initial = [(each, each.numpy()) for each in [*self._model.variables, *(kept() if callable(kept) else kept)]]
        self._compiled = tf.function(self._step, autograph=False, **options)
        self._gradients, self._outputs = [], None

    def rewind(self):
        """Return to the first step without tracing a new one, which takes seconds."""
        for variable, value in self._initial:
            variable.assign(value)

    def place(self, images, labels):
        with self._tf.device(self._logical):
            return self._tf.constant(images), self._tf.constant(labels)

    def step(self, images, labels):
        with self._tf.device(self._logical):
            loss, self._gradients, self._outputs = self._compiled(images, labels)
        return loss

    def _step(self, images, labels):
        tf, variables = self._tf, self._model.trainable_variables
        with tf.device(self._logical):
            with tf.GradientTape() as tape:
                outputs = self._model(images, training=True)
                loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=outputs))
            gradients = tape.gradient(loss, variables)
            self._optimizer.apply_gradients(zip(gradients, variables))
        return loss, gradients, outputs

    def accuracy(self, images, labels):
        with self._tf.device(self._logical):
            outputs = self._model(self._tf.constant(images), training=False)
        return float((outputs.numpy().argmax(axis=1) == labels).mean())

    def weights(self):
        return self._model.get_weights()

    def places(self):
        values = (variable.value for variable in self._model.trainable_variables)
        held = [value() if callable(value) else value for value in values]  # a method in Keras 2, a tf.Variable in Keras 3
        return {
            "variables": [value.device for value in held],
            "gradients": [gradient.device for gradient in self._gradients],
            "outputs": [self._outputs.device],
        }


def _network_layers(layers, task, network):
    if network.name == "dense":
        return [layers.Flatten(), layers.Dense(task.HIDDEN, activation="tanh"), layers.Dense(task.CLASSES)]
    filters = [layers.Conv2D(shape[3], shape[:2], strides=task.STRIDE, activation="tanh") for shape in network.shapes[:-1]]
    return [layers.Reshape((task.SIDE, task.SIDE, 1)), *filters, layers.Flatten(), layers.Dense(task.CLASSES)]


class Engine:
    """TensorFlow behind the interface of stages.py."""

    name = "TensorFlow"
    oldest = (1, 14)
    cpu = "/device:CPU:0"
    settings = SETTINGS
    pins = False
    ranked = False
    compiler = "XLA"
    sums = True

    def __init__(self, task):
        self._task = task
        self.memory = {}
        self._tf = self._np = self._config = None
        self._trainers = {}
        self._cpus, self._strategy, self._compile = 1, None, None

    def load(self, facts, mark, accept):
        """Import Keras too, which TensorFlow does late: its failure is then one of import."""
        facts["legacy_keras"] = os.environ.get("TF_USE_LEGACY_KERAS") in ("1", "true", "True")
        import tensorflow as tf

        facts["built_with_cuda"] = tf.test.is_built_with_cuda()
        accept(tf.__version__)
        if hasattr(tf.sysconfig, "get_build_info"):  # since 2.3
            facts["build"] = dict(tf.sysconfig.get_build_info())
        options = inspect.signature(tf.function).parameters
        self._compile = next((name for name in ("jit_compile", "experimental_compile") if name in options), None)
        if self._compile is None:  # before 1.15
            self.compiler = None
        self.sums = hasattr(tf.distribute.MirroredStrategy, "experimental_distribute_values_from_function")  # since 2.2
        if tf.__version__.startswith("1."):
            tf.compat.v1.enable_v2_behavior()
        import numpy as np

        mark("importing Keras")
        package = tf.keras.Sequential.__module__.partition(".")[0]  # keras, or tf_keras with TF_USE_LEGACY_KERAS
        facts["keras"] = sys.modules[package].__version__
        self._tf, self._np, self._config = tf, np, Config(tf)

    def choose(self, ordinals):
        """Do nothing: listing opens no GPU."""

    def gpus(self):
        return len(self._config.list_physical_devices("GPU"))

    def describe(self):
        return [self._describe(device) for kind in ("CPU", "GPU") for device in self._config.list_physical_devices(kind)]

    def _describe(self, physical):
        """TensorFlow's description of a physical device, without opening it."""
        details = self._details(physical)
        capability = details.get("compute_capability")
        return {
            "name": physical.name.replace("/physical_device:", ""),
            "kind": physical.device_type.lower(),
            "model": details.get("device_name"),
            "compute_capability": capability and ".".join(str(part) for part in capability),
        }

    def _details(self, physical):
        """Model and compute capability, by TensorFlow's keys; nothing before 2.4."""
        ask = getattr(self._config, "get_device_details", None)
        return ask(physical) if ask else {}

    def open(self, ordinals):
        """Set memory growth up to the limit, and hide the other GPUs before any context is created."""
        config, kind = self._config, "GPU" if ordinals else "CPU"
        gpus = config.list_physical_devices("GPU")
        chosen = [gpus[ordinal] for ordinal in ordinals]
        if self._cpus > 1:
            config.set_logical_device_configuration(
                config.list_physical_devices("CPU")[0], [config.LogicalDeviceConfiguration()] * self._cpus
            )
        for ordinal, gpu in zip(ordinals, chosen):
            self._limit(gpu, self.memory.get(ordinal))
        config.set_visible_devices(chosen, "GPU")
        logical = [device.name for device in config.list_logical_devices(kind)]
        return [("{}:{}".format(kind, number), name) for number, name in zip(ordinals or range(len(logical)), logical)]

    def _limit(self, gpu, share):
        """Without a limit TensorFlow allocates all memory at once, or grows with that option."""
        config = self._config
        if share:
            config.set_logical_device_configuration(gpu, [config.LogicalDeviceConfiguration(memory_limit=share[0] >> 20)])
        else:
            config.set_memory_growth(gpu, True)

    @contextlib.contextmanager
    def full_float32(self):
        """Otherwise GPUs since Ampere round inputs to TF32. Before 2.4 there is no such switch."""
        switch = self._config
        if not hasattr(switch, "enable_tensor_float_32_execution"):
            yield
            return
        before = switch.tensor_float_32_execution_enabled()
        switch.enable_tensor_float_32_execution(False)
        try:
            yield
        finally:
            switch.enable_tensor_float_32_execution(before)

    def product(self, logical, left, right):
        with self._tf.device(logical):
            product = self._tf.matmul(self._tf.constant(left), self._tf.constant(right))
        return product.numpy(), product.device

    def trainer(self, logical, network):
        key = logical, network.name
        if key in self._trainers:
            self._trainers[key].rewind()
        else:
            self._trainers[key] = Trainer(self._tf, self._task, self._np, logical, network)
        return self._trainers[key]

    def host(self, array, _pinned):
        return array

    def upload(self, logical, host):
        with self._tf.device(logical):
            there = self._tf.constant(host)
        self.wait(there)
        return there

    def download(self, there, _pinned):
        return there.numpy()

    def doubler(self, logical, count):
        with self._tf.device(logical):
            there = self._tf.ones(count)

        def run():
            with self._tf.device(logical):
                return there * 2.0

        return run

    def multiplier(self, logical, left, right, precision):
        """GPUs since Ampere have TF32 and BF16."""
        tf, gpu = self._tf, "GPU" in logical
        modern = gpu and self._capability(logical) >= (8, 0)
        if not {"fp32": True, "tf32": modern, "bf16": modern or not gpu, "fp16": gpu}[precision]:
            return None
        kind = {"bf16": tf.bfloat16, "fp16": tf.float16}.get(precision, tf.float32)
        with tf.device(logical):
            there = [tf.cast(tf.constant(factor), kind) for factor in (left, right)]

        def run():
            with tf.device(logical), contextlib.nullcontext() if precision == "tf32" else self.full_float32():
                return tf.matmul(*there)

        return run

    def _capability(self, logical):
        shown = self._config.get_visible_devices("GPU")[int(logical.rpartition(":")[2])]
        return self._details(shown).get("compute_capability", (0, 0))

    def rows(self, product, numbers):
        with self._tf.device(product.device):
            return self._tf.cast(self._tf.gather(product, numbers), self._tf.float64).numpy()

    def wait(self, result):
        with self._tf.device(result.device):  # which executes in order
            self._tf.reshape(result, [-1])[0].numpy()

    def compiled(self, logical, network):
        return Trainer(self._tf, self._task, self._np, logical, network, **{self._compile: True})

    def spread(self, count):
        self._cpus = count

    def adders(self, logicals, arrays, count):
        values = [self.upload(logical, array) for logical, array in zip(logicals, arrays)]
        self._strategy = self._strategy or self._tf.distribute.MirroredStrategy(logicals)
        shared = self._strategy.experimental_distribute_values_from_function(lambda context: values[context.replica_id_in_sync_group])
        return [self._adder(shared, len(arrays[0])) for _ in range(count)]

    def _adder(self, shared, length):
        """A function's results may be moved to the first device; what it assigns to each device's own variable stays there."""
        tf, strategy = self._tf, self._strategy
        kind = {"synchronization": tf.VariableSynchronization.ON_READ, "aggregation": tf.VariableAggregation.NONE}
        with strategy.scope():
            sums = tf.Variable(tf.zeros(length), trainable=False, **kind)

        def add(part):
            sums.assign(tf.distribute.get_replica_context().all_reduce(tf.distribute.ReduceOp.SUM, part))

        run = tf.function(lambda: strategy.run(add, args=(shared,)), autograph=False).get_concrete_function()

        def start():
            run()
            return strategy.experimental_local_results(sums)

        return start
