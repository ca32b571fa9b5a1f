"""The stages of smoke training, the same for every framework; an engine implements each step. Draws no conclusions.

    PYTHON smoke.py --framework tensorflow|torch|jax --answer-fd N --devices 0,1|cpu [--short 1] [--memory 0=LIMIT/TOTAL]

`--devices` are CUDA ordinals, or cpu. The first trains at full length and the others briefly, or those in `--short` do. No other GPU gets
a context, so a busy card is not disturbed. Nothing is downloaded or written. Exit status: 0 all ran, 1 a stage failed, 2 usage.

On descriptor N (protocol.py), `device` is the physical device ("GPU:1") and `logical` the framework's name for it with others hidden:

    {"event": "begin", "stage": S[, "network"][, "device"]}
    {"event": "end", "stage": S, "seconds"[, "network"][, "device"], ...facts}
    {"event": "failed", "stage": S, "seconds"[, "network"][, "device"], "error_type", "error", ...facts learnt before}
        {"event": "unsupported", ...}                       as "failed", if the engine cannot train with this release of the framework
    {"event": "kernel", "device", "logical", "ran_on", "error", "tolerance"}
    {"event": "number", "name": "loss", "device", "network", "step", "steps", "value"}       the mean of ten steps' losses
    {"event": "training", "device", "logical", "network", "losses", "accuracy", "expected_accuracy", "steps", "seconds", "samples_per_second",
        "placement": {"variables", "gradients", "outputs"}}
    {"event": "agreement", "device", "network", "steps", "loss_difference", "loss_tolerance", "weight_difference", "weight_tolerance"}
    {"event": "speed", "device", "network", "batch", "samples_per_second", "cpu_samples_per_second"}                on a GPU only
        {"event": "mapped", "files"}                                                   CUDA libraries in the process, whatever happened before
    {"event": "done"}                                                              last, and only if no stage failed

Stages and their facts: import (version, set_aside, and what the engine adds) and devices (devices, networks), once; kernel,
training and agreement of each network, and speed, for each device; with --measure also those of measure.py. A failed stage ends its device;
the others go on. task.py derives the tolerances and the expected loss and accuracy. `seconds` and `samples_per_second` leave out the first
step, which compiles. `set_aside` names the user's variables that would change the results or hide the reason of a failure.

An engine (FRAMEWORK_engine.py, class Engine, made with the module task) has

        name                           the framework's name for people
        memory                         {CUDA ordinal: (bytes that it may use, total bytes)}; open() limits the ordinals in it
        settings                       {variable: value or None}, put into the environment before the import
        load(facts, mark)              imports the framework and adds to `facts`, "version" first; raises if it is too old
        choose(ordinals)               hides the other GPUs if listing would open them; no ordinals: the CPU only
        gpus()                         how many the framework lists
        describe()                     [{"name": "GPU:0", "kind": "gpu", "model", "compute_capability"}], the CPU first
        open(ordinals)                 [(name, logical)], in that order; on the CPU (no ordinals) its logical devices. Creates the contexts
        cpu                            the logical name of the CPU to compare with
        full_float32()                 a context manager in which float32 matmul is not computed in TF32
        product(logical, left, right)  (the matmul as an array, where the framework says it is)
        trainer(logical, network)      one of task.NETWORKS with its fixed initial weights there, and its optimiser

and a trainer

        place(images, labels)          both on the device, as step takes them
        step(images, labels)           the loss, in the framework's form; float() of it waits for the device
        accuracy(images, labels)       a float
        weights()                      arrays in the order and shapes of task.initial_weights
        places()                       {"variables", "gradients", "outputs"}: where the framework says those of the last step are
"""

import functools
import os
import re
import time

SPEED_SECONDS = 0.25
MOST_FASTER = 64
"""The first run's time, which may be a clock's tick, is believed no further than this."""


class Device:
    """A device to train on: its physical name, its name inside the framework, and whether to train briefly."""

    def __init__(self, name, logical, short):
        self.name, self.logical, self.short = name, logical, short


class Stages:
    """One run."""

    def __init__(self, engine, protocol, task, answers, measures=None):
        self.engine, self.protocol, self.task, self.answers = engine, protocol, task, answers
        self.np = None
        self.reference = {}
        self.cpu_speed = None
        self.measures = measures

    def run(self, ordinals, short):
        """Return the exit status. Always ends with the CUDA libraries that this process has loaded."""
        status = self.run_stages(ordinals, short)
        self.answers.event("mapped", files=mapped())
        if not status:
            self.answers.event("done")
        return status

    def run_stages(self, ordinals, short):
        """Return 1 if a stage failed, otherwise 0."""
        try:
            self.load()
            devices = self.find(ordinals, short)
        except self.protocol.StageError:
            return 1
        left = devices
        for stage in self.stages():
            left = [device for device in left if self.attempt(stage, device)]
        return 1 if len(left) < len(devices) else 0

    def stages(self):
        """The steps for each device, in order."""
        yield self.check_product
        for network in self.task.NETWORKS:
            yield functools.partial(self.train, network)
            yield functools.partial(self.compare, network)
        yield self.race
        if self.measures:
            yield from self.measures(self, pace).stages()

    def attempt(self, stage, device):
        """Whether a stage for one device succeeded."""
        try:
            stage(device)
        except self.protocol.StageError:
            return False
        return True

    def load(self):
        with self.answers.stage("import") as facts, self.protocol.importing():
            facts["set_aside"] = set_aside(self.engine.settings, os.environ)
            self.answers.mark("importing " + self.engine.name)
            try:
                self.engine.load(facts, self.answers.mark, functools.partial(self.accept, facts))
                import numpy as np
            except ImportError as error:
                if "version" not in facts or error.name != "numpy":
                    raise
                words = "{} can be imported, but smoke training also needs NumPy, which is not installed."
                raise self.protocol.UnsupportedError(words.format(self.engine.name)) from error
            self.np = np

    def accept(self, facts, version):
        """Record the framework's version. Raises UnsupportedError if the engine cannot train with it."""
        facts["version"] = version
        oldest = self.engine.oldest
        if tuple(map(int, re.findall("[0-9]+", version)[: len(oldest)])) < oldest:  # 0.5.0rc1, 0.4.31+vendor
            needed = ".".join(str(part) for part in oldest)
            raise self.protocol.UnsupportedError(
                "Smoke training needs {} {} or newer; this is {}.".format(self.engine.name, needed, version)
            )

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
            devices = [Device(name, logical, number in shortly) for number, (name, logical) in zip(numbers, opened)]
            facts["networks"] = [network.name for network in self.task.NETWORKS]
        return devices

    def check_product(self, device):
        """The first kernel on a device: one matmul, compared with NumPy's in float64."""
        with self.answers.stage("kernel", device=device.name), self.engine.full_float32():
            left, right = self.task.factors(self.np)
            product, ran_on = self.engine.product(device.logical, left, right)
            error, tolerance = self.task.product_error(self.np, left, right, product)
            self.answers.event("kernel", device=device.name, logical=device.logical, ran_on=ran_on, error=error, tolerance=tolerance)

    def train(self, network, device):
        steps = network.short_steps if device.short else network.steps
        with self.answers.stage("training", network=network.name, device=device.name):
            self.answers.mark("training on {}: compiling the first step".format(device.name))
            trainer = self.engine.trainer(device.logical, network)
            tell = functools.partial(self.answers.event, "number", name="loss", device=device.name, network=network.name, steps=steps)
            losses, seconds = self.steps(trainer, steps, tell)
            self.answers.event(
                "training",
                device=device.name,
                logical=device.logical,
                network=network.name,
                losses=losses,
                accuracy=trainer.accuracy(*self.task.test_images(self.np)),
                expected_accuracy=self.task.expected_accuracy(),
                steps=steps,
                seconds=seconds,
                samples_per_second=(steps - 1) * self.task.BATCH / seconds,
                placement={name: sorted(set(places)) for name, places in trainer.places().items()},
            )

    def steps(self, trainer, steps, tell):
        """Run all steps; returns the mean loss of every ten, and the seconds of all but the first."""
        losses, block = [], []
        for step, (images, labels) in enumerate(self.task.batches(self.np, steps), 1):
            block.append(trainer.step(*trainer.place(images, labels)))
            if step == 1:
                float(block[0])
                compiled = time.monotonic()
            if step % self.task.BLOCK == 0:
                losses.append(float(self.np.mean([float(loss) for loss in block])))
                block = []
                tell(step=step, value=losses[-1])
        return losses, time.monotonic() - compiled

    def compare(self, network, device):
        """Compare the first steps, repeated in float32, with the CPU's, which are kept for the next device."""
        task, np = self.task, self.np
        with self.answers.stage("agreement", network=network.name, device=device.name), self.engine.full_float32():
            if network not in self.reference:
                self.answers.mark("the first steps on the CPU")
                self.reference[network] = self.first_steps(self.engine.cpu, network)
            self.answers.mark("the first steps on {}".format(device.name))
            losses, weights = self.first_steps(device.logical, network)
            self.answers.event(
                "agreement",
                device=device.name,
                network=network.name,
                steps=task.COMPARED_STEPS,
                loss_difference=task.largest_difference(np, losses, self.reference[network][0]),
                loss_tolerance=task.LOSS_TOLERANCE,
                weight_difference=task.largest_difference(np, weights, self.reference[network][1]),
                weight_tolerance=task.WEIGHT_TOLERANCE,
            )

    def first_steps(self, logical, network):
        """The losses of the first steps, and the weights after them."""
        trainer = self.engine.trainer(logical, network)
        losses = [float(trainer.step(*trainer.place(*batch))) for batch in self.task.batches(self.np, self.task.COMPARED_STEPS)]
        return losses, trainer.weights()

    def race(self, device):
        """Measure the speed of the convolutional network on a GPU and, once, on the CPU, from data already there."""
        if not device.name.startswith("GPU"):
            return
        with self.answers.stage("speed", device=device.name):
            if self.cpu_speed is None:
                self.answers.mark("the speed of the CPU")
                self.cpu_speed = self.speed(self.engine.cpu)
            self.answers.event(
                "speed",
                device=device.name,
                network=self.task.CONVOLUTIONAL.name,
                batch=self.task.SPEED_BATCH,
                samples_per_second=self.speed(device.logical),
                cpu_samples_per_second=self.cpu_speed,
            )

    def speed(self, logical):
        """Images a second in training of the convolutional network."""
        trainer = self.engine.trainer(logical, self.task.CONVOLUTIONAL)
        images, labels = self.task.training_images(self.np)
        batch = trainer.place(images[: self.task.SPEED_BATCH], labels[: self.task.SPEED_BATCH])
        return self.task.SPEED_BATCH / pace(lambda: trainer.step(*batch), float, SPEED_SECONDS)


def pace(run, wait, least):
    """Seconds of one of many `run()`, which take `least` together; `wait` takes the last result and returns when it is finished."""
    wait(run())
    count = 1
    while True:
        began = time.monotonic()
        for _ in range(count):
            last = run()
        wait(last)
        seconds = time.monotonic() - began
        if seconds >= least:
            return seconds / count
        count = int(count * min(MOST_FASTER, 1.2 * least / max(seconds, 1e-9))) + 1


def mapped():
    """The CUDA library files in this process, from the kernel's list."""
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as lines:
            paths = [line.split(None, 5)[5].strip() for line in lines if line.count(" ") >= 5 and "/" in line]
    except OSError:
        return []
    return sorted({path for path in paths if os.path.basename(path).startswith(("libcu", "libnv", "libnccl"))})


def set_aside(settings, environment):
    """Put `settings` into `environment`; the names of those that had another value."""
    changed = [name for name, value in settings.items() if environment.get(name, value) != value]
    for name, value in settings.items():
        environment.pop(name, None)
        if value is not None:
            environment[name] = value
    return changed
