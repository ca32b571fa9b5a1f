"""Trains a small network with this interpreter's TensorFlow and says where each step ran and what came out; judges nothing.

    PYTHON tensorflow_smoke.py --answer-fd N --devices 0,1|cpu [--short 1]

`--devices` are indices into TensorFlow's list of physical GPUs, or cpu. The first is trained on at full length and the others shortly, or those
named by `--short` are. No other GPU is made visible to TensorFlow, so a busy card gets no context. TensorFlow 2.12 to 2.21 with Keras 2 and 3 are tested;
from 2.4 on it is tried. Nothing is downloaded or written. Exit status: 0 all was run, 1 a stage failed, 2 usage.

On descriptor N (protocol.py), `device` is the physical device ("GPU:1") and `logical` what TensorFlow calls it since others were hidden ("/device:GPU:0"):

    {"event": "begin", "stage": S[, "device"]}
    {"event": "end", "stage": S, "seconds"[, "device"], ...facts}
    {"event": "failed", "stage": S, "seconds"[, "device"], "error_type", "error", ...facts learnt before}
    {"event": "kernel", "device", "logical", "ran_on", "error", "tolerance"}
    {"event": "number", "name": "loss", "device", "step", "steps", "value"}       the mean of ten steps' losses
    {"event": "training", "device", "logical", "short", "losses", "accuracy", "expected_accuracy", "steps", "samples", "seconds",
        "first_step_seconds", "samples_per_second", "peak_memory_bytes", "placement": {"variables", "gradients", "outputs"}}
    {"event": "agreement", "device", "reference": "CPU", "steps", "max_loss_difference", "loss_tolerance", "max_weight_difference", "weight_tolerance"}
    {"event": "done"}                                                              last, and only if no stage failed

Stages and their facts: import (version, keras, legacy_keras, built_with_cuda, build, set_aside) and devices (devices, training_on), once; kernel, training, agreement, for each
device. A stage that fails on one device ends that device; the others go on. task.py derives the tolerances and what loss and accuracy to expect.
`seconds` and `samples_per_second` leave out the first step, which compiles. `set_aside` names variables that would change what is computed or
hide the reason of a failure, where the user had set them.
"""

import os
import sys

# only the target's own modules may be found by name from here on
_HERE = os.path.dirname(os.path.realpath(__file__))
sys.path[:] = [entry for entry in sys.path if os.path.realpath(entry) != _HERE]
sys.dont_write_bytecode = True

import argparse  # noqa: E402
import contextlib  # noqa: E402
import importlib.util  # noqa: E402
import time  # noqa: E402


def neighbour(name):
    """A module of this folder, loaded by path."""
    spec = importlib.util.spec_from_file_location("gpudoctor_smoke_" + name, os.path.join(_HERE, name + ".py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


protocol = neighbour("protocol")
task = neighbour("task")

OLDEST = (2, 4)
SETTINGS = {
    "TF_CPP_MIN_LOG_LEVEL": "0",  # TensorFlow gives the reason for ignoring a GPU in its log only
    "KERAS_BACKEND": "tensorflow",
    "KERAS_HOME": "/dev/null/keras",  # cannot exist: keras.json may ask for float16, and Keras would create one
    # float32 products on the CPU, which is the reference, are to stay float32
    "TF_SET_ONEDNN_FPMATH_MODE": None,
    "ONEDNN_DEFAULT_FPMATH_MODE": None,
    "DNNL_DEFAULT_FPMATH_MODE": None,
}


class Device:
    """Something to train on: its physical name, its name inside TensorFlow, and for how many steps."""

    def __init__(self, name, logical, short):
        self.name = name
        self.logical = logical
        self.short = short
        self.steps = task.SHORT_STEPS if short else task.STEPS


class Trainer:
    """The network with its fixed initial weights on one device."""

    def __init__(self, tf, np, logical):
        self._tf, self._np, self._logical = tf, np, logical
        keras = tf.keras
        with tf.device(logical):
            self.model = keras.Sequential(
                [
                    keras.Input(shape=(task.SIDE, task.SIDE)),
                    keras.layers.Flatten(),
                    keras.layers.Dense(task.HIDDEN, activation="tanh"),
                    keras.layers.Dense(task.CLASSES),
                ]
            )
            self.model.set_weights(task.initial_weights(np))
            self._optimizer = keras.optimizers.Adam(task.LEARNING_RATE, *task.DECAYS, epsilon=task.EPSILON)
            self._optimizer.build(self.model.trainable_variables)
        self._compiled = tf.function(self._step, autograph=False)

    def step(self, images, labels):
        """One step on a batch: the loss, the gradients and the network's outputs, as tensors."""
        with self._tf.device(self._logical):
            return self._compiled(self._tf.constant(images), self._tf.constant(labels))

    def _step(self, images, labels):
        tf, variables = self._tf, self.model.trainable_variables
        with tf.device(self._logical):
            with tf.GradientTape() as tape:
                outputs = self.model(images, training=True)
                loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=outputs))
            gradients = tape.gradient(loss, variables)
            self._optimizer.apply_gradients(zip(gradients, variables))
        return loss, gradients, outputs

    def accuracy(self):
        """The share of the test images that are classified rightly."""
        images, labels = task.test_images(self._np)
        with self._tf.device(self._logical):
            outputs = self.model(self._tf.constant(images), training=False)
        return float((outputs.numpy().argmax(axis=1) == labels).mean())

    def variable_devices(self):
        """Where TensorFlow says that each trained variable is."""
        values = (variable.value for variable in self.model.trainable_variables)
        return [(value() if callable(value) else value).device for value in values]  # a method in Keras 2, a tf.Variable in Keras 3


def main(arguments):
    """Run the stages; the exit status."""
    options = parse(arguments)
    protocol.hold_standard_descriptors()
    answers = protocol.Answers(options.answer_fd)
    try:
        tf, np = import_framework(answers)
        devices = find_devices(tf, answers, options)
    except protocol.StageError:
        return 1
    usable = [device for device in devices if attempt(check_product, tf, np, answers, device)]
    trained = [device for device in usable if attempt(train, tf, np, answers, device)]
    reference = []
    agreed = [device for device in trained if attempt(compare, tf, np, answers, device, reference)]
    if len(agreed) < len(devices):
        return 1
    answers.event("done")
    return 0


def parse(arguments):
    """The command line, checked."""
    parser = argparse.ArgumentParser(description="Smoke training with TensorFlow.")
    parser.add_argument("--answer-fd", type=int, required=True)
    parser.add_argument("--devices", required=True, type=indices)
    parser.add_argument("--short", type=indices)
    return parser.parse_args(arguments)


def indices(text):
    """GPU indices from "0,2"; none for "cpu"."""
    return [] if text == "cpu" else [int(part) for part in text.split(",")]


def attempt(stage, *arguments):
    """Whether a stage for one device came to its end."""
    try:
        stage(*arguments)
    except protocol.StageError:
        return False
    return True


def set_aside(environment):
    """Put SETTINGS into `environment`; the names of those that had been set otherwise."""
    changed = [name for name, value in SETTINGS.items() if environment.get(name, value) != value]
    for name, value in SETTINGS.items():
        environment.pop(name, None)
        if value is not None:
            environment[name] = value
    return changed


def import_framework(answers):
    """TensorFlow and NumPy. Keras, which TensorFlow imports late, is imported here too, so that its failure shows as one of import."""
    with answers.stage("import") as facts:
        facts["set_aside"] = set_aside(os.environ)
        facts["legacy_keras"] = os.environ.get("TF_USE_LEGACY_KERAS") in ("1", "true", "True")
        answers.mark("importing TensorFlow")
        import tensorflow as tf

        facts["version"] = tf.__version__
        facts["built_with_cuda"] = tf.test.is_built_with_cuda()
        if tuple(int(part) for part in tf.__version__.split(".")[:2]) < OLDEST:
            raise RuntimeError("The smoke training needs TensorFlow 2.4 or newer.")
        facts["build"] = dict(tf.sysconfig.get_build_info())
        import numpy as np

        answers.mark("importing Keras")
        package = tf.keras.Sequential.__module__.partition(".")[0]  # keras, or tf_keras where TF_USE_LEGACY_KERAS asks for it
        facts["keras"] = sys.modules[package].__version__
    return tf, np


def find_devices(tf, answers, options):
    """The devices asked for. Memory growth is set on each GPU, and the other GPUs are hidden before any context is made."""
    with answers.stage("devices") as facts:
        gpus = tf.config.list_physical_devices("GPU")
        facts["devices"] = [describe(tf, device) for device in tf.config.list_physical_devices("CPU") + gpus]
        absent = [index for index in options.devices if index >= len(gpus)]
        if absent:
            raise LookupError("TensorFlow lists {} GPUs, so none has the index {}.".format(len(gpus), absent[0]))
        chosen = [gpus[index] for index in options.devices]
        for gpu in chosen:
            tf.config.experimental.set_memory_growth(gpu, True)
        tf.config.set_visible_devices(chosen, "GPU")
        answers.mark("opening the devices")
        devices = open_devices(tf, options)
        facts["training_on"] = [{"device": device.name, "logical": device.logical, "short": device.short} for device in devices]
    return devices


def open_devices(tf, options):
    """The devices as TensorFlow uses them; this makes the contexts. On the CPU these are its logical devices, of which there is one by default."""
    kind = "GPU" if options.devices else "CPU"
    logical = [device.name for device in tf.config.list_logical_devices(kind)]
    numbers = options.devices or list(range(len(logical)))
    if len(logical) != len(numbers):
        raise RuntimeError(
            "TensorFlow opened {} of the {} GPUs; its log says why it ignored the others.".format(len(logical), len(numbers))
        )
    short = numbers[1:] if options.short is None else options.short
    return [Device("{}:{}".format(kind, number), name, number in short) for number, name in zip(numbers, logical)]


def describe(tf, physical):
    """What TensorFlow says of a physical device, without opening it."""
    details = tf.config.experimental.get_device_details(physical)
    capability = details.get("compute_capability")
    return {
        "name": physical.name.replace("/physical_device:", ""),
        "kind": physical.device_type.lower(),
        "model": details.get("device_name"),
        "compute_capability": capability and ".".join(str(part) for part in capability),
    }


@contextlib.contextmanager
def full_float32(tf):
    """float32 products in float32: without this, GPUs since Ampere round their factors to TF32."""
    switch = tf.config.experimental
    before = switch.tensor_float_32_execution_enabled()
    switch.enable_tensor_float_32_execution(False)
    try:
        yield
    finally:
        switch.enable_tensor_float_32_execution(before)


def check_product(tf, np, answers, device):
    """The first kernel on a device: one product of matrices, against NumPy's in float64."""
    with answers.stage("kernel", device=device.name), full_float32(tf):
        left, right = task.factors(np)
        with tf.device(device.logical):
            product = tf.matmul(tf.constant(left), tf.constant(right))
        error, tolerance = task.product_error(np, left, right, product.numpy())
        answers.event("kernel", device=device.name, logical=device.logical, ran_on=product.device, error=error, tolerance=tolerance)


def train(tf, np, answers, device):
    """The training on one device."""
    with answers.stage("training", device=device.name):
        answers.mark("training on {}: compiling the first step".format(device.name))
        trainer = Trainer(tf, np, device.logical)
        losses, clock, placement = run_steps(np, answers, device, trainer)
        seconds, samples = clock["seconds"], (device.steps - 1) * task.BATCH
        answers.event(
            "training",
            device=device.name,
            logical=device.logical,
            short=device.short,
            losses=losses,
            accuracy=trainer.accuracy(),
            expected_accuracy=task.expected_accuracy(),
            steps=device.steps,
            samples=device.steps * task.BATCH,
            samples_per_second=samples / seconds,
            peak_memory_bytes=peak_memory(tf, device),
            placement=placement,
            **clock,
        )


def run_steps(np, answers, device, trainer):
    """All steps of a training: the mean loss of every ten, the time, and where the last step's tensors were."""
    losses, block, gradients, outputs = [], [], [], None
    began = compiled = time.monotonic()
    for step, (images, labels) in enumerate(task.batches(np, device.steps), 1):
        loss, gradients, outputs = trainer.step(images, labels)
        block.append(loss)
        if step == 1:
            float(loss)  # waits until the device has finished
            compiled = time.monotonic()
        if step % task.BLOCK == 0:
            losses.append(float(np.mean([float(loss) for loss in block])))
            block = []
            answers.event("number", name="loss", device=device.name, step=step, steps=device.steps, value=losses[-1])
    clock = {"seconds": time.monotonic() - compiled, "first_step_seconds": compiled - began}
    places = {"variables": trainer.variable_devices(), "gradients": [each.device for each in gradients], "outputs": [outputs.device]}
    return losses, clock, {name: sorted(set(devices)) for name, devices in places.items()}


def peak_memory(tf, device):
    """Bytes that TensorFlow held on the device at most; None where it does not say (CPUs before TensorFlow 2.20, all before 2.5)."""
    with contextlib.suppress(AttributeError, ValueError):
        return tf.config.experimental.get_memory_info(device.logical.replace("/device:", ""))["peak"]
    return None


def compare(tf, np, answers, device, reference):
    """The first steps once more, in float32, against the same on the CPU. `reference` keeps the CPU's for the next device."""
    with answers.stage("agreement", device=device.name), full_float32(tf):
        if not reference:
            answers.mark("the first steps on the CPU")
            reference.extend(first_steps(tf, np, "/device:CPU:0"))
        answers.mark("the first steps on {}".format(device.name))
        losses, weights = first_steps(tf, np, device.logical)
        answers.event(
            "agreement",
            device=device.name,
            reference="CPU",
            steps=task.COMPARED_STEPS,
            max_loss_difference=task.largest_difference(np, losses, reference[0]),
            loss_tolerance=task.LOSS_TOLERANCE,
            max_weight_difference=task.largest_difference(np, weights, reference[1]),
            weight_tolerance=task.WEIGHT_TOLERANCE,
        )


def first_steps(tf, np, logical):
    """The losses of the first steps of the training, and the weights after them."""
    trainer = Trainer(tf, np, logical)
    losses = [float(trainer.step(images, labels)[0]) for images, labels in task.batches(np, task.COMPARED_STEPS)]
    return losses, trainer.model.get_weights()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
