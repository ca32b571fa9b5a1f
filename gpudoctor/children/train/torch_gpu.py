"""Has PyTorch code that asks for CUDA run as if a GPU were there: its tensors stay on the CPU, where they are only traced."""

import contextlib
import threading
import types
import weakref

GPU = types.SimpleNamespace(name="NVIDIA GPU", major=8, minor=0, total_memory=80 << 30, multi_processor_count=100, warp_size=32)
"""What a builder that asks is told of: any GPU that computes in BF16."""
ANSWERS = {
    "is_available": True,
    "is_initialized": True,
    "is_bf16_supported": True,
    "device_count": 1,
    "current_device": 0,
    "get_device_name": GPU.name,
    "get_device_capability": (GPU.major, GPU.minor),
    "get_device_properties": GPU,
    "mem_get_info": (GPU.total_memory, GPU.total_memory),
    "memory_stats": {},
    **dict.fromkeys(("memory_allocated", "max_memory_allocated", "memory_reserved", "max_memory_reserved"), 0),
    **dict.fromkeys(("init", "set_device", "synchronize", "empty_cache", "manual_seed", "manual_seed_all", "seed", "seed_all"), None),
    **dict.fromkeys(("reset_peak_memory_stats", "set_per_process_memory_fraction", "ipc_collect"), None),
}
"""What functions of torch.cuda return."""
IDLE = ("device", "device_of", "stream", "current_stream", "default_stream")
"""What torch.cuda makes and enters, where it changes nothing."""
TENSORS = ("Float", "Double", "Half", "BFloat16", "Long", "Int", "Short", "Byte", "Bool")
MADE = weakref.WeakKeyDictionary()
"""By a change of parameters, what it made of each, and what that was made of, which keeps its address from others."""


class Idle:
    """A stream, an event or a device: whatever is done with it changes nothing."""

    def __init__(self, *_arguments, **_named):
        pass

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *_, **__: self

    def __enter__(self):
        return self

    def __exit__(self, *_error):
        return None


def prepare(torch):
    """Answer for CUDA in this process from now on."""
    from torch.utils._device import DeviceContext

    for name, answer in ANSWERS.items():
        setattr(torch.cuda, name, lambda *_, answer=answer, **__: answer)
    for name in IDLE:
        setattr(torch.cuda, name, Idle)
    for kind in (torch.cuda.Stream, torch.cuda.Event):  # which PyTorch compares with its own by class
        kind.__new__ = lambda *_, **__: Idle()
    for name in TENSORS:
        setattr(torch.cuda, name + "Tensor", getattr(torch, name + "Tensor"))

    class Generator(torch.Generator):
        def __new__(cls, *_device, **_named):
            return super().__new__(cls)

    torch.Generator, torch.nn.Module._apply = Generator, applied  # noqa: SLF001 -- see there
    for kind in (DeviceContext, torch.autocast):  # what `with torch.device(...)` and autocast enter
        kind.__init__ = on_cpu(torch, kind.__init__)
    load = torch.load
    torch.load = lambda *arguments, **named: load(*arguments[:1], **{**named, "map_location": "cpu"})
    on_cpu_mode(torch).__enter__()
    run = threading.Thread.run

    def run_on_cpu(thread):
        with on_cpu_mode(torch):  # which holds for one thread
            run(thread)

    threading.Thread.run = run_on_cpu


def on_cpu(torch, function):
    """The function, with the CPU in place of a GPU among its arguments."""

    def moved(*arguments, **named):
        return function(*(cpu(torch, one) for one in arguments), **{name: cpu(torch, one) for name, one in named.items()})

    return moved


def cpu(torch, one):
    """The CPU in place of a GPU; anything else as it is."""
    gpu = one.type == "cuda" if isinstance(one, torch.device) else isinstance(one, str) and one.partition(":")[0] == "cuda"
    return "cpu" if gpu else one


def on_cpu_mode(torch):
    """A mode in which every function of PyTorch takes the CPU for a GPU."""
    from torch.overrides import TorchFunctionMode

    same, to = (torch.Tensor.cuda, torch.Tensor.pin_memory), torch.Tensor.to

    class OnCpu(TorchFunctionMode):
        def __torch_function__(self, function, types, arguments=(), named=None):
            if function in same:
                return arguments[0]
            named = {name: cpu(torch, one) for name, one in (named or {}).items() if name != "pin_memory"}
            arguments = [cpu(torch, one) for one in arguments]
            if isinstance(named.get("device"), int):  # its number
                named["device"] = "cpu"
            if function is to and type(arguments[-1]) is int:
                arguments[-1] = "cpu"
            return function(*arguments, **named)

    return OnCpu()


def applied(module, change, recurse=True):  # noqa: FBT002 -- as it is called
    """Module._apply, with new parameters in place of old ones: PyTorch 2.15 swaps their contents, which it refuses for fake tensors."""
    made = MADE.setdefault(change, {})
    for child in module.children() if recurse else ():
        child._apply(change)  # noqa: SLF001 -- recurrent layers have one of their own
    for parts in (module._parameters, module._buffers):  # noqa: SLF001 -- as PyTorch's own
        for name, one in parts.items():
            if one is not None:
                parts[name] = made.setdefault(id(one), (changed(one, change), one))[0]
    return module


def changed(one, change):
    """A parameter or buffer in another type, or itself."""
    import torch

    new = change(one.detach())
    if new.dtype == one.dtype:
        return one
    return torch.nn.Parameter(new, one.requires_grad) if isinstance(one, torch.nn.Parameter) else new


@contextlib.contextmanager
def layers_as_on_gpus(torch, recurrent):
    """Have layers keep what their kernels for GPUs do.

    Dropout keeps a mask of bytes, and attention no scores for its own; the CPU's keep a mask of numbers, and all scores. Autocast casts all that a recurrent
    layer reads; on the CPU it leaves states in FP32.
    """
    functional = torch.nn.functional
    drop, attend = functional.dropout, functional.scaled_dot_product_attention

    def masked(read, p=0.5, training=True, inplace=False):  # noqa: FBT002 -- as it is called
        return torch.native_dropout(read, p, True)[0] if training and 0 < p < 1 and not inplace else drop(read, p, training, inplace)

    def fused(query, key, value, attn_mask=None, dropout_p=0.0, *others, **named):  # noqa: ARG001 -- left out
        return attend(query, key, value, attn_mask, 0.0, *others, **named)

    functional.dropout, functional.scaled_dot_product_attention = masked, fused
    for name in recurrent:
        setattr(torch._VF, name, cast(torch, getattr(torch._VF, name)))  # noqa: SLF001 -- where recurrent layers find it
    try:
        yield
    finally:
        functional.dropout, functional.scaled_dot_product_attention = drop, attend
        for name in recurrent:
            delattr(torch._VF, name)  # noqa: SLF001 -- as above


def cast(torch, function):
    """The function of tensors, all of them in autocast's type, as https://github.com/pytorch/pytorch/pull/42385 has it for GPUs."""

    def half(one):
        if isinstance(one, (tuple, list)):
            return [half(part) for part in one]
        floating = isinstance(one, torch.Tensor) and one.is_floating_point()
        return one.to(torch.get_autocast_dtype("cpu")) if floating else one

    def called(*arguments):
        return function(*(map(half, arguments) if torch.is_autocast_enabled("cpu") else arguments))

    return called
