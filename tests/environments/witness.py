"""Runs under a framework's own interpreter (Python 3.6 to 3.14): imports it, lists its GPUs, and records what is mapped then.

    python witness.py tensorflow|torch|jax FILE

FILE gets JSON: version, gpus (null if they could not be listed), error, mapped. The framework's log stays on standard error.
"""

import ctypes
import importlib
import json
import os
import sys


def tensorflow():
    """Its own list, which opens every CUDA library."""
    import tensorflow as tf

    listed = getattr(tf.config, "list_physical_devices", None) or tf.config.experimental.list_physical_devices
    return tf.__version__, len(listed("GPU"))


def torch():
    """cudart's count or error. Also opens a library that torch only opens for linear algebra."""
    import torch as th

    lib = os.path.join(os.path.dirname(th.__file__), "lib")
    count = th.cuda.device_count() if th.cuda.is_available() else 0
    if os.path.exists(os.path.join(lib, "libtorch_cuda_linalg.so")):
        ctypes.CDLL(os.path.join(lib, "libtorch_cuda_linalg.so"))
    if not count:
        th.cuda.init()
    return th.__version__, count


def jax():
    """The devices of its CUDA plugin.

    It would not try without a /dev/nvidia0, which our driver lacks; and CUPTI 13.5 only reports its version to a driver that it can trace,
    which ours is not: the build's version replaces it.
    """
    os.environ.setdefault("JAX_PLATFORMS", "cuda")
    import jax as jx

    try:
        from jax._src import hardware_utils

        hardware_utils.has_visible_nvidia_gpu = lambda: True
    except ImportError:
        pass
    for plugin in ("jax_cuda13_plugin", "jax_cuda12_plugin"):
        try:
            versions = importlib.import_module(plugin + "._versions")
            versions.cupti_get_version = versions.cupti_build_version
        except ImportError:
            pass
    return jx.__version__, len([device for device in jx.devices() if device.platform in {"gpu", "cuda"}])


def cudnn_opens_its_parts():
    """Call the version checks of cuDNN's libraries, which open on first call. Returns their results by name."""
    said = {}
    for path in mapped():
        if os.path.basename(path).startswith("libcudnn.so.9"):
            library = ctypes.CDLL(path)
            for part in ("Graph", "Ops", "Cnn", "Adv"):
                check = getattr(library, "cudnn" + part + "VersionCheck", None)
                if check is not None:
                    said[part.lower()] = check()
    return said


def mapped():
    """Every shared library in the process, in order."""
    found = {}
    with open("/proc/self/maps") as maps:
        for line in maps:
            path = line.rstrip("\n").split(None, 5)[5:]
            if path and ".so" in path[0] and path[0].startswith("/"):
                found[path[0]] = None
    return list(found)


def main():
    said = {"version": None, "gpus": None, "error": None}
    name, file = sys.argv[1:]
    try:
        said["version"], said["gpus"] = {"tensorflow": tensorflow, "torch": torch, "jax": jax}[name]()
    except Exception as error:
        said["error"] = "%s: %s" % (type(error).__name__, error)
        module = sys.modules.get(name)
        said["version"] = getattr(module, "__version__", None)
    said["cudnn"] = cudnn_opens_its_parts()
    said["mapped"] = mapped()
    with open(file, "w") as answer:
        json.dump(said, answer)


main()
