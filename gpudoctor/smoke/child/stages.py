"""The stages of a smoke training, the same for every framework; an engine does each step in its framework's idiom. Judges nothing.

    PYTHON smoke.py --framework tensorflow|torch|jax --answer-fd N --devices 0,1|cpu [--short 1]

`--devices` are CUDA ordinals, or cpu. The first is trained on at full length and the others shortly, or those named by `--short` are. No other
GPU is given a context, so a busy card is left alone. Nothing is downloaded or written. Exit status: 0 all was run, 1 a stage failed, 2 usage.

On descriptor N (protocol.py), `device` is the physical device ("GPU:1") and `logical` what the framework calls it since others were hidden:

    {"event": "begin", "stage": S[, "device"]}
    {"event": "end", "stage": S, "seconds"[, "device"], ...facts}
    {"event": "failed", "stage": S, "seconds"[, "device"], "error_type", "error", ...facts learnt before}
    {"event": "kernel", "device", "logical", "ran_on", "error", "tolerance"}
    {"event": "number", "name": "loss", "device", "step", "steps", "value"}       the mean of ten steps' losses
    {"event": "training", "device", "logical", "short", "losses", "accuracy", "expected_accuracy", "steps", "samples", "seconds",
        "first_step_seconds", "samples_per_second", "peak_memory_bytes", "placement": {"variables", "gradients", "outputs"}}
    {"event": "agreement", "device", "reference": "CPU", "steps", "max_loss_difference", "loss_tolerance", "max_weight_difference", "weight_tolerance"}
    {"event": "done"}                                                              last, and only if no stage failed

Stages and their facts: import (version, set_aside, and what the engine adds) and devices (devices, training_on), once; kernel, training, agreement, for
each device. A stage that fails on one device ends that device; the others go on. task.py derives the tolerances and what loss and accuracy
to expect. `seconds` and `samples_per_second` leave out the first step, which compiles. `set_aside` names variables that would change what is
computed or hide the reason of a failure, where the user had set them.

An engine (FRAMEWORK_engine.py, class Engine, made with the module task) has

    name                           as the framework writes itself
    settings                       {variable: value or None}, put into the environment before the import
    load(facts, mark)              imports the framework; puts what it learns into `facts`, "version" before all; raises where it is too old
    choose(ordinals)               keeps the framework off the other GPUs, where listing them would open them; no ordinals: the CPU only
    gpus()                         how many the framework lists
    describe()                     [{"name": "GPU:0", "kind": "gpu", "model", "compute_capability"}], the CPU first
    open(ordinals)                 [(name, logical)], in that order; on the CPU (no ordinals) its logical devices. Contexts begin here
    cpu                            the logical name of the CPU that the comparison is with
    full_float32()                 a context in which products of float32 are computed in float32, not TF32
    product(logical, left, right)  (the product as an array, where the framework says that it lies)
    trainer(logical)               the network with its fixed initial weights there, and its optimiser
    peak_memory(logical)           bytes that it held there at most, None where it does not say

and a trainer

    step(images, labels)           the loss, in the framework's form; float() of it waits until the device has finished
    accuracy(images, labels)       a float
    weights()                      arrays in the order and shapes of task.initial_weights
    places()                       {"variables", "gradients", "outputs"}: where the framework says that those of the last step are
"""

import os
import time


class Device:
    """Something to train on: its physical name, its name inside the framework, and for how many steps."""

    def __init__(self, name, logical, short, steps):
        self.name, self.logical, self.short, self.steps = name, logical, short, steps


class Stages:
    """One run."""

    def __init__(self, engine, protocol, task, answers):
        self.engine, self.protocol, self.task, self.answers = engine, protocol, task, answers
        self.np = None
        self.reference = []

    def run(self, ordinals, short):
        """The exit status."""
        try:
            self.load()
            devices = self.find(ordinals, short)
        except self.protocol.StageError:
            return 1
        left = devices
        for stage in (self.check_product, self.train, self.compare):
            left = [device for device in left if self.attempt(stage, device)]
        if len(left) < len(devices):
            return 1
        self.answers.event("done")
        return 0

    def attempt(self, stage, device):
        """Whether a stage for one device came to its end."""
        try:
            stage(device)
        except self.protocol.StageError:
            return False
        return True

    def load(self):
        with self.answers.stage("import") as facts:
            facts["set_aside"] = set_aside(self.engine.settings, os.environ)
            self.answers.mark("importing " + self.engine.name)
            self.engine.load(facts, self.answers.mark)
            import numpy as np

            self.np = np

    def find(self, ordinals, short):
        with self.answers.stage("devices") as facts:
            self.engine.choose(ordinals)
            facts["devices"] = self.engine.describe()
            count = self.engine.gpus()
            absent = [ordinal for ordinal in ordinals if ordinal >= count]
            if absent:
                raise LookupError("{} lists {} GPUs, so none has the index {}.".format(self.engine.name, count, absent[0]))
            self.answers.mark("opening the devices")
            opened = self.engine.open(ordinals)
            if ordinals and len(opened) != len(ordinals):
                words = "{} opened {} of the {} GPUs; its log says why it ignored the others."
                raise RuntimeError(words.format(self.engine.name, len(opened), len(ordinals)))
            numbers = ordinals or list(range(len(opened)))
            shortly = numbers[1:] if short is None else short
            devices = [self.device(name, logical, number in shortly) for number, (name, logical) in zip(numbers, opened)]
            facts["training_on"] = [{"device": device.name, "logical": device.logical, "short": device.short} for device in devices]
        return devices

    def device(self, name, logical, short):
        return Device(name, logical, short, self.task.SHORT_STEPS if short else self.task.STEPS)

    def check_product(self, device):
        """The first kernel on a device: one product of matrices, against NumPy's in float64."""
        with self.answers.stage("kernel", device=device.name), self.engine.full_float32():
            left, right = self.task.factors(self.np)
            product, ran_on = self.engine.product(device.logical, left, right)
            error, tolerance = self.task.product_error(self.np, left, right, product)
            self.answers.event("kernel", device=device.name, logical=device.logical, ran_on=ran_on, error=error, tolerance=tolerance)

    def train(self, device):
        """The training on one device."""
        with self.answers.stage("training", device=device.name):
            self.answers.mark("training on {}: compiling the first step".format(device.name))
            trainer = self.engine.trainer(device.logical)
            losses, clock = self.steps(device, trainer)
            self.answers.event(
                "training",
                device=device.name,
                logical=device.logical,
                short=device.short,
                losses=losses,
                accuracy=trainer.accuracy(*self.task.test_images(self.np)),
                expected_accuracy=self.task.expected_accuracy(),
                steps=device.steps,
                samples=device.steps * self.task.BATCH,
                samples_per_second=(device.steps - 1) * self.task.BATCH / clock["seconds"],
                peak_memory_bytes=self.engine.peak_memory(device.logical),
                placement={name: sorted(set(places)) for name, places in trainer.places().items()},
                **clock,
            )

    def steps(self, device, trainer):
        """All steps of a training: the mean loss of every ten, and the time."""
        losses, block = [], []
        began = compiled = time.monotonic()
        for step, (images, labels) in enumerate(self.task.batches(self.np, device.steps), 1):
            block.append(trainer.step(images, labels))
            if step == 1:
                float(block[0])
                compiled = time.monotonic()
            if step % self.task.BLOCK == 0:
                losses.append(float(self.np.mean([float(loss) for loss in block])))
                block = []
                self.answers.event("number", name="loss", device=device.name, step=step, steps=device.steps, value=losses[-1])
        return losses, {"seconds": time.monotonic() - compiled, "first_step_seconds": compiled - began}

    def compare(self, device):
        """The first steps once more, in float32, against the same on the CPU, which are kept for the next device."""
        task, np = self.task, self.np
        with self.answers.stage("agreement", device=device.name), self.engine.full_float32():
            if not self.reference:
                self.answers.mark("the first steps on the CPU")
                self.reference.extend(self.first_steps(self.engine.cpu))
            self.answers.mark("the first steps on {}".format(device.name))
            losses, weights = self.first_steps(device.logical)
            self.answers.event(
                "agreement",
                device=device.name,
                reference="CPU",
                steps=task.COMPARED_STEPS,
                max_loss_difference=task.largest_difference(np, losses, self.reference[0]),
                loss_tolerance=task.LOSS_TOLERANCE,
                max_weight_difference=task.largest_difference(np, weights, self.reference[1]),
                weight_tolerance=task.WEIGHT_TOLERANCE,
            )

    def first_steps(self, logical):
        """The losses of the first steps of the training, and the weights after them."""
        trainer = self.engine.trainer(logical)
        losses = [float(trainer.step(images, labels)) for images, labels in self.task.batches(self.np, self.task.COMPARED_STEPS)]
        return losses, trainer.weights()


def set_aside(settings, environment):
    """Put `settings` into `environment`; the names of those that had been set otherwise."""
    changed = [name for name, value in settings.items() if environment.get(name, value) != value]
    for name, value in settings.items():
        environment.pop(name, None)
        if value is not None:
            environment[name] = value
    return changed
