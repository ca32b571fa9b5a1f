"""TensorFlow that plays GPUs: its real training runs on logical CPUs, which it reports as GPUs."""

from __future__ import annotations

PLAYS_GPUS = """
import importlib.util, os, time
import tensorflow as tf

COUNT = {count}
_parts = [tf.config.LogicalDeviceConfiguration() for _ in range(COUNT + 1)]
tf.config.set_logical_device_configuration(tf.config.list_physical_devices("CPU")[0], _parts)
_from_file = importlib.util.spec_from_file_location

def from_file(name, path):
    spec = _from_file(name, path)
    if name == "gpudoctor_smoke_tensorflow_engine":
        run = spec.loader.exec_module
        spec.loader.exec_module = lambda module: (run(module), play(module))
    return spec

def play(module):
    class Engine(module.Engine):
        def gpus(self):
            return COUNT

        def describe(self):
            gpus = [{{"name": "GPU:%d" % number, "kind": "gpu", "model": None, "compute_capability": None}} for number in range(COUNT)]
            return [*super().describe(), *gpus]

        def open(self, ordinals):
            time.sleep({opens_in})
            if {loads}:
                with open(os.environ["FAKE_LOAD"], "w") as file:
                    file.write(str(os.getpid()))
            super().open([])
            return [("GPU:%d" % number, "/device:CPU:%d" % (number + 1)) for number in ordinals]

        def trainer(self, logical, network):
            trainer = super().trainer(logical, network)
            if logical == self.cpu and "step" not in vars(trainer):
                step = trainer.step
                trainer.step = lambda images, labels: (time.sleep(0.5 * (len(labels) == self._task.SPEED_BATCH)), step(images, labels))[1]
            return trainer

    module.Engine = Engine

importlib.util.spec_from_file_location = from_file
"""
"""Runs before smoke training. The CPU takes half a second longer for a step of the speed comparison, which each GPU then wins."""


def plays(count: int = 1, *, loads: bool = True, opens_in: float = 0) -> str:
    """The patch for `count` GPUs, which open in so many seconds; those in `loads` put the shims under load while training runs."""
    return PLAYS_GPUS.format(count=count, loads=loads, opens_in=opens_in)
