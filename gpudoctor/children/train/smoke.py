"""Starts smoke training: `PYTHON smoke.py --framework NAME --answer-fd N --devices 0,1|cpu [--short 1] [--memory 0=LIMIT/TOTAL]`; see stages.py.

With `--all-reduce` it trains nothing and runs all-reduce over all devices; see all_reduce.py.
"""

import os
import sys

# from here on only the target's own modules may be found by name
_SCRIPT_FOLDER = os.path.dirname(os.path.realpath(__file__))
sys.path[:] = [entry for entry in sys.path if os.path.realpath(entry) != _SCRIPT_FOLDER]
sys.dont_write_bytecode = True

import argparse  # noqa: E402
import importlib.util  # noqa: E402


def neighbour(name):
    """A module of this folder, loaded by path."""
    spec = importlib.util.spec_from_file_location("gpudoctor_smoke_" + name, os.path.join(_SCRIPT_FOLDER, name + ".py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def indices(text):
    """CUDA ordinals from "0,2"; none for "cpu"."""
    return [] if text == "cpu" else [int(part) for part in text.split(",")]


def shares(text):
    """{CUDA ordinal: (bytes that may be used, total bytes)} from "0=LIMIT/TOTAL,2=LIMIT/TOTAL"."""
    pairs = (part.split("=") for part in text.split(","))
    return {int(ordinal): tuple(int(number) for number in share.split("/")) for ordinal, share in pairs}


def main(arguments):
    """Train or run all-reduce; returns the exit status."""
    parser = argparse.ArgumentParser(description="Smoke training.")
    parser.add_argument("--framework", required=True)
    parser.add_argument("--answer-fd", type=int, required=True)
    parser.add_argument("--devices", required=True, type=indices)
    parser.add_argument("--short", type=indices)
    parser.add_argument("--memory", type=shares, default={})
    parser.add_argument("--measure", action="store_true")
    parser.add_argument("--all-reduce", action="store_true")
    parser.add_argument("--rank")
    options = parser.parse_args(arguments)
    protocol = neighbour("protocol")
    answers = protocol.Answers(options.answer_fd)
    sys.excepthook = answers.crashed
    task, stages, measure, engine = map(neighbour, ("task", "stages", "measure", options.framework + "_engine"))
    protocol.hold_standard_descriptors()
    trainer = engine.Engine(task)
    trainer.memory = options.memory
    run = stages.Stages(trainer, protocol, task, answers, measure.Measures if options.measure else None)
    if options.all_reduce:
        return neighbour("all_reduce").AllReduce(run, options.devices).run(options.rank)
    return run.run(options.devices, options.short)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
