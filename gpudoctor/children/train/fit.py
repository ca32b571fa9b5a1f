"""Counts what a user's model needs: `PYTHON fit.py --answer-fd N --builder MODULE:FUNCTION --folder DIR --batches 8,16 --memory BYTES …`.

FUNCTION takes no arguments and returns one of these; each framework's module (NAME_fit.py) describes how it counts.

- a torch.nn.Module, or a pair of it and example inputs: a tensor, a tuple for positional or a dictionary for named arguments
- a keras.Model of Keras 3
- for JAX three things: a loss function of (params, batch), params, batch

The path of a Hugging Face config.json in its place is built by configured.py.
Nothing of the model is allocated: the function runs under the framework's own tracing. GPUs are hidden by the caller, and Python connects to no other machine.
"""

import os
import sys

# from here on only the target's own modules may be found by name
_SCRIPT_FOLDER = os.path.dirname(os.path.realpath(__file__))
sys.path[:] = [entry for entry in sys.path if os.path.realpath(entry) != _SCRIPT_FOLDER]
sys.dont_write_bytecode = True

import argparse  # noqa: E402
import importlib  # noqa: E402
import importlib.util  # noqa: E402
import resource  # noqa: E402
import traceback  # noqa: E402

FRAMEWORKS, ON_GPUS = ({name[: -len(end)] for name in os.listdir(_SCRIPT_FOLDER) if name.endswith(end)} for end in ("_fit.py", "_gpu.py"))
"""Those that can count, and those whose code may ask for a GPU: NAME_gpu.py has it run without one."""
EXPECTED = "a torch.nn.Module, (module, inputs), a keras.Model, or for JAX (loss function, params, batch)"


class RefusedError(Exception):
    """The model cannot be counted; the message is a clause that follows the builder's name."""


def without_network():
    """Have Python refuse connections to other machines; returns the hosts that it refused, which grow."""
    refused, own = [], ("localhost", "127.0.0.1", "::1", os.uname().nodename)

    def hook(event, arguments):
        host = arguments[0] if event in ("socket.getaddrinfo", "socket.gethostbyname") else None
        if event == "socket.connect" and isinstance(arguments[1], tuple):
            host = arguments[1][0]
        if host and host not in own:
            refused.append(host)
            raise OSError("gpudoctor fit connects to no other machine")  # libraries then use what they have on disk

    if hasattr(sys, "addaudithook"):  # Python 3.8
        sys.addaudithook(hook)
    return refused


class AsOnGpu:
    """Finds frameworks as Python does, and has each one answer as if there were a GPU once it is imported."""

    def __init__(self):
        self._names = {name for name in ON_GPUS if not prepared(name)}

    def find_spec(self, name, _path=None, _target=None):
        """What Python finds, with a loader that prepares it."""
        if name not in self._names:
            return None
        self._names.remove(name)
        spec = importlib.util.find_spec(name)
        if spec and spec.loader:
            load = spec.loader.exec_module
            spec.loader.exec_module = lambda module: (load(module), prepared(name))
        return spec


def prepared(name):
    """Prepare a framework to run without a GPU, and return whether it is imported."""
    if name in sys.modules:
        neighbour(name + "_gpu").prepare(sys.modules[name])
    return name in sys.modules


def neighbour(name):
    """A module of this folder, loaded by path."""
    spec = importlib.util.spec_from_file_location("gpudoctor_" + name, os.path.join(_SCRIPT_FOLDER, name + ".py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def builder(name, folder):
    """The user's function. Its module may be in `folder`, as for `python -m`."""
    os.chdir(folder)
    sys.path.insert(0, folder)
    module, _, function = name.partition(":")
    try:
        found = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name and (module + ".").startswith(error.name + "."):
            raise RefusedError("is not there: no module {} in {} or the environment".format(error.name, folder)) from None
        raise
    for part in function.split("."):
        found = getattr(found, part, None)
    if not callable(found):
        raise RefusedError("is not there: {} has no function {}".format(module, function))
    return found


def engines(options):
    """How to count with each framework that the user's module imported, or that is installed if it imported none."""
    imported = sorted(name for name in FRAMEWORKS if name in sys.modules)
    names = imported or sorted(name for name in FRAMEWORKS if importlib.util.find_spec(name))
    return [neighbour(name + "_fit").Engine(options, RefusedError, neighbour) for name in names]


def counted(options, answers, protocol):
    """Send the counts for each batch size."""
    answers.mark("importing it")
    sys.meta_path.insert(0, AsOnGpu())
    with protocol.importing():
        if options.builder.endswith(".json"):
            build = neighbour("configured").builder(options.builder, options.seq, RefusedError)
        else:
            build = builder(options.builder, options.folder)
        usable = engines(options)
        for engine in usable:
            build = engine.around(build)
    answers.mark("building the model")
    process = os.getpid()
    made = build()
    if os.getpid() != process:
        os._exit(0)  # the builder forked, and this is the copy
    owner = next((engine for engine in usable if engine.owns(made)), None)
    if owner is None:
        raise RefusedError("returned {}, expected {}".format(type(made).__name__, EXPECTED))
    answers.mark("tracing a forward pass" if options.infer else "tracing a training step")
    for batch, counts in owner.count(made, options.batches):
        again = counts.pop("again", counts)  # with checkpointing, where the framework lets us apply it
        answers.event("counted", batch=batch, **counts, **{key + "_again": again[key] for key in ("kept", "peak", "flops")})


def place(error, folder):
    """Where the user's code raised an error, as " (model.py, line 12)"; "" if there is none, or none of that code is in the folder."""
    frames = [(frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(error and error.__traceback__)]
    own = [(name, line) for name, line in frames if os.path.dirname(name) == folder]
    return " ({}, line {})".format(os.path.basename(own[-1][0]), own[-1][1]) if own else ""


def main(arguments):
    """Count, and end without the clean-up of frameworks, which would allocate what was only traced."""
    parser = argparse.ArgumentParser(description="Counts what a model needs.")
    parser.add_argument("--answer-fd", type=int, required=True)
    parser.add_argument("--builder", required=True)
    parser.add_argument("--folder", required=True)
    parser.add_argument("--batches", type=lambda text: [int(part) for part in text.split(",")], required=True)
    parser.add_argument("--memory", type=int, required=True)
    parser.add_argument("--seq", type=int)
    parser.add_argument("--image", type=lambda text: [int(side) for side in text.split("x")])
    parser.add_argument("--precision", default="fp32")
    parser.add_argument("--infer", action="store_true")
    options = parser.parse_args(arguments)
    protocol = neighbour("protocol")
    answers = protocol.Answers(options.answer_fd)
    sys.excepthook = answers.crashed
    protocol.hold_standard_descriptors()
    resource.setrlimit(resource.RLIMIT_DATA, (options.memory, options.memory))
    hosts = without_network()
    try:
        counted(options, answers, protocol)
    except RefusedError as refusal:
        answers.event("refused", reason=str(refusal) + place(refusal.__cause__, options.folder))
    except MemoryError:
        protocol.complain()
        answers.event("refused", reason="needs more than {:.1f} GiB of host memory, the limit here".format(options.memory / 2**30))
    except BaseException as error:  # SystemExit too: whatever the user's code raises is an answer
        protocol.complain()
        raised = "raised {}: {}{}".format(
            type(error).__name__, " ".join(protocol.first_lines(error).split())[:300], place(error, options.folder)
        )
        downloads = ["downloads from {}; fit has no network: download what it needs first".format(host) for host in hosts]
        answers.event("refused", reason=[*downloads, raised][0])
    answers.event("done")
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
